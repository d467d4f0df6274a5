"""Whether anything is good enough to be told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.retrieval.score import FOR_BREADTH, OF_A_PART, EvidenceThreshold, evidence_score, has_enough_evidence

MEASURED = EvidenceThreshold(threshold=0.46, reference=0.60)


@pytest.mark.requirement("R-70")
@pytest.mark.parametrize(
    ("cosine", "coverage", "worth"), [(0.6, 1.0, 1.0), (0.9, 0.0, 0.5), (0.3, 0.5, 0.5), (None, 0.4, 0.2), (-0.2, 0.0, 0.0)]
)  # fmt: skip
def test_evidence_is_half_nearness_and_half_words(cosine: float | None, coverage: float, worth: float):
    assert evidence_score(MEASURED, cosine=cosine, coverage=coverage) == pytest.approx(worth)


@pytest.mark.requirement("R-70")
def test_without_vectors_words_alone_decide():
    assert evidence_score(EvidenceThreshold(), cosine=None, coverage=0.3) == 0.3
    assert has_enough_evidence(EvidenceThreshold(), [0.25])
    assert not has_enough_evidence(EvidenceThreshold(), [0.24])


def test_what_is_so_long_that_it_holds_a_little_of_everything_counts_less_and_never_below_nothing():
    long = evidence_score(MEASURED, cosine=0.3, coverage=0.5, breadth=2.0)

    assert long == pytest.approx(0.5 * 0.5 + 0.5 * (0.5 - 2.0 * FOR_BREADTH))
    assert evidence_score(MEASURED, cosine=0.6, coverage=0.0, breadth=2.0) == pytest.approx(0.5), (
        "it is near all the same"
    )
    assert evidence_score(EvidenceThreshold(), cosine=None, coverage=0.05, breadth=2.0) == 0.0


@pytest.mark.requirement("R-71")
def test_one_of_the_best_ten_must_be_good_enough():
    assert has_enough_evidence(MEASURED, [0.1] * 9 + [0.46])
    assert not has_enough_evidence(MEASURED, [0.1] * 10 + [0.9])
    assert not has_enough_evidence(MEASURED, [])


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1))
def test_evidence_lies_between_nothing_and_all_and_rises_with_coverage(cosine: float, one: float, other: float):
    less, more = sorted((one, other))

    assert (
        0
        <= evidence_score(MEASURED, cosine=cosine, coverage=less)
        <= evidence_score(MEASURED, cosine=cosine, coverage=more)
        <= 1
    )


def test_what_can_hold_only_a_part_of_a_question_needs_less():
    whole = evidence_score(MEASURED, cosine=0.2, coverage=0.3)

    assert evidence_score(MEASURED, cosine=0.2, coverage=0.3, of_a_part=True) == pytest.approx(whole / OF_A_PART)
    assert evidence_score(MEASURED, cosine=1.0, coverage=1.0, of_a_part=True) == 1.0
