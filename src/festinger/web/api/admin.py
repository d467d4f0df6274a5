"""Models, keys, spaces and numbers over HTTP."""

from dataclasses import asdict

from pydantic import BaseModel, ConfigDict, SecretStr
from starlette.responses import Response

from festinger.errors import BadInput, NotFound
from festinger.ids import SpaceId
from festinger.services.access import issue_key, withdraw_key
from festinger.services.models import drop_model, keep_model, try_model
from festinger.services.spaces import call_space, erase_space, open_space
from festinger.services.status import status
from festinger.store.repositories.auth import Role, keys
from festinger.store.repositories.models import models
from festinger.store.repositories.spaces import find_space, spaces
from festinger.web.auth import Scope
from festinger.web.route import Call, Route, answer


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ModelBody(Body):
    provider: str
    model_name: str
    api_key: SecretStr | None = None
    base_url: str | None = None


class KeyBody(Body):
    name: str
    role: Role = Role.PROXY
    agent: str | None = None
    space: str = "main"


class SpaceBody(Body):
    name: str


class Confirm(Body):
    confirm: str


async def list_models(call: Call) -> Response:
    found = await models(call.app.store, space=call.space, vault=call.app.vault)
    return answer({"items": [asdict(model) for model in found], "next": None})


async def add_model(call: Call) -> Response:
    body = await call.body(ModelBody)
    made = await keep_model(
        call.app,
        body.model_name,
        provider=body.provider,
        space=call.space,
        base_url=body.base_url,
        api_key=body.api_key,
    )
    return answer({"id": made}, 201)


async def delete_model(call: Call) -> Response:
    await drop_model(call.app, call.id, space=call.space)
    return answer({"removed": call.id})


async def test_model(call: Call) -> Response:
    seen = await try_model(call.app, call.id, space=call.space)
    error = seen.error.message if seen.error else None
    return answer({"model": seen.model, "latency_ms": seen.latency_ms, "error": error})


async def list_keys(call: Call) -> Response:
    return answer({"items": [asdict(key) for key in await keys(call.app.store)], "next": None})


async def make_key(call: Call) -> Response:
    body = await call.body(KeyBody)
    key, secret = await issue_key(
        call.app, body.name, role=body.role, space=SpaceId(body.space), agent=body.agent, by=call.by
    )
    return answer({**asdict(key), "key": secret}, 201)


async def revoke_key(call: Call) -> Response:
    known = {key.id: key for key in await keys(call.app.store)}
    if call.id not in known:
        raise NotFound(f"There is no key `{call.id}`.")
    await withdraw_key(call.app, known[call.id], by=call.by)
    return answer({"revoked": call.id})


async def list_spaces(call: Call) -> Response:
    found = [space for space in await spaces(call.app.store) if call.own_space in (None, space.id)]
    return answer({"items": [asdict(space) for space in found], "next": None})


async def create_space(call: Call) -> Response:
    body = await call.body(SpaceBody)
    return answer(asdict(await open_space(call.app, body.name)), 201)


async def rename_space(call: Call) -> Response:
    body = await call.body(SpaceBody)
    space = await find_space(call.app.store, call.request.path_params["name"])
    return answer(asdict(await call_space(call.app, space, body.name)))


async def delete_space(call: Call) -> Response:
    body = await call.body(Confirm)
    space = await find_space(call.app.store, call.request.path_params["name"])
    if body.confirm != space.name:
        raise BadInput("A space is erased for ever.", hint='Send its name as `{"confirm": "…"}`.')
    return answer({"space": space.name, "rows": await erase_space(call.app, space)})


async def numbers(call: Call) -> Response:
    return answer(await status(call.app, space=call.space))


ROUTES = (
    Route(
        method="GET",
        path="/admin/api/models",
        scope=Scope.ADMIN,
        endpoint=list_models,
        summary="Models, without their keys.",
    ),
    Route(
        method="POST",
        path="/admin/api/models",
        scope=Scope.ADMIN,
        endpoint=add_model,
        summary="Keep a model.",
    ),
    Route(
        method="DELETE",
        path="/admin/api/models/{id}",
        scope=Scope.ADMIN,
        endpoint=delete_model,
        summary="Take a model away.",
    ),
    Route(
        method="POST",
        path="/admin/api/models/{id}/test",
        scope=Scope.ADMIN,
        endpoint=test_model,
        summary="Make one tiny call to a model.",
    ),
    Route(
        method="GET",
        path="/admin/api/keys",
        scope=Scope.ADMIN,
        endpoint=list_keys,
        summary="Keys, never their secrets.",
    ),
    Route(method="POST", path="/admin/api/keys", scope=Scope.ADMIN, endpoint=make_key, summary="Make a key."),
    Route(
        method="DELETE",
        path="/admin/api/keys/{id}",
        scope=Scope.ADMIN,
        endpoint=revoke_key,
        summary="End a key.",
    ),
    Route(
        method="GET",
        path="/admin/api/spaces",
        scope=Scope.READ,
        endpoint=list_spaces,
        summary="The spaces that the key reaches.",
    ),
    Route(
        method="POST",
        path="/admin/api/spaces",
        scope=Scope.ADMIN,
        endpoint=create_space,
        summary="Make a space.",
    ),
    Route(
        method="PATCH",
        path="/admin/api/spaces/{name}",
        scope=Scope.ADMIN,
        endpoint=rename_space,
        summary="Rename a space.",
    ),
    Route(
        method="DELETE",
        path="/admin/api/spaces/{name}",
        scope=Scope.ADMIN,
        endpoint=delete_space,
        summary="Erase a space for ever.",
    ),
    Route(method="GET", path="/admin/api/status", scope=Scope.READ, endpoint=numbers, summary="The numbers."),
)
