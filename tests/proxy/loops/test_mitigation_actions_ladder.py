import pytest

from festinger.proxy.loops.mitigation import count_levels_in_force, steps_up_to_level
from festinger.settings.tree import LoopSettings

USUAL = LoopSettings()


@pytest.mark.requirement("P-70")
def test_each_level_does_what_those_below_it_do_and_one_thing_more():
    assert [steps_up_to_level(level, USUAL) for level in range(5)] == [
        (),
        ("nudge",),
        ("nudge", "temperature"),
        ("nudge", "temperature", "prune"),
        ("nudge", "temperature", "prune", "breaker"),
    ]


@pytest.mark.requirement("P-70")
def test_steps_can_be_put_in_another_order_or_left_out():
    other = LoopSettings(ladder=("prune", "nudge"))

    assert steps_up_to_level(1, other) == ("prune",)
    assert steps_up_to_level(4, other) == ("prune", "nudge")


@pytest.mark.requirement("P-70")
def test_a_guard_that_is_off_only_observes():
    assert steps_up_to_level(4, LoopSettings(enabled=False)) == ()


def test_a_step_knows_how_long_it_has_been_in_force():
    assert [count_levels_in_force("temperature", level, USUAL) for level in range(5)] == [0, 0, 1, 2, 3]
