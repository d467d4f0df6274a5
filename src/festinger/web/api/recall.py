"""Bringing to mind over HTTP: recall, see what was recalled and why, and ask the same again."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from festinger.errors import BadInput
from festinger.ids import SessionId, read_id
from festinger.memory.model import NO_SESSION, Place
from festinger.retrieval.log import find_recall, recalls
from festinger.retrieval.query import wished
from festinger.retrieval.recall import recall, replay
from festinger.web.auth import Scope
from festinger.web.caller import agent_of
from festinger.web.pagination import limit_of
from festinger.web.route import Call, Route, answer

DOOR = "rest"
FLAGS = {"true": True, "false": False}


class Wanted(BaseModel):
    """What may be asked, by the names of the library."""

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


async def bring_to_mind(call: Call) -> Response:
    body = await call.body(Wanted)
    asked = body.model_dump(exclude={"cue", "session"})
    session = SessionId(body.session) if body.session else NO_SESSION
    place = Place(space=call.space, agent=agent_of(call), session=session)
    wish = wished(body.cue, now=call.app.tools.clock(), **asked)
    found = await recall(call.app.recall.desk, place, wish, door=DOOR)
    return answer(found.as_json())


async def list_recalls(call: Call) -> Response:
    query, limit = call.request.query_params, limit_of(call.request)
    found = await recalls(
        call.app.recall.desk,
        call.space,
        session=query.get("session"),
        memory=read_id(query["memory"]) if query.get("memory") else None,
        abstained=_flag(query.get("abstained")),
        after=read_id(query["cursor"]) if query.get("cursor") else None,
        limit=limit,
    )
    return answer({"items": found, "next": found[-1]["id"] if len(found) == limit else None})


async def one_recall(call: Call) -> Response:
    return answer(await find_recall(call.app.recall.desk, call.space, call.id))


async def replay_recall(call: Call) -> Response:
    return answer(await replay(call.app.recall.desk, call.space, call.id))


def _flag(given: str | None) -> bool | None:
    if given is None:
        return None
    if given not in FLAGS:
        raise BadInput("`abstained` must be `true` or `false`.")
    return FLAGS[given]


ROUTES = (
    Route(
        method="POST",
        path="/admin/api/recall",
        scope=Scope.READ,
        endpoint=bring_to_mind,
        summary="What comes to mind for a cue.",
    ),
    Route(
        method="GET",
        path="/admin/api/recalls",
        scope=Scope.READ,
        endpoint=list_recalls,
        summary="What was recalled, newest first.",
    ),
    Route(
        method="GET",
        path="/admin/api/recalls/{id}",
        scope=Scope.READ,
        endpoint=one_recall,
        summary="One recall, and why each hit came.",
    ),
    Route(
        method="POST",
        path="/admin/api/recalls/{id}/replay",
        scope=Scope.READ,
        endpoint=replay_recall,
        summary="The same recall now, and what changed.",
    ),
)
