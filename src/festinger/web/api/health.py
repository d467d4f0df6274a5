"""HTTP API for liveness, readiness, metrics and the doctor.

`healthz` says that the event loop turns and queries nothing. `readyz` says that the database answers and the
disk takes captured text; a missing provider, a refused setting or a dead job appears in the body and never
makes it unready. Both are cheap and answer anyone; details are only for callers on this machine or with a
key.
"""

from starlette.responses import Response

from festinger.errors import FestingerError, NotFound, StoreDown
from festinger.jobs.dead_letters import JobState, list_jobs
from festinger.observability import metrics
from festinger.observability.checks import worst_severity
from festinger.proposals.health import inbox_warnings
from festinger.web.auth import AccessScope
from festinger.web.route import AdminCall, RouteTable, json_response

ROUTES = RouteTable()


@ROUTES.add("GET", "/admin/healthz", AccessScope.PROBE)
async def healthz(_call: AdminCall) -> Response:
    return json_response({"ok": True})


@ROUTES.add("GET", "/admin/readyz", AccessScope.PROBE)
async def readyz(call: AdminCall) -> Response:
    problem = await _find_readiness_problem(call)
    body: dict[str, object] = {"ready": problem is None}
    if call.admission.trusted:
        body |= await _readiness_details(call, problem)
    return json_response(body, 200 if problem is None else 503)


async def _find_readiness_problem(call: AdminCall) -> FestingerError | None:
    try:
        await call.supervisor.need().store.ping()
    except StoreDown as error:
        return error
    return call.supervisor.disk_problem()


async def _readiness_details(call: AdminCall, problem: FestingerError | None) -> dict[str, object]:
    found: dict[str, object] = {
        "settings": call.supervisor.settings.problem,
        "needs_restart": [change.key for change in call.supervisor.settings.needs_restart],
        "disk": call.supervisor.disk().as_json(),
    }
    if problem is not None:
        found["problem"] = {"name": problem.name, "message": problem.message, "hint": problem.hint}
    elif (app := call.supervisor.app) is not None:
        found["degraded"] = app.degraded
        found["dead_jobs"] = len(await list_jobs(app.store, state=JobState.DEAD))
        found["inbox"] = await inbox_warnings(app.inbox.deps, app.directory.ids())
    return found


@ROUTES.add("GET", "/admin/metrics", AccessScope.OPEN)
async def serve_prometheus_metrics(call: AdminCall) -> Response:
    if not call.supervisor.settings.now.metrics.enabled:
        raise NotFound("Metrics are switched off.", hint="Set `metrics.enabled`.")
    if call.supervisor.app:
        await call.supervisor.app.measure()
    return Response(metrics.render_metrics(), media_type="text/plain; version=0.0.4; charset=utf-8")


@ROUTES.add("GET", "/admin/api/doctor", AccessScope.READ)
async def run_doctor(call: AdminCall) -> Response:
    """For whoever wants to know: all that `festinger doctor` says."""
    checks = await call.supervisor.checks(ask_models=True)
    return json_response({"worst": worst_severity(checks), "checks": [check.as_json() for check in checks]})
