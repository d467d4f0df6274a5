from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.embedding.embedder import Vector, embed_in_batches
from festinger.errors import PartlyEmbedded, ProviderDown, ProviderRefused
from festinger.observability.metrics import EMBEDDING_FAILED, EMBEDDING_HALVED


class Provider:
    """Counts its calls and refuses every batch that holds a bad text."""

    def __init__(self, fault: Callable[[], Exception] = lambda: ProviderRefused("bad text")) -> None:
        self.calls: list[list[str]] = []
        self.fault = fault

    async def __call__(self, texts: Sequence[str]) -> list[Vector]:
        self.calls.append(list(texts))
        if any("bad" in text for text in texts):
            raise self.fault()
        return [vector_of(text) for text in texts]


def vector_of(text: str) -> Vector:
    return np.array([float(len(text)), float(sum(map(ord, text)))], dtype=np.float32)


def numbered(count: int) -> list[str]:
    return [f"text {number}" for number in range(count)]


@pytest.mark.requirement("X-74")
async def test_a_long_list_goes_out_in_batches_of_a_hundred():
    provider = Provider()

    made = await embed_in_batches(numbered(250), provider, size=100)

    assert [len(call) for call in provider.calls] == [100, 100, 50]
    assert [vector.tolist() for vector in made] == [vector_of(text).tolist() for text in numbered(250)]


@pytest.mark.requirement("X-74")
@pytest.mark.parametrize("fault", [lambda: ProviderRefused("bad text"), lambda: ProviderDown("answered 500")])
async def test_one_bad_text_does_not_lose_the_ninety_nine_others(fault: Callable[[], Exception]):
    texts = numbered(100)
    texts[37] = "bad"
    provider = Provider(fault)

    with pytest.raises(PartlyEmbedded, match="1 of 100 texts") as caught:
        await embed_in_batches(texts, provider, size=100)

    assert list(caught.value.failures) == [37]
    kept = [vector.tolist() for place, vector in enumerate(caught.value.vectors) if place != 37]
    assert kept == [vector_of(text).tolist() for text in texts if text != "bad"]
    assert len(provider.calls) <= 15


@pytest.mark.requirement("X-74")
async def test_a_batch_that_is_too_large_for_the_provider_goes_through_by_halves():
    async def takes_thirty(texts: Sequence[str]) -> list[Vector]:
        if len(texts) > 30:
            raise ProviderRefused("answered 413")
        return [vector_of(text) for text in texts]

    assert len(await embed_in_batches(numbered(100), takes_thirty, size=100)) == 100


@pytest.mark.requirement("X-79")
async def test_a_silent_provider_is_asked_three_times_and_not_once_a_text():
    calls = 0

    async def silent(texts: Sequence[str]) -> list[Vector]:
        nonlocal calls
        calls += 1
        raise ProviderDown("does not answer")

    with pytest.raises(ProviderDown, match="does not answer"):
        await embed_in_batches(numbered(100), silent, size=100)

    assert calls == 3


async def test_every_text_without_a_vector_and_every_halving_is_counted():
    failed, halved = EMBEDDING_FAILED.labels("provider_refused"), EMBEDDING_HALVED
    before = failed._value.get(), halved._value.get()

    with pytest.raises(PartlyEmbedded):
        await embed_in_batches(["bad", "good"], Provider(), size=100)

    assert (failed._value.get(), halved._value.get()) == (before[0] + 1, before[1] + 1)


async def failed_places(texts: list[str], size: int) -> list[int]:
    try:
        made = await embed_in_batches(texts, Provider(), size=size)
    except PartlyEmbedded as partly:
        return [place for place, vector in enumerate(partly.vectors) if vector is None]
    except ProviderRefused:
        return list(range(len(texts)))
    return list(range(len(made), len(texts)))


@given(st.lists(st.sampled_from(["good", "bad", "fine", "bad too"]), max_size=20), st.integers(1, 7))
async def test_exactly_the_bad_texts_fail_wherever_they_stand(texts: list[str], size: int):
    bad = [place for place, text in enumerate(texts) if "bad" in text]

    assert await failed_places(texts, size) == bad
