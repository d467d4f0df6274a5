"""How does a session become rows, and rows a session again?

Hashes are written one after the other, blocks as the text that went out with the notes of each line. What comes back
puts the same bytes in the same places. Words of replies are not kept: the hashes of what was said lately serve.
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
    """What is kept of a session: with the block that is new in it, or with all of them if they were rewritten."""
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
    """The session of these rows; `name` if a client calls it by a longer one than rows do."""
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
    """What this process and the store know of a session together. The later history stands, and all blocks."""
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
    """The block whose text this is. Its lines hold no breaks; before them stands the label, if it has one."""
    inner = text.split("\n")[1:-1]
    label = inner[: len(inner) - len(notes)]
    lines = [
        ContextLine(text=line, notes=tuple(NoteRef(kind=kind, id=id_, version=version) for kind, id_, version in shown))
        for line, shown in zip(inner[len(label) :], notes, strict=True)
    ]
    return ContextBlock(label="\n".join(label), lines=tuple(lines))


def _split_hashes(data: bytes) -> tuple[bytes, ...]:
    return tuple(data[at : at + HASH_BYTES] for at in range(0, len(data), HASH_BYTES))
