"""What every embedder owes its callers: one contract, held against each of them."""

from collections.abc import AsyncIterator, Sequence
from importlib.metadata import EntryPoint

import numpy as np
import pytest
from tests.embedding.servers import Served, length

from festinger.embedding import registry
from festinger.embedding.embedder import CachedEmbedder, Embedder, EmbedderOptions, Rows, require_readable
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.embedding.registry import open_embedder
from festinger.errors import BadInput, ProviderRefused

TEXTS = [
    "Anna moved to the lake last spring.",
    "Short.",
    "The build fails on the second worker whenever the cache is cold, and nobody has found out why.",
    "Größe, 東京, Ελλάδα and 🙂 are texts as well.",
    "Anna moved to the lake last spring!",
]


class ForeignEngine:
    """A provider of another package, with vectors that are far from unit length."""

    name = "foreign:toy"
    dimensions = 3
    batch = 2

    async def rows(self, texts: Sequence[str], purpose: EmbeddingPurpose, *, kind: str) -> Rows:
        return [[float(len(text)), float(text.count("e")) + 1, 1000.0] for text in texts]

    async def close(self) -> None:
        return None


async def open_engine(model: str, supplies: EmbedderOptions) -> ForeignEngine:
    return ForeignEngine()


@pytest.fixture(params=["minilm", "bge", "hashed:", "ollama:toy", "openai:toy", "gemini:toy", "foreign:toy"])
async def embedder(
    request: pytest.FixtureRequest, served: Served, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Embedder]:
    if ":" not in request.param:
        yield request.getfixturevalue(request.param)
        return
    foreign = EntryPoint(name="foreign", value=f"{__name__}:open_engine", group=registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [foreign])
    monkeypatch.setattr(EntryPoint, "load", _load_here, raising=True)
    base = served.url + ("/v1" if request.param.startswith("openai") else "")
    opened = await open_embedder(request.param, EmbedderOptions(offline=True, base_url=base))
    yield opened
    await opened.close()


_load = EntryPoint.load


def _load_here(self: EntryPoint) -> object:
    return open_engine if self.value.startswith(__name__) else _load(self)


@pytest.mark.requirement("X-70")
@pytest.mark.parametrize("purpose", list(EmbeddingPurpose))
async def test_vectors_come_one_a_text_with_unit_length_in_float32(embedder: Embedder, purpose: EmbeddingPurpose):
    vectors = await embedder.embed(TEXTS, purpose, kind="fact")

    assert len(vectors) == len(TEXTS)
    assert all(vector.dtype == np.float32 and vector.shape == (embedder.dimensions,) for vector in vectors)
    assert all(abs(length(vector) - 1) < 1e-5 for vector in vectors)


@pytest.mark.requirement("X-70")
async def test_vectors_come_in_the_order_of_the_texts(embedder: Embedder):
    forth = await embedder.embed(TEXTS, EmbeddingPurpose.COMPARE)
    back = await embedder.embed(TEXTS[::-1], EmbeddingPurpose.COMPARE)

    assert [vector.tolist() for vector in back[::-1]] == [vector.tolist() for vector in forth]


@pytest.mark.requirement("X-73")
async def test_a_text_has_the_same_vector_alone_and_in_company(embedder: Embedder):
    assert isinstance(embedder, CachedEmbedder)
    uncached = embedder._inner

    together = await uncached.embed(TEXTS, EmbeddingPurpose.STORE)
    alone = [(await uncached.embed([text], EmbeddingPurpose.STORE))[0] for text in TEXTS]

    assert min(float(a @ b) for a, b in zip(together, alone, strict=True)) >= 0.99999


@pytest.mark.requirement("X-70")
async def test_no_texts_give_no_vectors(embedder: Embedder):
    assert await embedder.embed([], EmbeddingPurpose.QUERY) == []


@pytest.mark.requirement("X-70")
@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u3000"])
async def test_a_blank_text_is_refused_by_its_place(embedder: Embedder, blank: str):
    with pytest.raises(BadInput, match="Text 1 of 2 is blank"):
        await embedder.embed(["Fine.", blank], EmbeddingPurpose.STORE)


@pytest.mark.requirement("X-70")
async def test_the_profile_and_the_name_belong_together(embedder: Embedder):
    assert embedder.profile.name == embedder.name
    assert embedder.profile.dimensions in (None, embedder.dimensions)


async def test_a_vector_cannot_be_changed_by_who_holds_it(embedder: Embedder):
    [vector] = await embedder.embed(["Anna lives at the lake."], EmbeddingPurpose.STORE)

    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 7.0


def test_half_a_character_is_refused():
    with pytest.raises(BadInput, match="half a character at 3"):
        require_readable(["abc\ud800"])


@pytest.mark.requirement("X-71")
async def test_the_embedder_of_none_keeps_the_contract_but_has_no_vectors():
    none = await open_embedder("none:", EmbedderOptions(offline=True))

    assert await none.embed([], EmbeddingPurpose.QUERY) == []
    assert none.dimensions == 0
    with pytest.raises(BadInput):
        await none.embed([" "], EmbeddingPurpose.QUERY)
    with pytest.raises(ProviderRefused, match="No embedder is chosen"):
        await none.embed(["Where does Anna live?"], EmbeddingPurpose.QUERY)
