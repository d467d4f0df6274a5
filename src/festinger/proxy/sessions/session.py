"""State of a live session, and the hash chain of its history.

A request's history replaces the previous one. Requests of a session may run concurrently, so replies and
blocks that another request added meanwhile are kept. Each message is hashed with the hash before it, so two
histories share hashes exactly as far as they are equal. Only stable content is hashed; see
`messages.content_hash`.
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
        return hashes + texts + sum(_block_cost(block) for block in self.blocks.values())


def _block_cost(block: ContextBlock) -> int:
    return BLOCK_COST + len(block.text)


def trim_replies(replies: Iterable[SessionReply]) -> tuple[SessionReply, ...]:
    """Keep the last replies, each truncated to what is needed later."""
    return tuple(_truncate_reply(reply) for reply in tuple(replies)[-REPLIES:])


def _truncate_reply(reply: SessionReply) -> SessionReply:
    return reply if len(reply.text) <= REPLY_TEXT else replace(reply, text=reply.text[:REPLY_TEXT])


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
    session: ProxySession, beside: ProxySession | None, *, turns: Sequence[RequestTurn], chain: HashChain, at: datetime
) -> ProxySession:
    """The session after this request; `beside` is its present state in the registry."""
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
