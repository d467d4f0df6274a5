"""The page at `/admin/health`: checks, jobs and settings.

Programs that ask this address without wanting HTML get the checks as JSON, as they always did.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from starlette.responses import Response

from festinger.jobs.backpressure import read_backlog
from festinger.jobs.dead_letters import JobState, drop_job, list_jobs, retry_job
from festinger.jobs.queue import list_scheduled_jobs
from festinger.observability.checks import Check, worst_severity
from festinger.web.auth import AccessScope
from festinger.web.render import redirect_to, render_page
from festinger.web.route import AdminCall, RouteTable, is_person, json_response

ROUTES = RouteTable()
HEALTH = "/admin/health"
MOST_JOBS = 50


@ROUTES.add("GET", HEALTH, AccessScope.READ, page=True)
async def health_page(call: AdminCall) -> Response:
    """How things are: checks, jobs, settings."""
    if "text/html" not in call.request.headers.get("accept", ""):
        # For whoever looks every few seconds: models are not asked, because asking costs.
        return json_response(_checks_json(await call.supervisor.checks()))
    return await render_page(call, "health.html", await _load(call))


@ROUTES.add("GET", f"{HEALTH}.json", AccessScope.READ)
async def health_page_json(call: AdminCall) -> Response:
    return json_response(await _load(call))


def _checks_json(checks: Sequence[Check]) -> dict[str, Any]:
    return {"worst": worst_severity(checks).value, "checks": [check.as_json() for check in checks]}


async def _load(call: AdminCall) -> dict[str, Any]:
    """The checks, and for people the jobs and the settings with their sources."""
    data = _checks_json(await call.supervisor.recent_checks())
    data["may_run"] = call.session is not None and call.admission.may(AccessScope.ADMIN)
    if not is_person(call) or not call.supervisor.is_open():
        return data | {"backlog": None, "dead": [], "schedule": [], "settings": []}
    app, settings = call.app, call.supervisor.settings
    return data | {
        "backlog": asdict(await read_backlog(app.store, max_waiting=settings.now.jobs.max_waiting)),
        "dead": [asdict(job) for job in await list_jobs(app.store, state=JobState.DEAD, limit=MOST_JOBS)],
        "schedule": [asdict(job) for job in await list_scheduled_jobs(app.jobs)],
        "settings": [
            {"key": each.key.name, "value": each.value, "source": str(each.source), "meaning": each.key.meaning}
            for each in settings.loaded(call.space).settings()
        ],
    }


@ROUTES.add("POST", f"{HEALTH}/jobs/{{job:int}}/retry", AccessScope.ADMIN, page=True)
async def submit_retry(call: AdminCall) -> Response:
    await retry_job(call.app.store, int(call.request.path_params["job"]))
    return redirect_to(call, HEALTH)


@ROUTES.add("POST", f"{HEALTH}/jobs/{{job:int}}/drop", AccessScope.ADMIN, page=True)
async def submit_drop(call: AdminCall) -> Response:
    await drop_job(call.app.jobs.deps, int(call.request.path_params["job"]), note="dropped in the console")
    return redirect_to(call, HEALTH)


@ROUTES.add("POST", f"{HEALTH}/run/{{name}}", AccessScope.ADMIN, page=True)
async def submit_run(call: AdminCall) -> Response:
    await call.app.jobs.run_now(call.request.path_params["name"])
    return redirect_to(call, HEALTH)
