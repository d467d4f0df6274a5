"""HTTP API for models, keys, spaces and status numbers."""

from dataclasses import asdict

from pydantic import BaseModel, ConfigDict, SecretStr
from starlette.responses import Response

from festinger.errors import BadInput, NotFound
from festinger.ids import SpaceId
from festinger.services.access import issue_key, withdraw_key
from festinger.services.models import drop_model, ping_model, save_model
from festinger.services.spaces import add_space, change_space_name, erase_space
from festinger.services.status import build_status
from festinger.store.repositories.auth import AccessRole, load_api_keys
from festinger.store.repositories.models import load_stored_models
from festinger.store.repositories.spaces import find_space, load_spaces
from festinger.web.auth import AccessScope
from festinger.web.route import AdminCall, RouteTable, json_response

ROUTES = RouteTable()


class AdminApiInput(BaseModel):
    model_config = ConfigDict(extra="forbid")


class AddModelRequest(AdminApiInput):
    provider: str
    model_name: str
    api_key: SecretStr | None = None
    base_url: str | None = None


class MakeKeyRequest(AdminApiInput):
    name: str
    role: AccessRole = AccessRole.PROXY
    agent: str | None = None
    space: str = "main"


class SpaceNameRequest(AdminApiInput):
    name: str


class DeleteSpaceRequest(AdminApiInput):
    confirm: str


@ROUTES.add("GET", "/admin/api/models", AccessScope.ADMIN)
async def list_models(call: AdminCall) -> Response:
    """Models, without their keys."""
    found = await load_stored_models(call.app.store, space=call.space, vault=call.app.vault)
    return json_response({"items": [asdict(model) for model in found], "next": None})


@ROUTES.add("POST", "/admin/api/models", AccessScope.ADMIN)
async def add_model(call: AdminCall) -> Response:
    """Keep a model."""
    body = await call.body(AddModelRequest)
    made = await save_model(
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
    """Take a model away."""
    await drop_model(call.app, call.id, space=call.space)
    return json_response({"removed": call.id})


@ROUTES.add("POST", "/admin/api/models/{id}/test", AccessScope.ADMIN)
async def test_model(call: AdminCall) -> Response:
    """Make one tiny call to a model."""
    seen = await ping_model(call.app, call.id, space=call.space)
    error = seen.error.message if seen.error else None
    return json_response({"model": seen.model, "latency_ms": seen.latency_ms, "error": error})


@ROUTES.add("GET", "/admin/api/keys", AccessScope.ADMIN)
async def list_keys(call: AdminCall) -> Response:
    """Keys, never their secrets."""
    return json_response({"items": [asdict(key) for key in await load_api_keys(call.app.store)], "next": None})


@ROUTES.add("POST", "/admin/api/keys", AccessScope.ADMIN)
async def make_key(call: AdminCall) -> Response:
    """Make a key."""
    body = await call.body(MakeKeyRequest)
    key, secret = await issue_key(
        call.app, body.name, role=body.role, space=SpaceId(body.space), agent=body.agent, by=call.by
    )
    return json_response({**asdict(key), "key": secret}, 201)


@ROUTES.add("DELETE", "/admin/api/keys/{id}", AccessScope.ADMIN)
async def revoke_key(call: AdminCall) -> Response:
    """End a key."""
    known = {key.id: key for key in await load_api_keys(call.app.store)}
    if call.id not in known:
        raise NotFound(f"There is no key `{call.id}`.")
    await withdraw_key(call.app, known[call.id], by=call.by)
    return json_response({"revoked": call.id})


@ROUTES.add("GET", "/admin/api/spaces", AccessScope.READ)
async def list_spaces(call: AdminCall) -> Response:
    """The spaces that the key reaches."""
    found = [space for space in await load_spaces(call.app.store) if call.own_space in (None, space.id)]
    return json_response({"items": [asdict(space) for space in found], "next": None})


@ROUTES.add("POST", "/admin/api/spaces", AccessScope.ADMIN)
async def create_space(call: AdminCall) -> Response:
    """Make a space."""
    body = await call.body(SpaceNameRequest)
    return json_response(asdict(await add_space(call.app, body.name)), 201)


@ROUTES.add("PATCH", "/admin/api/spaces/{name}", AccessScope.ADMIN)
async def rename_space(call: AdminCall) -> Response:
    """Rename a space."""
    body = await call.body(SpaceNameRequest)
    space = await find_space(call.app.store, call.request.path_params["name"])
    return json_response(asdict(await change_space_name(call.app, space, body.name)))


@ROUTES.add("DELETE", "/admin/api/spaces/{name}", AccessScope.ADMIN)
async def delete_space(call: AdminCall) -> Response:
    """Erase a space for ever."""
    body = await call.body(DeleteSpaceRequest)
    space = await find_space(call.app.store, call.request.path_params["name"])
    if body.confirm != space.name:
        raise BadInput("A space is erased for ever.", hint='Send its name as `{"confirm": "…"}`.')
    return json_response({"space": space.name, "rows": await erase_space(call.app, space)})


@ROUTES.add("GET", "/admin/api/status", AccessScope.READ)
async def show_status(call: AdminCall) -> Response:
    """The numbers."""
    return json_response(await build_status(call.app, space=call.space))
