"""Which memories have earned a promotion: distinct outside causes over days, and outcomes."""

from uuid import UUID

import pytest

from festinger.consolidation.promote import STAGES, compute_utility, find_earned_stage
from festinger.ids import Origin
from festinger.memory.query import MemoryCauses

FIRST, SECOND = STAGES


def causes(count: int, days: int, *origins: Origin) -> MemoryCauses:
    return MemoryCauses(
        sightings=tuple(UUID(int=each) for each in range(count)), origins=origins or (Origin.PERSON,), days=days
    )


@pytest.mark.requirement("C-50")
@pytest.mark.parametrize(
    ("center", "said", "utility", "stage"),
    [
        (0.3, causes(5, 14), 0.0, FIRST),
        (0.3, causes(4, 14), 0.0, None),
        (0.3, causes(5, 13), 0.0, None),
        (0.3, causes(50, 0), 0.0, None),
        (0.3, causes(5, 14), -0.01, None),
        (0.7, causes(5, 14), 0.5, None),
        (0.7, causes(10, 30), 0.2, SECOND),
        (0.7, causes(10, 30), 0.1, None),
        (0.7, causes(10, 29), 0.2, None),
        (0.82, causes(50, 90), 1.0, None),
        (0.3, causes(30, 30, Origin.TOOL, Origin.DOCUMENT), 0.0, None),
        (0.3, causes(30, 30, Origin.DOCUMENT, Origin.PERSON), 0.0, FIRST),
    ],
)
def test_a_promotion_needs_causes_days_and_use(center: float, said: MemoryCauses, utility: float, stage: object):
    assert find_earned_stage(center=center, causes=said, utility=utility) is stage


@pytest.mark.requirement("C-53")
def test_utility_follows_outcomes_by_their_weight():
    assert compute_utility([]) == 0
    assert compute_utility([("acted", 1.0)]) == pytest.approx(0.1)
    assert compute_utility([("acted", 1.0), ("contradicted", 1.0)]) == pytest.approx(0.1 + 0.1 * (-1 - 0.1))
    assert compute_utility([("used", 0.5)]) == pytest.approx(0.015)
    assert compute_utility([("deferred", 1.0)]) == 0
