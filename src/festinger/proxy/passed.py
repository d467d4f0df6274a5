"""How did a request end at the door?

A value for those who write it down; apart from them, so that the door needs nothing of theirs.
"""

from collections.abc import Callable
from dataclasses import dataclass

from festinger.proxy.guard import Visit


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
