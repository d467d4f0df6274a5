"""In which order hits come, and which of them are one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.embedding.profiles import load_bundled_profiles
from festinger.memory.confidence import Weight
from festinger.retrieval.bm25 import NOTHING_HELD, TermMatches
from festinger.retrieval.candidate import Prior, RecallCandidate
from festinger.retrieval.rank import (
    RecallHit,
    drop_retold_hits,
    fold_duplicates,
    prefer_newer,
    prefer_verbatim,
    sort_hits,
)
from festinger.retrieval.recall import blend_rerank_scores
from festinger.retrieval.result import pack_hits
from festinger.retrieval.score import can_wake_dormant, is_dormant, thresholds_from_profile
from festinger.settings.memory_sections import RetrievalSettings

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def candidate(number: int, **more: Any) -> RecallCandidate:
    values: dict[str, Any] = {
        "type": "memory",
        "ref": UUID(int=number),
        "kind": "fact",
        "content": f"text {number}",
        "compressed": None,
        "context": None,
        "origin": "person",
        "trust": 1.0,
        "confidence": 0.5,
        "weight": Weight(),
        "effective": Weight(),
        "immutable": False,
        "status": "active",
        "event_time": MONDAY,
        "learned_at": MONDAY,
        "said_at": MONDAY,
        "last_accessed": None,
        "source": None,
        "session": None,
        "slot": None,
        "tags": (),
        "version": 1,
        "position": number,
        "owner": "",
        "speaker": None,
        "disputed": False,
        "derives_from": frozenset(),
        "held": NOTHING_HELD,
        "vector": None,
    }
    return RecallCandidate(**{**values, **more})


def hit(number: int, score: float, **more: Any) -> RecallHit:
    return RecallHit(
        candidate=candidate(number, **more),
        score=score,
        match=score,
        rrf=0.0,
        bm25=0.0,
        coverage=0.0,
        evidence=1.0,
        prior=Prior(recency=1.0, center=0.2),
    )


def numbers(hits: list[RecallHit]) -> list[int]:
    return [each.candidate.ref.int for each in hits]


def near(cosine: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.array([cosine, np.sqrt(1 - cosine**2)], dtype=np.float32)


def equally(_word: str) -> float:
    return 1.0


SLOT = ("dana", "lives in")


@pytest.mark.requirement("R-04")
def test_the_better_then_the_later_then_the_id_comes_first():
    hits = [hit(3, 0.5), hit(2, 0.5), hit(1, 0.5, event_time=MONDAY - DAY), hit(4, 0.9)]

    assert numbers(sort_hits(hits)) == [4, 2, 3, 1]


def test_of_what_fills_one_slot_the_newest_comes_first():
    hits = [hit(1, 1.0, slot=SLOT, event_time=MONDAY - DAY), hit(2, 0.9), hit(3, 0.8, slot=SLOT, event_time=MONDAY)]

    moved = prefer_newer(hits, window=0.3, bar=None, worth=equally)

    assert numbers(moved) == [3, 2, 1]
    assert [each.moved for each in moved] == [True, False, True]


def test_within_one_moment_what_was_said_later_is_newer():
    hits = [hit(1, 1.0, slot=SLOT), hit(2, 0.9, slot=SLOT)]

    assert numbers(prefer_newer(hits, window=0.3, bar=None, worth=equally)) == [2, 1]


@pytest.mark.parametrize(
    "other",
    [{"score": 0.6}, {"origin": "model"}, {"owner": "agent"}, {"slot": ("dana", "works at")}],
    ids=["far below", "another speaker", "another owner", "another thing"],
)
def test_what_is_not_about_the_same_keeps_its_place(other: dict[str, Any]):
    given = {"score": 0.9, "slot": SLOT, **other}
    hits = [hit(1, 1.0, slot=SLOT, event_time=MONDAY - DAY), hit(2, given.pop("score"), **given)]

    assert numbers(prefer_newer(hits, window=0.3, bar=None, worth=equally)) == [1, 2]


def test_nearness_in_meaning_counts_where_there_is_no_slot():
    hits = [hit(1, 1.0, vector=near(1.0)), hit(2, 0.9, vector=near(0.8))]

    assert numbers(prefer_newer(hits, window=0.3, bar=0.75, worth=equally)) == [2, 1]
    assert numbers(prefer_newer(hits, window=0.3, bar=0.85, worth=equally)) == [1, 2]


def told(number: int, score: float, text: str, **more: Any) -> RecallHit:
    words = TermMatches(counts=dict.fromkeys(["weekly", "target"], 1.0), length=4)
    return hit(number, score, **{"type": "turn", "content": text, "held": words, **more})


def test_of_what_was_said_twice_with_other_numbers_the_newer_comes_first():
    hits = [told(1, 1.0, "My weekly target is 1,200."), told(2, 0.8, "The weekly target is now 1,350.")]

    assert numbers(prefer_newer(hits, window=0.3, bar=None, worth=equally)) == [2, 1]


@pytest.mark.parametrize(
    "other",
    [{"speaker": "bob"}, {"origin": "model"}, {"text": "I try to hit my weekly target."}, {"score": 0.6}],
    ids=["another person", "a model", "no number", "far below"],
)
def test_a_turn_that_restates_nothing_keeps_its_place(other: dict[str, Any]):
    given = {"score": 0.9, "text": "The weekly target is now 1,350.", **other}
    hits = [told(1, 1.0, "My weekly target is 1,200."), told(2, **given)]

    assert numbers(prefer_newer(hits, window=0.3, bar=None, worth=equally)) == [1, 2]


def test_a_turn_from_far_behind_does_not_push_another_out_of_the_first_ten():
    between = [hit(number, 0.95) for number in range(2, 11)]
    hits = [told(1, 1.0, "My weekly target is 1,200."), *between, told(11, 0.9, "It is now 1,350.")]

    assert numbers(prefer_newer(hits, window=0.3, bar=None, worth=equally)) == list(range(1, 12))
    assert numbers(prefer_newer([*hits[:9], hits[10]], window=0.3, bar=None, worth=equally))[0] == 11


@pytest.mark.requirement("R-36")
def test_a_twin_goes_into_the_better_one():
    hits = [hit(1, 1.0, vector=near(1.0)), hit(2, 0.9, vector=near(0.98)), hit(3, 0.8, vector=near(0.5))]

    folded = fold_duplicates(hits, bar=0.97)

    assert numbers(folded) == [1, 3]
    assert folded[0].also == (UUID(int=2),)


@pytest.mark.requirement("R-36")
def test_another_owners_equal_words_are_no_twin():
    hits = [hit(1, 1.0, content="same"), hit(2, 0.9, content="same", owner="agent")]

    assert numbers(fold_duplicates(hits, bar=None)) == [1, 2]
    assert numbers(fold_duplicates([hits[0], hit(3, 0.8, content="same")], bar=None)) == [1]


def test_a_turn_is_left_out_when_a_better_hit_was_learnt_from_it():
    said = turn(2, 0.9)
    learnt = hit(1, 1.0, derives_from=frozenset([UUID(int=2)]))

    assert numbers(drop_retold_hits([learnt, said])) == [1]
    assert numbers(drop_retold_hits([said, learnt])) == [2, 1]


@pytest.mark.requirement("C-33")
@pytest.mark.parametrize("kind", ["insight", "narrative"])
def test_what_a_night_told_anew_stands_before_its_sources_or_not_at_all(kind: str):
    source, other = hit(1, 1.0), hit(3, 0.8)
    retold = hit(2, 0.9, kind=kind, derives_from=frozenset([UUID(int=1), UUID(int=9)]))

    assert numbers(drop_retold_hits([source, retold, other])) == [1, 3]
    assert numbers(drop_retold_hits([retold, source, other])) == [2, 1, 3]
    assert numbers(drop_retold_hits([other, retold])) == [3, 2]


def test_a_tension_stands_beside_what_it_quotes():
    tension = hit(2, 0.9, kind="tension", derives_from=frozenset([UUID(int=1), UUID(int=3)]))

    assert numbers(drop_retold_hits([hit(1, 1.0), tension, hit(3, 0.8)])) == [1, 2, 3]


SAID = frozenset(UUID(int=number) for number in range(11, 15))
"""Turns of one talk."""


def turn(number: int, score: float) -> RecallHit:
    return hit(number, score, type="turn")


def summary(number: int, score: float) -> RecallHit:
    return hit(number, score, kind="episodic", origin="job", derives_from=SAID)


def test_a_summary_is_told_in_the_best_words_that_it_sums_up():
    hits = [turn(21, 1.0), summary(1, 0.9), turn(22, 0.8), turn(12, 0.7), turn(11, 0.6)]

    told = prefer_verbatim(hits)

    assert numbers(told) == [21, 12, 22, 11]
    assert told[1].also == (UUID(int=1),)
    assert [each.score for each in told] == [1.0, 0.9, 0.8, 0.6]


@pytest.mark.parametrize(("of_turn", "of_summary"), [(0.3, 0.6), (0.6, 0.3)])
def test_words_and_their_summary_have_the_evidence_of_both(of_turn: float, of_summary: float):
    hits = [replace(summary(1, 0.9), evidence=of_summary), replace(turn(12, 0.7), evidence=of_turn)]

    assert [each.evidence for each in prefer_verbatim(hits)] == [0.6]


def test_a_summary_behind_the_words_that_it_sums_up_takes_no_place():
    told = prefer_verbatim([turn(12, 1.0), turn(21, 0.9), summary(1, 0.8), turn(11, 0.7)])

    assert numbers(told) == [12, 21, 11]
    assert (told[0].also, told[0].score) == ((UUID(int=1),), 1.0)


def test_the_gist_comes_where_nothing_of_what_it_sums_up_was_found():
    hits = [turn(21, 1.0), summary(1, 0.9), turn(22, 0.8)]

    assert prefer_verbatim(hits) == hits


def test_what_repeats_a_turn_is_no_summary():
    hits = [hit(1, 1.0, derives_from=frozenset([UUID(int=11)])), turn(11, 0.9)]

    assert prefer_verbatim(hits) == hits


@given(st.permutations([*range(11, 15), 21, 22, 1, 2]))
def test_no_turn_is_lost_to_summaries_and_the_order_of_scores_stays(order: list[int]):
    hits = [
        summary(number, score) if number < 10 else turn(number, score)
        for number, score in zip(order, [0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1], strict=True)
    ]

    told = prefer_verbatim(hits)

    assert sorted(numbers(told)) == [11, 12, 13, 14, 21, 22]
    assert sum(map(len, (each.also for each in told)), 0) == 2
    assert [each.score for each in told] == sorted((each.score for each in told), reverse=True)


@pytest.mark.requirement("R-76")
def test_whole_then_short_then_not_at_all():
    long = "many words that take rather a lot of room " * 5

    assert pack_hits([(long, "short"), ("next", None), (long, None)], tokens=5, limit=5) == [(0, "short"), (1, "next")]
    assert pack_hits([("a", None), ("b", None)], tokens=None, limit=1) == [(0, "a")]


def test_a_closer_reader_and_our_own_order_are_blended():
    hits = [hit(1, 1.0), hit(2, 0.8), hit(3, 0.6)]

    ordered = blend_rerank_scores(hits, [-4.0, 6.0, 1.0], share=0.6)

    assert numbers(ordered) == [2, 1, 3]
    assert [each.score for each in ordered] == pytest.approx([0.8, 0.4, 0.3])


def test_only_faded_thoughts_sleep_and_a_strong_cue_wakes_them():
    settings, bars = RetrievalSettings(), thresholds_from_profile(load_bundled_profiles()["reference"])
    faded = Weight(alpha=1.0, beta=7.5)
    sleeping = candidate(1, kind="episodic", origin="model", effective=faded, best=0.8)

    assert is_dormant(sleeping, settings)
    assert not is_dormant(candidate(2, kind="episodic", origin="model"), settings)
    assert not is_dormant(candidate(3, kind="fact", origin="model", effective=faded), settings)
    assert not is_dormant(candidate(4, kind="episodic", origin="person", effective=faded), settings)
    assert not can_wake_dormant(sleeping, 0.3, bars)
    assert can_wake_dormant(sleeping, 0.6, bars)
    assert can_wake_dormant(candidate(5, best=0.91), 0.0, bars)
