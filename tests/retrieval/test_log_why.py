"""Every hit says why it came, and nothing that it says is null."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.memory.remembering import known
from tests.retrieval.recalling import Recaller

from festinger.embedding.providers.lexical import LexicalReranker
from festinger.ids import MAIN_SPACE
from festinger.retrieval.index.terms import recount_words
from festinger.retrieval.log import find_recall
from festinger.store.pool import Store

CUE = "what does Alice drink?"
TEA = "Alice drinks green tea in the morning."

ALWAYS = {
    "arms", "terms", "bm25", "rrf", "match", "recency", "weight", "person", "helped", "helped_by", "confidence_factor",
    "evidence", "threshold", "coverage", "hops", "origin", "said_at", "causes", "sentence",
}  # fmt: skip


def nulls(told: Any, name: str = "why") -> Iterator[str]:
    """The names of everything in it that is null, however deep."""
    if told is None:
        yield name
    for key, value in told.items() if isinstance(told, dict) else ():
        yield from nulls(value, f"{name}.{key}")


@pytest.mark.requirement("R-73")
@pytest.mark.parametrize("with_vectors", [True, False], ids=["by vectors", "by words"])
async def test_memories_and_turns_tell_everything_that_led_to_them_and_it_is_kept(store: Store, with_vectors: bool):
    mind = Recaller(store, near={CUE: 1.0, TEA: 0.7}, reranker=LexicalReranker(), without_embedder=not with_vectors)
    await mind.put(TEA)
    await mind.say("Alice drinks far too much coffee.")
    await mind.settle()

    found = await mind.recall(CUE, explain=True)
    await mind.written()

    whys = {item.type: dict(item.why) for item in found.items if item.why}
    assert set(whys) == {"memory", "turn"}
    for told in whys.values():
        assert ALWAYS | {"rerank"} <= set(told)
        assert list(nulls(told)) == []
        assert set(told["weight"]) == {"alpha", "beta", "center", "effective"}
    assert ("cosine" in whys["memory"]) is with_vectors
    assert set(whys["memory"]["arms"]) == ({"vector", "words"} if with_vectors else {"words"})
    kept = {hit["id"]: hit["why"] for hit in (await find_recall(mind.searching, MAIN_SPACE, found.id))["hits"]}
    assert {str(item.id): item.why for item in found.items} == kept


@pytest.mark.requirement("R-73")
async def test_what_is_said_by_several_tells_how_many_causes_speak_for_it(by_words: Recaller):
    first = await by_words.learn(TEA, session="s1")
    again = await by_words.learn(TEA, session="s2", origin="tool")
    await recount_words(by_words.searching, MAIN_SPACE)

    [item] = (await by_words.recall(CUE, explain=True)).items

    assert again.action == "confirmed"
    assert (item.id, item.why and item.why["causes"]) == (known(first), 2)


@pytest.mark.requirement("R-73")
async def test_why_is_kept_though_nobody_asks_for_it(by_words: Recaller):
    await by_words.put(TEA, "Bob repairs old bicycles.")

    found = await by_words.recall("who drinks tea?", limit=1)
    await by_words.written()

    kept = (await find_recall(by_words.searching, MAIN_SPACE, found.id))["hits"]
    assert found.items[0].why is None
    assert [set(hit["why"]) >= ALWAYS for hit in kept] == [True] * len(kept)
    assert kept
