"""Jobs over HTTP: see them, run them now, retry or drop what died."""

from dataclasses import asdict

from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from festinger.errors import BadInput, NotFound
from festinger.jobs.dead_letters import State, drop, find_job, list_jobs, retry
from festinger.jobs.queue import scheduled
from festinger.web.auth import Scope
from festinger.web.pagination import limit_of
from festinger.web.route import Call, Route, answer

LARGEST = 2**63 - 1
"""No job has a number beyond what the database can hold."""


class Drop(BaseModel):
    model_config = ConfigDict(extra="forbid")

    note: str


async def jobs(call: Call) -> Response:
    wanted = call.request.query_params.get("state")
    if wanted is not None and wanted not in list(State):
        raise BadInput(f"`state` must be one of {', '.join(State)}.")
    found = await list_jobs(
        call.app.store,
        state=State(wanted) if wanted else None,
        name=call.request.query_params.get("name"),
        limit=limit_of(call.request),
    )
    return answer({"items": [asdict(job) for job in found], "next": None})


async def schedule(call: Call) -> Response:
    found = await scheduled(call.app.jobs)
    return answer({"items": [asdict(job) for job in found], "next": None})


async def job(call: Call) -> Response:
    return answer(asdict(await find_job(call.app.store, _number(call))))


async def run(call: Call) -> Response:
    name = call.request.path_params["name"]
    return answer({"job": await call.app.jobs.run_now(name), "name": name}, 202)


async def retry_one(call: Call) -> Response:
    await retry(call.app.store, _number(call))
    return answer({"retried": [_number(call)]})


async def drop_one(call: Call) -> Response:
    body = await call.body(Drop)
    await drop(call.app.jobs.desk, _number(call), note=body.note)
    return answer({"dropped": _number(call)})


async def cancel(call: Call) -> Response:
    return answer({"job": _number(call), "how": await call.app.jobs.cancel(_number(call))})


def _number(call: Call) -> int:
    number = int(call.request.path_params["job"])
    if number > LARGEST:
        raise NotFound(f"There is no job {number}.")
    return number


ROUTES = (
    Route(
        method="GET",
        path="/admin/api/jobs",
        scope=Scope.ADMIN,
        endpoint=jobs,
        summary="Jobs, the newest first.",
    ),
    Route(
        method="GET",
        path="/admin/api/jobs/schedule",
        scope=Scope.ADMIN,
        endpoint=schedule,
        summary="Periodic jobs.",
    ),
    Route(
        method="GET", path="/admin/api/jobs/{job:int}", scope=Scope.ADMIN, endpoint=job, summary="One job."
    ),
    Route(
        method="POST",
        path="/admin/api/jobs/{job:int}/retry",
        scope=Scope.ADMIN,
        endpoint=retry_one,
        summary="Put a dead job back.",
    ),
    Route(
        method="POST",
        path="/admin/api/jobs/{job:int}/drop",
        scope=Scope.ADMIN,
        endpoint=drop_one,
        summary="Lay a dead job aside.",
    ),
    Route(
        method="POST",
        path="/admin/api/jobs/{job:int}/cancel",
        scope=Scope.ADMIN,
        endpoint=cancel,
        summary="Stop a job.",
    ),
    Route(
        method="POST",
        path="/admin/api/jobs/{name}/run",
        scope=Scope.ADMIN,
        endpoint=run,
        summary="Start a periodic job now.",
    ),
)
