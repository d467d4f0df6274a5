"""HTTP API for episodes: open, append, close, read.

The key determines the speaker: what an agent's key appends counts as a model's word, whatever role it names;
a person's key may append what people, models and tools said. An agent's key sees and closes only the episodes
of its own agent.
"""

from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from pydantic import Field
from starlette.responses import Response

from festinger.clock import aware
from festinger.errors import NotFound
from festinger.ids import Origin, Scope, SessionId
from festinger.memory.episodes.episode import ORIGINS, Episode, TurnRole, parse_state
from festinger.memory.episodes.store import (
    TurnInput,
    append_turn,
    append_turn_in_transaction,
    close_episode,
    get_episode,
    load_episode_details,
    load_page_of_episodes,
    open_episode,
    update_episode,
)
from festinger.memory.erasure.erase import strip_forgotten_sentences
from festinger.memory.extract.turns import PersonTurn, learn_turn
from festinger.memory.learn.result import Learned
from festinger.runtime.erasure import open_ledger_of_app
from festinger.web.auth import AccessScope
from festinger.web.route import (
    AdminCall,
    ApiInput,
    RouteTable,
    agent_of,
    build_page,
    is_person,
    json_response,
    parse_cursor,
    parse_limit,
    viewer_of,
)

ROUTES = RouteTable()
LONGEST_SESSION = 200


class OpenEpisodeRequest(ApiInput):
    session: str = Field(min_length=1, max_length=LONGEST_SESSION)
    title: str | None = Field(default=None, max_length=200)
    evaluation: bool = False


class AddTurnRequest(ApiInput):
    role: TurnRole
    content: str = Field(max_length=1_000_000)
    id: UUID | None = None
    surfaced: list[UUID] = Field(default_factory=list, max_length=1000)


class ImportedTurnRequest(ApiInput):
    id: UUID
    role: TurnRole
    content: str = Field(max_length=1_000_000)
    at: datetime | None = None


class ImportEpisodeRequest(ApiInput):
    session: str = Field(min_length=1, max_length=LONGEST_SESSION)
    title: str | None = Field(default=None, max_length=200)
    turns: list[ImportedTurnRequest] = Field(max_length=1000)
    close: bool = True


class UpdateEpisodeRequest(ApiInput):
    title: str | None = Field(default=None, max_length=200)
    summary: str | None = Field(default=None, max_length=4000)


@ROUTES.add("GET", "/admin/api/episodes", AccessScope.READ)
async def get_episodes(call: AdminCall) -> Response:
    asked, limit = call.request.query_params, parse_limit(call.request)
    state = asked.get("state")
    found = await load_page_of_episodes(
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


@ROUTES.add("GET", "/admin/api/episodes/{id}", AccessScope.READ)
async def show_episode(call: AdminCall) -> Response:
    """An episode with what was said in it and came of it."""
    await _require_visible_episode(call)
    return json_response((await load_episode_details(call.app.memory.deps, call.space, call.id)).as_json())


@ROUTES.add("POST", "/admin/api/episodes", AccessScope.WRITE)
async def post_episode(call: AdminCall) -> Response:
    """Open the episode of a session, or find the one that is open."""
    body = await call.body(OpenEpisodeRequest)
    scope = Scope(space=call.space, agent=agent_of(call), session=SessionId(body.session))
    made = await open_episode(call.app.memory.deps, scope, title=body.title, evaluation=body.evaluation)
    return json_response(made.as_json(), 201)


@ROUTES.add("POST", "/admin/api/episodes/import", AccessScope.REVIEW)
async def import_episode(call: AdminCall) -> Response:
    """Take in a conversation held elsewhere, at the times of its turns; what a person said in it is learned.

    A turn that was imported before is left as it is, and teaches nothing again. What was forgotten since it was said
    is left out.
    """
    body, deps = await call.body(ImportEpisodeRequest), call.app.memory.deps
    scope = Scope(space=call.space, agent=agent_of(call), session=SessionId(body.session))
    episode, learned = None, list[Learned]()
    for said in body.turns:
        at = min(aware(said.at), deps.clock()) if said.at else deps.clock()
        then = replace(deps, clock=partial(_at, at))
        async with call.app.store.transaction() as transaction:
            [left] = await strip_forgotten_sentences(
                transaction, open_ledger_of_app(call.app), call.space, [said.content], since=at
            )
        added = await append_turn(then, scope, said.role, left, turn_id=said.id, at=at)
        if added.turn is None:
            continue
        episode = added.episode
        if said.role is TurnRole.USER:
            learned += await learn_turn(then, scope, PersonTurn(id=said.id, text=added.turn.content))
    if episode is not None and body.title and episode.title is None:
        episode = await update_episode(deps, call.space, episode.id, title=body.title)
    if episode is not None and body.close:
        episode = await close_episode(deps, call.space, episode.id)
    shown = {"episode": episode.as_json() if episode else None, "learned": [each.as_json() for each in learned]}
    return json_response(shown, 201 if episode else 200)


def _at(moment: datetime) -> datetime:
    return moment


@ROUTES.add("POST", "/admin/api/episodes/{id}/turns", AccessScope.WRITE)
async def add_turn(call: AdminCall) -> Response:
    """Add what was said; after the end it goes into the next episode."""
    body = await call.body(AddTurnRequest)
    deps, episode = call.app.memory.deps, await _require_visible_episode(call)
    said = TurnInput(
        role=body.role,
        content=body.content,
        origin=_origin_of_turn(call, body.role),
        at=deps.clock(),
        turn_id=body.id or deps.new_uuid(),
        surfaced=tuple(body.surfaced),  # type: ignore[arg-type]
    )
    async with deps.store.transaction() as transaction:
        done = await append_turn_in_transaction(deps, transaction, episode.place, said)
    shown: dict[str, Any] = {"episode": done.episode.as_json(), "turn": done.turn.as_json() if done.turn else None}
    return json_response(shown, 201 if done.turn else 200)


@ROUTES.add("POST", "/admin/api/episodes/{id}/close", AccessScope.WRITE)
async def post_episode_close(call: AdminCall) -> Response:
    """End an episode; it is summed up afterwards."""
    await _require_visible_episode(call)
    return json_response((await close_episode(call.app.memory.deps, call.space, call.id)).as_json())


@ROUTES.add("PATCH", "/admin/api/episodes/{id}", AccessScope.WRITE)
async def patch_episode(call: AdminCall) -> Response:
    await _require_visible_episode(call)
    body = await call.body(UpdateEpisodeRequest)
    named = await update_episode(call.app.memory.deps, call.space, call.id, title=body.title, summary=body.summary)
    return json_response(named.as_json())


async def _require_visible_episode(call: AdminCall) -> Episode:
    """The named episode, if the caller may see it; another agent's episode counts as not found."""
    found = await get_episode(call.app.memory.deps, call.space, call.id)
    viewer = viewer_of(call)
    if viewer is not None and found.agent_id != viewer:
        raise NotFound(f"There is no episode `{call.id}`.")
    return found


def _origin_of_turn(call: AdminCall, role: TurnRole) -> Origin:
    """The origin of a turn: an agent cannot put words into a person's mouth."""
    said = ORIGINS[role]
    return said if is_person(call) or said is Origin.TOOL else Origin.MODEL
