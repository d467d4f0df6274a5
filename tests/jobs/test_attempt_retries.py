"""Which errors are tried again, how often, and after how long."""

import random
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.errors import BadFact, BadInput, ProviderDown, ProviderRefused, StoreDown
from festinger.jobs.attempt import PATIENT, retry_after


def attempts(error: Exception) -> int:
    chance = random.Random(1)
    failures = 1
    while retry_after(error, failures=failures, chance=chance) is not None:
        failures += 1
    return failures


@pytest.mark.requirement("X-51")
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ProviderDown(), 8),
        (StoreDown(), 8),
        (BadInput(), 1),
        (BadFact(), 1),
        (ProviderRefused(), 1),
        (ValueError(), 3),
        (TimeoutError(), 3),
    ],
)
def test_each_kind_of_error_has_its_number_of_attempts(error: Exception, expected: int):
    assert attempts(error) == expected


@pytest.mark.requirement("X-51")
@given(failures=st.integers(1, 7), seed=st.integers())
def test_the_pause_is_the_planned_one_within_a_fifth(failures: int, seed: int):
    pause = retry_after(StoreDown(), failures=failures, chance=random.Random(seed))

    assert pause is not None
    planned = [5, 30, 120, 600, 1800, 3600, 10800][failures - 1]
    assert planned * 0.8 <= pause.total_seconds() <= planned * 1.2


def test_two_jobs_that_fail_together_do_not_come_back_together():
    chance = random.Random(1)

    pauses = {retry_after(StoreDown(), failures=4, chance=chance) for _ in range(20)}

    assert len(pauses) == 20


def test_the_last_pause_is_three_hours():
    assert PATIENT[-1] == timedelta(hours=3)
