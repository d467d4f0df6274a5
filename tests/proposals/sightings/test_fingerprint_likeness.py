"""What keeps two requests apart, and what does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.remembering import says

from festinger.proposals.sightings.fingerprint import (
    ComparisonInput,
    PairRelation,
    PairSuggestion,
    describe_opposition,
    normalize_suggestion,
    similarity_confidence,
    suggest_relation,
)

UNSURE = says("unsure", 0.5, judge="rules@1")


def like(a: str, b: str, *, similarity: float = 0.8, said: object = UNSURE) -> PairSuggestion:
    one, other = (ComparisonInput(what=text, normalised=normalize_suggestion(text)) for text in (a, b))
    return suggest_relation(one, other, said, similarity=similarity, bar=0.6)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Retry the failed query", "Never retry the failed query"),
        ("Prefer Postgres over Redis", "Prefer Redis over Postgres"),
        ("Keep logs for 30 days", "Keep logs for 90 days"),
        ("Move logs from disk to bucket", "Move logs from bucket to disk"),
    ],
)
def test_what_goes_against_each_other_is_opposite_whatever_the_judge_says(a: str, b: str):
    assert like(a, b, said=says("same", 1.0)).relation is PairRelation.OPPOSITE
    assert describe_opposition(normalize_suggestion(a), normalize_suggestion(b))
    assert describe_opposition(normalize_suggestion(b), normalize_suggestion(a))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Sort search hits by date", "Order the search results by their date"),
        ("Log slow database statements", "Write a log entry for every slow SQL query"),
    ],
)
def test_names_and_quantities_of_things_do_not_part_requests(a: str, b: str):
    assert like(a, b).relation is PairRelation.SAME
    assert describe_opposition(normalize_suggestion(a), normalize_suggestion(b)) == ""


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Sort search hits by date", "Sort search hits by relevance"),
        ("Raise the timeout of the browser tool", "Lower the timeout of the browser tool"),
        ("Batch the embedding requests", "Cache the embedding requests"),
    ],
)
def test_one_phrase_for_another_and_opposites_are_not_suggested_as_the_same(a: str, b: str):
    assert like(a, b, similarity=0.97).relation is not PairRelation.SAME


def test_the_word_of_a_model_is_not_overruled():
    said = says("unrelated", 0.9, judge="llm:test")

    assert like("Sort hits by date", "Order the hits by date", said=said).relation is None


@given(similarity=st.floats(0.6, 1.0), more=st.floats(0.0, 0.4))
def test_nearer_is_surer_and_never_sure(similarity: float, more: float):
    low, high = (
        similarity_confidence(similarity, bar=0.6),
        similarity_confidence(min(1.0, similarity + more), bar=0.6),
    )

    assert 0.8 <= low <= high <= 0.95
