"""What makes one history the continuation of another?

Each message is hashed together with the hash before it, so that two histories share a hash exactly as far as they
are equal. Only what stays the same is hashed: no blocks of ours, no volatile tails, and of a system text only its
beginning, since many clients write the date into it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from festinger.proxy.loops.message import Message, Role
from festinger.proxy.requests.turn import Turn

SYSTEM_CHARS = 50
HASH_BYTES = 16

Hash = Callable[[bytes], bytes]


def short_sha256(data: bytes) -> bytes:
    return sha256(data).digest()[:HASH_BYTES]


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


def chain_of(turns: Sequence[Turn], *, hash_of: Hash = short_sha256) -> Chain:
    links, contents, here = [], [], START
    for turn in turns:
        content = hash_of(_essence(turn))
        if not turn.transient:
            here = hash_of(here + content)
        links.append(here)
        contents.append(content)
    first_user = next(
        (at for at, turn in enumerate(turns) if turn.role is Role.USER and not turn.transient), None
    )
    return Chain(links=tuple(links), contents=tuple(contents), first_user=first_user)


def content_of_reply(reply: Message, *, hash_of: Hash = short_sha256) -> bytes:
    """The hash that a reply will have when it comes back in a history."""
    return hash_of(_essence(Turn(role=reply.role, path=(), messages=(reply,))))


def _essence(turn: Turn) -> bytes:
    """Role and stable content. Lengths stand before the parts, so that no two contents are written alike."""
    parts = [turn.others]
    for message in turn.messages:
        text = message.text[:SYSTEM_CHARS] if message.role is Role.SYSTEM else message.text.rstrip()
        parts += (message.role.encode(), text.encode())
        for call in message.calls:
            parts += (b"call", call.name.encode(), call.arguments.encode())
    return b"".join(b"%d:%b" % (len(part), part) for part in parts)
