"""How well the words of a cue match a text, and which words are searched by."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.retrieval.bm25 import (
    TermMatches,
    TermStatistics,
    bm25_score,
    build_pool_tsquery,
    build_term_matches,
    quote_term,
    rarest_terms,
    term_coverage,
)

K1, B = 1.2, 0.75


def statistics(docs: int = 1000, total_len: int = 10_000, **df: int) -> TermStatistics:
    return TermStatistics(docs=docs, total_len=total_len, df=df)


@pytest.mark.requirement("R-20")
def test_a_score_is_that_of_the_formula():
    known = statistics(tea=9, green=99)
    text = TermMatches(counts={"tea": 2, "green": 1}, length=20)
    length = 1 - B + B * 20 / 10
    tea = math.log(1 + (1000 - 9 + 0.5) / 9.5) * 2 * 2.2 / (2 + 1.2 * length)
    green = math.log(1 + (1000 - 99 + 0.5) / 99.5) * 1 * 2.2 / (1 + 1.2 * length)

    assert bm25_score(text, known, k1=K1, b=B) == pytest.approx(tea + green, abs=1e-12)


@pytest.mark.requirement("R-20")
def test_a_word_that_stands_only_beside_a_text_counts_less():
    text = build_term_matches(["tea", "green"], [1, 0], [0, 2], length=5, context_weight=0.4)

    assert text.counts == {"tea": 1.0, "green": 0.8}


def test_a_word_that_was_never_counted_stands_in_one_text():
    assert statistics(tea=1).idf("unheard") == statistics(tea=1).idf("tea")


def test_nothing_is_worth_less_than_nothing_in_an_empty_store():
    empty = TermStatistics(df={})

    assert empty.idf("tea") > 0
    assert bm25_score(TermMatches(counts={"tea": 1}, length=3), empty, k1=K1, b=B) > 0


@given(count=st.integers(1, 50), length=st.integers(1, 500), df=st.integers(1, 999))
def test_more_of_a_word_never_lowers_a_score_and_a_longer_text_never_raises_it(count: int, length: int, df: int):
    known = statistics(tea=df)

    def score(count: int, length: int) -> float:
        return bm25_score(TermMatches(counts={"tea": count}, length=length), known, k1=K1, b=B)

    assert score(count + 1, length) >= score(count, length)
    assert score(count, length + 1) <= score(count, length)


@pytest.mark.requirement("R-70")
def test_coverage_is_the_share_of_what_the_words_say():
    known = statistics(rare=1, common=500)
    terms = ("rare", "common", "unknown")
    total = known.idf("rare") * 2 + known.idf("common")

    assert term_coverage(TermMatches(counts={"rare": 1}, length=3), known, terms) == pytest.approx(
        known.idf("rare") / total
    )
    assert term_coverage(TermMatches(counts={}, length=3), known, terms) == 0.0
    around = TermMatches(counts={"rare": 0.8, "tea": 1}, length=3, nearby=frozenset({"rare"}))
    assert term_coverage(around, known, ("rare",)) == 0.0, "its neighbour holds it"
    assert term_coverage(TermMatches(counts={}, length=3), known, ()) == 0.0


@pytest.mark.requirement("R-22")
def test_a_search_begins_with_the_rarest_words():
    known = statistics(docs=100_000, a=3, b=400, c=9_000, d=30_000)

    query = build_pool_tsquery(("d", "c", "b", "a"), known, pool=1000)

    assert query.startswith("'a' | 'b'")
    assert "| 'c'" not in query
    assert "| 'd'" not in query


@pytest.mark.requirement("R-22")
def test_words_that_are_all_common_are_searched_by_together():
    known = statistics(docs=1000, a=900, b=950)

    assert build_pool_tsquery(("a", "b"), known, pool=100) == "'a' & 'b'"


def test_at_most_the_rarest_words_of_a_cue_are_searched_by():
    known = statistics(**{f"w{number:03}": number + 1 for number in range(100)})

    assert len(rarest_terms(tuple(known.df), known)) == 32
    assert rarest_terms(tuple(known.df), known)[0] == "w000"


def test_no_word_breaks_a_query():
    assert quote_term("o'brien\\") == "'o''brien\\\\'"
