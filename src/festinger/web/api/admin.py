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
from festinger.web.route import AdminCall, AdminRoute, json_response


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


async def list_models(call: AdminCall) -> Response:
    found = await load_stored_models(call.app.store, space=call.space, vault=call.app.vault)
    return json_response({"items": [asdict(model) for model in found], "next": None})


async def add_model(call: AdminCall) -> Response:
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


async def delete_model(call: AdminCall) -> Response:
    await drop_model(call.app, call.id, space=call.space)
    return json_response({"removed": call.id})


async def test_model(call: AdminCall) -> Response:
    seen = await ping_model(call.app, call.id, space=call.space)
    error = seen.error.message if seen.error else None
    return json_response({"model": seen.model, "latency_ms": seen.latency_ms, "error": error})


async def list_keys(call: AdminCall) -> Response:
    return json_response({"items": [asdict(key) for key in await load_api_keys(call.app.store)], "next": None})


async def make_key(call: AdminCall) -> Response:
    body = await call.body(MakeKeyRequest)
    key, secret = await issue_key(
        call.app, body.name, role=body.role, space=SpaceId(body.space), agent=body.agent, by=call.by
    )
    return json_response({**asdict(key), "key": secret}, 201)


async def revoke_key(call: AdminCall) -> Response:
    known = {key.id: key for key in await load_api_keys(call.app.store)}
    if call.id not in known:
        raise NotFound(f"There is no key `{call.id}`.")
    await withdraw_key(call.app, known[call.id], by=call.by)
    return json_response({"revoked": call.id})


async def list_spaces(call: AdminCall) -> Response:
    found = [space for space in await load_spaces(call.app.store) if call.own_space in (None, space.id)]
    return json_response({"items": [asdict(space) for space in found], "next": None})


async def create_space(call: AdminCall) -> Response:
    body = await call.body(SpaceNameRequest)
    return json_response(asdict(await add_space(call.app, body.name)), 201)


async def rename_space(call: AdminCall) -> Response:
    body = await call.body(SpaceNameRequest)
    space = await find_space(call.app.store, call.request.path_params["name"])
    return json_response(asdict(await change_space_name(call.app, space, body.name)))


async def delete_space(call: AdminCall) -> Response:
    body = await call.body(DeleteSpaceRequest)
    space = await find_space(call.app.store, call.request.path_params["name"])
    if body.confirm != space.name:
        raise BadInput("A space is erased for ever.", hint='Send its name as `{"confirm": "…"}`.')
    return json_response({"space": space.name, "rows": await erase_space(call.app, space)})


async def show_status(call: AdminCall) -> Response:
    return json_response(await build_status(call.app, space=call.space))


ROUTES = (
    AdminRoute(
        method="GET",
        path="/admin/api/models",
        scope=AccessScope.ADMIN,
        endpoint=list_models,
        summary="Models, without their keys.",
    ),
    AdminRoute(
        method="POST", path="/admin/api/models", scope=AccessScope.ADMIN, endpoint=add_model, summary="Keep a model."
    ),
    AdminRoute(
        method="DELETE",
        path="/admin/api/models/{id}",
        scope=AccessScope.ADMIN,
        endpoint=delete_model,
        summary="Take a model away.",
    ),
    AdminRoute(
        method="POST",
        path="/admin/api/models/{id}/test",
        scope=AccessScope.ADMIN,
        endpoint=test_model,
        summary="Make one tiny call to a model.",
    ),
    AdminRoute(
        method="GET",
        path="/admin/api/keys",
        scope=AccessScope.ADMIN,
        endpoint=list_keys,
        summary="Keys, never their secrets.",
    ),
    AdminRoute(
        method="POST", path="/admin/api/keys", scope=AccessScope.ADMIN, endpoint=make_key, summary="Make a key."
    ),
    AdminRoute(
        method="DELETE", path="/admin/api/keys/{id}", scope=AccessScope.ADMIN, endpoint=revoke_key, summary="End a key."
    ),
    AdminRoute(
        method="GET",
        path="/admin/api/spaces",
        scope=AccessScope.READ,
        endpoint=list_spaces,
        summary="The spaces that the key reaches.",
    ),
    AdminRoute(
        method="POST", path="/admin/api/spaces", scope=AccessScope.ADMIN, endpoint=create_space, summary="Make a space."
    ),
    AdminRoute(
        method="PATCH",
        path="/admin/api/spaces/{name}",
        scope=AccessScope.ADMIN,
        endpoint=rename_space,
        summary="Rename a space.",
    ),
    AdminRoute(
        method="DELETE",
        path="/admin/api/spaces/{name}",
        scope=AccessScope.ADMIN,
        endpoint=delete_space,
        summary="Erase a space for ever.",
    ),
    AdminRoute(
        method="GET", path="/admin/api/status", scope=AccessScope.READ, endpoint=show_status, summary="The numbers."
    ),
)
