"""Stores proxied exchanges, their messages, and the state that recognizes a session again.

An exchange is a request and its reply; its messages are what was new in it, with who said each. Ids are
derived from the content, so writing one twice stores it once. Events refer to these ids. Session rows hold
the hashes of a session's history and the notes that were injected into it, so that processes that serve the
same session can share it: the latest history wins, and of two blocks for one place the first. Apart from our
own notes, they hold no words of a conversation.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.ids import AgentId, Origin, SessionId, SpaceId
from festinger.records import field_lists, row_mapper
from festinger.store.pool import Store, Transaction
from festinger.store.queries import load_queries
from festinger.text.blocks import ErasurePattern

Q = load_queries("festinger.store")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeMessage:
    """A message that somebody said."""

    id: UUID
    role: str
    origin: Origin
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredExchange:
    """A stored request and its reply."""

    id: UUID
    session: SessionId
    agent: AgentId
    request: str
    at: datetime
    said: tuple[ExchangeMessage, ...]
    """What was new in the request, oldest first."""
    reply: ExchangeMessage | None
    tool_calls: Sequence[Mapping[str, Any]]
    thinking: str | None
    ended: str
    model: str
    tokens_read: int | None
    tokens_written: int | None
    recollection: UUID | None

    @property
    def words(self) -> tuple[ExchangeMessage, ...]:
        """The messages of both sides."""
        return (*self.said, self.reply) if self.reply else self.said


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    id: UUID
    exchange: UUID
    session: SessionId
    role: str
    origin: Origin
    text: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeWriteResult:
    """The ids of what was new."""

    exchanges: frozenset[UUID] = frozenset()
    messages: frozenset[UUID] = frozenset()
    known_sessions: frozenset[str] = frozenset()
    """Those of the sessions that had exchanges before."""


async def write_exchanges(
    transaction: Transaction, space: SpaceId, exchanges: Sequence[StoredExchange]
) -> ExchangeWriteResult:
    """Write the exchanges that are not stored yet; skip the others entirely."""
    if not exchanges:
        return ExchangeWriteResult()
    by_id = {each.id: each for each in reversed(exchanges)}
    # The same order everywhere; otherwise two processes could deadlock on each other's rows.
    rows = [by_id[key] for key in sorted(by_id)]
    said = [(each.id, place, words) for each in rows for place, words in enumerate(each.words)]
    found = await transaction.one(
        Q["write_exchanges"],
        space=space,
        **field_lists(rows, ids="id", sessions="session", agents="agent", requests="request", times="at"),
        **field_lists(rows, thoughts="thinking", ends="ended", models="model", recollections="recollection"),
        **field_lists(rows, read="tokens_read", written="tokens_written"),
        replies=[each.reply.id if each.reply else None for each in rows],
        calls=[json.dumps(list(each.tool_calls)) for each in rows],
        owners=[owner for owner, _, _ in said],
        places=[place for _, place, _ in said],
        **field_lists([words for _, _, words in said], messages="id", roles="role", origins="origin", texts="text"),
    )
    return ExchangeWriteResult(
        exchanges=frozenset(found["exchanges"]),
        messages=frozenset(found["messages"]),
        known_sessions=frozenset(found["sessions"]),
    )


async def load_messages(where: Store | Transaction, space: SpaceId, ids: Collection[UUID]) -> dict[UUID, StoredMessage]:
    """Return messages by id; forgotten ones are missing."""
    rows = await where.all(Q["read_messages"], space=space, ids=sorted(ids))
    return {row["id"]: _message(row) for row in rows}


async def session_messages(where: Store | Transaction, space: SpaceId, session: SessionId) -> list[StoredMessage]:
    """Return the messages of a session, oldest first."""
    return [_message(row) for row in await where.all(Q["session_messages"], space=space, session=session)]


async def find_message_ids_matching(
    transaction: Transaction, space: SpaceId, cuts: Iterable[ErasurePattern]
) -> list[UUID]:
    """Return the messages that contain the given words, before these are cut out."""
    found: set[UUID] = set()
    for cut in cuts:
        rows = await transaction.all(Q["messages_that_said"], space=space, pattern=cut.pattern)
        found |= {row["id"] for row in rows}
    return sorted(found)


async def clear_old_message_texts(store: Store, space: SpaceId, *, before: datetime) -> int:
    """Clear the text of messages older than `before`; return how many."""
    return await store.run(Q["cut_messages"], space=space, before=before)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastExchange:
    """An exchange of a session, without the text of its messages."""

    id: UUID
    request: str
    at: datetime
    reply: UUID | None
    tool_calls: Sequence[Mapping[str, Any]]
    thinking: str | None
    recollection: UUID | None


async def recent_exchanges(
    where: Store | Transaction, space: SpaceId, session: SessionId, *, limit: int
) -> list[PastExchange]:
    """Return the last exchanges of a session, oldest first."""
    rows = await where.all(Q["recent_exchanges"], space=space, session=session, limit=limit)
    return [PastExchange(**row) for row in reversed(rows)]


async def sessions_with_notes(where: Transaction, space: SpaceId, sessions: Collection[str]) -> frozenset[str]:
    rows = await where.all(Q["sessions_with_notes"], space=space, sessions=sorted(sessions))
    return frozenset(row["session_id"] for row in rows)


_message = row_mapper(StoredMessage)


BATCH = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredNoteBlock:
    """A block of notes injected into a session."""

    anchor: bytes
    """Its place: hash of the history up to the message that carries it; empty for the system text."""
    id: UUID
    text: str
    notes: Sequence[Sequence[Any]]
    """For each line, the notes that it shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    caller: str
    session: SessionId
    head: bytes | None
    links: bytes
    recent: bytes
    parent: SessionId | None
    at: datetime
    blocks: tuple[StoredNoteBlock, ...] = ()
    rewritten: bool = False
    """Whether these are all its blocks, reworded because something in them was forgotten."""


async def save_sessions(transaction: Transaction, space: SpaceId, sessions: Sequence[StoredSession]) -> None:
    """Store the current state of sessions and their new blocks."""
    latest = {(each.caller, each.session): each for each in sorted(sessions, key=lambda each: each.at)}
    # The same order everywhere; otherwise two processes could deadlock on each other's rows.
    rows = [latest[key] for key in sorted(latest)]
    await transaction.run(
        Q["keep_sessions"],
        space=space,
        **field_lists(rows, callers="caller", sessions="session", heads="head", links="links", recent="recent"),
        **field_lists(rows, parents="parent", times="at"),
    )
    await _keep_blocks(transaction, space, sessions)
    for each in sessions:
        if each.rewritten:
            await _rewrite_blocks(transaction, space, each)


async def _keep_blocks(transaction: Transaction, space: SpaceId, sessions: Sequence[StoredSession]) -> None:
    blocks = {
        (each.caller, each.session, block.anchor): (each, block)
        for each in sessions
        if not each.rewritten
        for block in each.blocks
    }
    if blocks:
        owners, placed = zip(*(blocks[key] for key in sorted(blocks)), strict=True)
        await transaction.run(
            Q["keep_injections"],
            space=space,
            **field_lists(owners, callers="caller", sessions="session", times="at"),
            **field_lists(placed, anchors="anchor", ids="id", blocks="text"),
            notes=[json.dumps(block.notes) for block in placed],
        )


async def _rewrite_blocks(transaction: Transaction, space: SpaceId, session: StoredSession) -> None:
    anchors = [block.anchor for block in session.blocks]
    where = {"space": space, "caller": session.caller, "session": session.session, "anchors": anchors}
    await transaction.run(Q["drop_injections"], **where)
    await transaction.run(
        Q["rewrite_injections"],
        **where,
        blocks=[block.text for block in session.blocks],
        notes=[json.dumps(block.notes) for block in session.blocks],
    )


async def find_sessions(
    store: Store,
    space: SpaceId,
    *,
    caller: str,
    session: SessionId | None,
    head: bytes | None,
    since: datetime,
    limit: int,
) -> list[StoredSession]:
    """Return the caller's session with this id, or without one those with this head hash; newest first."""
    where: dict[str, Any] = {"space": space, "caller": caller}
    rows = await store.all(Q["find_sessions"], hot=True, **where, session=session, head=head, since=since, limit=limit)
    if not rows:
        return []
    names = [row["session"] for row in rows]
    found = await store.all(Q["find_injections"], hot=True, **where, sessions=names)
    blocks: dict[str, list[StoredNoteBlock]] = {name: [] for name in names}
    for each in found:
        blocks[each.pop("session")].append(StoredNoteBlock(**each))
    return [StoredSession(**row, blocks=tuple(blocks[row["session"]])) for row in rows]


async def load_notes_of_sessions(
    where: Store | Transaction, space: SpaceId, sessions: Collection[SessionId]
) -> defaultdict[str, list[str]]:
    """Return the lines of the notes that were injected into sessions, including tags and label."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for row in await where.all(Q["notes_of_sessions"], space=space, sessions=list(sessions)):
        found[row["session_id"]] += row["block"].splitlines()
    return found


async def load_session_blocks(where: Store | Transaction, space: SpaceId, session: SessionId) -> dict[UUID, str]:
    """Return the blocks that stand in a session, by the recollection that put each there."""
    rows = await where.all(Q["notes_of_sessions"], space=space, sessions=[session])
    return {row["id"]: row["block"] for row in rows}


async def prune_sessions(store: Store, *, before: datetime) -> int:
    """Delete sessions idle since `before`, in batches; return how many."""
    removed = 0
    while batch := await store.run(Q["prune_sessions"], before=before, limit=BATCH):
        removed += batch
    return removed
