"""Is anything that was found good enough to be told?

Evidence is absolute: how near a hit is to the cue in meaning, and how much of what the cue says it holds. No place
among others counts, so the best of many bad hits is still bad.
"""

from collections.abc import Sequence
from dataclasses import dataclass

WORDS_ALONE = 0.25
"""Coverage that is enough where no vector says anything."""
OF_STRANGERS = 0.75
"""What evidence counts where a cue asks of somebody of whom nobody ever spoke."""
LOOKED_AT = 10
"""Best hits among which one must be good enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """What evidence must reach; without a reference cosine words alone decide."""

    threshold: float = WORDS_ALONE
    reference: float | None = None


def evidence(bar: Bar, *, cosine: float | None, coverage: float, of_strangers: bool = False) -> float:
    """From 0 to 1."""
    share = OF_STRANGERS if of_strangers else 1.0
    if bar.reference is None:
        return share * coverage
    near = min(1.0, max(0.0, cosine or 0.0) / bar.reference)
    return share * (0.5 * near + 0.5 * coverage)


def is_open(bar: Bar, found: Sequence[float]) -> bool:
    """Whether one of the best hits, which are given in their order, is good enough."""
    return any(each >= bar.threshold for each in found[:LOOKED_AT])
