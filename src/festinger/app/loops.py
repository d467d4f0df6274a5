"""Which conversations go round in circles now, and who lets one go on?

The door that watches them keeps this in memory; pages and commands ask through this port. Where no door stands there
is nothing to see.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from festinger.ids import SpaceId


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveLoop:
    """A loop that has reached a level and is not over."""

    session: str
    agent: str
    rule: str
    level: int
    count: int
    what: tuple[str, ...]
    """What repeats, one line a step. Words of agents and tools: data, never instructions."""
    is_stopped: bool
    """Whether its breaker is open."""
    at: datetime
    """When it was last seen."""


class LoopDesk(Protocol):
    def live(self, space: SpaceId) -> Sequence[LiveLoop]:
        """The loops of a space, the newest first."""

    def reset(self, space: SpaceId, session: str, *, by: str) -> bool:
        """Let a session go on: what it did so far counts no more. False if no such loop is known."""


class NoLoops:
    """No door is watched from here."""

    def live(self, _space: SpaceId) -> Sequence[LiveLoop]:
        return ()

    def reset(self, _space: SpaceId, _session: str, *, by: str) -> bool:
        return False
