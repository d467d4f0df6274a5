"""Nobody waits for an answer that comes too late anyway."""

import pytest

from festinger.proxy.patience import LAST, Patience


def after(*took: float) -> Patience:
    patience = Patience()
    for seconds in took:
        patience.answered(seconds)
    return patience


@pytest.mark.parametrize("answers", [0, 1, LAST - 1])
def test_until_enough_is_known_every_answer_is_worth_waiting_for(answers: int):
    assert after(*[9.0] * answers).is_worth(0.025)


def test_where_none_of_the_last_came_in_time_the_next_is_not_waited_for():
    assert not after(*[0.026] * LAST).is_worth(0.025)


def test_one_that_came_in_time_is_enough():
    assert after(*[9.0] * (LAST - 1), 0.025).is_worth(0.025)


def test_what_was_quick_long_ago_does_not_count():
    assert not after(0.001, *[9.0] * LAST).is_worth(0.025)


def test_who_has_more_time_waits():
    assert after(*[0.026] * LAST).is_worth(1.0)
