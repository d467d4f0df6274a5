"""HTTP API for memories: learn, list, show and explain them, and change them by hand.

The field names are those of the library. A batch goes in and out as lines of JSON: results stream while the
rest is being learned, so a caller who loses the connection knows how far it got and, with keys, resumes
there.

Edit, replace, merge, split, archive, restore, release and undo need a reviewer: whoever could reword what a
person said would speak with that person's trust. Each is recorded as a change that can be undone, and a
version in `If-Match` keeps two people from overwriting each other. What judges said of two statements is listed
here too, and a person answers what no judge could tell.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated

import orjson
from pydantic import Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from festinger.errors import BadInput, FestingerError, NotAuthorised, TooLarge
from festinger.ids import MemoryId, Origin, Scope, read_id
from festinger.memory.changes import Change, find_memory, list_changes, parse_op, resolve_memory_id
from festinger.memory.edit import MemoryEditResult, archive, edit, merge, release, restore, split, supersede
from festinger.memory.learn.pipeline import BATCH, MOST_ITEMS, learn, learn_many
from festinger.memory.learn.result import Learned, build_error_result, build_refused_error
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import LearnAction, Memory
from festinger.memory.query import explain_belief, get_memory, load_history, load_page_of_memories, parse_filter
from festinger.memory.undo import undo
from festinger.runtime.review.queue import answer_question, fetch_judgement, fetch_judgements
from festinger.web.auth import AccessScope
from festinger.web.route import (
    AdminCall,
    ApiInput,
    RouteTable,
    build_page,
    caller_scope,
    first_validation_error,
    format_time_cursor,
    is_person,
    json_response,
    origin_of,
    parse_cursor,
    parse_limit,
    parse_time_cursor,
    request_id,
    viewer_of,
)

MEMORIES = "/admin/api/memories"
ROUTES = RouteTable()
KEY_HEADER = "idempotency-key"
LINES = "application/x-ndjson"
MAX_BATCH = 32 * 2**20
LONGEST_WAIT = 60.0


class LearnStatementRequest(ApiInput):
    """A statement to learn, with the field names of the library's `learn`."""

    text: str
    subject: str | None = None
    kind: str = "fact"
    origin: str | None = None
    source: str | None = None
    source_confidence: float = 1.0
    event_time: datetime | None = None
    valid_from: datetime | None = None
    derived_from: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    shared: bool | None = None
    immutable: bool = False
    key: str | None = None
    wait: Annotated[float, Field(ge=0.0, le=LONGEST_WAIT)] = 0.0
    imported: bool = False


@ROUTES.add("POST", MEMORIES, AccessScope.WRITE)
async def learn_one(call: AdminCall) -> Response:
    body = await call.body(LearnStatementRequest)
    given = await build_learn_input(call, body, key=_choose_idempotency_key(call, body.key))
    learned = await learn(call.app.memory.deps, caller_scope(call), given)
    return _told(call, learned)


@ROUTES.add("POST", f"{MEMORIES}/batch", AccessScope.WRITE)
async def learn_lines(call: AdminCall) -> Response:
    """Learn many statements, a line each; the answer is a line each too."""
    lines = [line for line in (await call.raw(MAX_BATCH)).splitlines() if line.strip()]
    if len(lines) > MOST_ITEMS:
        raise TooLarge(
            f"A batch has at most {MOST_ITEMS:,} lines; this one has {len(lines):,}.",
            hint="Send it in parts; keys make it safe to send a part again.",
        )
    caller_scope(call)  # refuses a caller who may not speak before the response begins
    return StreamingResponse(_stream_learned_lines(call, lines), media_type=LINES)


async def _stream_learned_lines(call: AdminCall, lines: Sequence[bytes]) -> AsyncIterator[bytes]:
    """Yield one result line per input line as they are learned; a store failure ends with an error line."""
    for start in range(0, len(lines), BATCH):
        try:
            done = await _learn_batch_lines(call, lines[start : start + BATCH], start)
        except FestingerError as error:
            # The status has been sent already: all that is left is to say why the response ends here.
            yield orjson.dumps(error.as_json(request_id(call.request))) + b"\n"
            return
        for learned in done:
            yield orjson.dumps(learned.as_json()) + b"\n"


async def _learn_batch_lines(call: AdminCall, lines: Sequence[bytes], start: int) -> list[Learned]:
    """Learn some lines; one that cannot be parsed gets its own error and stops no other."""
    read = [await _read(call, line, start + at) for at, line in enumerate(lines)]
    fit = [each for each in read if isinstance(each, LearnRequest)]
    learned = iter(await learn_many(call.app.memory.deps, caller_scope(call), fit))
    return [next(learned) if isinstance(each, LearnRequest) else build_error_result(each) for each in read]


async def _read(call: AdminCall, line: bytes, number: int) -> LearnRequest | FestingerError:
    header = call.request.headers.get(KEY_HEADER)
    try:
        body = LearnStatementRequest.model_validate_json(line)
        return await build_learn_input(call, body, key=body.key or (f"{header}:{number}" if header else None))
    except ValidationError as error:
        return BadInput(f"Line {number + 1} does not fit: {first_validation_error(error)}")
    except FestingerError as error:
        return error


async def build_learn_input(call: AdminCall, body: LearnStatementRequest, *, key: str | None) -> LearnRequest:
    """Build the learn request from a body, with the speaker that the key determines."""
    if body.immutable and not is_person(call):
        raise NotAuthorised("Only a person may say that something is held for good.")
    sources = [await resolve_memory_id(call.app.memory.deps, call.space, each) for each in body.derived_from]
    origin = origin_of(call, body.origin)
    return LearnRequest(
        **body.model_dump(exclude={"origin", "derived_from", "key", "imported"}),
        origin=origin,
        imported=is_person(call) and (body.imported or origin is Origin.DOCUMENT),
        derived_from=tuple(sources),
        key=key,
    )


@ROUTES.add("GET", MEMORIES, AccessScope.READ)
async def get_memories(call: AdminCall) -> Response:
    asked, limit = call.request.query_params, parse_limit(call.request)
    wanted = replace(parse_filter(asked), everybodys=viewer_of(call) is None)
    after = parse_cursor(call.request)
    found = await load_page_of_memories(call.app.memory.deps, caller_scope(call), wanted, after=after, limit=limit)
    last = found[-1].seq if found else None
    return json_response(build_page([memory.as_json() for memory in found], limit=limit, last=last))


@ROUTES.add("GET", f"{MEMORIES}/{{id}}", AccessScope.READ)
async def show_memory(call: AdminCall) -> Response:
    asked, deps = call.request.query_params, call.app.memory.deps
    memory, place = await find_memory_and_scope(call)
    wanted = parse_filter(asked)
    found = await get_memory(deps, place, memory, as_of=wanted.as_of, valid_at=wanted.valid_at)
    return add_etag(json_response(found.as_json()), found)


@ROUTES.add("GET", f"{MEMORIES}/{{id}}/why", AccessScope.READ)
async def show_why(call: AdminCall) -> Response:
    memory, place = await find_memory_and_scope(call)
    return json_response((await explain_belief(call.app.memory.deps, place, memory)).as_json())


@ROUTES.add("GET", f"{MEMORIES}/{{id}}/history", AccessScope.READ)
async def show_history(call: AdminCall) -> Response:
    """What a memory replaced, and everything that was done to it."""
    memory, place = await find_memory_and_scope(call)
    return json_response((await load_history(call.app.memory.deps, place, memory)).as_json())


async def find_memory_id(call: AdminCall) -> MemoryId:
    """The memory that a path names, by its id or a prefix of it."""
    return await resolve_memory_id(call.app.memory.deps, call.space, call.request.path_params["id"])


async def find_memory_and_scope(call: AdminCall) -> tuple[MemoryId, Scope]:
    """The memory that a path names, and the scope it is viewed from: for a person, its owner's."""
    memory, place = await find_memory_id(call), caller_scope(call)
    if viewer_of(call) is not None:
        return memory, place
    async with call.app.store.transaction() as transaction:
        owner = (await find_memory(transaction, call.space, memory)).agent_id
    return memory, replace(place, agent=owner or place.agent)


def add_etag(response: Response, memory: Memory) -> Response:
    """Add the version that a change may name in `If-Match`."""
    response.headers["etag"] = f'"{memory.version}"'
    return response


def _told(call: AdminCall, learned: Learned) -> Response:
    document = learned.as_json()
    if learned.action is LearnAction.REFUSED:
        document |= build_refused_error(learned).as_json(request_id(call.request))
    response = json_response(document, learned.http)
    return add_etag(response, learned.memory) if learned.memory else response


def _choose_idempotency_key(call: AdminCall, in_body: str | None) -> str | None:
    header = call.request.headers.get(KEY_HEADER)
    if header and in_body and header != in_body:
        raise BadInput("The header `Idempotency-Key` and `key` differ.", hint="Send one of them.")
    return header or in_body


MATCH_HEADER = "if-match"


class EditMemoryRequest(ApiInput):
    content: str


class ChangeReasonRequest(ApiInput):
    reason: str = ""


class SupersedeMemoryRequest(ChangeReasonRequest):
    by: str
    """The memory that replaces it."""


class MergeMemoriesRequest(ChangeReasonRequest):
    ids: list[str]


class SplitMemoryRequest(ApiInput):
    texts: list[str]


@ROUTES.add("PATCH", f"{MEMORIES}/{{id}}", AccessScope.REVIEW)
async def edit_memory(call: AdminCall) -> Response:
    body, deps = await call.body(EditMemoryRequest), call.app.memory.deps
    memory, version = await find_memory_id(call), parse_if_match_version(call.request)
    return _edit_response(await edit(deps, call.space, memory, body.content, by=call.by, version=version))


@ROUTES.add("POST", f"{MEMORIES}/{{id}}/archive", AccessScope.REVIEW)
async def archive_memory(call: AdminCall) -> Response:
    body, deps = await call.body(ChangeReasonRequest, optional=True), call.app.memory.deps
    memory = await find_memory_id(call)
    return _edit_response(await archive(deps, call.space, memory, by=call.by, reason=body.reason))


@ROUTES.add("POST", f"{MEMORIES}/{{id}}/restore", AccessScope.REVIEW)
async def restore_memory(call: AdminCall) -> Response:
    body, deps = await call.body(ChangeReasonRequest, optional=True), call.app.memory.deps
    memory = await find_memory_id(call)
    return _edit_response(await restore(deps, call.space, memory, by=call.by, reason=body.reason))


@ROUTES.add("POST", f"{MEMORIES}/{{id}}/release", AccessScope.REVIEW)
async def release_memory(call: AdminCall) -> Response:
    memory = await find_memory_id(call)
    return _edit_response(await release(call.app.memory.deps, call.space, memory, by=call.by))


@ROUTES.add("POST", f"{MEMORIES}/{{id}}/supersede", AccessScope.REVIEW)
async def supersede_memory(call: AdminCall) -> Response:
    body, deps = await call.body(SupersedeMemoryRequest), call.app.memory.deps
    old, new = await find_memory_id(call), await resolve_memory_id(deps, call.space, body.by)
    return _edit_response(await supersede(deps, call.space, old, new, by=call.by, reason=body.reason))


@ROUTES.add("POST", f"{MEMORIES}/{{id}}/merge", AccessScope.REVIEW)
async def merge_memory(call: AdminCall) -> Response:
    body, deps = await call.body(MergeMemoriesRequest), call.app.memory.deps
    wanted = [await find_memory_id(call), *[await resolve_memory_id(deps, call.space, each) for each in body.ids]]
    return _edit_response(await merge(deps, call.space, wanted, by=call.by, reason=body.reason))


@ROUTES.add("POST", f"{MEMORIES}/{{id}}/split", AccessScope.REVIEW)
async def split_memory(call: AdminCall) -> Response:
    body, deps = await call.body(SplitMemoryRequest), call.app.memory.deps
    parted = await split(deps, call.space, await find_memory_id(call), body.texts, by=call.by)
    return json_response(parted.as_json(), 201)


@ROUTES.add("GET", "/admin/api/changes", AccessScope.READ)
async def show_changes(call: AdminCall) -> Response:
    asked, limit, deps = call.request.query_params, parse_limit(call.request), call.app.memory.deps
    subject = asked.get("subject")
    found = await list_changes(
        deps,
        call.space,
        ops=[parse_op(each) for each in asked.getlist("op")],
        memory=await resolve_memory_id(deps, call.space, subject.removeprefix("memory:")) if subject else None,
        agent=viewer_of(call),
        before=parse_time_cursor(asked.get("cursor") or asked.get("after")),
        limit=limit,
    )
    return json_response({"items": [each.as_json() for each in found], "next": _next(found, limit)})


@ROUTES.add("POST", "/admin/api/changes/{id}/undo", AccessScope.REVIEW)
async def undo_change(call: AdminCall) -> Response:
    undone = await undo(call.app.memory.deps, call.space, call.id, by=call.by)
    return json_response(undone.as_json())


def parse_if_match_version(request: Request) -> int | None:
    """The version that the change is based on, if the request names one."""
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
    return format_time_cursor(found[-1].at, found[-1].id)


def _edit_response(done: MemoryEditResult) -> Response:
    return add_etag(json_response(done.as_json()), done.memory)


FINAL = {None: None, "true": True, "false": False}


class AnswerJudgementRequest(ApiInput):
    relation: str
    note: str = ""


@ROUTES.add("GET", "/admin/api/judgements", AccessScope.READ)
async def list_judgements(call: AdminCall) -> Response:
    asked, limit = call.request.query_params, parse_limit(call.request)
    if (final := asked.get("final")) not in FINAL:
        raise BadInput("`final` is `true` or `false`.")
    cursor = asked.get("cursor") or asked.get("after")
    found = await fetch_judgements(
        call.app,
        call.space,
        final=FINAL[final],
        agent=viewer_of(call),
        before=read_id(cursor) if cursor else None,
        limit=limit,
    )
    return json_response({"items": found, "next": found[-1]["id"] if len(found) == limit else None})


@ROUTES.add("POST", "/admin/api/judgements/{id}", AccessScope.REVIEW)
async def answer_judgement(call: AdminCall) -> Response:
    body = await call.body(AnswerJudgementRequest)
    answered = await answer_question(call.app, call.space, call.id, body.relation, by=call.by, note=body.note)
    return json_response(answered.as_json() | {"question": await fetch_judgement(call.app, call.space, call.id)})
