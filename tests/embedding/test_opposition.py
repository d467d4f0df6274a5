"""The direction of negation: learnt from half of the pairs, held against the other, and turned off where it fails."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from festinger.embedding.opposition import (
    LEAST_PRECISION,
    Direction,
    apply_direction,
    learn_direction,
    normalize_rows,
    project_onto,
    select_near_pairs,
)
from festinger.embedding.profiles import EmbedderProfile, Threshold, ThresholdReading, format_profiles, read_profiles
from festinger.errors import BadInput

DIMENSIONS = 16
MONDAY = date(2026, 1, 5)


def pairs(number: int, *, shift: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors, and others beside them that differ by chance and, as far as `shift` says, along the first axis."""
    chance = np.random.default_rng(seed)
    left = normalize_rows(chance.normal(size=(number, DIMENSIONS)))
    moved = left + 0.1 * chance.normal(size=(number, DIMENSIONS))
    moved[:, 0] += shift
    return left, normalize_rows(moved)


def taught(*, shift: float, seed: int = 1, number: int = 120) -> Direction:
    denied, others = pairs(number, shift=shift, seed=seed), pairs(number, shift=0.0, seed=seed + 1)
    left, right = (np.concatenate(side) for side in zip(denied, others, strict=True))
    return learn_direction(select_near_pairs(left, right, [True] * number + [False] * number))


@pytest.mark.requirement("J-06")
def test_a_direction_that_negations_share_is_learnt_and_counts_either_way():
    found = taught(shift=0.8)

    assert found.bar is not None
    assert found.precision >= LEAST_PRECISION
    assert int(np.argmax(np.abs(found.vector))) == 0
    along = project_onto(np.array([[1.0, *[0.0] * 15], [-1.0, *[0.0] * 15]]), np.array(found.vector))
    assert along[0] == along[1] >= found.bar


@pytest.mark.requirement("J-06")
def test_where_negations_share_no_direction_it_is_turned_off_and_says_so():
    found = taught(shift=0.0)
    profile = apply_direction(EmbedderProfile(name="some"), found, data="made up", at=MONDAY)

    assert found.precision < LEAST_PRECISION
    assert (found.bar, profile.direction) == (None, ())
    assert profile.threshold(Threshold.OPPOSITION) is None
    assert "turned off" in profile.readings[Threshold.OPPOSITION].how


@pytest.mark.requirement("J-06")
def test_a_profile_keeps_its_direction_when_it_is_written_and_read():
    profile = apply_direction(EmbedderProfile(name="some"), taught(shift=0.8), data="made up", at=MONDAY)

    again = read_profiles(format_profiles([profile]), source="test")["some"]

    assert again.direction == profile.direction
    assert again.threshold(Threshold.OPPOSITION) == profile.threshold(Threshold.OPPOSITION)
    assert again.readings[Threshold.OPPOSITION] == ThresholdReading(
        value=profile.threshold(Threshold.OPPOSITION),
        data="made up",
        at=MONDAY,
        how=profile.readings[Threshold.OPPOSITION].how,
    )


def test_too_few_near_pairs_teach_nothing():
    with pytest.raises(BadInput, match="too few"):
        taught(shift=0.8, number=20)


def test_pairs_that_are_far_apart_are_not_looked_at():
    left = normalize_rows(np.eye(4))
    right = np.roll(left, 1, axis=0)

    assert len(select_near_pairs(left, right, [True] * 4).negations) == 0


@settings(max_examples=25)
@given(seed=st.integers(0, 1000), shift=st.floats(0.0, 0.8))
def test_what_is_kept_has_proven_itself_on_pairs_that_it_had_not_seen(seed: int, shift: float):
    found = taught(shift=shift, seed=seed)

    assert found == taught(shift=shift, seed=seed)
    assert (found.bar is None) == (found.precision < LEAST_PRECISION)
    assert np.linalg.norm(found.vector) == pytest.approx(1.0, abs=1e-4)
