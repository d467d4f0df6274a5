"""What does the hot path ask of memory and of the loop guard?

One question, answered at once: how does this request go on? The values stand here, apart from who answers, so that
a door without memory needs nothing of it.

How did a request end at the door?

A value for those who write it down; apart from them, so that the door needs nothing of theirs.

Who is told of what happened on the way of a request that is not captured?

A request that the breaker stopped, or whose answer nobody heard to its end, leaves no exchange with which its events
could be written; they are handed on here.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from festinger.events.event import Happening
from festinger.ids import SpaceId
from festinger.proxy.auth import Visit
from festinger.proxy.headers import LoopTold, MemoryTold, RawHeaders, SessionTold
from festinger.proxy.transport.streams import Listener
from festinger.settings.tree import ProxySettings

if TYPE_CHECKING:
    from festinger.proxy.statements import Learning


Body = bytes | AsyncIterator[bytes] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnReply:
    """An answer of ours in the place of the upstream's."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    chunks: tuple[bytes, ...]
    """As they are sent, one after the other."""


class Regard(Protocol):
    """Wants to know what became of a request."""

    def refused(self) -> LoopTold | None:
        """The upstream did not take it as it was changed. What is told of it now that it goes without."""

    def came(self, status: int | None) -> None:
        """Its answer has this status; none if there was no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attended:
    """A request as it goes on, what is told of it, and who listens to its answer."""

    body: Body
    told: MemoryTold | None
    listener: Listener | None = None
    session: SessionTold | None = None
    loop: LoopTold | None = None
    own: OwnReply | None = None
    """Where this is said, nothing goes on."""
    instead: bytes | None = None
    """What is sent once more if the upstream refuses `body`."""
    regard: Regard | None = None
    learning: "Learning | None" = None
    """What is being learned from the request."""


class Attend(Protocol):
    async def __call__(
        self, visit: Visit, headers: RawHeaders, body: bytes, *, settings: ProxySettings
    ) -> Attended: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    visit: Visit
    status: int | None
    """What the client was sent; none if it left before."""
    memory: str
    reason: str
    before: float
    """Seconds from its first byte until it was sent on."""
    after: float
    """Seconds from the upstream's first byte until the client was written to."""
    loop: str = ""


Pass = Callable[[Passed], None]
"""Hears of a request that is over; must not wait."""


def unnoticed(_request: Passed) -> None:
    """Nobody writes it down."""


Recount = Callable[[SpaceId, Sequence[Happening]], None]
"""Has these told; must not wait."""


def untold(_space: SpaceId, _happenings: Sequence[Happening]) -> None:
    """Nobody is there to be told."""
