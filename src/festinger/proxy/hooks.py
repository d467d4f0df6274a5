"""Interface between the proxy's hot path and what hooks into it: pipeline, request log and events.

The values are separate from their implementations, so that a proxy without memory needs none of them. A
request that the breaker stopped, or whose response was not read to its end, leaves no exchange to carry its
events; they go through `Recount`.
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
    """A response of our own instead of the upstream's."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    chunks: tuple[bytes, ...]
    """Sent one after the other."""


class ForwardResultObserver(Protocol):
    """Receives the result of forwarding a request."""

    def refused(self) -> LoopStatus | None:
        """The upstream rejected the edited request; return the loop status of the original."""

    def came(self, status: int | None) -> None:
        """Report the status of the response; `None` if there was none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineResult:
    """The request to forward, its status, and the listener for its response."""

    body: Body
    told: MemoryStatus | None
    listener: ReplyListener | None = None
    session: SessionStatus | None = None
    loop: LoopStatus | None = None
    own: LocalResponse | None = None
    """If set, nothing is forwarded."""
    instead: bytes | None = None
    """Sent instead if the upstream rejects `body`."""
    regard: ForwardResultObserver | None = None
    learning: "LearnTask | None" = None
    """What is being learned from the request."""


class PipelineHandler(Protocol):
    async def __call__(
        self, authorized: AuthorizedRequest, headers: RawHeaders, body: bytes, *, settings: ProxySettings
    ) -> PipelineResult: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRequest:
    authorized: AuthorizedRequest
    status: int | None
    """Status sent to the client; `None` if it left before."""
    memory: str
    reason: str
    before: float
    """Seconds from the request's first byte until it was forwarded."""
    after: float
    """Seconds from the upstream's first byte until the first write to the client."""
    loop: str = ""


Pass = Callable[[FinishedRequest], None]
"""Receives a finished request; must not block."""


def ignore_finished_request(_request: FinishedRequest) -> None:
    """Discard the request."""


Recount = Callable[[SpaceId, Sequence[NewEvent]], None]
"""Emits these events; must not block."""


def discard_events(_space: SpaceId, _happenings: Sequence[NewEvent]) -> None:
    """Discard the events."""
