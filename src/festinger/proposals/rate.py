"""Are the bars too loose, or too tight?

The share of what was sighted lately that was put before a person. Loose bars let jitter through; tight ones let nothing
be learnt; and of few proposals nothing can be said. The reading is pure.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from festinger.ids import SpaceId
from festinger.proposals.desk import Desk
from festinger.settings.proposals import ProposalsSettings
from festinger.store.queries import queries_of

Q = queries_of("festinger.proposals")

TOO_LITTLE = "too little to say"
LOOSE = "loose: thresholds let jitter through"
TIGHT = "tight: nothing is learned"
HEALTHY = "healthy"

KNOBS = {
    LOOSE: "raise `proposals.min_seen_count` or `proposals.min_age_days`",
    TIGHT: "lower `proposals.min_seen_count` or `proposals.min_age_days`",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    promoted: int
    considered: int
    window_days: int
    reading: str

    @property
    def rate(self) -> float | None:
        return self.promoted / self.considered if self.considered else None

    def as_json(self) -> dict[str, Any]:
        return {
            "rate": None if self.rate is None else round(self.rate, 4),
            "promoted": self.promoted,
            "considered": self.considered,
            "window_days": self.window_days,
            "reading": self.reading,
            "knob": KNOBS.get(self.reading, ""),
        }


def reading(promoted: int, considered: int, settings: ProposalsSettings) -> str:
    """What the rate says."""
    if considered < settings.rate_min_considered:
        return TOO_LITTLE
    share = promoted / considered
    if share > settings.rate_high:
        return LOOSE
    return TIGHT if share < settings.rate_low else HEALTHY


async def rate(desk: Desk, space: SpaceId) -> Rate:
    """The rate of a space over its window."""
    terms = desk.terms(space)
    since = desk.clock() - timedelta(days=terms.rate_window_days)
    row = await desk.store.one(Q["rate"], space=space, since=since)
    return Rate(
        promoted=row["promoted"],
        considered=row["considered"],
        window_days=terms.rate_window_days,
        reading=reading(row["promoted"], row["considered"], terms),
    )
