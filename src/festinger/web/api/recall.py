"""HTTP API for recall: recall, recollect, brief, show past recalls with their reasons, and replay them."""

from datetime import datetime
from uuid import UUID

from pydantic import Field
from starlette.responses import Response

from festinger.errors import BadInput
from festinger.ids import NO_SESSION, Scope, SessionId, read_id
from festinger.retrieval.log import find_recall, load_recalls
from festinger.retrieval.query import parse_recall_query
from festinger.retrieval.recall import recall, rerun_and_compare_recall
from festinger.services.brief import DEFAULT_TOKENS, brief
from festinger.services.recollect import recollect
from festinger.web.auth import AccessScope
from festinger.web.route import (
    AdminCall,
    ApiInput,
    RouteTable,
    agent_of,
    json_response,
    parse_limit,
    parse_whole_number,
)

ROUTES = RouteTable()
MOST_TOKENS = 4000
FLAGS = {"true": True, "false": False}


class RecallApiRequest(ApiInput):
    """A recall query, with the library's field names."""

    cue: str
    limit: int = 5
    kinds: list[str] | None = None
    as_of: datetime | None = None
    valid_at: datetime | None = None
    since: datetime | None = None
    until: datetime | None = None
    subject: str | None = None
    tags: tuple[str, ...] = ()
    origins: list[str] | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[UUID, ...] = ()
    tokens: int | None = None
    strict: bool = False
    explain: bool = False
    session: str | None = None


@ROUTES.add("POST", "/admin/api/recall", AccessScope.READ)
async def recall_memories(call: AdminCall) -> Response:
    body = await call.body(RecallApiRequest)
    asked = body.model_dump(exclude={"cue", "session"})
    query = parse_recall_query(body.cue, now=call.app.tools.clock(), **asked)
    found = await recall(call.app.recall.deps, _scope(call, body.session), query, door=_interface_name(call))
    return json_response(found.as_json())


class RecollectRequest(ApiInput):
    """A person's message, and the notes that the model has seen already."""

    text: str
    exclude: tuple[str, ...] = ()
    tokens: int | None = Field(None, ge=1, le=MOST_TOKENS)
    session: str | None = None


@ROUTES.add("POST", "/admin/api/recollect", AccessScope.READ)
async def recollect_notes(call: AdminCall) -> Response:
    body = await call.body(RecollectRequest)
    found = await recollect(
        call.app,
        _scope(call, body.session),
        body.text,
        exclude=body.exclude,
        tokens=body.tokens,
        door=_interface_name(call),
    )
    return json_response(found.as_json())


@ROUTES.add("GET", "/admin/api/brief", AccessScope.READ)
async def show_brief(call: AdminCall) -> Response:
    tokens = parse_whole_number(call.request, "tokens", default=DEFAULT_TOKENS, most=MOST_TOKENS)
    found = await brief(call.app, _scope(call, None), call.request.query_params.get("topic"), tokens=tokens)
    return json_response(found.as_json())


def _scope(call: AdminCall, session: str | None) -> Scope:
    return Scope(space=call.space, agent=agent_of(call), session=SessionId(session) if session else NO_SESSION)


def _interface_name(call: AdminCall) -> str:
    return "cli" if call.owner else "rest"


@ROUTES.add("GET", "/admin/api/recalls", AccessScope.READ)
async def list_recalls(call: AdminCall) -> Response:
    query, limit = call.request.query_params, parse_limit(call.request)
    found = await load_recalls(
        call.app.recall.deps,
        call.space,
        session=query.get("session"),
        memory=read_id(query["memory"]) if query.get("memory") else None,
        abstained=_parse_abstained_flag(query.get("abstained")),
        after=read_id(query["cursor"]) if query.get("cursor") else None,
        limit=limit,
    )
    return json_response({"items": found, "next": found[-1]["id"] if len(found) == limit else None})


@ROUTES.add("GET", "/admin/api/recalls/{id}", AccessScope.READ)
async def show_recall(call: AdminCall) -> Response:
    return json_response(await find_recall(call.app.recall.deps, call.space, call.id))


@ROUTES.add("POST", "/admin/api/recalls/{id}/replay", AccessScope.READ)
async def replay_recall(call: AdminCall) -> Response:
    return json_response(await rerun_and_compare_recall(call.app.recall.deps, call.space, call.id))


def _parse_abstained_flag(given: str | None) -> bool | None:
    if given is None:
        return None
    if given not in FLAGS:
        raise BadInput("`abstained` must be `true` or `false`.")
    return FLAGS[given]
