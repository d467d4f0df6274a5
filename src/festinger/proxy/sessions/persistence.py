"""Converts sessions to rows and back.

Blocks are stored as the text that was sent, with the notes of each line, so that a restored session inserts
the same bytes. Reply texts are not stored: hashes of recent contents suffice.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from festinger.ids import SessionId
from festinger.proxy.capture.exchange import session_name
from festinger.proxy.context.block import ContextBlock, ContextLine, NoteRef
from festinger.proxy.protocols.messages import HASH_BYTES
from festinger.proxy.sessions.session import ProxyCaller, ProxySession
from festinger.store.repositories.exchanges import StoredBlock, StoredSession

SYSTEM_ANCHOR = b""
NO_ID = UUID(int=0)


def to_stored_session(
    session: ProxySession,
    *,
    fresh: ContextBlock | None = None,
    anchor: bytes | None = None,
    recollection: str = "",
    rewritten: bool = False,
) -> StoredSession:
    """Build the stored form of a session: with its new block, or with all blocks if they were rewritten."""
    blocks: Iterable[StoredBlock] = ()
    if rewritten:
        blocks = [_stored_block(block, place, NO_ID) for place, block in _all_blocks(session)]
    elif fresh is not None:
        blocks = [_stored_block(fresh, anchor or SYSTEM_ANCHOR, UUID(recollection))]
    return StoredSession(
        caller=session.caller.name,
        session=session_name(session.id),
        head=session.head,
        links=b"".join(session.links),
        recent=b"".join(sorted({*session.recent, *(reply.content for reply in session.replies)})),
        parent=session_name(session.parent) if session.parent else None,
        at=session.at,
        blocks=tuple(blocks),
        rewritten=rewritten,
    )


def from_stored_session(kept: StoredSession, caller: ProxyCaller, *, name: SessionId | None = None) -> ProxySession:
    """Rebuild a session from its rows; `name` if the client uses a longer name than the rows do."""
    blocks = {block.anchor: _parse_block(block.text, block.notes) for block in kept.blocks}
    return ProxySession(
        caller=caller,
        id=name or kept.session,
        at=kept.at,
        head=kept.head,
        links=_split_hashes(kept.links),
        recent=frozenset(_split_hashes(kept.recent)),
        system_block=blocks.pop(SYSTEM_ANCHOR, None),
        blocks=blocks,
        parent=kept.parent,
    )


def merge_sessions(known: ProxySession | None, stored: ProxySession) -> ProxySession:
    """Merge what this process and the store know of a session: the later history, and all blocks."""
    if known is None:
        return stored
    later = stored if stored.at > known.at else known
    return replace(
        later, replies=known.replies, recent=known.recent | stored.recent, blocks={**known.blocks, **stored.blocks}
    )


def _all_blocks(session: ProxySession) -> Iterable[tuple[bytes, ContextBlock]]:
    yield from session.blocks.items()
    if session.system_block is not None:
        yield SYSTEM_ANCHOR, session.system_block


def _stored_block(block: ContextBlock, anchor: bytes, recollection: UUID) -> StoredBlock:
    notes = [[[note.kind, note.id, note.version] for note in line.notes] for line in block.lines]
    return StoredBlock(anchor=anchor, id=recollection, text=block.text, notes=notes)


def _parse_block(text: str, notes: Sequence[Sequence[Any]]) -> ContextBlock:
    """Parse the text of a block. Its lines contain no breaks; an optional label precedes them."""
    inner = text.split("\n")[1:-1]
    label = inner[: len(inner) - len(notes)]
    lines = [
        ContextLine(text=line, notes=tuple(NoteRef(kind=kind, id=id_, version=version) for kind, id_, version in shown))
        for line, shown in zip(inner[len(label) :], notes, strict=True)
    ]
    return ContextBlock(label="\n".join(label), lines=tuple(lines))


def _split_hashes(data: bytes) -> tuple[bytes, ...]:
    return tuple(data[at : at + HASH_BYTES] for at in range(0, len(data), HASH_BYTES))
