"""Does an outcome count?

What nobody told on purpose counts once for a memory and cause; what somebody did, up to a limit, so that one loop
cannot vote a thousand times; a reviewer's word always. Pure.
"""

from collections.abc import Mapping
from enum import StrEnum

from festinger.outcomes.outcome import How
from festinger.world.corroboration import Outcome


class Uncounted(StrEnum):
    """Why an outcome moved nothing."""

    IMMUTABLE = "immutable"
    ONCE_PER_CAUSE = "once_per_cause"
    MAX_PER_CAUSE = "max_per_cause"


def uncounted(
    outcome: Outcome,
    how: How,
    *,
    counted: Mapping[How, int],
    most: int,
    immutable: bool = False,
    is_reviewer: bool = False,
) -> Uncounted | None:
    """Why an outcome does not count; none if it does. `counted` are those of the same memory and cause before."""
    if immutable:
        return Uncounted.IMMUTABLE
    if is_reviewer or outcome is Outcome.DEFERRED:
        return None
    if how.is_passive and counted.get(how, 0):
        return Uncounted.ONCE_PER_CAUSE
    return Uncounted.MAX_PER_CAUSE if sum(counted.values()) >= most else None
