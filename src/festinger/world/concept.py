"""How much does a concept stand out?

A word is salient by how often it was met and novel once something is known about it; the larger of the two
decides whether it surfaces and is asked about. Common English never becomes salient. Counting is `encounters`'
matter, keeping the rows `vocabulary`'s.
"""

import math
from datetime import datetime, timedelta
from typing import NamedTuple

CONCEPT_HALF_LIFE = timedelta(days=30)
NOVEL = 1.0

SALIENT_FROM = 2
"""The first count whose saliency is above 0."""


class SoasRow(NamedTuple):
    """One word of a space. A tuple, because a process keeps a hundred thousand of them."""

    id: int
    token: str
    encounter_count: int = 0
    last_seen: datetime | None = None
    saliency: float = 0.0
    novelty: float = 0.0
    trusted_seen: bool = False


def saliency(encounters: int) -> float:
    return math.log10(encounters) if encounters >= SALIENT_FROM else 0.0


def effective(row: SoasRow) -> float:
    """What thresholds are compared with."""
    return max(row.saliency, row.novelty)


def standing(row: SoasRow, age: timedelta) -> float:
    """Its rank in a recollection; `age` is how long ago its text was first seen in the session."""
    return float(effective(row) * 2 ** (-(age / CONCEPT_HALF_LIFE)))
