"""How deeply is a memory held that nobody touched for a while?

Fading is computed whenever a weight is read and never written: touching the memory again restores it whole.
"""

from collections.abc import Iterable
from datetime import datetime

from festinger.memory.weight import Weight

LOST_A_DAY = 0.01
STALE_AFTER_DAYS = 90
STALE_BELOW_READS = 3
LOST_WHEN_STALE = 1.0

DAY_SECONDS = 86_400.0


def effective(weight: Weight, *, idle_days: float, reads: int, immutable: bool = False) -> Weight:
    """The weight as it counts now."""
    if immutable:
        return weight
    idle = max(0.0, idle_days)
    is_stale = idle >= STALE_AFTER_DAYS and reads < STALE_BELOW_READS
    return Weight(
        alpha=weight.alpha, beta=weight.beta + LOST_A_DAY * idle + (LOST_WHEN_STALE if is_stale else 0.0)
    )


def idle_days(touched: Iterable[datetime | None], *, now: datetime) -> float:
    """Days since the last of some moments, at least one of which is known."""
    latest = max(filter(None, touched))
    return max(0.0, (now - latest).total_seconds() / DAY_SECONDS)
