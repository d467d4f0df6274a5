"""How is a session known again by a process that never met it?

Keeps the hashes of its history and the notes that were put into it. Processes that serve the same sessions meet
here: the latest history stands, and of two blocks for one place the first. No word of a conversation is kept here
but the notes, which are ours.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.ids import SessionId, SpaceId
from festinger.store.pool import Store, Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.store")

BATCH = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBlock:
    """Notes as they stand in a session."""

    anchor: bytes
    """The place: hash of the history up to the message that carries them; empty for the system text."""
    id: UUID
    text: str
    notes: Sequence[Sequence[Any]]
    """For each line the notes that it shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    """What is kept of a session."""

    caller: str
    session: SessionId
    head: bytes | None
    links: bytes
    recent: bytes
    parent: SessionId | None
    at: datetime
    blocks: tuple[StoredBlock, ...] = ()
    rewritten: bool = False
    """Whether these are all its blocks, in other words than before: something in them was forgotten."""


async def keep_sessions(transaction: Transaction, space: SpaceId, sessions: Sequence[StoredSession]) -> None:
    """Keep the present state of sessions, and the blocks that are new in them."""
    latest = {(each.caller, each.session): each for each in sorted(sessions, key=lambda each: each.at)}
    # In one order everywhere, or two processes would wait for each other's rows.
    rows = [latest[key] for key in sorted(latest)]
    await transaction.run(
        Q["keep_sessions"],
        space=space,
        callers=[each.caller for each in rows],
        sessions=[each.session for each in rows],
        heads=[each.head for each in rows],
        links=[each.links for each in rows],
        recent=[each.recent for each in rows],
        parents=[each.parent for each in rows],
        times=[each.at for each in rows],
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
    placed = [blocks[key] for key in sorted(blocks)]
    if placed:
        await transaction.run(
            Q["keep_injections"],
            space=space,
            callers=[each.caller for each, _ in placed],
            sessions=[each.session for each, _ in placed],
            anchors=[block.anchor for _, block in placed],
            ids=[block.id for _, block in placed],
            blocks=[block.text for _, block in placed],
            notes=[json.dumps(block.notes) for _, block in placed],
            times=[each.at for each, _ in placed],
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
    """The caller's session of this name, or without a name those that begin with this hash; the newest first."""
    async with store.transaction(hot=True) as transaction:
        rows = await transaction.all(
            Q["find_sessions"],
            space=space,
            caller=caller,
            session=session,
            head=head,
            since=since,
            limit=limit,
        )
        if not rows:
            return []
        names = [row["session_id"] for row in rows]
        found = await transaction.all(Q["find_injections"], space=space, caller=caller, sessions=names)
    return [
        StoredSession(
            caller=caller,
            session=row["session_id"],
            head=row["head"],
            links=row["links"],
            recent=row["recent"],
            parent=row["parent_id"],
            at=row["at"],
            blocks=tuple(
                StoredBlock(anchor=block["anchor"], id=block["id"], text=block["block"], notes=block["notes"])
                for block in found
                if block["session_id"] == row["session_id"]
            ),
        )
        for row in rows
    ]


async def notes_of(where: Store | Transaction, space: SpaceId, session: SessionId) -> list[str]:
    """The lines of the notes that were put into a session, tags and label among them."""
    rows = await where.all(Q["notes_of_session"], space=space, session=session)
    return [line for row in rows for line in row["block"].splitlines()]


async def prune_sessions(store: Store, *, before: datetime) -> int:
    """Forget sessions that were quiet since then, batch by batch; how many."""
    removed = 0
    while batch := await store.run(Q["prune_sessions"], before=before, limit=BATCH):
        removed += batch
    return removed
