import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from festinger.embedding.embedder import SIZE, CachedEmbedder, Vector
from festinger.embedding.profiles import EmbedderProfile, EmbeddingPurpose
from festinger.errors import PartlyEmbedded, ProviderDown, ProviderRefused
from festinger.observability.metrics import EMBEDDING_CACHED


class Counting:
    """Embeds by the length of a text and remembers what it was asked."""

    name = "toy:counting"
    dimensions = 2
    profile = EmbedderProfile(name=name)

    def __init__(self) -> None:
        self.asked: list[tuple[str, EmbeddingPurpose, str]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.down = False

    async def embed(self, texts: Sequence[str], purpose: EmbeddingPurpose, *, kind: str = "") -> list[Vector]:
        self.asked += [(text, purpose, kind) for text in texts]
        await self.gate.wait()
        if self.down:
            raise ProviderDown("gone")
        made = [np.array([len(text), 1.0], dtype=np.float32) for text in texts]
        bad = {place: ProviderRefused("bad") for place, text in enumerate(texts) if "bad" in text}
        if bad:
            raise PartlyEmbedded([None if n in bad else v for n, v in enumerate(made)], bad)
        return made

    async def close(self) -> None:
        return None


@pytest.fixture
def inner() -> Counting:
    return Counting()


@pytest.mark.requirement("X-79")
async def test_an_equal_text_for_an_equal_purpose_is_embedded_once(inner: Counting):
    cached = CachedEmbedder(inner)
    hits = EMBEDDING_CACHED.labels("query")
    before = hits._value.get()

    first = await cached.embed(["tea", "tea", "coffee"], EmbeddingPurpose.QUERY)
    again = await cached.embed(["coffee", "tea"], EmbeddingPurpose.QUERY)

    assert [text for text, _, _ in inner.asked] == ["tea", "coffee"]
    assert [v.tolist() for v in first] == [[3, 1], [3, 1], [6, 1]]
    assert [v.tolist() for v in again] == [[6, 1], [3, 1]]
    assert hits._value.get() == before + 2


@pytest.mark.requirement("X-79")
async def test_another_purpose_is_another_vector(inner: Counting):
    cached = CachedEmbedder(inner)

    for purpose in EmbeddingPurpose:
        await cached.embed(["tea"], purpose)

    assert [purpose for _, purpose, _ in inner.asked] == list(EmbeddingPurpose)


async def test_the_kind_counts_for_what_is_stored_and_for_nothing_else(inner: Counting):
    cached = CachedEmbedder(inner)

    for kind in ("fact", "episodic"):
        await cached.embed(["tea"], EmbeddingPurpose.STORE, kind=kind)
        await cached.embed(["tea"], EmbeddingPurpose.COMPARE, kind=kind)

    assert [(purpose, kind) for _, purpose, kind in inner.asked] == [
        (EmbeddingPurpose.STORE, "fact"),
        (EmbeddingPurpose.COMPARE, "fact"),
        (EmbeddingPurpose.STORE, "episodic"),
    ]


@pytest.mark.requirement("X-79")
async def test_the_least_recently_used_vector_goes_first(inner: Counting):
    cached = CachedEmbedder(inner, size=2)

    await cached.embed(["a"], EmbeddingPurpose.QUERY)
    await cached.embed(["b"], EmbeddingPurpose.QUERY)
    await cached.embed(["a"], EmbeddingPurpose.QUERY)
    await cached.embed(["c"], EmbeddingPurpose.QUERY)
    inner.asked.clear()
    await cached.embed(["a", "c", "b"], EmbeddingPurpose.QUERY)

    assert [text for text, _, _ in inner.asked] == ["b"]
    assert SIZE == 10_000


@pytest.mark.requirement("X-79")
async def test_two_who_ask_at_once_share_one_call(inner: Counting):
    cached = CachedEmbedder(inner)
    inner.gate.clear()

    one = asyncio.create_task(cached.embed(["tea", "milk"], EmbeddingPurpose.QUERY))
    two = asyncio.create_task(cached.embed(["tea", "sugar"], EmbeddingPurpose.QUERY))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    inner.gate.set()

    assert [len(made) for made in await asyncio.gather(one, two)] == [2, 2]
    assert sorted(text for text, _, _ in inner.asked) == ["milk", "sugar", "tea"]


async def test_a_caller_who_gives_up_does_not_take_the_vector_from_the_other(inner: Counting):
    cached = CachedEmbedder(inner)
    inner.gate.clear()
    impatient = asyncio.create_task(cached.embed(["tea"], EmbeddingPurpose.QUERY))
    patient = asyncio.create_task(cached.embed(["tea"], EmbeddingPurpose.QUERY))
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    impatient.cancel()
    await asyncio.sleep(0)
    inner.gate.set()

    assert [v.tolist() for v in await patient] == [[3, 1]]
    assert impatient.cancelled()
    assert len(inner.asked) == 1


@pytest.mark.requirement("X-79")
async def test_a_failure_is_not_remembered(inner: Counting):
    cached = CachedEmbedder(inner)
    inner.down = True
    with pytest.raises(ProviderDown, match="gone"):
        await cached.embed(["tea"], EmbeddingPurpose.QUERY)

    inner.down = False

    assert [v.tolist() for v in await cached.embed(["tea"], EmbeddingPurpose.QUERY)] == [[3, 1]]


async def test_the_good_texts_of_a_failed_call_are_kept(inner: Counting):
    cached = CachedEmbedder(inner)
    with pytest.raises(PartlyEmbedded) as caught:
        await cached.embed(["tea", "bad", "milk", "bad"], EmbeddingPurpose.QUERY)

    inner.asked.clear()
    await cached.embed(["tea", "milk"], EmbeddingPurpose.QUERY)

    assert sorted(caught.value.failures) == [1, 3]
    assert inner.asked == []


async def test_what_is_cached_survives_when_the_rest_cannot_be_had(inner: Counting):
    cached = CachedEmbedder(inner)
    await cached.embed(["tea"], EmbeddingPurpose.QUERY)
    inner.down = True

    with pytest.raises(PartlyEmbedded) as caught:
        await cached.embed(["tea", "milk"], EmbeddingPurpose.QUERY)

    assert caught.value.vectors[0].tolist() == [3, 1]
    assert isinstance(caught.value.failures[1], ProviderDown)
