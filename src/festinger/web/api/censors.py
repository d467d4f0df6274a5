"""Censors over HTTP: make and list them, hold a text against them, change them.

Anybody who may write may make a warning; only a person's key makes one that stops something. Changing a censor, and
calling a strike wrong, is for reviewers: an agent must not take off what guards it.
"""

from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from festinger.errors import BadInput
from festinger.memory.censors.censor import Censor
from festinger.memory.censors.check import check, search
from festinger.memory.censors.edit import Rule, add, find, page, strikes, update
from festinger.memory.censors.escalation import false_positive, latest_strike
from festinger.web.auth import Scope
from festinger.web.caller import place_of, viewer_of
from festinger.web.pagination import cursor_of, limit_of, page_of
from festinger.web.route import Call, Route, answer

Where = Literal["input", "output", "tool", "learn"]
Force = Literal["warn", "block"]


class Asked(BaseModel):
    """A censor as somebody asks for it, by the names of the library."""

    model_config = ConfigDict(extra="forbid")

    rule: str = Field(default="", max_length=10_000)
    meaning: str | None = None
    reason: str = ""
    domain: str | None = None
    on: list[Where] = ["output", "tool"]
    action: Force = "warn"
    literal: bool = False
    threshold: int | None = None


class Other(BaseModel):
    """What should be another of a censor."""

    model_config = ConfigDict(extra="forbid")

    reason: str | None = None
    pattern: str | None = None
    meaning: str | None = None
    domain: str | None = None
    on: list[Where] | None = Field(default=None, min_length=1)
    action: Force | None = None
    threshold: int | None = None
    active: bool | None = None
    why: str = Field(default="", max_length=500)


class Text(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str
    on: Where = "output"
    domain: str | None = None
    dry_run: bool = False


class Wrong(BaseModel):
    model_config = ConfigDict(extra="forbid")

    trigger: UUID | None = None


async def list_censors(call: Call) -> Response:
    asked, limit = call.request.query_params.get("active"), limit_of(call.request)
    if asked not in (None, "true", "false"):
        raise BadInput("`active` must be `true` or `false`.")
    found = await page(
        call.app.memory.desk,
        call.space,
        active=None if asked is None else asked == "true",
        before=cursor_of(call.request),
        limit=limit,
    )
    items = [each.as_json() for each in found if _sees(call, each)]
    return answer(
        {"items": items, "next": page_of(found, limit=limit, last=found[-1].seq if found else None)["next"]}
    )


async def add_one(call: Call) -> Response:
    body = await call.body(Asked)
    rule = Rule(
        rule=body.rule,
        meaning=body.meaning,
        reason=body.reason,
        domain=body.domain,
        on=tuple(body.on),
        action=body.action,
        literal=body.literal,
        threshold=body.threshold,
        origin=call.cause.origin,
    )
    made = await add(call.app.memory.watch, place_of(call), rule, by=call.by)
    return answer(made.as_json(), 201)


async def check_text(call: Call) -> Response:
    body = await call.body(Text)
    watch, place = call.app.memory.watch, place_of(call)
    if body.dry_run:
        return answer((await search(watch, place, body.text, on=body.on, domain=body.domain)).as_json())
    done = await check(watch, place, body.text, on=body.on, domain=body.domain, origin=call.cause.origin)
    return answer(done.as_json())


async def list_strikes(call: Call) -> Response:
    await find(call.app.memory.desk, call.space, call.id)
    limit = limit_of(call.request)
    found = await strikes(
        call.app.memory.desk, call.space, call.id, before=cursor_of(call.request), limit=limit
    )
    items = [each.as_json() for each in found]
    return answer(page_of(items, limit=limit, last=found[-1].seq if found else None))


async def change_one(call: Call) -> Response:
    body = await call.body(Other)
    values = body.model_dump(exclude_unset=True, exclude={"why"})
    if "reason" in values:
        values["reason_shown"] = values.pop("reason")
    changed = await update(call.app.memory.desk, call.space, call.id, by=call.by, reason=body.why, **values)
    call.app.memory.watch.forget(call.space)
    return answer(changed.as_json())


async def wrong_strike(call: Call) -> Response:
    return await _wrong(call, call.id)


async def wrong_of_censor(call: Call) -> Response:
    body = await call.body(Wrong, optional=True)
    return await _wrong(call, body.trigger or await latest_strike(call.app.memory.desk, call.space, call.id))


async def _wrong(call: Call, trigger: UUID) -> Response:
    done = await false_positive(call.app.memory.desk, call.space, trigger, by=call.by)
    call.app.memory.watch.forget(call.space)
    return answer(done.as_json())


def _sees(call: Call, censor: Censor) -> bool:
    viewer = viewer_of(call)
    return viewer is None or censor.agent_id in (None, viewer)


ROUTES = (
    Route(
        method="GET",
        path="/admin/api/censors",
        scope=Scope.READ,
        endpoint=list_censors,
        summary="Censors, the newest first.",
    ),
    Route(
        method="POST",
        path="/admin/api/censors",
        scope=Scope.WRITE,
        endpoint=add_one,
        summary="Make a censor, and see what it would have hit.",
    ),
    Route(
        method="POST",
        path="/admin/api/censors/check",
        scope=Scope.WRITE,
        endpoint=check_text,
        summary="What the censors say of a text.",
    ),
    Route(
        method="PATCH",
        path="/admin/api/censors/{id}",
        scope=Scope.REVIEW,
        endpoint=change_one,
        summary="Change a censor, let it stop or only warn, switch it off or on.",
    ),
    Route(
        method="GET",
        path="/admin/api/censors/{id}/triggers",
        scope=Scope.READ,
        endpoint=list_strikes,
        summary="When and where a censor struck, the newest first.",
    ),
    Route(
        method="POST",
        path="/admin/api/censors/{id}/false-positive",
        scope=Scope.REVIEW,
        endpoint=wrong_of_censor,
        summary="Call a strike of a censor wrong; its last one if none is named.",
    ),
    Route(
        method="POST",
        path="/admin/api/censors/triggers/{id}/false-positive",
        scope=Scope.REVIEW,
        endpoint=wrong_strike,
        summary="Call a strike wrong.",
    ),
)
