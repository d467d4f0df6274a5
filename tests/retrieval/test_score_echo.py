"""A text gets no credit for repeating the question."""

from typing import Any

import pytest
from tests.retrieval.test_rank_hit import candidate, hit, near, numbers

from festinger.retrieval.bm25 import TermMatches
from festinger.retrieval.candidate import RecallCandidate
from festinger.retrieval.rank import prefer_trusted
from festinger.retrieval.score import discount_question_repeats

CUE = "When does the harbour open?"


def found(number: int, content: str, *, cosine: float, **counts: int) -> RecallCandidate:
    held = TermMatches(counts=dict(counts), length=5)
    return candidate(number, content=content, cosine=cosine, best=cosine, held=held)


def test_words_and_nearness_that_come_from_the_question_alone_are_taken_off():
    answer = found(1, "The harbour opens at six.", cosine=0.6, harbour=1, open=1)
    page = found(2, "when does the HARBOUR open? It will open at noon.", cosine=0.9, harbour=1, open=2)

    plain, echo = discount_question_repeats([answer, page], CUE)

    assert plain is answer
    assert echo.held.counts == {"harbour": 0, "open": 1}
    assert (echo.cosine, echo.best) == (0.6, 0.6)


def test_what_says_nothing_but_the_question_is_no_answer():
    assert discount_question_repeats([found(1, CUE, cosine=1.0, harbour=1)], CUE) == []


@pytest.mark.parametrize("cue", ["the harbour opens at six", "harbour?"], ids=["a statement", "a word"])
def test_only_a_whole_question_is_repeated(cue: str):
    text = found(1, "The harbour opens at six.", cosine=0.9, harbour=1)

    assert discount_question_repeats([text], cue) == [text]


PAGE = {"origin": "document", "trust": 0.4}


@pytest.mark.parametrize(
    ("page", "person", "order"),
    [
        (PAGE, {"score": 0.8}, [2, 1]),
        (PAGE, {"score": 0.6}, [1, 2]),
        (PAGE, {"score": 0.8, "vector": near(0.7)}, [1, 2]),
        ({"origin": "system", "trust": 0.9}, {"score": 0.8}, [1, 2]),
    ],
    ids=["of the same", "matches much worse", "of something else", "trusted about as much"],
)
def test_a_persons_word_comes_before_what_a_page_says_of_the_same(
    page: dict[str, Any], person: dict[str, Any], order: list[int]
):
    told = {"score": 0.8, "vector": near(0.8), **person}
    hits = [hit(1, 1.0, vector=near(1.0), **page), hit(2, told.pop("score"), **told)]

    assert numbers(prefer_trusted(hits, window=0.3, bar=0.75)) == order
