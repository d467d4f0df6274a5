"""A proposal is ripe when it has recurred, has lasted, and was seen on more than one day."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.errors import BadSetting
from festinger.proposals.gate import GateInput, GateThresholds, Ripeness, RipenessResult, check_ripeness, priority_of
from festinger.settings.keys import KEYS
from festinger.settings.keys import parse_value as read_setting

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
DAY = timedelta(days=1)
BARS = GateThresholds()


def reading(causes: int, age: timedelta, *, days: int = 2, bars: GateThresholds = BARS) -> RipenessResult:
    return check_ripeness(GateInput(causes=causes, days=days, first_seen=MONDAY - age), bars, now=MONDAY)


@pytest.mark.requirement("H-30")
@pytest.mark.requirement("H-31")
@pytest.mark.parametrize(
    ("causes", "age_days", "days", "ripeness", "missing"),
    [
        (2, 7, 2, Ripeness.RIPE, ""),
        (2, 3, 2, Ripeness.TOO_NEW, "4 more days"),
        (1, 10, 1, Ripeness.TOO_FEW, "1 more cause"),
        (50, 0, 1, Ripeness.TOO_NEW, "7 more days"),
        (1, 0, 1, Ripeness.TOO_FEW, "1 more cause"),
        (3, 30, 1, Ripeness.TOO_FEW, "1 of 2 days"),
        (5, 5, 3, Ripeness.TOO_NEW, "2 more days"),
        (1, 30, 1, Ripeness.TOO_FEW, "1 more cause"),
    ],
)
def test_the_count_is_looked_at_before_the_age_and_the_days_last(
    causes: int, age_days: int, days: int, ripeness: Ripeness, missing: str
):
    found = reading(causes, age_days * DAY, days=days)

    assert (found.ripeness, found.missing, found.age_days) == (ripeness, missing, age_days)


@pytest.mark.requirement("H-32")
def test_exactly_seven_days_are_enough_and_a_minute_less_is_not():
    assert reading(2, 7 * DAY).is_ripe
    assert reading(2, 7 * DAY - timedelta(minutes=1)).ripeness is Ripeness.TOO_NEW
    assert reading(2, 7 * DAY - timedelta(minutes=1)).missing == "1 more day"


@pytest.mark.requirement("H-32")
def test_a_clock_that_went_back_makes_nothing_younger():
    seen = GateInput(causes=2, days=2, first_seen=MONDAY - 3 * DAY, evaluated_at=MONDAY)

    back = check_ripeness(seen, BARS, now=MONDAY - 2 * DAY)

    assert back.age_days == check_ripeness(seen, BARS, now=MONDAY).age_days == 3


@pytest.mark.requirement("H-15")
def test_age_is_told_in_whole_days():
    assert reading(2, 3 * DAY - timedelta(seconds=1)).age_days == 2
    assert reading(2, -DAY).age_days == 0


@pytest.mark.requirement("H-30")
def test_one_cause_is_never_asked_for_two_days():
    once = GateThresholds(causes=1, age=timedelta(0), days=2)

    assert reading(1, timedelta(0), days=1, bars=once).is_ripe


@pytest.mark.requirement("H-30")
@given(causes=st.integers(0, 20), days=st.integers(0, 20), hours=st.integers(0, 400), bar=st.integers(1, 5))
def test_ripe_means_that_every_bar_is_cleared(causes: int, days: int, hours: int, bar: int):
    bars = GateThresholds(causes=bar, age=timedelta(days=bar), days=2)
    age = timedelta(hours=hours)

    cleared = causes >= bar and age >= bars.age and days >= min(2, bar)

    assert reading(causes, age, days=days, bars=bars).is_ripe == cleared


@given(causes=st.integers(0, 5), hours=st.integers(0, 400), more=st.integers(0, 400))
def test_what_is_ripe_stays_ripe_with_time(causes: int, hours: int, more: int):
    before = reading(causes, timedelta(hours=hours))

    assert not before.is_ripe or reading(causes, timedelta(hours=hours + more)).is_ripe


@pytest.mark.parametrize(("key", "value"), [("min_seen_count", "0"), ("min_age_days", "-1")])
def test_bars_below_anything_are_refused(key: str, value: str):
    with pytest.raises(BadSetting):
        read_setting(KEYS[f"proposals.{key}"], value)


@pytest.mark.requirement("H-38")
@pytest.mark.parametrize(("seen", "priority"), [(1, "low"), (4, "low"), (5, "normal"), (9, "normal"), (10, "high")])
def test_priority_rises_with_the_causes(seen: int, priority: str):
    assert priority_of(seen) == priority
