"""How strong a memory is at a moment: the reference values, and that asking changes nothing."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.outcomes.effects import (
    PERIODS,
    Cycle,
    Rhythm,
    compute_strength,
    cycle_score,
    decay_score,
    pressure_score,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)

DECAYS = [
    (0, 0.1, 0.5, 1.5848931924611136),
    (0.01, 0.1, 0.5, 1.5848931924611136),
    (0.5, 0.1, 0.1, 1.0717734625362931),
    (1, 0.1, 0.5, 1.0),
    (7, 0.1, 0.5, 0.8231712539930442),
    (30, 0.1, 0.5, 0.7116851017915987),
    (30, 0.1, 0.9, 0.7727786982284947),
    (30, 0.1, 0.1, 0.6383997112684785),
    (365, 0.1, 0.5, 0.5543329747347004),
    (30, 0.5, 0.5, 0.18257418583505536),
    (30, 0.5, 0.8, 0.2512478537666011),
]


@pytest.mark.requirement("O-12")
@pytest.mark.parametrize(("days", "rate", "confidence", "value"), DECAYS)
def test_decay_has_the_reference_values(days: float, rate: float, confidence: float, value: float) -> None:
    rhythm = Rhythm(last_touched=EPOCH, decay_rate=rate)

    assert decay_score(rhythm, now=EPOCH + days * DAY, confidence=confidence) == pytest.approx(value, abs=1e-12)


@pytest.mark.requirement("O-12")
def test_the_sign_of_the_base_is_kept() -> None:
    assert decay_score(Rhythm(last_touched=EPOCH, base_score=-2.0), now=EPOCH + DAY) == -2.0


@pytest.mark.requirement("O-13")
def test_a_yearly_cycle_comes_round() -> None:
    year = (Cycle(period_s=PERIODS["year"], amplitude=5.0),)
    seconds = {0: 5.0, 31_536_000: 5.0, 15_768_000: -5.0, 2_592_000: 4.347946946733055}

    found = {at: cycle_score(year, EPOCH + timedelta(seconds=at)) for at in seconds}

    assert found == pytest.approx(seconds, abs=1e-12)


@pytest.mark.requirement("O-13")
def test_the_named_periods_have_their_lengths() -> None:
    assert list(PERIODS.values()) == [86_400, 604_800, 2_592_000, 7_776_000, 31_536_000]


@pytest.mark.requirement("O-14")
def test_pressure_builds_from_the_moment_it_was_resolved() -> None:
    rhythm = Rhythm(last_touched=EPOCH, pressure_rate=0.1, pressure_resolved_at=EPOCH + 10 * DAY)

    assert pressure_score(rhythm, EPOCH + 40 * DAY) == pytest.approx(3.0)
    assert pressure_score(rhythm, EPOCH) == 0.0


@pytest.mark.requirement("O-15")
def test_strength_is_the_sum_of_its_parts() -> None:
    rhythm = Rhythm(last_touched=EPOCH, pressure_rate=0.1, pressure_resolved_at=EPOCH)
    year = (Cycle(period_s=PERIODS["year"], amplitude=5.0),)

    assert compute_strength(rhythm, year, now=EPOCH + 30 * DAY) == pytest.approx(8.059632048524653, abs=1e-12)


@pytest.mark.requirement("O-15")
def test_a_stored_time_that_lies_ahead_counts_as_now() -> None:
    ahead = Rhythm(last_touched=EPOCH + 5 * DAY, pressure_rate=1.0, pressure_resolved_at=EPOCH + 5 * DAY)
    now = Rhythm(last_touched=EPOCH, pressure_rate=1.0, pressure_resolved_at=EPOCH)

    assert compute_strength(ahead, now=EPOCH) == compute_strength(now, now=EPOCH)


@pytest.mark.requirement("O-12")
@given(st.floats(0, 20_000), st.floats(0, 20_000), st.floats(0, 1))
def test_strength_never_rises_by_waiting(days: float, more: float, confidence: float) -> None:
    rhythm = Rhythm(last_touched=EPOCH)
    sooner = decay_score(rhythm, now=EPOCH + days * DAY, confidence=confidence)
    later = decay_score(rhythm, now=EPOCH + (days + more) * DAY, confidence=confidence)

    assert later <= sooner
