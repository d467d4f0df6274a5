"""The safety ceilings: what each stops, in shadow and enforced, and how far a night moves a weight."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.consolidation.ceilings import (
    MOST_CHANGES,
    MOST_MOVED,
    Ceiling,
    PlannedWeightChange,
    apply_safety_ceilings,
    check,
    clip_weight_change,
    find_shadow_ceilings,
)
from festinger.memory.confidence import HIGHEST_CENTER, Weight, reinforce_weight

SHADOW = tuple(Ceiling)


def action(before: float = 0.5, after: float = 0.55, **more: object) -> PlannedWeightChange:
    weights = {
        name: Weight(alpha=center * 10, beta=(1 - center) * 10)
        for name, center in (("before", before), ("after", after))
    }
    return PlannedWeightChange(**{"causes": 5, "confidence": 0.5, **weights, **more})  # type: ignore[arg-type]


@pytest.mark.requirement("C-71")
@pytest.mark.parametrize(
    ("ceiling", "wanted", "passes"),
    [
        (Ceiling.RATE_LIMIT, action(0.50, 0.60), True),
        (Ceiling.RATE_LIMIT, action(0.50, 0.65), False),
        (Ceiling.RATE_LIMIT, action(0.50, 0.55, moved=0.06), False),
        (Ceiling.TWO_GATES, action(causes=1, confidence=0.6), False),
        (Ceiling.TWO_GATES, action(causes=1, confidence=0.7), True),
        (Ceiling.TWO_GATES, action(causes=2, confidence=0.1), True),
        (Ceiling.TWO_GATES, action(changes=MOST_CHANGES), False),
        (Ceiling.TWO_GATES, action(changes=MOST_CHANGES - 1), True),
        (Ceiling.GOAL_SHARE, action(0.85, 0.9, goals=(0.65, 0.65)), False),
        (Ceiling.GOAL_SHARE, action(0.8, 0.85, goals=(0.65, 0.65)), True),
        (Ceiling.GOAL_SHARE, action(0.95, 0.9, goals=(0.65, 0.65)), True),
        (Ceiling.GOAL_SHARE, action(0.85, 0.9, goals=(0.65,)), True),
        (Ceiling.GOAL_SHARE, action(0.85, 0.9, goals=(0.65, 0.65, 0.65)), True),
        (Ceiling.BREAKER, action(nights=4), False),
        (Ceiling.BREAKER, action(nights=3), True),
        (Ceiling.BREAKER, action(0.5, 0.45, nights=9), True),
    ],
)
def test_each_ceiling_stops_what_is_beyond_it(ceiling: Ceiling, wanted: PlannedWeightChange, passes: bool):
    passed, reason = check(ceiling, wanted)

    assert passed is passes
    assert passes or reason


@pytest.mark.requirement("C-71")
def test_the_breaker_logs_until_the_third_night_with_promotions_unless_settings_say_otherwise():
    assert find_shadow_ceilings((), (), nights=1) == {"breaker"}
    assert find_shadow_ceilings((), (), nights=2) == set()
    assert find_shadow_ceilings((), ("breaker",), nights=0) == set()
    assert find_shadow_ceilings(("breaker", "rate_limit"), (), nights=9) == {"breaker", "rate_limit"}


@pytest.mark.requirement("C-71")
def test_a_change_beyond_the_rate_is_cut_to_it_and_logged():
    allowed, [event] = apply_safety_ceilings(action(0.50, 0.65))

    assert allowed.center == pytest.approx(0.60)
    assert (event.ceiling, event.enforced) == (Ceiling.RATE_LIMIT, True)
    assert event.allowed == pytest.approx(0.60)


@pytest.mark.requirement("C-71")
def test_in_shadow_a_change_is_made_and_logged_as_not_enforced():
    wanted = action(0.50, 0.65, causes=1)

    allowed, events = apply_safety_ceilings(wanted, SHADOW)

    assert allowed == wanted.after
    assert {(event.ceiling, event.enforced) for event in events} == {
        (Ceiling.TWO_GATES, False),
        (Ceiling.RATE_LIMIT, False),
    }


@pytest.mark.requirement("C-71")
def test_a_refused_change_leaves_the_weight():
    wanted = action(causes=1, confidence=0.6)

    allowed, [event] = apply_safety_ceilings(wanted)

    assert allowed == wanted.before
    assert event.ceiling is Ceiling.TWO_GATES


@pytest.mark.requirement("C-71")
def test_no_gain_lifts_a_center_past_the_hard_ceiling():
    assert reinforce_weight(Weight(alpha=18, beta=1), 1000).center == pytest.approx(HIGHEST_CENTER)


@given(st.floats(0.05, 0.9), st.floats(0.05, 0.9), st.floats(0, 0.1))
def test_a_night_never_moves_a_center_farther_than_its_rate(before: float, after: float, moved: float):
    wanted = action(before, after, moved=moved)

    clipped = clip_weight_change(wanted)

    assert abs(clipped.center - wanted.before.center) <= MOST_MOVED - moved + 1e-9
