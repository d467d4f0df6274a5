"""What does every deed of this room need, and who is it that reports?"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from festinger.clock import Clock
from festinger.events.outbox import Outbox
from festinger.ids import DEFAULT_AGENT, Cause, NewId, Origin, SpaceId
from festinger.memory.desk import Desk as MemoryDesk
from festinger.memory.memory import Place
from festinger.outcomes.outcome import How
from festinger.settings.outcomes import OutcomesSettings
from festinger.store.pool import Store
from festinger.world.desk import Desk as WorldDesk

DEFAULT_PARTITION = str(DEFAULT_AGENT)

Step = Callable[[str], None]


def pass_by(_step: str) -> None:
    """A batch goes through its steps; a test may stand at one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    store: Store
    outbox: Outbox
    clock: Clock
    new_id: NewId
    terms: Callable[[SpaceId], OutcomesSettings]
    memory: MemoryDesk
    world: WorldDesk
    step: Step = pass_by


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporter:
    """Who tells of outcomes, where, through which door and in which way."""

    place: Place
    name: str
    door: str
    how: How = How.EXPLICIT
    origin: Origin = Origin.PERSON
    is_reviewer: bool = False
    """Whether it is a person who reviews: a reviewer's word always counts."""

    @property
    def partition(self) -> str:
        """Where its reads and surfacings are kept unless another partition is named."""
        return str(self.place.agent)

    def cause(self, at: datetime) -> Cause:
        return self.place.cause(self.origin, at)
