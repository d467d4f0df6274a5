"""One match out of several."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.retrieval.bm25 import blend_scores, rank_positions, rrf_score, scale_scores


@pytest.mark.requirement("R-30")
@pytest.mark.parametrize(
    ("vector", "words", "worth"), [(1, 1, 1.0), (1, None, 0.5), (10, 10, 0.8714), (None, None, 0.0)]
)
def test_places_are_worth_what_the_rule_says(vector: int | None, words: int | None, worth: float):
    assert rrf_score(filter(None, [vector, words]), arms=2, k=60) == pytest.approx(worth, abs=1e-4)


@pytest.mark.requirement("R-31")
def test_scores_are_stretched_over_the_candidates_and_blended():
    assert blend_scores([0.2, 0.6, 0.4], [0.0, 5.0, 10.0], words_share=0.5) == pytest.approx([0.0, 0.75, 0.75])


@pytest.mark.requirement("R-31")
def test_one_way_alone_decides_where_the_other_was_not_searched():
    assert blend_scores(None, [1.0, 3.0], words_share=0.5) == [0.0, 1.0]
    assert blend_scores([0.1, None, 0.3], None, words_share=0.5) == [0.0, 0.0, 1.0]


def test_all_alike_are_as_good_as_can_be():
    assert scale_scores([0.4, 0.4, None]) == [1.0, 1.0, 0.0]


def test_whoever_only_came_along_moves_nobody():
    assert scale_scores([0.2, 0.6, 0.4, 0.0, 0.9], guests=2) == pytest.approx([0.0, 1.0, 0.5, 0.0, 1.0])
    assert scale_scores([0.5, 0.1], guests=1) == [1.0, 0.0]


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20))
def test_stretching_keeps_the_order_and_the_bounds(scores: list[float]):
    stretched = scale_scores(scores)

    assert all(0.0 <= score <= 1.0 for score in stretched)
    for (one, first), (other, second) in zip(
        zip(scores, stretched, strict=True), list(zip(scores, stretched, strict=True))[1:], strict=False
    ):
        assert (one <= other) == (first <= second) or first == second


def test_the_best_has_the_first_place():
    assert rank_positions({"a": 0.1, "b": 0.9, "c": 0.5}) == {"b": 1, "c": 2, "a": 3}
