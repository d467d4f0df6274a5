"""HTTP API for recall: recall, show past recalls with their reasons, and replay them."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from festinger.errors import BadInput
from festinger.ids import NO_SESSION, Scope, SessionId, read_id
from festinger.retrieval.log import find_recall, load_recalls
from festinger.retrieval.query import parse_recall_query
from festinger.retrieval.recall import recall, rerun_recall
from festinger.web.auth import AccessScope
from festinger.web.caller import agent_of
from festinger.web.pagination import parse_limit
from festinger.web.route import AdminCall, AdminRoute, json_response

DOOR = "rest"
FLAGS = {"true": True, "false": False}


class RecallApiRequest(BaseModel):
    """A recall query, with the library's field names."""

    model_config = ConfigDict(extra="forbid")

    cue: str
    limit: int = 5
    kinds: list[str] | None = None
    as_of: datetime | None = None
    valid_at: datetime | None = None
    since: datetime | None = None
    until: datetime | None = None
    subject: str | None = None
    tags: list[str] = []
    origins: list[str] | None = None
    include: list[str] = []
    exclude: list[UUID] = []
    tokens: int | None = None
    strict: bool = False
    blend: str = "steady"
    explain: bool = False
    session: str | None = None


async def recall_memories(call: AdminCall) -> Response:
    body = await call.body(RecallApiRequest)
    asked = body.model_dump(exclude={"cue", "session"})
    session = SessionId(body.session) if body.session else NO_SESSION
    scope = Scope(space=call.space, agent=agent_of(call), session=session)
    query = parse_recall_query(body.cue, now=call.app.tools.clock(), **asked)
    found = await recall(call.app.recall.deps, scope, query, door=DOOR)
    return json_response(found.as_json())


async def list_recalls(call: AdminCall) -> Response:
    query, limit = call.request.query_params, parse_limit(call.request)
    found = await load_recalls(
        call.app.recall.deps,
        call.space,
        session=query.get("session"),
        memory=read_id(query["memory"]) if query.get("memory") else None,
        abstained=_flag(query.get("abstained")),
        after=read_id(query["cursor"]) if query.get("cursor") else None,
        limit=limit,
    )
    return json_response({"items": found, "next": found[-1]["id"] if len(found) == limit else None})


async def show_recall(call: AdminCall) -> Response:
    return json_response(await find_recall(call.app.recall.deps, call.space, call.id))


async def replay_recall(call: AdminCall) -> Response:
    return json_response(await rerun_recall(call.app.recall.deps, call.space, call.id))


def _flag(given: str | None) -> bool | None:
    if given is None:
        return None
    if given not in FLAGS:
        raise BadInput("`abstained` must be `true` or `false`.")
    return FLAGS[given]


ROUTES = (
    AdminRoute(
        method="POST",
        path="/admin/api/recall",
        scope=AccessScope.READ,
        endpoint=recall_memories,
        summary="What comes to mind for a cue.",
    ),
    AdminRoute(
        method="GET",
        path="/admin/api/recalls",
        scope=AccessScope.READ,
        endpoint=list_recalls,
        summary="What was recalled, newest first.",
    ),
    AdminRoute(
        method="GET",
        path="/admin/api/recalls/{id}",
        scope=AccessScope.READ,
        endpoint=show_recall,
        summary="One recall, and why each hit came.",
    ),
    AdminRoute(
        method="POST",
        path="/admin/api/recalls/{id}/replay",
        scope=AccessScope.READ,
        endpoint=replay_recall,
        summary="The same recall now, and what changed.",
    ),
)
