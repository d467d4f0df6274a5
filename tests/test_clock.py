"""What time is it, and how long did it take?"""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.clock import aware, iso, system_clock, system_stopwatch
from festinger.errors import BadInput

ZONES = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=ZONES)


@pytest.mark.requirement("X-02")
def test_the_clock_gives_utc():
    assert system_clock().utcoffset() == timedelta(0)


@pytest.mark.requirement("X-02")
def test_the_stopwatch_never_runs_backwards():
    readings = [system_stopwatch() for _ in range(100)]

    assert readings == sorted(readings)


@pytest.mark.requirement("X-02")
def test_a_moment_without_a_zone_is_refused_with_an_example():
    with pytest.raises(BadInput, match="no time zone") as refused:
        aware(datetime(2026, 1, 5, 12))

    assert "+00:00" in refused.value.hint


@pytest.mark.requirement("X-02")
@given(MOMENTS)
def test_a_moment_stays_the_same_moment_in_utc(at: datetime):
    assert aware(at) == at
    assert aware(at).tzinfo is UTC


@given(MOMENTS)
def test_a_moment_is_shown_so_that_it_reads_back(at: datetime):
    assert iso(at).endswith("Z")
    assert datetime.fromisoformat(iso(at)) == at
