"""The arithmetic of results: percentiles, medians of runs, goals."""

import pytest
from benchmarks.result import BenchMetric, Sample, System, SystemKind, at_least, at_most, percentile, together
from hypothesis import given
from hypothesis import strategies as st

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200)
US = System(name="festinger", kind=SystemKind.PRODUCT)
OTHER = System(name="other", kind=SystemKind.PEER)
SPEED = BenchMetric(name="speed", unit="ms", about="how fast", goal=at_most(2))


def test_percentiles_of_a_hundred_numbers():
    values = [float(number) for number in range(100, 0, -1)]

    assert [percentile(values, share) for share in (0.01, 0.5, 0.99, 1.0)] == [1, 50, 99, 100]


@given(numbers, st.floats(0, 1))
def test_a_percentile_is_the_smallest_value_that_the_share_does_not_exceed(values: list[float], share: float):
    found = percentile(values, share)

    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9
    assert sum(value < found for value in values) <= share * len(values)


def test_nothing_has_no_percentile():
    with pytest.raises(ValueError, match="of nothing"):
        percentile([], 0.5)


@pytest.mark.parametrize(
    ("goal", "value", "holds"),
    [(at_most(2), 2.0, True), (at_most(2), 2.01, False), (at_least(5), 5.0, True), (at_least(5), 4.99, False)],
)
def test_goals_hold_up_to_their_bound(goal, value: float, holds: bool):
    assert goal.holds(value) is holds


@pytest.mark.requirement("S-05")
def test_the_median_run_counts_and_its_spread_is_told():
    samples = [Sample(metric="speed", system="festinger", value=value, n=10) for value in (9.0, 1.0, 2.0)]

    (result,) = together([SPEED], [US], samples)

    assert (result.value, result.spread, result.n, result.met) == (2.0, (1.0, 9.0), 30, True)


def test_the_goal_is_ours_alone():
    samples = [Sample(metric="speed", system=name, value=3.0) for name in ("festinger", "other")]

    ours, others = together([SPEED], [US, OTHER], samples)

    assert (ours.met, others.goal, others.met) == (False, None, None)


def test_a_system_without_samples_has_no_result():
    results = together([SPEED], [US, OTHER], [Sample(metric="speed", system="festinger", value=1.0)])

    assert [result.system for result in results] == ["festinger"]
