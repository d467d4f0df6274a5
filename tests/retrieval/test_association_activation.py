"""How active a memory is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.retrieval.association import (
    MismatchFeatures,
    base_level,
    logistic_noise,
    mismatch_penalty,
    spreading_activation,
    total_activation,
)

HOUR, DAY = 3600.0, 86_400.0
HALF_SHARED = (
    MismatchFeatures(kind="fact", tags=("a", "b", "c")),
    MismatchFeatures(kind="insight", tags=("b", "c", "d")),
)


@pytest.mark.requirement("R-47")
@pytest.mark.parametrize(
    ("ages", "level"),
    [
        ([HOUR], -4.0943),
        ([DAY], -5.6834),
        ([HOUR, DAY, 7 * DAY], -3.8465),
        ([HOUR] * 5, -2.4849),
        ([0.2], 0.0),
        ([], 0.0),
    ],
    ids=["an hour", "a day", "three", "five", "just now", "never"],
)
def test_often_and_lately_met_is_active(ages: list[float], level: float):
    assert base_level(ages) == pytest.approx(level, abs=1e-4)


@pytest.mark.requirement("R-47")
@pytest.mark.parametrize(
    ("chance", "moved"), [(0.1, -0.8789), (0.25, -0.4394), (0.5, 0.0), (0.75, 0.4394), (0.999, 2.7627)]
)
def test_chance_moves_it_either_way(chance: float, moved: float):
    assert logistic_noise(chance) == pytest.approx(moved, abs=1e-4)


@pytest.mark.requirement("R-45")
def test_chance_never_moves_it_without_end():
    assert logistic_noise(0.0) == logistic_noise(0.001)
    assert logistic_noise(1.0) == logistic_noise(0.999)


@pytest.mark.requirement("R-47")
def test_nearness_to_what_matters_counts_more_than_to_the_context():
    assert spreading_activation(0.5, [(0.4, 1.0)]) == pytest.approx(0.44)


@pytest.mark.requirement("R-45")
def test_what_is_not_known_is_left_out():
    assert spreading_activation(0.7) == 0.7
    assert spreading_activation(None) == 0.5
    assert spreading_activation(-0.3) == 0.0
    assert mismatch_penalty(MismatchFeatures(kind="fact"), MismatchFeatures()) == 0.0


@pytest.mark.requirement("R-47")
def test_what_does_not_fit_costs():
    assert mismatch_penalty(*HALF_SHARED) == pytest.approx(-0.55)


@pytest.mark.requirement("R-47")
def test_all_of_it_together():
    found = total_activation(
        base_level([HOUR, DAY, 7 * DAY]),
        spreading_activation(0.5, [(0.4, 1.0)]),
        mismatch_penalty(*HALF_SHARED),
        logistic_noise(0.5),
    )

    assert found == pytest.approx(-3.9565, abs=1e-4)


@pytest.mark.requirement("R-47")
@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=20), st.floats(0, 1e9), st.floats(0.1, 1.0))
def test_more_or_later_accesses_never_lower_it(ages: list[float], more: float, nearer: float):
    level = base_level(ages)

    assert base_level([*ages, more]) >= level - 1e-12
    assert base_level([age * nearer for age in ages]) >= level - 1e-12
