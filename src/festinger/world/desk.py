"""What does every deed of the world need, whatever it does?"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from festinger.clock import Clock
from festinger.events.outbox import Outbox
from festinger.ids import NewId, SpaceId
from festinger.settings.tree import WorldSettings
from festinger.store.pool import Store

Follow = Callable[[SpaceId], Awaitable[None]]


async def follow_nothing(_space: SpaceId) -> None:
    """For a process that keeps no world in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    store: Store
    outbox: Outbox
    clock: Clock
    new_id: NewId
    terms: Callable[[SpaceId], WorldSettings]
    """The settings that are in force for a space now."""
    is_common: Callable[[str, float], bool]
    """Whether a token is common English, from a Zipf frequency on."""
    follow: Follow = follow_nothing
    """Brings this process up to date with what was just committed."""
