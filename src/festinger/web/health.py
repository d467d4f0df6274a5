"""Does it live, is it ready, what does it count?

`healthz` says that the loop turns and asks nobody. `readyz` says that the database answers; a missing
upstream, provider or a dead job is told in the body and never makes it unready. Both are cheap and open.
"""

from starlette.responses import Response

from festinger.errors import FestingerError, StoreDown
from festinger.seeing import metrics
from festinger.seeing.checks import worst
from festinger.web.access import Scope, is_loopback
from festinger.web.route import Call, Route, answer


async def healthz(_call: Call) -> Response:
    return answer({"ok": True})


async def readyz(call: Call) -> Response:
    problem = await _unready(call)
    body: dict[str, object] = {"ready": problem is None}
    if is_loopback(call.request) or call.key:
        body["degraded"] = list(call.keeper.app.degraded) if call.keeper.app else []
        body["settings"] = call.keeper.settings.problem
        if problem:
            body["problem"] = {"name": problem.name, "message": problem.message, "hint": problem.hint}
    return answer(body, 200 if problem is None else 503)


async def _unready(call: Call) -> FestingerError | None:
    try:
        await call.keeper.need().store.ping()
    except StoreDown as error:
        return error
    return None


async def metrics_page(call: Call) -> Response:
    if not call.keeper.settings.now.metrics.enabled:
        return answer({"error": {"name": "not_found", "message": "Metrics are switched off."}}, 404)
    if call.keeper.app:
        await call.keeper.app.measure()
    return Response(metrics.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")


async def health(call: Call) -> Response:
    checks = await call.keeper.checks()
    return answer({"worst": worst(checks), "checks": [check.as_json() for check in checks]})


ROUTES = (
    Route(method="GET", path="/admin/healthz", scope=Scope.OPEN, endpoint=healthz, summary="The loop turns."),
    Route(
        method="GET", path="/admin/readyz", scope=Scope.OPEN, endpoint=readyz, summary="The database answers."
    ),
    Route(
        method="GET",
        path="/admin/metrics",
        scope=Scope.OPEN,
        endpoint=metrics_page,
        summary="Prometheus metrics.",
    ),
    Route(
        method="GET", path="/admin/health", scope=Scope.READ, endpoint=health, summary="Every check, as data."
    ),
    Route(
        method="GET",
        path="/admin/api/doctor",
        scope=Scope.READ,
        endpoint=health,
        summary="Every check, as data.",
    ),
)
