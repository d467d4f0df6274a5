"""Memories over HTTP: learn one or many, list them, look at one and at why it is believed.

The names are those of the library. A batch comes and goes as lines of JSON: what is done is told line by line while
the rest is being learnt, so a caller who loses the connection knows how far it came, and with keys goes on from there.

Tending memories over HTTP: edit, replace, merge, part, put away, bring back, release, and undo.

These are a person's deeds and need a reviewer: whoever could reword what a person said, or put it away, would speak
with that person's trust. Every one of them is written down as a change, and a change can be taken back. A version in
`If-Match` keeps two people from writing over each other.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from festinger.errors import BadInput, FestingerError, NotAuthorised, TooLarge
from festinger.ids import MemoryId, Origin
from festinger.memory.changes import Change, find, list_changes, meant, op_of
from festinger.memory.edit import Revised, archive, edit, merge, release, restore, split, supersede
from festinger.memory.learn.batch import BATCH, MOST_ITEMS, failed, learn_many
from festinger.memory.learn.decision import Action
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import Learned, refusal_of
from festinger.memory.learn.statement import Given
from festinger.memory.model import Memory, Place
from festinger.memory.query import get, history, page, wanted_in, why
from festinger.memory.undo import undo
from festinger.web.auth import Scope
from festinger.web.caller import is_person, origin_of, place_of, viewer_of
from festinger.web.pagination import cursor_at, cursor_of, limit_of, page_of, place_at
from festinger.web.route import Call, Endpoint, Route, answer, first_fault, request_id

KEY_HEADER = "idempotency-key"
LINES = "application/x-ndjson"
MAX_BATCH = 32 * 2**20
LONGEST_WAIT = 60.0


class Statement(BaseModel):
    """What is to be learnt, by the names of the library's `learn`."""

    model_config = ConfigDict(extra="forbid")

    text: str
    subject: str | None = None
    kind: str = "fact"
    origin: str | None = None
    source: str | None = None
    source_confidence: float = 1.0
    event_time: datetime | None = None
    valid_from: datetime | None = None
    derived_from: list[str] = []
    tags: list[str] = []
    shared: bool | None = None
    immutable: bool = False
    key: str | None = None
    wait: Annotated[float, Field(ge=0.0, le=LONGEST_WAIT)] = 0.0


async def learn_one(call: Call) -> Response:
    body = await call.body(Statement)
    given = await given_of(call, body, key=_one_key(call, body.key))
    learned = await learn(call.app.memory.desk, place_of(call), given)
    return _told(call, learned)


async def learn_lines(call: Call) -> Response:
    lines = [line for line in (await call.raw(MAX_BATCH)).splitlines() if line.strip()]
    if len(lines) > MOST_ITEMS:
        raise TooLarge(
            f"A batch has at most {MOST_ITEMS:,} lines; this one has {len(lines):,}.",
            hint="Send it in parts; keys make it safe to send a part again.",
        )
    place_of(call)  # a caller who may not speak is told so before the answer begins
    return StreamingResponse(_learnt(call, lines), media_type=LINES)


async def _learnt(call: Call, lines: Sequence[bytes]) -> AsyncIterator[bytes]:
    """One line of answer for each line, as they are learnt. A fault of the store ends it with a last line."""
    for start in range(0, len(lines), BATCH):
        try:
            done = await _learn_some(call, lines[start : start + BATCH], start)
        except FestingerError as error:
            # The answer has begun with its status: all that is left is to say why it ends here.
            yield orjson.dumps(error.as_json(request_id(call.request))) + b"\n"
            return
        for learned in done:
            yield orjson.dumps(learned.as_json()) + b"\n"


async def _learn_some(call: Call, lines: Sequence[bytes], start: int) -> list[Learned]:
    """What became of each line; one that cannot be read has its own error and stops no other."""
    read = [await _read(call, line, start + at) for at, line in enumerate(lines)]
    fit = [each for each in read if isinstance(each, Given)]
    learned = iter(await learn_many(call.app.memory.desk, place_of(call), fit))
    return [next(learned) if isinstance(each, Given) else failed(each) for each in read]


async def _read(call: Call, line: bytes, number: int) -> Given | FestingerError:
    header = call.request.headers.get(KEY_HEADER)
    try:
        body = Statement.model_validate_json(line)
        return await given_of(call, body, key=body.key or (f"{header}:{number}" if header else None))
    except ValidationError as error:
        return BadInput(f"Line {number + 1} does not fit: {first_fault(error)}")
    except FestingerError as error:
        return error


async def given_of(call: Call, body: Statement, *, key: str | None) -> Given:
    """A statement as the room takes it, said by whoever the key says."""
    if body.immutable and not is_person(call):
        raise NotAuthorised("Only a person may say that something is held for good.")
    sources = [await meant(call.app.memory.desk, call.space, each) for each in body.derived_from]
    origin = origin_of(call, body.origin)
    return Given(
        text=body.text,
        subject=body.subject,
        kind=body.kind,
        origin=origin,
        imported=origin is Origin.DOCUMENT,  # only a person may say so
        source=body.source,
        source_confidence=body.source_confidence,
        event_time=body.event_time,
        valid_from=body.valid_from,
        derived_from=tuple(sources),
        tags=tuple(body.tags),
        shared=body.shared,
        immutable=body.immutable,
        key=key,
        wait=body.wait,
    )


async def list_memories(call: Call) -> Response:
    asked, limit = call.request.query_params, limit_of(call.request)
    wanted = replace(wanted_in(asked), everybodys=viewer_of(call) is None)
    after = cursor_of(call.request)
    found = await page(call.app.memory.desk, place_of(call), wanted, after=after, limit=limit)
    last = found[-1].seq if found else None
    return answer(page_of([memory.as_json() for memory in found], limit=limit, last=last))


async def one_memory(call: Call) -> Response:
    asked, desk = call.request.query_params, call.app.memory.desk
    memory, place = await looked_at(call)
    wanted = wanted_in(asked)
    found = await get(desk, place, memory, as_of=wanted.as_of, valid_at=wanted.valid_at)
    return versioned(answer(found.as_json()), found)


async def why_memory(call: Call) -> Response:
    memory, place = await looked_at(call)
    return answer((await why(call.app.memory.desk, place, memory)).as_json())


async def memory_history(call: Call) -> Response:
    memory, place = await looked_at(call)
    return answer((await history(call.app.memory.desk, place, memory)).as_json())


async def memory_in(call: Call) -> MemoryId:
    """The memory that a path means, by its id or the beginning of it."""
    return await meant(call.app.memory.desk, call.space, call.request.path_params["id"])


async def looked_at(call: Call) -> tuple[MemoryId, Place]:
    """The memory that a path means, and from where it is looked at: a person stands where its owner stands."""
    memory, place = await memory_in(call), place_of(call)
    if viewer_of(call) is not None:
        return memory, place
    async with call.app.store.transaction() as transaction:
        owner = (await find(transaction, call.space, memory)).agent_id
    return memory, replace(place, agent=owner or place.agent)


def versioned(response: Response, memory: Memory) -> Response:
    """The answer with the version that a change may name."""
    response.headers["etag"] = f'"{memory.version}"'
    return response


def _told(call: Call, learned: Learned) -> Response:
    document = learned.as_json()
    if learned.action is Action.REFUSED:
        document |= refusal_of(learned).as_json(request_id(call.request))
    response = answer(document, learned.http)
    return versioned(response, learned.memory) if learned.memory else response


def _one_key(call: Call, in_body: str | None) -> str | None:
    header = call.request.headers.get(KEY_HEADER)
    if header and in_body and header != in_body:
        raise BadInput("The header `Idempotency-Key` and `key` differ.", hint="Send one of them.")
    return header or in_body


MEMORIES = "/admin/api/memories"

ROUTES = (
    Route(
        method="POST", path=MEMORIES, scope=Scope.WRITE, endpoint=learn_one, summary="Learn one statement."
    ),
    Route(
        method="POST",
        path=f"{MEMORIES}/batch",
        scope=Scope.WRITE,
        endpoint=learn_lines,
        summary="Learn many statements, a line each; the answer is a line each too.",
    ),
    Route(
        method="GET",
        path=MEMORIES,
        scope=Scope.READ,
        endpoint=list_memories,
        summary="Memories, the newest first.",
    ),
    Route(
        method="GET", path=f"{MEMORIES}/{{id}}", scope=Scope.READ, endpoint=one_memory, summary="One memory."
    ),
    Route(
        method="GET",
        path=f"{MEMORIES}/{{id}}/why",
        scope=Scope.READ,
        endpoint=why_memory,
        summary="On what a memory rests.",
    ),
    Route(
        method="GET",
        path=f"{MEMORIES}/{{id}}/history",
        scope=Scope.READ,
        endpoint=memory_history,
        summary="What a memory replaced, and everything that was done to it.",
    ),
)


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


EDIT_ROUTES = (
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
