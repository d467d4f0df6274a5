"""Who is told of what happened on the way of a request that is not captured?

A request that the breaker stopped, or whose answer nobody heard to its end, leaves no exchange with which its events
could be written; they are handed on here.
"""

from collections.abc import Callable, Sequence

from festinger.events.event import Happening
from festinger.ids import SpaceId

Recount = Callable[[SpaceId, Sequence[Happening]], None]
"""Has these told; must not wait."""


def untold(_space: SpaceId, _happenings: Sequence[Happening]) -> None:
    """Nobody is there to be told."""
