"""What does every deed of the world need, whatever it does?"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from festinger.clock import Clock
from festinger.events.outbox import Outbox
from festinger.ids import NewId, SpaceId
from festinger.settings.beliefs import WorldSettings
from festinger.store.pool import Store, Transaction


class AskToWrite(Protocol):
    async def __call__(
        self,
        transaction: Transaction,
        space: SpaceId,
        concept: int,
        *,
        tries: int = 1,
        at: datetime | None = None,
    ) -> object: ...


SettleMemory = Callable[[Transaction, SpaceId, Any, Any], Awaitable[dict[str, Any]]]
"""Carries out a verdict on two memories within the transaction; what is kept of it. Given the conflict and the
verdict; what memories are is known above this room."""

UnsettleMemory = Callable[[Transaction, SpaceId, Any, str], Awaitable[None]]
"""Takes back, in somebody's name, what a verdict on the two memories of a conflict did."""

AskToLearn = Callable[[Transaction, SpaceId, str], Awaitable[object]]
Follow = Callable[[SpaceId], Awaitable[None]]


async def follow_nothing(_space: SpaceId) -> None:
    """For a process that keeps no world in memory."""


async def learn_nothing(_transaction: Transaction, _space: SpaceId, _message: str) -> None:
    """For a wiring without background work."""


async def has_some_writer(_space: SpaceId) -> bool:
    """For a wiring that leaves the question to the job."""
    return True


async def write_nothing(
    transaction: Transaction, space: SpaceId, concept: int, *, tries: int = 1, at: datetime | None = None
) -> None:
    """For a wiring without background work."""


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
    ask_to_write: AskToWrite = write_nothing
    has_writer: Callable[[SpaceId], Awaitable[bool]] = has_some_writer
    """Whether there is a model that could explain a name to a space."""
    """Has a concept that stands out explained, as durable work within the transaction."""
    ask_to_learn: AskToLearn = learn_nothing
    """Has what a message asserted written, as durable work within the transaction."""
    follow: Follow = follow_nothing
    """Brings this process up to date with what was just committed."""
    settle_memory: SettleMemory | None = None
    unsettle_memory: UnsettleMemory | None = None
