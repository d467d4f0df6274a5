"""HTTP API for censors: create, list, check a text, change.

Anyone who may write can create a warning; only a person's key can create a censor that blocks. Changing a
censor, or reporting a false positive, is for reviewers: an agent must not remove its own guards.
"""

from typing import Literal
from uuid import UUID

from pydantic import Field
from starlette.responses import Response

from festinger.errors import BadInput
from festinger.memory.censors.censor import Censor
from festinger.memory.censors.check import preview_censors, run_censors
from festinger.memory.censors.edit import (
    CensorRequest,
    add_censor,
    get_censor,
    list_triggers,
    load_page_of_censors,
    update,
)
from festinger.memory.censors.escalation import find_latest_trigger_id, mark_false_positive
from festinger.web.auth import AccessScope
from festinger.web.route import (
    AdminCall,
    ApiInput,
    RouteTable,
    build_page,
    caller_scope,
    json_response,
    parse_cursor,
    parse_limit,
    viewer_of,
)

ROUTES = RouteTable()
Where = Literal["input", "output", "tool", "learn"]
Force = Literal["warn", "block"]


class AddCensorRequest(ApiInput):
    """A censor to create, with the library's field names."""

    rule: str = Field(default="", max_length=10_000)
    meaning: str | None = None
    reason: str = ""
    domain: str | None = None
    on: tuple[Where, ...] = ("output", "tool")
    action: Force = "warn"
    literal: bool = False
    threshold: int | None = None


class ChangeCensorRequest(ApiInput):
    """The fields of a censor to change."""

    reason: str | None = None
    pattern: str | None = None
    meaning: str | None = None
    domain: str | None = None
    on: list[Where] | None = Field(default=None, min_length=1)
    action: Force | None = None
    threshold: int | None = None
    active: bool | None = None
    why: str = Field(default="", max_length=500)


class CheckTextRequest(ApiInput):
    text: str
    on: Where = "output"
    domain: str | None = None
    dry_run: bool = False


class FalsePositiveRequest(ApiInput):
    trigger: UUID | None = None


@ROUTES.add("GET", "/admin/api/censors", AccessScope.READ)
async def get_censors(call: AdminCall) -> Response:
    asked, limit = call.request.query_params.get("active"), parse_limit(call.request)
    if asked not in (None, "true", "false"):
        raise BadInput("`active` must be `true` or `false`.")
    found = await load_page_of_censors(
        call.app.memory.deps,
        call.space,
        active=None if asked is None else asked == "true",
        before=parse_cursor(call.request),
        limit=limit,
    )
    items = [each.as_json() for each in found if _can_see_censor(call, each)]
    return json_response(
        {"items": items, "next": build_page(found, limit=limit, last=found[-1].seq if found else None)["next"]}
    )


@ROUTES.add("POST", "/admin/api/censors", AccessScope.WRITE)
async def post_censor(call: AdminCall) -> Response:
    """Make a censor, and see what it would have hit."""
    body = await call.body(AddCensorRequest)
    rule = CensorRequest(**body.model_dump(), origin=call.cause.origin)
    made = await add_censor(call.app.memory.watch, caller_scope(call), rule, by=call.by)
    return json_response(made.as_json(), 201)


@ROUTES.add("POST", "/admin/api/censors/check", AccessScope.WRITE)
async def post_text_check(call: AdminCall) -> Response:
    body = await call.body(CheckTextRequest)
    watch, place = call.app.memory.watch, caller_scope(call)
    if body.dry_run:
        return json_response((await preview_censors(watch, place, body.text, on=body.on, domain=body.domain)).as_json())
    done = await run_censors(watch, place, body.text, on=body.on, domain=body.domain, origin=call.cause.origin)
    return json_response(done.as_json())


@ROUTES.add("GET", "/admin/api/censors/{id}/triggers", AccessScope.READ)
async def list_censor_triggers(call: AdminCall) -> Response:
    await get_censor(call.app.memory.deps, call.space, call.id)
    limit = parse_limit(call.request)
    found = await list_triggers(
        call.app.memory.deps, call.space, call.id, before=parse_cursor(call.request), limit=limit
    )
    items = [each.as_json() for each in found]
    return json_response(build_page(items, limit=limit, last=found[-1].seq if found else None))


@ROUTES.add("PATCH", "/admin/api/censors/{id}", AccessScope.REVIEW)
async def patch_censor(call: AdminCall) -> Response:
    """Change a censor, let it stop or only warn, switch it off or on."""
    body = await call.body(ChangeCensorRequest)
    values = body.model_dump(exclude_unset=True, exclude={"why"})
    if "reason" in values:
        values["reason_shown"] = values.pop("reason")
    changed = await update(call.app.memory.deps, call.space, call.id, by=call.by, reason=body.why, **values)
    call.app.memory.watch.forget(call.space)
    return json_response(changed.as_json())


@ROUTES.add("POST", "/admin/api/censors/triggers/{id}/false-positive", AccessScope.REVIEW)
async def mark_trigger_false_positive(call: AdminCall) -> Response:
    return await _mark_false_positive_response(call, call.id)


@ROUTES.add("POST", "/admin/api/censors/{id}/false-positive", AccessScope.REVIEW)
async def mark_censor_false_positive(call: AdminCall) -> Response:
    """Call a strike of a censor wrong; its last one if none is named."""
    body = await call.body(FalsePositiveRequest, optional=True)
    return await _mark_false_positive_response(
        call, body.trigger or await find_latest_trigger_id(call.app.memory.deps, call.space, call.id)
    )


async def _mark_false_positive_response(call: AdminCall, trigger: UUID) -> Response:
    done = await mark_false_positive(call.app.memory.deps, call.space, trigger, by=call.by)
    call.app.memory.watch.forget(call.space)
    return json_response(done.as_json())


def _can_see_censor(call: AdminCall, censor: Censor) -> bool:
    viewer = viewer_of(call)
    return viewer is None or censor.agent_id in (None, viewer)
