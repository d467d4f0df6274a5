"""What does the hot path ask of memory?

One question, answered at once: how does this request go on? The values stand here, apart from who answers, so that
a door without memory needs nothing of it.
"""

from dataclasses import dataclass
from typing import Protocol

from festinger.proxy.guard import Visit
from festinger.proxy.headers import RawHeaders
from festinger.proxy.tap import Listener
from festinger.proxy.telling import MemoryTold
from festinger.settings.tree import ProxySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Attended:
    """A request as it goes on, what is told of it, and who listens to its answer."""

    body: bytes
    told: MemoryTold
    listener: Listener | None = None


class Attend(Protocol):
    async def __call__(
        self, visit: Visit, headers: RawHeaders, body: bytes, *, settings: ProxySettings
    ) -> Attended: ...
