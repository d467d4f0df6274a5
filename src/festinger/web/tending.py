"""Tending memories over HTTP: edit, replace, merge, part, put away, bring back, release, and undo.

These are a person's deeds and need a reviewer: whoever could reword what a person said, or put it away, would speak
with that person's trust. Every one of them is written down as a change, and a change can be taken back. A version in
`If-Match` keeps two people from writing over each other.
"""

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response

from festinger.errors import BadInput
from festinger.memory.changes import Change, list_changes, meant, op_of
from festinger.memory.edit import Revised, archive, edit, merge, release, restore, split, supersede
from festinger.memory.undo import undo
from festinger.web.access import Scope
from festinger.web.listing import cursor_at, limit_of, place_at
from festinger.web.memories import MEMORIES, memory_in, versioned
from festinger.web.route import Call, Endpoint, Route, answer
from festinger.web.speaking import viewer_of

MATCH_HEADER = "if-match"


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Edit(Body):
    content: str


class Reason(Body):
    reason: str = ""


class Successor(Reason):
    by: str
    """The memory that stands in its place."""


class Twins(Reason):
    ids: list[str]


class Parts(Body):
    texts: list[str]


async def edit_memory(call: Call) -> Response:
    body, desk = await call.body(Edit), call.app.memory.desk
    memory, version = await memory_in(call), version_in(call.request)
    return _revised(await edit(desk, call.space, memory, body.content, by=call.by, version=version))


async def archive_memory(call: Call) -> Response:
    body, desk = await call.body(Reason, optional=True), call.app.memory.desk
    memory = await memory_in(call)
    return _revised(await archive(desk, call.space, memory, by=call.by, reason=body.reason))


async def restore_memory(call: Call) -> Response:
    body, desk = await call.body(Reason, optional=True), call.app.memory.desk
    memory = await memory_in(call)
    return _revised(await restore(desk, call.space, memory, by=call.by, reason=body.reason))


async def release_memory(call: Call) -> Response:
    memory = await memory_in(call)
    return _revised(await release(call.app.memory.desk, call.space, memory, by=call.by))


async def supersede_memory(call: Call) -> Response:
    body, desk = await call.body(Successor), call.app.memory.desk
    old, new = await memory_in(call), await meant(desk, call.space, body.by)
    return _revised(await supersede(desk, call.space, old, new, by=call.by, reason=body.reason))


async def merge_memory(call: Call) -> Response:
    body, desk = await call.body(Twins), call.app.memory.desk
    wanted = [await memory_in(call), *[await meant(desk, call.space, each) for each in body.ids]]
    return _revised(await merge(desk, call.space, wanted, by=call.by, reason=body.reason))


async def split_memory(call: Call) -> Response:
    body, desk = await call.body(Parts), call.app.memory.desk
    parted = await split(desk, call.space, await memory_in(call), body.texts, by=call.by)
    return answer(parted.as_json(), 201)


async def changes(call: Call) -> Response:
    asked, limit, desk = call.request.query_params, limit_of(call.request), call.app.memory.desk
    subject = asked.get("subject")
    found = await list_changes(
        desk,
        call.space,
        ops=[op_of(each) for each in asked.getlist("op")],
        memory=await meant(desk, call.space, subject.removeprefix("memory:")) if subject else None,
        agent=viewer_of(call),
        before=place_at(asked.get("cursor") or asked.get("after")),
        limit=limit,
    )
    return answer({"items": [each.as_json() for each in found], "next": _next(found, limit)})


async def undo_change(call: Call) -> Response:
    undone = await undo(call.app.memory.desk, call.space, call.id, by=call.by)
    return answer(undone.as_json())


def version_in(request: Request) -> int | None:
    """The version that a change is made on, if it names one."""
    given = request.headers.get(MATCH_HEADER)
    if given is None or given.strip() == "*":
        return None
    bare = given.strip().strip('"')
    if not bare.isascii() or not bare.isdigit() or len(bare) > 18:
        raise BadInput(f"`If-Match` names no version: `{given[:40]}`.", hint='Send the `ETag`, as `"3"`.')
    return int(bare)


def _next(found: list[Change], limit: int) -> str | None:
    if len(found) < limit:
        return None
    return cursor_at(found[-1].at, found[-1].id)


def _revised(done: Revised) -> Response:
    return versioned(answer(done.as_json()), done.memory)


def _deed(name: str, endpoint: Endpoint, summary: str) -> Route:
    path = f"{MEMORIES}/{{id}}/{name}"
    return Route(method="POST", path=path, scope=Scope.REVIEW, endpoint=endpoint, summary=summary)


ROUTES = (
    Route(
        method="PATCH",
        path=f"{MEMORIES}/{{id}}",
        scope=Scope.REVIEW,
        endpoint=edit_memory,
        summary="Give a memory other words.",
    ),
    _deed("archive", archive_memory, "Put a memory away."),
    _deed("restore", restore_memory, "Bring back what was put away or replaced."),
    _deed("release", release_memory, "Let a memory out of quarantine."),
    _deed("supersede", supersede_memory, "Say that another memory stands in its place."),
    _deed("merge", merge_memory, "Fold memories that say the same into one."),
    _deed("split", split_memory, "Learn the parts of a memory each by itself."),
    Route(
        method="GET",
        path="/admin/api/changes",
        scope=Scope.READ,
        endpoint=changes,
        summary="What was done to memories, the newest first.",
    ),
    Route(
        method="POST",
        path="/admin/api/changes/{id}/undo",
        scope=Scope.REVIEW,
        endpoint=undo_change,
        summary="Take a change back.",
    ),
)
