import random
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.embedding.embedder import EmbedderOptions
from festinger.embedding.profiles import REFERENCE, ThresholdName, load_bundled_profiles
from festinger.embedding.registry import open_embedder
from festinger.errors import BadInput
from festinger.judge.calibration import (
    CalibrationPair,
    CalibrationTargets,
    MeasuredPair,
    apply_proposed_thresholds,
    measure_pairs,
    propose_thresholds,
)

SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed: int) -> tuple[list[float], list[float]]:
    """Two classes of cosines that overlap by chance; drawn by seed, because long lists are slow to shrink."""
    chance = random.Random(seed)
    middle, spread = chance.uniform(0, 0.8), chance.uniform(0.01, 0.5)
    sizes = [chance.randrange(50, 120) for _ in range(2)]
    same, different = (
        [round(max(-1.0, min(1.0, chance.gauss(at, spread))), 4) for _ in range(size)]
        for at, size in zip((middle + 0.2, middle), sizes, strict=True)
    )
    return same, different


def measured(same: list[float], different: list[float], guarded: bool = False) -> list[MeasuredPair]:
    return [MeasuredPair(cosine=cosine, same=True) for cosine in same] + [
        MeasuredPair(cosine=cosine, same=False, guarded=guarded) for cosine in different
    ]


def evenly(low: float, high: float, count: int) -> list[float]:
    return [low + (high - low) * place / (count - 1) for place in range(count)]


@pytest.mark.requirement("X-77")
def test_classes_that_lie_apart_are_parted_where_the_different_ones_end():
    proposal = propose_thresholds(measured(evenly(0.8, 1, 100), evenly(0, 0.5, 100)), CalibrationTargets())

    assert proposal.same == pytest.approx(0.5, abs=2e-4)
    assert proposal.check == pytest.approx(0.81, abs=1e-2)
    assert proposal.auc == 1.0


@pytest.mark.requirement("X-77")
@given(SEEDS)
def test_the_proposed_values_keep_their_bars_and_no_milder_ones_would(seed: int):
    same, different = drawn(seed)
    bars = CalibrationTargets(false_merges=0.05, kept=0.9)
    proposal = propose_thresholds(measured(same, different), bars)

    kept = sum(cosine >= proposal.check for cosine in same) / len(same)
    kept_above = sum(cosine >= proposal.check + 0.00011 for cosine in same) / len(same)
    assert kept >= bars.kept > kept_above
    if proposal.same is not None:
        wrong = sum(cosine >= proposal.same for cosine in different) / len(different)
        wrong_below = sum(cosine >= proposal.same - 0.00011 for cosine in different) / len(different)
        assert wrong <= bars.false_merges < wrong_below


@pytest.mark.requirement("X-77")
def test_where_no_value_keeps_the_bar_vectors_alone_never_confirm():
    proposal = propose_thresholds(measured(evenly(0.2, 0.6, 60), evenly(0.5, 1, 60)), CalibrationTargets())

    assert proposal.same is None


def test_pairs_that_a_guard_stops_do_not_raise_the_threshold():
    same, different = evenly(0.6, 1, 60), evenly(0, 0.3, 60)
    near_misses = measured([], [0.99] * 30, guarded=True)

    assert propose_thresholds(measured(same, different) + near_misses, CalibrationTargets()).same == pytest.approx(
        0.3, abs=2e-4
    )


@pytest.mark.requirement("X-77")
@pytest.mark.parametrize(("same", "different"), [(49, 50), (50, 49), (0, 0)])
def test_too_few_pairs_of_a_class_are_refused(same: int, different: int):
    with pytest.raises(BadInput, match=f"{same} same and {different} different pairs are too few"):
        propose_thresholds(measured([0.9] * same, [0.1] * different), CalibrationTargets())


@given(SEEDS)
def test_along_the_curve_recall_and_false_merges_only_fall(seed: int):
    same, different = drawn(seed)
    curve = propose_thresholds(measured(same, different), CalibrationTargets()).curve

    assert [point.recall for point in curve] == sorted((point.recall for point in curve), reverse=True)
    falling = [point.false_merges for point in curve]
    assert falling == sorted(falling, reverse=True)


def test_the_area_under_the_curve_counts_ties_half():
    assert propose_thresholds(measured([0.5] * 50, [0.5] * 50), CalibrationTargets()).auc == 0.5


@pytest.mark.requirement("X-77")
async def test_measuring_twice_proposes_the_same():
    pairs = [CalibrationPair(a=f"tea {n}", b=f"tea {n}!", same=True) for n in range(50)]
    pairs += [CalibrationPair(a=f"tea {n}", b=f"a house by lake {n}", same=False) for n in range(50)]

    proposals = []
    for _ in range(2):
        embedder = await open_embedder("hashed:", EmbedderOptions())
        proposals.append(propose_thresholds(await measure_pairs(embedder, pairs), CalibrationTargets()))

    assert proposals[0] == proposals[1]
    assert proposals[0].auc > 0.9


@pytest.mark.requirement("X-77")
def test_a_calibrated_profile_says_on_what_and_when_and_leaves_the_old_one_alone():
    proposal = propose_thresholds(measured(evenly(0.8, 1, 100), evenly(0, 0.5, 100)), CalibrationTargets())
    old = load_bundled_profiles()[REFERENCE]

    new = apply_proposed_thresholds(old, proposal, data="mine.jsonl", at=date(2026, 12, 1), bars=CalibrationTargets())

    reading = new.readings[ThresholdName.SAME]
    assert (reading.value, reading.data, reading.at) == (proposal.same, "mine.jsonl", date(2026, 12, 1))
    assert new.threshold(ThresholdName.CHECK) == proposal.check
    assert new.threshold(ThresholdName.SUBJECT) == old.threshold(ThresholdName.SUBJECT)
    assert old.threshold(ThresholdName.SAME) == 0.95
