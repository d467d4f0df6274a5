"""A closer reader changes the order, if there is one and if there is time."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.retrieval.recalling import Recaller
from tests.runtime.server import opened
from tests.runtime.test_retrieval_outcomes import handle

from festinger.errors import FestingerError, ProviderDown
from festinger.retrieval.deps import RetrievalConfig
from festinger.retrieval.query import parse_recall_query
from festinger.retrieval.recall import PASSAGE, best_passage, recall
from festinger.runtime.app import StartOptions
from festinger.settings.tree import RerankSettings
from festinger.store.pool import Store

TEA, MUG = "Tea is hot, tea is green.", "The mug for tea is blue."


class Reader:
    """Thinks most of what was said last in its list, unless it fails or never answers."""

    name = "scripted:reader"

    def __init__(self, *, fault: FestingerError | None = None, hangs: bool = False) -> None:
        self.asked: list[tuple[str, list[str]]] = []
        self.fault, self.hangs = fault, hangs

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.asked.append((query, list(texts)))
        if self.fault:
            raise self.fault
        if self.hangs:
            await asyncio.Event().wait()
        return [float(text == MUG) for text in texts]

    async def close(self) -> None:
        return None


async def reading(store: Store, reader: Reader | None, **terms: Any) -> Recaller:
    mind = Recaller(store, reranker=reader, without_embedder=True)
    mind.searching = replace(mind.searching, terms=lambda _space: RetrievalConfig(retrieval=mind.retrieval, **terms))
    await mind.put(TEA, MUG)
    return mind


async def test_no_reader_reads_unless_one_is_chosen(store: Store):
    mind = await reading(store, None)

    found = await mind.recall("hot tea")

    assert RerankSettings().model == ""
    assert RerankSettings().timeout_ms == RetrievalConfig().rerank_timeout_ms == 400
    assert [item.text for item in found.items] == [TEA, MUG]
    assert "reranker" not in found.degraded
    mind.forget_unwritten()


async def test_a_reader_reads_the_cue_with_every_text_and_changes_the_order(store: Store):
    reader = Reader()
    mind = await reading(store, reader)

    found = await mind.recall("hot tea")

    assert reader.asked == [("hot tea", [TEA, MUG])]
    assert [item.text for item in found.items] == [MUG, TEA]
    mind.forget_unwritten()


@pytest.mark.parametrize(
    ("reader", "terms"),
    [
        (Reader(fault=ProviderDown("away")), {"reranks": True}),
        (Reader(hangs=True), {"reranks": True, "rerank_timeout_ms": 1}),
        (None, {"reranks": True}),
    ],
    ids=["fails", "is late", "could not be loaded"],
)
async def test_a_reader_that_cannot_be_had_is_gone_without_and_named(
    store: Store, reader: Reader | None, terms: dict[str, Any]
):
    mind = await reading(store, reader, **terms)

    found = await mind.recall("hot tea")

    assert [item.text for item in found.items] == [TEA, MUG]
    assert found.degraded == ("embedder", "reranker")
    mind.forget_unwritten()


async def test_a_recall_of_a_house_whose_reader_could_not_be_loaded_says_so(database_url: str, tmp_path: Path):
    flags: dict[str, Any] = {"embedding__model": "hashed:64", "rerank__model": f"onnx:{tmp_path}/nothing"}
    async with opened(database_url, tmp_path, start=StartOptions(providers=True), **flags) as app:
        memory = handle(app)
        await memory.learn(TEA)
        found = await memory.recall("hot tea")

    assert [item.text for item in found.items] == [TEA]
    assert "reranker" in found.degraded


async def test_whoever_has_no_time_is_not_reranked_and_misses_nothing(store: Store):
    reader = Reader()
    mind = await reading(store, reader, reranks=True)
    query = parse_recall_query("hot tea", now=mind.hands.now, hurried=True)

    found = await recall(mind.searching, mind.place("asking"), query)

    assert reader.asked == []
    assert [item.text for item in found.items] == [TEA, MUG]
    assert "reranker" not in found.degraded
    mind.forget_unwritten()


def test_of_a_long_text_the_passage_with_the_words_of_the_cue_is_read():
    text = "x " * PASSAGE + "The ferry sails at nine. " + "y " * PASSAGE

    assert "The ferry sails" in best_passage(text, "When does the ferry sail?")
    assert len(best_passage(text, "When does the ferry sail?")) <= PASSAGE
    assert best_passage("It is hot.", "tea?") == "It is hot."
