"""HTTP API for jobs: list them, run them now, retry or drop dead ones."""

from dataclasses import asdict

from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from festinger.errors import BadInput, NotFound
from festinger.jobs.dead_letters import JobState, drop_job, find_job, list_jobs, retry_job
from festinger.jobs.queue import list_scheduled_jobs
from festinger.web.auth import AccessScope
from festinger.web.pagination import parse_limit
from festinger.web.route import AdminCall, RouteTable, json_response

ROUTES = RouteTable()
LARGEST = 2**63 - 1
"""The largest job number that the database can hold."""


class DropJobRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    note: str


@ROUTES.add("GET", "/admin/api/jobs", AccessScope.ADMIN)
async def show_jobs(call: AdminCall) -> Response:
    """Jobs, the newest first."""
    wanted = call.request.query_params.get("state")
    if wanted is not None and wanted not in list(JobState):
        raise BadInput(f"`state` must be one of {', '.join(JobState)}.")
    found = await list_jobs(
        call.app.store,
        state=JobState(wanted) if wanted else None,
        name=call.request.query_params.get("name"),
        limit=parse_limit(call.request),
    )
    return json_response({"items": [asdict(job) for job in found], "next": None})


@ROUTES.add("GET", "/admin/api/jobs/schedule", AccessScope.ADMIN)
async def show_schedule(call: AdminCall) -> Response:
    """Periodic jobs."""
    found = await list_scheduled_jobs(call.app.jobs)
    return json_response({"items": [asdict(job) for job in found], "next": None})


@ROUTES.add("GET", "/admin/api/jobs/{job:int}", AccessScope.ADMIN)
async def show_job(call: AdminCall) -> Response:
    """One job."""
    return json_response(asdict(await find_job(call.app.store, _number(call))))


@ROUTES.add("POST", "/admin/api/jobs/{name}/run", AccessScope.ADMIN)
async def run_job(call: AdminCall) -> Response:
    """Start a periodic job now."""
    name = call.request.path_params["name"]
    return json_response({"job": await call.app.jobs.run_now(name), "name": name}, 202)


@ROUTES.add("POST", "/admin/api/jobs/{job:int}/retry", AccessScope.ADMIN)
async def retry_dead_job(call: AdminCall) -> Response:
    """Put a dead job back."""
    await retry_job(call.app.store, _number(call))
    return json_response({"retried": [_number(call)]})


@ROUTES.add("POST", "/admin/api/jobs/{job:int}/drop", AccessScope.ADMIN)
async def drop_dead_job(call: AdminCall) -> Response:
    """Lay a dead job aside."""
    body = await call.body(DropJobRequest)
    await drop_job(call.app.jobs.deps, _number(call), note=body.note)
    return json_response({"dropped": _number(call)})


@ROUTES.add("POST", "/admin/api/jobs/{job:int}/cancel", AccessScope.ADMIN)
async def cancel_job(call: AdminCall) -> Response:
    """Stop a job."""
    return json_response({"job": _number(call), "how": await call.app.jobs.cancel(_number(call))})


def _number(call: AdminCall) -> int:
    number = int(call.request.path_params["job"])
    if number > LARGEST:
        raise NotFound(f"There is no job {number}.")
    return number
