"""HTTP API for administrators: models, keys, spaces, jobs and settings."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pydantic import SecretStr
from starlette.responses import Response

from festinger.errors import BadInput, NotFound
from festinger.ids import EVERY_SPACE, SpaceId
from festinger.jobs.dead_letters import JobState, drop_job, find_job, list_jobs, retry_job
from festinger.jobs.queue import list_scheduled_jobs
from festinger.runtime.settings import change_setting, reset_setting
from festinger.services.access import add_space, change_space_name, erase_space, issue_key, withdraw_key
from festinger.services.models import drop_model, ping_model, register_model
from festinger.services.status import build_status
from festinger.settings.sources import Setting
from festinger.store.repositories.auth import AccessRole, load_api_keys
from festinger.store.repositories.models import load_stored_models
from festinger.store.repositories.spaces import find_space, load_spaces
from festinger.web.auth import AccessScope
from festinger.web.route import AdminCall, ApiInput, RouteTable, json_response, parse_limit

ROUTES = RouteTable()


class AddModelRequest(ApiInput):
    provider: str
    model_name: str
    api_key: SecretStr | None = None
    base_url: str | None = None


class MakeKeyRequest(ApiInput):
    name: str
    role: AccessRole = AccessRole.PROXY
    agent: str | None = None
    space: str = "main"


class SpaceNameRequest(ApiInput):
    name: str


class DeleteSpaceRequest(ApiInput):
    confirm: str


@ROUTES.add("GET", "/admin/api/models", AccessScope.ADMIN)
async def list_models(call: AdminCall) -> Response:
    found = await load_stored_models(call.app.store, space=call.space, vault=call.app.vault)
    return json_response({"items": [asdict(model) for model in found], "next": None})


@ROUTES.add("POST", "/admin/api/models", AccessScope.ADMIN)
async def add_model(call: AdminCall) -> Response:
    body = await call.body(AddModelRequest)
    made = await register_model(
        call.app,
        body.model_name,
        provider=body.provider,
        space=call.space,
        base_url=body.base_url,
        api_key=body.api_key,
    )
    return json_response({"id": made}, 201)


@ROUTES.add("DELETE", "/admin/api/models/{id}", AccessScope.ADMIN)
async def delete_model(call: AdminCall) -> Response:
    await drop_model(call.app, call.id, space=call.space)
    return json_response({"removed": call.id})


@ROUTES.add("POST", "/admin/api/models/{id}/test", AccessScope.ADMIN)
async def test_model(call: AdminCall) -> Response:
    seen = await ping_model(call.app, call.id, space=call.space)
    error = seen.error.message if seen.error else None
    return json_response({"model": seen.model, "latency_ms": seen.latency_ms, "error": error})


@ROUTES.add("GET", "/admin/api/keys", AccessScope.ADMIN)
async def list_keys(call: AdminCall) -> Response:
    return json_response({"items": [asdict(key) for key in await load_api_keys(call.app.store)], "next": None})


@ROUTES.add("POST", "/admin/api/keys", AccessScope.ADMIN)
async def make_key(call: AdminCall) -> Response:
    body = await call.body(MakeKeyRequest)
    key, secret = await issue_key(
        call.app, body.name, role=body.role, space=SpaceId(body.space), agent=body.agent, by=call.by
    )
    return json_response({**asdict(key), "key": secret}, 201)


@ROUTES.add("DELETE", "/admin/api/keys/{id}", AccessScope.ADMIN)
async def revoke_key(call: AdminCall) -> Response:
    known = {key.id: key for key in await load_api_keys(call.app.store)}
    if call.id not in known:
        raise NotFound(f"There is no key `{call.id}`.")
    await withdraw_key(call.app, known[call.id], by=call.by)
    return json_response({"revoked": call.id})


@ROUTES.add("GET", "/admin/api/spaces", AccessScope.READ)
async def list_spaces(call: AdminCall) -> Response:
    found = [space for space in await load_spaces(call.app.store) if call.own_space in (None, space.id)]
    return json_response({"items": [asdict(space) for space in found], "next": None})


@ROUTES.add("POST", "/admin/api/spaces", AccessScope.ADMIN)
async def create_space(call: AdminCall) -> Response:
    body = await call.body(SpaceNameRequest)
    return json_response(asdict(await add_space(call.app, body.name)), 201)


@ROUTES.add("PATCH", "/admin/api/spaces/{name}", AccessScope.ADMIN)
async def rename_space(call: AdminCall) -> Response:
    body = await call.body(SpaceNameRequest)
    space = await find_space(call.app.store, call.request.path_params["name"])
    return json_response(asdict(await change_space_name(call.app, space, body.name)))


@ROUTES.add("DELETE", "/admin/api/spaces/{name}", AccessScope.ADMIN)
async def delete_space(call: AdminCall) -> Response:
    body = await call.body(DeleteSpaceRequest)
    space = await find_space(call.app.store, call.request.path_params["name"])
    if body.confirm != space.name:
        raise BadInput("A space is erased for ever.", hint='Send its name as `{"confirm": "…"}`.')
    return json_response({"space": space.name, "rows": await erase_space(call.app, space)})


@ROUTES.add("GET", "/admin/api/status", AccessScope.READ)
async def show_status(call: AdminCall) -> Response:
    return json_response(await build_status(call.app, space=call.space))


LARGEST = 2**63 - 1
"""The largest job number that the database can hold."""


class DropJobRequest(ApiInput):
    note: str


@ROUTES.add("GET", "/admin/api/jobs", AccessScope.ADMIN)
async def show_jobs(call: AdminCall) -> Response:
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
    found = await list_scheduled_jobs(call.app.jobs)
    return json_response({"items": [asdict(job) for job in found], "next": None})


@ROUTES.add("GET", "/admin/api/jobs/{job:int}", AccessScope.ADMIN)
async def show_job(call: AdminCall) -> Response:
    return json_response(asdict(await find_job(call.app.store, _number(call))))


@ROUTES.add("POST", "/admin/api/jobs/{name}/run", AccessScope.ADMIN)
async def run_job(call: AdminCall) -> Response:
    name = call.request.path_params["name"]
    return json_response({"job": await call.app.jobs.run_now(name), "name": name}, 202)


@ROUTES.add("POST", "/admin/api/jobs/{job:int}/retry", AccessScope.ADMIN)
async def retry_dead_job(call: AdminCall) -> Response:
    await retry_job(call.app.store, _number(call))
    return json_response({"retried": [_number(call)]})


@ROUTES.add("POST", "/admin/api/jobs/{job:int}/drop", AccessScope.ADMIN)
async def drop_dead_job(call: AdminCall) -> Response:
    body = await call.body(DropJobRequest)
    await drop_job(call.app.jobs.deps, _number(call), note=body.note)
    return json_response({"dropped": _number(call)})


@ROUTES.add("POST", "/admin/api/jobs/{job:int}/cancel", AccessScope.ADMIN)
async def cancel_job(call: AdminCall) -> Response:
    return json_response({"job": _number(call), "how": await call.app.jobs.cancel(_number(call))})


def _number(call: AdminCall) -> int:
    number = int(call.request.path_params["job"])
    if number > LARGEST:
        raise NotFound(f"There is no job {number}.")
    return number


class ChangeSettingRequest(ApiInput):
    value: str | int | float | bool | list[str]


@ROUTES.add("GET", "/admin/api/config", AccessScope.ADMIN)
async def list_settings(call: AdminCall) -> Response:
    found, waiting = call.supervisor.settings.loaded(call.space).settings(), _waiting(call)
    return json_response({"items": [_record(setting, waiting) for setting in found], "next": None})


@ROUTES.add("PUT", "/admin/api/config/{key}", AccessScope.ADMIN)
async def put_setting(call: AdminCall) -> Response:
    body = await call.body(ChangeSettingRequest)
    before, after = await change_setting(call.app, _key(call), _text(body.value), by=call.by, space=_space(call))
    return json_response(
        {
            "key": after.key.name,
            "old": before.value,
            "new": _waiting(call).get(after.key.name, after.value),
            "restart": after.key.restart,
        }
    )


@ROUTES.add("DELETE", "/admin/api/config/{key}", AccessScope.ADMIN)
async def delete_setting(call: AdminCall) -> Response:
    after = await reset_setting(call.app, _key(call), by=call.by, space=_space(call))
    return json_response({"key": after.key.name, "value": after.value, "source": str(after.source)})


def _waiting(call: AdminCall) -> dict[str, str]:
    """Settings whose new value waits for a restart, with that value."""
    return {change.key: change.new for change in call.supervisor.settings.needs_restart}


def _key(call: AdminCall) -> str:
    return str(call.request.path_params["key"])


def _space(call: AdminCall) -> SpaceId:
    """The space that the caller names; without one, a value is for all spaces."""
    return call.space if "space" in call.request.query_params else EVERY_SPACE


def _text(value: str | int | float | bool | list[str]) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, list) else str(value)


def _record(setting: Setting, waiting: Mapping[str, str]) -> dict[str, Any]:
    return {
        "key": setting.key.name,
        "value": setting.value,
        "default": setting.default,
        "source": str(setting.source),
        "meaning": setting.key.meaning,
        "pinned": setting.pinned,
        "restart": setting.key.restart,
        "needs_restart": setting.key.name in waiting,
        "after_restart": waiting.get(setting.key.name),
    }
