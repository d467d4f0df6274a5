"""What is known of a live session?

What is known of a session after a request of it?

The request's history takes the place of the one before. Requests of one session run side by side, so whatever
another one put down in the meantime stays: its replies, and the blocks that it was given.

What makes one history the continuation of another?

Each message is hashed together with the hash before it, so that two histories share a hash exactly as far as they
are equal. Only what stays the same is hashed; what that is, `essence` says.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from itertools import islice
from typing import NamedTuple

from festinger.ids import SessionId, SpaceId
from festinger.proxy.context.block import ContextBlock
from festinger.proxy.loops.keys import ChatMessage, ChatRole
from festinger.proxy.protocols.messages import HASH_BYTES, RequestTurn, content_hash

REPLIES = 4
RECENT = 64
"""Messages of the assistant and its tools by which a shortened history is known again."""
REPLY_TEXT = 2000
"""Characters that are kept of a reply: as far as quotes of it are looked for."""
BLOCK_COST = 200
"""Bytes that a block takes beside its text."""


class ProxyCaller(NamedTuple):
    """Whoever sends requests; sessions of different ones never meet. A tuple, because it stands in many keys."""

    space: SpaceId
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReply:
    text: str
    content: bytes
    """Its hash, as it will stand in a history."""
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
    """Hashes of what the assistant and its tools lately said."""
    replies: tuple[SessionReply, ...] = ()
    blocks: Mapping[bytes, ContextBlock] = field(default_factory=dict)
    """Blocks by anchor, the oldest first."""
    system_block: ContextBlock | None = None
    """The block that stands in the system text."""
    parent: SessionId | None = None
    asked: bytes | None = None
    """The link of the last turn that memory was asked about; what comes after it still waits.

    None if that is not known any more: then what was forwarded counts as asked about.
    """

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        hashes = (len(self.links) + len(self.recent)) * 64
        texts = sum(len(reply.text) for reply in self.replies)
        return hashes + texts + sum(_block_cost(block) for block in self.blocks.values())


def _block_cost(block: ContextBlock) -> int:
    return BLOCK_COST + len(block.text)


def trim_replies(replies: Iterable[SessionReply]) -> tuple[SessionReply, ...]:
    """The last ones, as much of each as is needed later."""
    return tuple(_truncate_reply(reply) for reply in tuple(replies)[-REPLIES:])


def _truncate_reply(reply: SessionReply) -> SessionReply:
    return reply if len(reply.text) <= REPLY_TEXT else replace(reply, text=reply.text[:REPLY_TEXT])


@dataclass(frozen=True, slots=True, kw_only=True)
class HashChain:
    """The hashes of a history, one a turn."""

    links: tuple[bytes, ...]
    """Of each turn with all before it; a turn that was only a volatile tail repeats the one before."""
    contents: tuple[bytes, ...]
    """Of each turn alone, wherever it stands."""
    first_user: int | None
    """Which turn is the first of the user."""

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
    session: ProxySession, beside: ProxySession | None, *, turns: Sequence[RequestTurn], chain: HashChain, at: datetime
) -> ProxySession:
    """The session as this request leaves it; `beside` is what is kept of it by now."""
    others = beside or session
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
