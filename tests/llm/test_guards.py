import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.llm.guards import (
    CLOSED,
    FAILURES,
    OPEN_SECONDS,
    WINDOW_SECONDS,
    CallAdmission,
    CircuitBreaker,
    begin_probe,
    decide_admission,
    record_answer,
    record_cancellation,
    record_failure,
    seconds_until_probe,
)


def failed(*times: float) -> CircuitBreaker:
    breaker = CLOSED
    for at in times:
        breaker = record_failure(breaker, at, probe=False)
    return breaker


OPEN = failed(0, 1, 2, 3, 4)


@pytest.mark.requirement("X-84")
def test_the_numbers_are_the_required_ones() -> None:
    assert (FAILURES, WINDOW_SECONDS, OPEN_SECONDS) == (5, 60.0, 30.0)


@pytest.mark.requirement("X-84")
def test_four_failures_leave_it_closed_and_the_fifth_opens_it() -> None:
    assert decide_admission(failed(0, 1, 2, 3), 3) is CallAdmission.FREELY
    assert decide_admission(OPEN, 4) is CallAdmission.NOT_NOW


@pytest.mark.requirement("X-84")
def test_failures_that_are_a_minute_apart_do_not_add_up() -> None:
    assert decide_admission(failed(0, 1, 2, 3, 60), 60) is CallAdmission.FREELY
    assert decide_admission(failed(0, 1, 2, 3, 59.9), 59.9) is CallAdmission.NOT_NOW


@pytest.mark.requirement("X-84")
def test_after_half_a_minute_one_probe_is_let_through_and_only_one() -> None:
    assert decide_admission(OPEN, 4 + 29.9) is CallAdmission.NOT_NOW
    assert decide_admission(OPEN, 4 + 30) is CallAdmission.AS_PROBE
    assert decide_admission(begin_probe(OPEN), 4 + 30) is CallAdmission.NOT_NOW


@pytest.mark.requirement("X-84")
def test_an_answer_to_the_probe_closes_it() -> None:
    assert record_answer(begin_probe(OPEN), probe=True) == CLOSED


@pytest.mark.requirement("X-84")
def test_a_failed_probe_opens_it_for_another_half_minute() -> None:
    again = record_failure(begin_probe(OPEN), 40, probe=True)

    assert decide_admission(again, 69.9) is CallAdmission.NOT_NOW
    assert decide_admission(again, 70) is CallAdmission.AS_PROBE


def test_a_probe_whose_caller_went_away_leaves_room_for_the_next() -> None:
    assert decide_admission(record_cancellation(begin_probe(OPEN), probe=True), 40) is CallAdmission.AS_PROBE


def test_a_late_answer_from_before_does_not_close_it() -> None:
    assert record_answer(OPEN, probe=False) == OPEN


def test_a_late_failure_from_before_does_not_keep_it_open_for_longer() -> None:
    later = record_failure(OPEN, 20, probe=False)

    assert decide_admission(later, 34) is CallAdmission.AS_PROBE


def test_it_says_how_long_it_stays_open() -> None:
    assert seconds_until_probe(OPEN, 14) == 20
    assert seconds_until_probe(OPEN, 100) == 0
    assert seconds_until_probe(CLOSED, 0) == 0


@pytest.mark.requirement("X-84")
@given(st.lists(st.floats(0, 1000), min_size=1).map(sorted))
def test_it_opens_exactly_if_five_failures_fall_into_one_minute(times: list[float]) -> None:
    crowded = any(times[at + FAILURES - 1] - times[at] < WINDOW_SECONDS for at in range(len(times) - FAILURES + 1))

    assert (failed(*times).opened is not None) is crowded
