"""How deeply a memory is held, and who moves that how far."""

import random
import statistics
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.errors import BadInput
from festinger.memory.confidence import (
    FRESH,
    HIGHEST_CENTER,
    IMMUTABLE,
    Weight,
    merge_weights,
    reinforce_weight,
    weaken_weight,
)

AMOUNTS = st.floats(min_value=0, max_value=50)
WEIGHTS = st.builds(Weight, alpha=st.floats(0.01, 500), beta=st.floats(0.01, 500))


@pytest.mark.requirement("M-06")
@pytest.mark.parametrize(
    ("alpha", "beta", "center"),
    [(1, 4, 0.2), (10, 2, 0.8333), (50, 2, 0.9615), (30, 25, 0.5455), (1, 1, 0.5), (50, 1, 0.9804)],
)
def test_the_center_is_the_mean(alpha: float, beta: float, center: float):
    weight = Weight(alpha=alpha, beta=beta)

    assert weight.center == weight.depth_weight == pytest.approx(center, abs=5e-5)
    assert weight.total_evidence == alpha + beta


@pytest.mark.requirement("M-06")
def test_contested_is_read_from_the_evidence_and_not_from_the_spread():
    fresh, contested = Weight(), Weight(alpha=30, beta=25)

    assert contested.is_contested
    assert not fresh.is_contested
    assert contested.variance**0.5 == pytest.approx(0.067, abs=1e-3)
    assert fresh.variance**0.5 == pytest.approx(0.163, abs=1e-3)
    assert not Weight(alpha=5, beta=6).is_contested
    assert Weight(alpha=1, beta=1).is_uninformed
    assert not Weight(alpha=2, beta=1).is_uninformed


@pytest.mark.requirement("M-06")
def test_draws_lie_where_the_distribution_lies():
    chance = random.Random(7)

    light = [Weight().observe(chance) for _ in range(100)]
    deep = [Weight(alpha=50, beta=2).observe(chance) for _ in range(100)]
    torn = [Weight(alpha=30, beta=25).observe(chance) for _ in range(100)]

    assert all(0 < draw < 0.9 for draw in light)
    assert statistics.mean(light) == pytest.approx(0.2, abs=0.05)
    assert min(deep) >= 0.80
    assert statistics.mean(deep) == pytest.approx(0.96, abs=0.02)
    assert statistics.mean(torn) == pytest.approx(0.545, abs=0.04)


@pytest.mark.requirement("M-06")
@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan"), float("inf")], ids=str)
def test_a_weight_is_made_of_numbers_above_nought(wrong: float):
    with pytest.raises(BadInput):
        Weight(alpha=wrong)
    with pytest.raises(BadInput):
        Weight(beta=wrong)
    if wrong:
        with pytest.raises(BadInput):
            Weight().reinforce(wrong)
        with pytest.raises(BadInput):
            Weight().contradict(wrong)


@pytest.mark.requirement("M-06")
def test_reinforcing_and_contradicting_give_a_new_weight():
    weight = Weight()

    assert weight.reinforce() == Weight(alpha=2.0, beta=4.0)
    assert weight.contradict() == Weight(alpha=1.0, beta=4.5)
    assert weight == FRESH


@pytest.mark.requirement("M-07", "O-35")
def test_the_first_reinforcement_of_a_fresh_memory_is_divided_by_what_is_known():
    moved = reinforce_weight(FRESH, 1.0)

    assert moved.alpha == 1.4306765580733931
    assert moved.center == 0.2634435217738221
    assert weaken_weight(FRESH, 0.5).center == 0.18181818181818182


@pytest.mark.requirement("M-07")
def test_twenty_reinforcements_gain_less_each_time_and_stop_at_the_highest_center():
    weights = [Weight(alpha=10, beta=1)]
    for _ in range(20):
        weights.append(reinforce_weight(weights[-1], 10.0))
    gains = [after.center - before.center for before, after in pairwise(weights)]

    assert gains == sorted(gains, reverse=True)
    assert weights[-1].center == pytest.approx(HIGHEST_CENTER)
    assert gains[0] > 0
    assert gains[-1] == 0


@pytest.mark.requirement("M-07")
@given(weight=WEIGHTS, amount=AMOUNTS)
def test_no_reinforcement_passes_the_highest_center_or_makes_lighter(weight: Weight, amount: float):
    moved = reinforce_weight(weight, amount)

    assert moved.beta == weight.beta
    assert moved.alpha >= weight.alpha
    assert moved.center <= max(weight.center, HIGHEST_CENTER + 1e-12)
    assert moved.alpha - weight.alpha <= amount + 1e-9


@pytest.mark.requirement("M-07")
@given(weight=WEIGHTS, amount=AMOUNTS, ceiling=st.floats(0.05, 0.95))
def test_a_ceiling_is_never_passed_and_pulls_nothing_down(weight: Weight, amount: float, ceiling: float):
    moved = reinforce_weight(weight, amount, ceiling=ceiling)

    assert weight.center <= moved.center <= max(weight.center, ceiling) + 1e-12


@pytest.mark.requirement("M-07", "M-08")
def test_what_is_held_for_good_does_not_move():
    assert reinforce_weight(IMMUTABLE, 5.0, immutable=True) == IMMUTABLE
    assert weaken_weight(IMMUTABLE, 5.0, immutable=True) == IMMUTABLE
    assert merge_weights(IMMUTABLE, Weight(alpha=9, beta=9), immutable=True) == IMMUTABLE
    assert IMMUTABLE.center > HIGHEST_CENTER


@pytest.mark.requirement("M-33")
def test_twins_add_what_each_gathered_beyond_the_prior():
    assert merge_weights(Weight(alpha=3, beta=5), Weight(alpha=2.5, beta=4.5)) == Weight(alpha=4.5, beta=5.5)
    assert merge_weights(Weight(alpha=60, beta=4), Weight(alpha=60, beta=4)).center == pytest.approx(HIGHEST_CENTER)
