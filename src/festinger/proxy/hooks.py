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

from festinger.events.event import NewEvent
from festinger.ids import SpaceId
from festinger.proxy.auth import AuthorizedRequest
from festinger.proxy.headers import LoopStatus, MemoryStatus, RawHeaders, SessionStatus
from festinger.proxy.transport.streams import ReplyListener
from festinger.settings.tree import ProxySettings

if TYPE_CHECKING:
    from festinger.proxy.statements import LearnTask


Body = bytes | AsyncIterator[bytes] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalResponse:
    """An answer of ours in the place of the upstream's."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    chunks: tuple[bytes, ...]
    """As they are sent, one after the other."""


class UpstreamObserver(Protocol):
    """Wants to know what became of a request."""

    def refused(self) -> LoopStatus | None:
        """The upstream did not take it as it was changed. What is told of it now that it goes without."""

    def came(self, status: int | None) -> None:
        """Its answer has this status; none if there was no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineResult:
    """A request as it goes on, what is told of it, and who listens to its answer."""

    body: Body
    told: MemoryStatus | None
    listener: ReplyListener | None = None
    session: SessionStatus | None = None
    loop: LoopStatus | None = None
    own: LocalResponse | None = None
    """Where this is said, nothing goes on."""
    instead: bytes | None = None
    """What is sent once more if the upstream refuses `body`."""
    regard: UpstreamObserver | None = None
    learning: "LearnTask | None" = None
    """What is being learned from the request."""


class PipelineHandler(Protocol):
    async def __call__(
        self, visit: AuthorizedRequest, headers: RawHeaders, body: bytes, *, settings: ProxySettings
    ) -> PipelineResult: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRequest:
    visit: AuthorizedRequest
    status: int | None
    """What the client was sent; none if it left before."""
    memory: str
    reason: str
    before: float
    """Seconds from its first byte until it was sent on."""
    after: float
    """Seconds from the upstream's first byte until the client was written to."""
    loop: str = ""


Pass = Callable[[FinishedRequest], None]
"""Hears of a request that is over; must not wait."""


def ignore_finished_request(_request: FinishedRequest) -> None:
    """Nobody writes it down."""


Recount = Callable[[SpaceId, Sequence[NewEvent]], None]
"""Has these told; must not wait."""


def discard_events(_space: SpaceId, _happenings: Sequence[NewEvent]) -> None:
    """Nobody is there to be told."""
