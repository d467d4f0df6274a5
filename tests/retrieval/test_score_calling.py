"""A memory is found by the names that it was given, and called by one that stands whole in a cue."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.retrieval.recalling import Recaller

from festinger.retrieval.score import (
    MOST_BEARERS,
    find_mentioned_tags,
    names_in_text,
    normalize_words,
    select_name_tags,
)

CLUSTER = "Services are deployed to a cluster on EKS."
FAR = 0.35
"""A cosine that says little: near enough for what is called, and for nothing else."""


@pytest.mark.parametrize(
    ("cue", "called"),
    [
        ("k8s?", ("k8s",)),
        ("How long is our CI pipeline?", ("CI pipeline",)),
        ("Is the pipeline of the CI long?", ()),
        ("k8s and the ci  pipeline", ("k8s", "CI pipeline")),
        ("k8sx", ()),
        ("domain:code", ()),
        ("the domain code", ()),
    ],
    ids=["alone", "in a sentence", "in pieces", "both", "part of a word", "a label", "words of a label"],
)
def test_a_name_calls_where_it_stands_whole(cue: str, called: tuple[str, ...]):
    assert names_in_text(("k8s", "CI pipeline", "domain:code"), normalize_words(cue)) == called


@given(st.text(max_size=60), st.text(max_size=60))
def test_whatever_stands_around_it_a_name_is_heard_and_no_sign_is_a_name(before: str, after: str):
    assert names_in_text(("harbour crane",), normalize_words(f"{before} Harbour-Crane, {after}")) == ("harbour crane",)
    assert select_name_tags(("++", "a", "", "x:y")) == []


def test_what_many_bear_is_no_name():
    few, many = [("k8s", "work")] * MOST_BEARERS, [("work",)]

    assert find_mentioned_tags([*few, *many], "k8s at work?") == [("k8s",)] * MOST_BEARERS + [()]


async def test_a_memory_is_found_by_the_words_of_its_tags_and_not_by_its_labels(by_words: Recaller):
    await by_words.put(CLUSTER, tags=("k8s", "domain:code"))
    await by_words.put("Bob repairs bicycles.")

    assert await by_words.texts("k8s?") == [CLUSTER]
    assert await by_words.texts("code") == []


async def test_who_says_it_again_may_give_it_another_name(by_words: Recaller):
    await by_words.put(CLUSTER)
    before = await by_words.texts("kube")

    await by_words.learn(CLUSTER, tags=("kube",))

    assert before == []
    assert await by_words.texts("kube") == [CLUSTER]


async def test_what_is_called_by_name_in_a_long_question_is_told_and_says_so(mind: Recaller):
    cue = "How would you schedule pods with k8s across those nodes over there tonight?"
    other = cue.replace("k8s", "them")
    mind.near.near |= {cue: 1.0, other: 1.0, CLUSTER: FAR}
    await mind.put(CLUSTER, tags=("k8s",))
    called = await mind.recall(cue, strict=True, explain=True)
    uncalled = await mind.recall(other, strict=True)

    [item] = called.items
    assert item.why is not None
    assert item.why["called"] == ["k8s"]
    assert "is called `k8s`" in item.why["sentence"]
    assert uncalled.items == ()
