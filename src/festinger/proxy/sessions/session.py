"""What is known of a live session?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from festinger.ids import SessionId, SpaceId
from festinger.proxy.injection.block import Block

REPLIES = 4
RECENT = 64
"""Messages of the assistant and its tools by which a shortened history is known again."""
REPLY_TEXT = 2000
"""Characters that are kept of a reply: as far as quotes of it are looked for."""
BLOCK_COST = 200
"""Bytes that a block takes beside its text."""


class Caller(NamedTuple):
    """Whoever sends requests; sessions of different ones never meet. A tuple, because it stands in many keys."""

    space: SpaceId
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    text: str
    content: bytes
    """Its hash, as it will stand in a history."""
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session as its latest request left it."""

    caller: Caller
    id: SessionId
    at: datetime
    head: bytes | None = None
    links: tuple[bytes, ...] = ()
    recent: frozenset[bytes] = frozenset()
    """Hashes of what the assistant and its tools lately said."""
    replies: tuple[Reply, ...] = ()
    blocks: Mapping[bytes, Block] = field(default_factory=dict)
    """Blocks by anchor, the oldest first."""
    system_block: Block | None = None
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
        return hashes + texts + sum(_cost(block) for block in self.blocks.values())


def _cost(block: Block) -> int:
    return BLOCK_COST + len(block.text)


def latest(replies: Iterable[Reply]) -> tuple[Reply, ...]:
    """The last ones, as much of each as is needed later."""
    return tuple(_shortened(reply) for reply in tuple(replies)[-REPLIES:])


def _shortened(reply: Reply) -> Reply:
    return reply if len(reply.text) <= REPLY_TEXT else replace(reply, text=reply.text[:REPLY_TEXT])
