"""Memories over HTTP: learn one or many, list them, look at one and at why it is believed.

The names are those of the library. A batch comes and goes as lines of JSON: what is done is told line by line while
the rest is being learnt, so a caller who loses the connection knows how far it came, and with keys goes on from there.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import Response, StreamingResponse

from festinger.errors import BadInput, FestingerError, NotAuthorised, TooLarge
from festinger.ids import MemoryId, Origin
from festinger.memory.changes import find, meant
from festinger.memory.learn.batch import BATCH, MOST_ITEMS, failed, learn_many
from festinger.memory.learn.decision import Action
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import Learned, refusal_of
from festinger.memory.learn.statement import Given
from festinger.memory.model import Memory, Place
from festinger.memory.query import get, history, page, wanted_in, why
from festinger.web.access import Scope
from festinger.web.listing import cursor_of, limit_of, page_of
from festinger.web.route import Call, Route, answer, first_fault, request_id
from festinger.web.speaking import is_person, origin_of, place_of, viewer_of

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
