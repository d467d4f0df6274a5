"""HTTP API for episodes: open, append, close, read.

The key determines the speaker: what an agent's key appends counts as a model's word, whatever role it names;
a person's key may append what people, models and tools said. An agent's key sees and closes only the episodes
of its own agent.
"""

from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from festinger.errors import NotFound
from festinger.ids import Origin, Scope, SessionId
from festinger.memory.episodes.episode import ORIGINS, Episode, TurnRole, parse_state
from festinger.memory.episodes.store import (
    TurnInput,
    append_turn_in_transaction,
    close_episode,
    get_episode,
    load_episode_details,
    open_episode,
    page_episodes,
    update_episode,
)
from festinger.web.auth import AccessScope
from festinger.web.caller import agent_of, is_person, viewer_of
from festinger.web.pagination import build_page, parse_cursor, parse_limit
from festinger.web.route import AdminCall, AdminRoute, json_response

LONGEST_SESSION = 200


class OpenEpisodeRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    session: str = Field(min_length=1, max_length=LONGEST_SESSION)
    title: str | None = Field(default=None, max_length=200)
    evaluation: bool = False


class AddTurnRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    role: TurnRole
    content: str = Field(max_length=1_000_000)
    id: UUID | None = None
    surfaced: list[UUID] = Field(default_factory=list, max_length=1000)


class UpdateEpisodeRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: str | None = Field(default=None, max_length=200)
    summary: str | None = Field(default=None, max_length=4000)


async def get_episodes(call: AdminCall) -> Response:
    asked, limit = call.request.query_params, parse_limit(call.request)
    state = asked.get("state")
    found = await page_episodes(
        call.app.memory.deps,
        call.space,
        agent=viewer_of(call),
        session=asked.get("session"),
        state=parse_state(state) if state else None,
        before=parse_cursor(call.request),
        limit=limit,
    )
    items = [each.as_json() for each in found]
    return json_response(build_page(items, limit=limit, last=found[-1].seq if found else None))


async def show_episode(call: AdminCall) -> Response:
    await _mine(call)
    return json_response((await load_episode_details(call.app.memory.deps, call.space, call.id)).as_json())


async def post_episode(call: AdminCall) -> Response:
    body = await call.body(OpenEpisodeRequest)
    scope = Scope(space=call.space, agent=agent_of(call), session=SessionId(body.session))
    made = await open_episode(call.app.memory.deps, scope, title=body.title, evaluation=body.evaluation)
    return json_response(made.as_json(), 201)


async def add_turn(call: AdminCall) -> Response:
    body = await call.body(AddTurnRequest)
    deps, episode = call.app.memory.deps, await _mine(call)
    said = TurnInput(
        role=body.role,
        content=body.content,
        origin=_origin(call, body.role),
        at=deps.clock(),
        turn_id=body.id or deps.new_uuid(),
        surfaced=tuple(body.surfaced),  # type: ignore[arg-type]
    )
    async with deps.store.transaction() as transaction:
        done = await append_turn_in_transaction(deps, transaction, episode.place, said)
    shown: dict[str, Any] = {"episode": done.episode.as_json(), "turn": done.turn.as_json() if done.turn else None}
    return json_response(shown, 201 if done.turn else 200)


async def post_episode_close(call: AdminCall) -> Response:
    await _mine(call)
    return json_response((await close_episode(call.app.memory.deps, call.space, call.id)).as_json())


async def patch_episode(call: AdminCall) -> Response:
    await _mine(call)
    body = await call.body(UpdateEpisodeRequest)
    named = await update_episode(call.app.memory.deps, call.space, call.id, title=body.title, summary=body.summary)
    return json_response(named.as_json())


async def _mine(call: AdminCall) -> Episode:
    """The named episode, if the caller may see it; another agent's episode counts as not found."""
    found = await get_episode(call.app.memory.deps, call.space, call.id)
    viewer = viewer_of(call)
    if viewer is not None and found.agent_id != viewer:
        raise NotFound(f"There is no episode `{call.id}`.")
    return found


def _origin(call: AdminCall, role: TurnRole) -> Origin:
    """The origin of a turn: an agent cannot put words into a person's mouth."""
    said = ORIGINS[role]
    return said if is_person(call) or said is Origin.TOOL else Origin.MODEL


ROUTES = (
    AdminRoute(
        method="GET",
        path="/admin/api/episodes",
        scope=AccessScope.READ,
        endpoint=get_episodes,
        summary="Episodes, the newest first.",
    ),
    AdminRoute(
        method="POST",
        path="/admin/api/episodes",
        scope=AccessScope.WRITE,
        endpoint=post_episode,
        summary="Open the episode of a session, or find the one that is open.",
    ),
    AdminRoute(
        method="GET",
        path="/admin/api/episodes/{id}",
        scope=AccessScope.READ,
        endpoint=show_episode,
        summary="An episode with what was said in it and came of it.",
    ),
    AdminRoute(
        method="PATCH",
        path="/admin/api/episodes/{id}",
        scope=AccessScope.WRITE,
        endpoint=patch_episode,
        summary="Give an episode a title or a summary.",
    ),
    AdminRoute(
        method="POST",
        path="/admin/api/episodes/{id}/turns",
        scope=AccessScope.WRITE,
        endpoint=add_turn,
        summary="Add what was said; after the end it goes into the next episode.",
    ),
    AdminRoute(
        method="POST",
        path="/admin/api/episodes/{id}/close",
        scope=AccessScope.WRITE,
        endpoint=post_episode_close,
        summary="End an episode; it is summed up afterwards.",
    ),
)
