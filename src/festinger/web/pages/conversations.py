"""The pages of conversations: what was said, which notes each reply had, and what was learned from it.

Shows conversations to a person: each reply with the notes that the model saw before it.

Joins what several packages keep: the turns of an episode, the exchanges and the request log of its session, the
blocks that were injected, the recalls behind them, and what was learned from each turn. What was pruned meanwhile
is left out; notes are then shown in today's words.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from starlette.responses import Response

from festinger.errors import BadInput, NotFound
from festinger.ids import SessionId, SpaceId, read_id
from festinger.memory.changes import load_existing_memories
from festinger.memory.episodes.episode import Episode, EpisodeState, EpisodeTurn, parse_state
from festinger.memory.episodes.store import (
    close_episode,
    get_episode,
    list_memories_from_turns,
    list_turns,
    load_first_words,
    load_page_of_episodes,
)
from festinger.memory.erasure.selector import ErasureSelector
from festinger.memory.model import Memory
from festinger.outcomes.report import observe_recall
from festinger.outcomes.surface import surfacings_of_recall
from festinger.retrieval.log import find_recall
from festinger.runtime.app import App
from festinger.runtime.erasure import build_erasure_service
from festinger.services.recollect import MEMORY
from festinger.store.repositories.exchanges import load_session_blocks, recent_exchanges
from festinger.store.repositories.request_log import LoggedRequest, list_requests
from festinger.web.api.outcomes import reporter_of
from festinger.web.auth import AccessScope
from festinger.web.pages.memories import FORGET_WORD, require_forget_word
from festinger.web.render import add_page, redirect_to
from festinger.web.route import AdminCall, RouteTable, can_see, parse_cursor, viewer_of
from festinger.world.model import NoteOutcome

MOST_EXCHANGES = 200
SLACK = timedelta(minutes=10)
"""A request is logged when its reply has ended, a little after its turns."""

Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """An episode; each turn with what was learned from it and, if it is a reply, with what the model saw."""

    episode: Episode
    turns: Sequence[Document]
    learned: Sequence[Memory]


async def load_conversation(app: App, space: SpaceId, id_: UUID) -> Conversation:
    """Load one conversation. Raises `NotFound`."""
    episode = await get_episode(app.memory.deps, space, id_)
    async with app.store.transaction() as transaction:
        turns = await list_turns(transaction, space, id_)
    learned = await list_memories_from_turns(app.memory.deps, episode, turns)
    by_turn: defaultdict[UUID | None, list[Document]] = defaultdict(list)
    for memory in learned:
        by_turn[memory.turn_id].append(memory.as_json())
    seen = await _load_seen_by_turn(app, episode, turns)
    shown = [turn.as_json() | {"learned": by_turn[turn.turn_id], "seen": seen.get(turn.turn_id)} for turn in turns]
    return Conversation(episode=episode, turns=shown, learned=learned)


async def _load_seen_by_turn(app: App, episode: Episode, turns: Sequence[EpisodeTurn]) -> dict[UUID, Document]:
    """What the model saw before each reply, by the turn of the reply; without a reply, by that of the question."""
    space, session = episode.space_id, episode.session_id
    exchanges = await recent_exchanges(app.store, space, session, limit=MOST_EXCHANGES)
    logged = await list_requests(
        app.store, space, session=session, since=episode.opened_at, before=episode.last_at + SLACK, limit=MOST_EXCHANGES
    )
    requests = {each.id: each for each in logged}
    blocks = await load_session_blocks(app.store, space, session)
    texts = await _load_texts(app, space, logged, turns)
    found = {
        each.reply: await _describe_request(app, space, requests[each.request], blocks=blocks, texts=texts)
        for each in exchanges
        if each.reply is not None and each.request in requests
    }
    if not found:
        found = {turn.turn_id: _describe_surfaced(turn, texts) for turn in turns if turn.surfaced}
    return found


async def _load_texts(
    app: App, space: SpaceId, logged: Sequence[LoggedRequest], turns: Sequence[EpisodeTurn]
) -> dict[str, str]:
    notes = [note for each in logged for name in ("notes", "cut") for note in each.details.get(name, ())]
    ids = {UUID(note["id"]) for note in notes if note["kind"] == MEMORY} | {
        id_ for turn in turns for id_ in turn.surfaced
    }
    async with app.store.transaction() as transaction:
        return {str(id_): each.content for id_, each in (await load_existing_memories(transaction, space, ids)).items()}


async def _describe_request(
    app: App, space: SpaceId, request: LoggedRequest, *, blocks: Mapping[UUID, str], texts: Mapping[str, str]
) -> Document:
    details = request.details
    recollection = UUID(details["recollection"]) if details.get("recollection") else None
    whys = await _load_recall_reasons(app, space, details.get("recall"))
    surfaced = await surfacings_of_recall(app.store, space, recollection) if recollection else []
    outcomes = {str(each.memory_id): each.outcome for each in surfaced}
    return {
        "request": request.id,
        "model": request.model,
        "memory": request.memory,
        "reason": request.reason,
        "tokens": details.get("tokens", 0),
        "waited_ms": request.before_ms,
        "loop": details.get("loop"),
        "late": list(details.get("late", ())),
        "recollection": str(recollection) if recollection else None,
        "block": blocks.get(recollection) if recollection else None,
        "notes": [
            _note(note, texts) | {"why": whys.get(note["id"]) or note["why"], "outcome": outcomes.get(note["id"])}
            for note in details.get("notes", ())
        ],
        "cut": [_note(note, texts) for note in details.get("cut", ())],
    }


def _describe_surfaced(turn: EpisodeTurn, texts: Mapping[str, str]) -> Document:
    """What came to mind with a turn that did not pass through the proxy."""
    notes = [
        _note({"kind": MEMORY, "id": str(each)}, texts) | {"why": "recalled", "outcome": None} for each in turn.surfaced
    ]
    nothing = {"request": None, "model": "", "memory": "", "reason": "", "tokens": 0, "waited_ms": None, "loop": None}
    return {**nothing, "late": [], "recollection": None, "block": None, "notes": notes, "cut": []}


def _note(note: Mapping[str, Any], texts: Mapping[str, str]) -> Document:
    is_memory = note["kind"] == MEMORY
    text = texts.get(note["id"], "a memory that was forgotten since") if is_memory else note["id"]
    return {"kind": note["kind"], "id": note["id"], "text": text, "is_known": is_memory and note["id"] in texts}


async def _load_recall_reasons(app: App, space: SpaceId, recall: str | None) -> dict[str, str]:
    """Why each memory of a recall came; nothing if its record was pruned."""
    if not recall:
        return {}
    try:
        found = await find_recall(app.recall.deps, space, UUID(recall))
    except NotFound:
        return {}
    return {hit["id"]: hit["why"].get("sentence", "") for hit in found["hits"]}


ROUTES = RouteTable()
CONVERSATIONS = "/admin/conversations"
SHOWN = 30
OUTCOMES = {
    NoteOutcome.ACTED: "It helped",
    NoteOutcome.USED: "It was used",
    NoteOutcome.DISMISSED: "It did not matter",
    NoteOutcome.CONTRADICTED: "It was wrong",
}


@add_page(ROUTES, CONVERSATIONS, "conversations.html")
async def load_conversations_page(call: AdminCall) -> dict[str, Any]:
    asked = call.request.query_params
    state, session = asked.get("state", ""), asked.get("session", "")
    found = await load_page_of_episodes(
        call.app.memory.deps,
        call.space,
        agent=viewer_of(call),
        session=session or None,
        state=parse_state(state) if state else None,
        before=parse_cursor(call.request),
        limit=SHOWN,
    )
    words = await load_first_words(call.app.memory.deps, call.space, [each.id for each in found])
    return {
        "items": [each.as_json() | {"first_words": words.get(each.id, "")} for each in found],
        "next": str(found[-1].seq) if len(found) == SHOWN else None,
        "filters": {"state": state, "session": session},
        "states": [each.value for each in EpisodeState],
        "said": asked.get("said", "")[:200],
    }


@add_page(ROUTES, f"{CONVERSATIONS}/{{id}}", "conversation.html")
async def load_conversation_page(call: AdminCall) -> dict[str, Any]:
    """One conversation, with what the model saw before each reply."""
    await _find(call)
    found = await load_conversation(call.app, call.space, call.id)
    return {
        "item": found.episode.as_json(),
        "turns": found.turns,
        "learned": [each.as_json() for each in found.learned if can_see(call, each)],
        "outcomes": [(each.value, label) for each, label in OUTCOMES.items()],
        "forget_word": FORGET_WORD,
        "said": call.request.query_params.get("said", "")[:200],
    }


@ROUTES.add("POST", f"{CONVERSATIONS}/{{id}}/close", AccessScope.WRITE, page=True)
async def submit_close(call: AdminCall) -> Response:
    """End a conversation, from the page; it is summed up afterwards."""
    await _find(call)
    await close_episode(call.app.memory.deps, call.space, call.id)
    return redirect_to(call, f"{CONVERSATIONS}/{call.id}", said="Closed. It is summed up in the background.")


@ROUTES.add("POST", f"{CONVERSATIONS}/{{id}}/outcome", AccessScope.REVIEW, page=True)
async def submit_outcome(call: AdminCall) -> Response:
    form, episode = await call.form(), await _find(call)
    if form.get("outcome") not in tuple(OUTCOMES):
        raise BadInput("No outcome was chosen.")
    await observe_recall(
        call.app.outcomes.deps,
        reporter_of(call, session=episode.session_id),
        {form.get("memory", ""): form["outcome"]},
        recall=read_id(form["recall"]) if form.get("recall") else None,
    )
    return redirect_to(call, f"{CONVERSATIONS}/{call.id}", said="Noted. Another report takes its place.")


@ROUTES.add("POST", f"{CONVERSATIONS}/{{id}}/forget", AccessScope.REVIEW, page=True)
async def submit_forget_conversation(call: AdminCall) -> Response:
    require_forget_word(await call.form())
    episode = await _find(call)
    selector = ErasureSelector(session=SessionId(episode.session_id), agent=episode.agent_id)
    done = await build_erasure_service(call.app).forget(call.space, selector, reason="asked in the console", by=call.by)
    said = f"Forgotten for good: {len(done.erased)} memories, with the sentences they came from."
    return redirect_to(call, CONVERSATIONS, said=said)


async def _find(call: AdminCall) -> Episode:
    """The named conversation; that of another agent counts as not found."""
    found = await get_episode(call.app.memory.deps, call.space, call.id)
    if viewer_of(call) not in (None, found.agent_id):
        raise NotFound(f"There is no conversation `{call.id}`.")
    return found
