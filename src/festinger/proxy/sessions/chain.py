"""What makes one history the continuation of another?

Each message is hashed together with the hash before it, so that two histories share a hash exactly as far as they
are equal. Only what stays the same is hashed; what that is, `essence` says.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from festinger.proxy.loops.message import Message, Role
from festinger.proxy.requests.essence import HASH_BYTES, content_hash, short_sha256
from festinger.proxy.requests.turn import Turn

__all__ = ["HASH_BYTES", "START", "Chain", "chain_of", "content_of_reply", "short_sha256"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
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


def chain_of(turns: Sequence[Turn]) -> Chain:
    links, here = [], START
    for turn in turns:
        if not turn.transient:
            here = sha256(here + turn.content).digest()[:HASH_BYTES]
        links.append(here)
    first_user = next(
        (at for at, turn in enumerate(turns) if turn.role is Role.USER and not turn.transient), None
    )
    return Chain(links=tuple(links), contents=tuple([turn.content for turn in turns]), first_user=first_user)


def content_of_reply(reply: Message) -> bytes:
    """The hash that a reply will have when it comes back in a history."""
    return content_hash((reply,))
