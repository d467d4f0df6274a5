"""Episodes over HTTP: open one, add what is said, close it, read them.

Who speaks is told by the key: what an agent's key adds is a model's word, whatever role it names; a person's key may
add what people, models and tools said. An agent's key sees and ends the episodes of its own agent alone.
"""

from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from festinger.errors import NotFound
from festinger.ids import Origin, SessionId
from festinger.memory.episodes.episode import ORIGINS, Episode, Role, state_of
from festinger.memory.episodes.store import (
    Saying,
    append_in,
    close,
    find,
    open_episode,
    page,
    tell,
    update_episode,
)
from festinger.memory.model import Place
from festinger.web.auth import Scope
from festinger.web.caller import agent_of, is_person, viewer_of
from festinger.web.pagination import cursor_of, limit_of, page_of
from festinger.web.route import Call, Route, answer

LONGEST_SESSION = 200


class Opened(BaseModel):
    model_config = ConfigDict(extra="forbid")

    session: str = Field(min_length=1, max_length=LONGEST_SESSION)
    title: str | None = Field(default=None, max_length=200)
    evaluation: bool = False


class Said(BaseModel):
    model_config = ConfigDict(extra="forbid")

    role: Role
    content: str = Field(max_length=1_000_000)
    id: UUID | None = None
    surfaced: list[UUID] = Field(default_factory=list, max_length=1000)


class Named(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: str | None = Field(default=None, max_length=200)
    summary: str | None = Field(default=None, max_length=4000)


async def list_episodes(call: Call) -> Response:
    asked, limit = call.request.query_params, limit_of(call.request)
    state = asked.get("state")
    found = await page(
        call.app.memory.desk,
        call.space,
        agent=viewer_of(call),
        session=asked.get("session"),
        state=state_of(state) if state else None,
        before=cursor_of(call.request),
        limit=limit,
    )
    items = [each.as_json() for each in found]
    return answer(page_of(items, limit=limit, last=found[-1].seq if found else None))


async def show_episode(call: Call) -> Response:
    await _mine(call)
    return answer((await tell(call.app.memory.desk, call.space, call.id)).as_json())


async def open_one(call: Call) -> Response:
    body = await call.body(Opened)
    place = Place(space=call.space, agent=agent_of(call), session=SessionId(body.session))
    made = await open_episode(call.app.memory.desk, place, title=body.title, evaluation=body.evaluation)
    return answer(made.as_json(), 201)


async def add_turn(call: Call) -> Response:
    body = await call.body(Said)
    desk, episode = call.app.memory.desk, await _mine(call)
    said = Saying(
        role=body.role,
        content=body.content,
        origin=_origin(call, body.role),
        at=desk.clock(),
        turn_id=body.id or desk.new_uuid(),
        surfaced=tuple(body.surfaced),  # type: ignore[arg-type]
    )
    async with desk.store.transaction() as transaction:
        done = await append_in(desk, transaction, episode.place, said)
    shown: dict[str, Any] = {
        "episode": done.episode.as_json(),
        "turn": done.turn.as_json() if done.turn else None,
    }
    return answer(shown, 201 if done.turn else 200)


async def close_one(call: Call) -> Response:
    await _mine(call)
    return answer((await close(call.app.memory.desk, call.space, call.id)).as_json())


async def name_one(call: Call) -> Response:
    await _mine(call)
    body = await call.body(Named)
    named = await update_episode(
        call.app.memory.desk, call.space, call.id, title=body.title, summary=body.summary
    )
    return answer(named.as_json())


async def _mine(call: Call) -> Episode:
    """The episode that is named, if the caller may see it; another agent's looks like none."""
    found = await find(call.app.memory.desk, call.space, call.id)
    viewer = viewer_of(call)
    if viewer is not None and found.agent_id != viewer:
        raise NotFound(f"There is no episode `{call.id}`.")
    return found


def _origin(call: Call, role: Role) -> Origin:
    """Whose word it is: an agent cannot put words into a person's mouth."""
    said = ORIGINS[role]
    return said if is_person(call) or said is Origin.TOOL else Origin.MODEL


ROUTES = (
    Route(
        method="GET",
        path="/admin/api/episodes",
        scope=Scope.READ,
        endpoint=list_episodes,
        summary="Episodes, the newest first.",
    ),
    Route(
        method="POST",
        path="/admin/api/episodes",
        scope=Scope.WRITE,
        endpoint=open_one,
        summary="Open the episode of a session, or find the one that is open.",
    ),
    Route(
        method="GET",
        path="/admin/api/episodes/{id}",
        scope=Scope.READ,
        endpoint=show_episode,
        summary="An episode with what was said in it and came of it.",
    ),
    Route(
        method="PATCH",
        path="/admin/api/episodes/{id}",
        scope=Scope.WRITE,
        endpoint=name_one,
        summary="Give an episode a title or a summary.",
    ),
    Route(
        method="POST",
        path="/admin/api/episodes/{id}/turns",
        scope=Scope.WRITE,
        endpoint=add_turn,
        summary="Add what was said; after the end it goes into the next episode.",
    ),
    Route(
        method="POST",
        path="/admin/api/episodes/{id}/close",
        scope=Scope.WRITE,
        endpoint=close_one,
        summary="End an episode; it is summed up afterwards.",
    ),
)
