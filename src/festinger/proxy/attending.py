"""What does the hot path ask of memory and of the loop guard?

One question, answered at once: how does this request go on? The values stand here, apart from who answers, so that
a door without memory needs nothing of it.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from festinger.proxy.guard import Visit
from festinger.proxy.headers import RawHeaders
from festinger.proxy.tap import Listener
from festinger.proxy.telling import LoopTold, MemoryTold, SessionTold
from festinger.settings.tree import ProxySettings

if TYPE_CHECKING:
    from festinger.proxy.learn_status import Learning

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
