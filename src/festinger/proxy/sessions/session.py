"""State of a live session, the hash chain of its history, and its stored form.

A request's history replaces the previous one. Requests of a session may run concurrently, so replies and
blocks that another request added meanwhile are kept. Each message is hashed with the hash before it, so two
histories share hashes exactly as far as they are equal. Only stable content is hashed; see
`messages.content_hash`. Blocks are stored as the text that was sent, with the notes of each line, so that a
restored session inserts the same bytes. Reply texts are not stored: hashes of recent contents suffice.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b, sha256
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from festinger.ids import SessionId, SpaceId
from festinger.proxy.loops.keys import ChatMessage, ChatRole
from festinger.proxy.protocols.messages import HASH_BYTES, RequestTurn, content_hash
from festinger.services.block import ContextBlock, ContextLine, NoteRef
from festinger.store.repositories.exchanges import StoredBlock, StoredSession

REPLIES = 4
RECENT = 64
"""Assistant and tool messages kept to recognize a shortened history."""
REPLY_TEXT = 2000
"""Characters kept of a reply: as far as quotes of it are searched."""
BLOCK_COST = 200
"""Approximate bytes of a block beside its text."""


class ProxyCaller(NamedTuple):
    """The sender of requests; callers' sessions never mix. A tuple, because it is part of many keys."""

    space: SpaceId
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReply:
    text: str
    content: bytes
    """Its hash, as it will appear in a history."""
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySession:
    """A session as its latest request left it."""

    caller: ProxyCaller
    id: SessionId
    at: datetime
    head: bytes | None = None
    links: tuple[bytes, ...] = ()
    recent: frozenset[bytes] = frozenset()
    """Hashes of recent assistant and tool messages."""
    replies: tuple[SessionReply, ...] = ()
    blocks: Mapping[bytes, ContextBlock] = field(default_factory=dict)
    """Blocks by anchor, oldest first."""
    system_block: ContextBlock | None = None
    """The block in the system text."""
    parent: SessionId | None = None
    asked: bytes | None = None
    """Link of the last turn that memory was asked about; later turns still wait.

    `None` if it is no longer known: then everything that was forwarded counts as asked about.
    """

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        hashes = (len(self.links) + len(self.recent)) * 64
        texts = sum(len(reply.text) for reply in self.replies)
        return hashes + texts + sum(BLOCK_COST + len(block.text) for block in self.blocks.values())


def trim_replies(replies: Iterable[SessionReply]) -> tuple[SessionReply, ...]:
    """Keep the last replies, each truncated to what is needed later."""
    return tuple(replace(reply, text=reply.text[:REPLY_TEXT]) for reply in tuple(replies)[-REPLIES:])


@dataclass(frozen=True, slots=True, kw_only=True)
class HashChain:
    """Hashes of a history, one per turn."""

    links: tuple[bytes, ...]
    """Hash of each turn with all before it; a turn that is only a volatile tail repeats the previous link."""
    contents: tuple[bytes, ...]
    """Hash of each turn alone."""
    first_user: int | None
    """Index of the first user turn."""

    @property
    def head(self) -> bytes | None:
        return None if self.first_user is None else self.links[self.first_user]

    @property
    def end(self) -> bytes:
        return self.links[-1]


START = b"\x00" * HASH_BYTES


def build_chain(turns: Sequence[RequestTurn]) -> HashChain:
    links, here = [], START
    for turn in turns:
        if not turn.transient:
            here = sha256(here + turn.content).digest()[:HASH_BYTES]
        links.append(here)
    first_user = next((at for at, turn in enumerate(turns) if turn.role is ChatRole.USER and not turn.transient), None)
    return HashChain(links=tuple(links), contents=tuple([turn.content for turn in turns]), first_user=first_user)


def reply_content_hash(reply: ChatMessage) -> bytes:
    """The hash that a reply will have when it comes back in a history."""
    return content_hash((reply,))


def advance_session(
    session: ProxySession, current: ProxySession | None, *, turns: Sequence[RequestTurn], chain: HashChain, at: datetime
) -> ProxySession:
    """The session after this request; `current` is its present state in the registry."""
    others = current or session
    return replace(
        session,
        at=at,
        head=chain.head,
        links=chain.links,
        recent=_recent_contents(turns, chain),
        replies=others.replies,
        blocks={**others.blocks, **session.blocks} if others is not session else session.blocks,
    )


def _recent_contents(turns: Sequence[RequestTurn], chain: HashChain) -> frozenset[bytes]:
    backwards = zip(reversed(turns), reversed(chain.contents), strict=True)
    spoken = (content for turn, content in backwards if turn.role is not ChatRole.USER)
    return frozenset(islice(spoken, RECENT))


NAME_CHARS = 120
"""Longer session names are shortened and made unique by a hash."""


def session_name(session: SessionId) -> SessionId:
    """Session name for rows and events: clients may use longer names than an event may contain."""
    if len(session) <= NAME_CHARS:
        return session
    return SessionId(f"{session[: NAME_CHARS - 20]}…{blake2b(session.encode(), digest_size=8).hexdigest()}")


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
        blocks = [_stored_block(block, where, NO_ID) for where, block in _all_blocks(session)]
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
