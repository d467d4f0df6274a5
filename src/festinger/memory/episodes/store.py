"""Opens, extends, closes and reads episodes.

An episode begins with the first turn of a session and ends on request, when idle, when too long, or at
shutdown; the next one names the one it continues. Turns are stored without injected context, hidden
characters and secrets.
`append_exchanges` takes exchanges captured by the proxy into the episodes of their sessions: messages and
replies in order, each once, with the memories that were injected. They are read from their rows, because an
event holds only ids. Handling an event twice stores nothing twice.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from festinger.clock import aware
from festinger.errors import BadInput, FestingerError, NotFound
from festinger.events.catalogue import Event
from festinger.events.outbox import event_history
from festinger.ids import DEFAULT_AGENT, MemoryId, Origin, Scope, SessionId, SpaceId
from festinger.memory.deps import MemoryDeps
from festinger.memory.episodes.episode import (
    ORIGINS,
    Episode,
    EpisodeCloseReason,
    EpisodeState,
    EpisodeTurn,
    TurnRole,
    TurnStatement,
    episode_from_row,
    statement_from_row,
    turn_from_row,
)
from festinger.memory.jobs import SUM_UP
from festinger.memory.learn.statement import strip_blocks_and_secrets
from festinger.memory.model import Memory, memory_from_row
from festinger.records import parse_choice, record_json
from festinger.settings.memory_sections import EpisodesSettings
from festinger.store.pool import Store, Transaction
from festinger.store.queries import load_queries
from festinger.store.repositories.exchanges import StoredMessage, load_messages, load_notes_of_sessions
from festinger.text.overlap import build_all_shingles, remove_copies, remove_echoes

Q = load_queries("festinger.memory")

LONGEST_TURN = 1_000_000
LONGEST_TITLE = 200
LONGEST_SUMMARY = 4_000
STALE_AT_ONCE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInput:
    """A turn to be appended."""

    role: TurnRole
    content: str
    origin: Origin
    at: datetime
    turn_id: UUID
    surfaced: tuple[MemoryId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendResult:
    """Where a turn went; `turn` is None if nothing was left of it or it was stored before."""

    episode: Episode
    turn: EpisodeTurn | None


async def open_episode(
    deps: MemoryDeps, scope: Scope, *, title: str | None = None, evaluation: bool = False
) -> Episode:
    """Return the open episode of a session, or start one."""
    _check_session(scope)
    async with deps.store.transaction() as transaction:
        found = await _lock_open_episode(transaction, scope)
        if found is None:
            return await _start_episode(
                deps, transaction, scope, at=deps.clock(), title=_clean_title(title), evaluation=evaluation
            )
        if title is None or found.title is not None:
            return found
        return await _set_title_and_summary(transaction, found, title=title, summary=None)


async def append_turn(
    deps: MemoryDeps,
    scope: Scope,
    role: str,
    content: str,
    *,
    origin: Origin | None = None,
    surfaced: Sequence[MemoryId] = (),
    turn_id: UUID | None = None,
    at: datetime | None = None,
) -> AppendResult:
    """Append a turn to the episode of its session, opening one if none is open."""
    known = parse_choice(TurnRole, role, "role", hint="The roles are")
    turn = TurnInput(
        role=known,
        content=content,
        origin=origin or ORIGINS[known],
        at=aware(at) if at else deps.clock(),
        turn_id=turn_id or deps.new_uuid(),
        surfaced=tuple(surfaced),
    )
    async with deps.store.transaction() as transaction:
        return await append_turn_in_transaction(deps, transaction, scope, turn, is_new=turn_id is None)


async def append_turn_in_transaction(
    deps: MemoryDeps, transaction: Transaction, scope: Scope, message: TurnInput, *, is_new: bool = False
) -> AppendResult:
    """Append a turn in the caller's transaction; unless its id `is_new`, one that is stored already stays as it is."""
    _check_session(scope)
    _check_turn_text(message.content)
    known = [] if is_new else await transaction.all(Q["known_turns"], space=scope.space, turns=[message.turn_id])
    for row in known:
        return AppendResult(episode=await find_episode(transaction, scope.space, row["episode_id"]), turn=None)
    [done] = await _append_turns(deps, transaction, scope.space, [(scope, message)])
    return done


async def _append_turns(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, turns: Sequence[tuple[Scope, TurnInput]]
) -> list[AppendResult]:
    """Append turns that are not stored yet to the episodes of their sessions, in few statements."""
    scopes = list(dict.fromkeys(scope for scope, _ in turns))
    sessions = [scope.session for scope in scopes]
    open_ = await transaction.all(
        Q["lock_open_episodes"], space=space, agents=[scope.agent for scope in scopes], sessions=sessions
    )
    found = {(episode.agent_id, episode.session_id): episode for episode in map(episode_from_row, open_)}
    notes: defaultdict[str, list[str]] = defaultdict(list)
    brought: defaultdict[UUID, list[str]] = defaultdict(list)
    if any(turn.role is TurnRole.USER for _, turn in turns):  # only what a client sends can be text of ours
        notes = await load_notes_of_sessions(transaction, space, sessions)
        brought = await _load_surfaced_texts(transaction, space, turns, [episode.id for episode in found.values()])
    rows: list[tuple[UUID, EpisodeTurn]] = []
    results: list[AppendResult] = []
    for scope, turn in turns:
        key = (scope.agent, scope.session)
        episode = found[key] = await _find_or_start_episode(deps, transaction, scope, found.get(key), at=turn.at)
        content = _clean_turn(
            deps, space, turn, brought=[*brought[episode.id], *brought[turn.turn_id]], notes=notes[scope.session]
        )
        if not content:
            results.append(AppendResult(episode=episode, turn=None))
            continue
        appended = _build_turn(turn, seq=episode.turns + 1, content=content)
        rows.append((episode.id, appended))
        grown = replace(episode, turns=appended.seq, last_at=max(episode.last_at, turn.at))
        if appended.seq >= deps.terms(space).episodes.max_turns:
            await _add_turns(transaction, space, [], [grown])
            grown = await _end_episode(deps, transaction, grown, EpisodeCloseReason.TURNS)
        found[key] = grown
        brought[episode.id] += brought[turn.turn_id]
        results.append(AppendResult(episode=grown, turn=appended))
    if rows:
        await _add_turns(transaction, space, rows, [each.episode for each in results if each.turn is not None])
    return results


async def _add_turns(
    transaction: Transaction, space: SpaceId, rows: Sequence[tuple[UUID, EpisodeTurn]], grown: Sequence[Episode]
) -> None:
    latest = {episode.id: episode for episode in grown}
    turns = [turn for _, turn in rows]
    await transaction.run(
        Q["add_turns"],
        space=space,
        episode=[episode for episode, _ in rows],
        seq=[turn.seq for turn in turns],
        turn=[turn.turn_id for turn in turns],
        at=[turn.at for turn in turns],
        role=[turn.role.value for turn in turns],
        origin=[turn.origin.value for turn in turns],
        content=[turn.content for turn in turns],
        surfaced=[f"{{{','.join(map(str, turn.surfaced))}}}" for turn in turns],
        ids=list(latest),
        turns=[episode.turns for episode in latest.values()],
        times=[episode.last_at for episode in latest.values()],
    )


async def _load_surfaced_texts(
    transaction: Transaction, space: SpaceId, turns: Sequence[tuple[Scope, TurnInput]], episodes: Sequence[UUID]
) -> defaultdict[UUID, list[str]]:
    """Return the texts of memories by the episode in which they were brought up, or by the turn that brings them."""
    shown = [(turn.turn_id, memory) for _, turn in turns for memory in turn.surfaced]
    rows = await transaction.all(
        Q["brought_up"],
        space=space,
        episodes=episodes,
        turns=[turn for turn, _ in shown],
        memories=[memory for _, memory in shown],
    )
    found: defaultdict[UUID, list[str]] = defaultdict(list)
    for row in rows:
        found[row["place"]].append(row["content"])
    return found


def _build_turn(turn: TurnInput, *, seq: int, content: str) -> EpisodeTurn:
    return EpisodeTurn(
        seq=seq,
        turn_id=turn.turn_id,
        at=turn.at,
        role=turn.role,
        origin=turn.origin,
        content=content,
        surfaced=turn.surfaced,
    )


async def close_episode(
    deps: MemoryDeps, space: SpaceId, episode: UUID, *, by: EpisodeCloseReason = EpisodeCloseReason.CALLER
) -> Episode:
    """Close an episode; a closed one stays as it is. Raises `NotFound`."""
    async with deps.store.transaction() as transaction:
        found = await lock_episode(transaction, space, episode)
        return found if found.state is not EpisodeState.OPEN else await _end_episode(deps, transaction, found, by)


async def close_session_episode(deps: MemoryDeps, scope: Scope) -> Episode | None:
    """Close the open episode of a session, if there is one."""
    async with deps.store.transaction() as transaction:
        found = await _lock_open_episode(transaction, scope)
        return found and await _end_episode(deps, transaction, found, EpisodeCloseReason.CALLER)


async def update_episode(
    deps: MemoryDeps, space: SpaceId, episode: UUID, *, title: str | None = None, summary: str | None = None
) -> Episode:
    """Set a caller's title or summary, which is not overwritten later. Raises `NotFound`, `BadInput`."""
    if title is None and summary is None:
        raise BadInput("There is nothing to change.", hint="Give a title or a summary.")
    async with deps.store.transaction() as transaction:
        found = await lock_episode(transaction, space, episode)
        named = await _set_title_and_summary(transaction, found, title=title, summary=summary)
        if named.facts_at is not None:
            await deps.ask(transaction, SUM_UP, space=space, episode=str(episode))
        return named


async def close_stale_episodes(deps: MemoryDeps, space: SpaceId) -> list[Episode]:
    """Close the episodes of a space that are idle or too long."""
    now, terms = deps.clock(), deps.terms(space).episodes
    rows = await deps.store.all(
        Q["stale_episodes"],
        space=space,
        idle=now - timedelta(minutes=terms.idle_minutes),
        old=now - timedelta(hours=terms.max_hours),
        limit=STALE_AT_ONCE,
    )
    return [await close_episode(deps, space, row["id"], by=EpisodeCloseReason(row["closed_by"])) for row in rows]


async def erase_old_turn_texts(deps: MemoryDeps, space: SpaceId) -> int:
    """Cut the text of turns past their retention, if there is one; return how many turns."""
    before = retention_cutoff(deps, space)
    if before is None:
        return 0
    return await deps.store.run(Q["cut_turns"], space=space, before=before, at=deps.clock())


def retention_cutoff(deps: MemoryDeps, space: SpaceId) -> datetime | None:
    """The time from which turns are kept verbatim; None if all are."""
    days = deps.terms(space).episodes.keep_raw_days
    return deps.clock() - timedelta(days=days) if days else None


def find_closing_reason(episode: Episode, *, at: datetime, terms: EpisodesSettings) -> EpisodeCloseReason | None:
    """Why a turn at a given time no longer belongs to an open episode; None if it does."""
    if episode.turns >= terms.max_turns:
        return EpisodeCloseReason.TURNS
    if at - episode.last_at >= timedelta(minutes=terms.idle_minutes):
        return EpisodeCloseReason.IDLE
    return EpisodeCloseReason.HOURS if at - episode.opened_at >= timedelta(hours=terms.max_hours) else None


async def find_episode(transaction: Transaction, space: SpaceId, episode: UUID) -> Episode:
    row = await transaction.maybe(Q["find_episode"], space=space, id=episode)
    if row is None:
        raise NotFound(f"There is no episode `{episode}`.")
    return episode_from_row(row)


async def lock_episode(transaction: Transaction, space: SpaceId, episode: UUID) -> Episode:
    """Load one episode and lock it until the transaction ends."""
    row = await transaction.maybe(Q["lock_episode"], space=space, id=episode)
    if row is None:
        raise NotFound(f"There is no episode `{episode}`.")
    return episode_from_row(row)


async def _find_or_start_episode(
    deps: MemoryDeps, transaction: Transaction, scope: Scope, found: Episode | None, *, at: datetime
) -> Episode:
    """Return the episode for a turn at a given time: the open one, if there is one and it still fits."""
    if found is not None and found.state is EpisodeState.OPEN:
        ended = find_closing_reason(found, at=at, terms=deps.terms(scope.space).episodes)
        if ended is None:
            return found
        await _end_episode(deps, transaction, found, ended)
    return await _start_episode(deps, transaction, scope, at=at)


async def _lock_open_episode(transaction: Transaction, scope: Scope) -> Episode | None:
    row = await transaction.maybe(Q["lock_open_episode"], space=scope.space, agent=scope.agent, session=scope.session)
    return episode_from_row(row) if row else None


async def _start_episode(
    deps: MemoryDeps,
    transaction: Transaction,
    scope: Scope,
    *,
    at: datetime,
    title: str | None = None,
    evaluation: bool = False,
) -> Episode:
    who = {"space": scope.space, "agent": scope.agent, "session": scope.session}
    last = await transaction.maybe(Q["last_episode"], **who)
    row = await transaction.maybe(
        Q["open_episode"],
        **who,
        id=deps.new_uuid(),
        title=title,
        at=at,
        continues=last["id"] if last else None,
        evaluation=evaluation or bool(last and last["evaluation"]),
    )
    if row is None:
        # Another writer opened it at the same moment.
        found = await _lock_open_episode(transaction, scope)
        if found is None:
            raise FestingerError("An episode was opened and closed again at the same moment.")
        return found
    episode = episode_from_row(row)
    await _emit_episode_event(deps, transaction, "episode_opened", episode)
    return episode


async def _end_episode(deps: MemoryDeps, transaction: Transaction, episode: Episode, by: EpisodeCloseReason) -> Episode:
    row = await transaction.one(Q["close_episode"], space=episode.space_id, id=episode.id, at=deps.clock(), by=by.value)
    closed = episode_from_row(row)
    await _emit_episode_event(deps, transaction, "episode_closed", closed, closed_by=by.value)
    return closed


async def _set_title_and_summary(
    transaction: Transaction, episode: Episode, *, title: str | None, summary: str | None
) -> Episode:
    row = await transaction.one(
        Q["name_episode"],
        space=episode.space_id,
        id=episode.id,
        title=_clean_title(title),
        summary=_clean_title(summary, LONGEST_SUMMARY),
    )
    return episode_from_row(row)


def _clean_turn(
    deps: MemoryDeps, space: SpaceId, turn: TurnInput, *, brought: Sequence[str], notes: Sequence[str]
) -> str:
    """Clean a turn. A client may have stripped our tags: user turns are also searched for injected text, which
    is in the memories that were brought up and in the notes of the session."""
    text = strip_blocks_and_secrets(turn.content, deps.without_blocks, redact=deps.terms(space).redact).text
    if turn.role is not TurnRole.USER or not text:
        return text
    text = remove_copies(text, build_all_shingles(brought)) if brought else text
    return remove_echoes(text, notes) if notes else text


async def _emit_episode_event(
    deps: MemoryDeps, transaction: Transaction, name: str, episode: Episode, **more: str
) -> None:
    await deps.outbox.emit(
        transaction,
        name,
        space=episode.space_id,
        subject=f"episode:{episode.id}",
        payload={"episode": str(episode.id), "agent": episode.agent_id, "session": episode.session_id, **more},
        agent=episode.agent_id,
        session=episode.session_id,
    )


def _check_session(scope: Scope) -> None:
    if not scope.session:
        raise BadInput("An episode belongs to a session.", hint="Name the session.")


def _check_turn_text(content: str) -> None:
    if len(content) > LONGEST_TURN or "\x00" in content:
        raise BadInput(f"A turn is text of at most {LONGEST_TURN:,} characters.")


def _clean_title(text: str | None, longest: int = LONGEST_TITLE) -> str | None:
    plain = strip_blocks_and_secrets(text or "", str).text
    if len(plain) > longest:
        raise BadInput(f"A title has at most {LONGEST_TITLE} characters, a summary {LONGEST_SUMMARY:,}.")
    return plain or None


MEMORY_NOTE = "memory"
"""Kind of a note that shows a memory."""
LOOKED_BACK = 10
"""Events of a session searched for the one that lists its notes; it comes just before."""


async def append_exchanges(deps: MemoryDeps, transaction: Transaction, events: Sequence[Event]) -> int:
    """Append captured exchanges of one space to the episodes of their sessions; return how many turns are new."""
    if not events:
        return 0
    space = events[0].space
    ids = {event.id: _message_ids(event) for event in events}
    every = [each for own in ids.values() for each in own]
    kept = await load_messages(transaction, space, every)
    known = {row["turn_id"] for row in await transaction.all(Q["known_turns"], space=space, turns=every)}
    turns: dict[UUID, tuple[Scope, TurnInput]] = {}
    for event in events:
        found = [kept[each] for each in ids[event.id] if each in kept]
        if not found:
            continue
        scope = Scope(space=space, agent=event.agent or DEFAULT_AGENT, session=SessionId(event.payload["session"]))
        surfaced, carrier = await _load_injected_memory_ids(transaction, event), _find_context_message(found)
        for message in found:
            if message.id not in known:
                brought = surfaced if message.id == carrier else ()
                turns.setdefault(message.id, (scope, _build_turn_input(message, brought)))
    done = await _append_turns(deps, transaction, space, list(turns.values())) if turns else []
    return sum(each.turn is not None for each in done)


def _message_ids(event: Event) -> list[UUID]:
    reply = event.payload["reply"]
    return [*(UUID(each["id"]) for each in event.payload["messages"]), *([UUID(reply)] if reply else [])]


def _build_turn_input(message: StoredMessage, surfaced: tuple[MemoryId, ...]) -> TurnInput:
    return TurnInput(
        role=TurnRole(message.role),
        content=message.text,
        origin=message.origin,
        at=message.at,
        turn_id=message.id,
        surfaced=surfaced,
    )


def _find_context_message(found: list[StoredMessage]) -> UUID:
    """Return the message that carried the injected context: the last user message, or the reply."""
    asked = [message for message in found if message.role == TurnRole.USER]
    return (asked or found)[-1].id


async def _load_injected_memory_ids(transaction: Transaction, event: Event) -> tuple[MemoryId, ...]:
    """Return the memories injected into this exchange, as its injection event lists them."""
    recollection = event.payload["recollection"]
    if not recollection:
        return ()
    events = await event_history(
        transaction,
        space=event.space,
        subject=event.subject,
        names=["recollection_injected"],
        before=event.seq,
        limit=LOOKED_BACK,
    )
    same = [each.payload["notes"] for each in events if each.payload["recollection"] == recollection]
    return tuple(memory for notes in same[:1] for note in notes for memory in _note_memory_ids(note))


def _note_memory_ids(note: Mapping[str, Any]) -> tuple[MemoryId, ...]:
    if note["kind"] != MEMORY_NOTE:
        return ()
    try:
        return (MemoryId(UUID(note["id"])),)
    except ValueError:
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeLink:
    """Something learned, decided or replaced in an episode."""

    target: str
    target_id: UUID
    relation: str
    at: datetime

    def as_json(self) -> dict[str, Any]:
        return record_json(self, target_id="id")


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeDetails:
    """An episode with its turns and links."""

    episode: Episode
    turns: tuple[EpisodeTurn, ...]
    ties: tuple[EpisodeLink, ...]

    def as_json(self) -> dict[str, Any]:
        return record_json(self, ties="links")


async def get_episode(deps: MemoryDeps, space: SpaceId, episode: UUID) -> Episode:
    """Return one episode. Raises `NotFound`."""
    async with deps.store.transaction() as transaction:
        return await find_episode(transaction, space, episode)


async def load_episode_details(deps: MemoryDeps, space: SpaceId, episode: UUID) -> EpisodeDetails:
    """Return one episode with turns and links. Raises `NotFound`."""
    async with deps.store.transaction() as transaction:
        found = await find_episode(transaction, space, episode)
        links = await transaction.all(Q["links_of_episode"], space=space, episode=episode)
        return EpisodeDetails(
            episode=found,
            turns=await list_turns(transaction, space, episode),
            ties=tuple(EpisodeLink(**row) for row in links),
        )


async def list_turns(transaction: Transaction | Store, space: SpaceId, episode: UUID) -> tuple[EpisodeTurn, ...]:
    """List the turns of an episode in order."""
    return tuple(map(turn_from_row, await transaction.all(Q["turns_of"], space=space, episode=episode)))


async def list_usable_turns(transaction: Transaction, space: SpaceId, episode: UUID) -> tuple[EpisodeTurn, ...]:
    """List the turns without anything from a withdrawn source; summaries are made from these."""
    return tuple(map(turn_from_row, await transaction.all(Q["turns_left"], space=space, episode=episode)))


async def list_statements(
    transaction: Transaction, space: SpaceId, turns: Sequence[EpisodeTurn]
) -> tuple[TurnStatement, ...]:
    """List what people stated in these turns, as far as it stands."""
    said = [turn.turn_id for turn in turns if turn.role is TurnRole.USER]
    return tuple(map(statement_from_row, await transaction.all(Q["stated_in_turns"], space=space, turns=said)))


async def load_page_of_episodes(
    deps: MemoryDeps,
    space: SpaceId,
    *,
    agent: str | None = None,
    session: str | None = None,
    state: EpisodeState | None = None,
    before: int | None = None,
    limit: int = 50,
) -> list[Episode]:
    """List episodes, newest first; `before` is the `seq` of the last one shown."""
    wanted: Mapping[str, Any] = {"agent": agent, "session": session, "state": state.value if state else None}
    rows = await deps.store.all(Q["episodes"], space=space, **wanted, before=before, limit=limit)
    return [episode_from_row(row) for row in rows]


FIRST_CHARS = 160


async def load_first_words(deps: MemoryDeps, space: SpaceId, episodes: Sequence[UUID]) -> dict[UUID, str]:
    """Return the words with which a user began some episodes, for those that have no title yet."""
    rows = await deps.store.all(Q["first_words"], space=space, episodes=list(episodes), chars=FIRST_CHARS)
    return {row["id"]: row["words"] for row in rows}


async def list_memories_from_turns(deps: MemoryDeps, episode: Episode, turns: Sequence[EpisodeTurn]) -> list[Memory]:
    """List what was learned from the turns of an episode."""
    said = [turn.turn_id for turn in turns]
    rows = await deps.store.all(Q["learned_from_turns"], space=episode.space_id, session=episode.session_id, turns=said)
    return [memory_from_row(row) for row in rows]
