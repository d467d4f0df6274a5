"""Embedders over the wire, held against servers that speak the real protocols."""

from collections.abc import Callable

import pytest
from aiohttp import web
from tests.embedding.servers import DIMENSIONS, Served, row_of, served_unfit

from festinger.embedding.embedder import Embedder, EmbedderOptions
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.embedding.registry import open_embedder
from festinger.errors import BadSetting, PartlyEmbedded, ProviderDown, ProviderRefused

CHOICES = ["ollama:toy", "openai:toy", "gemini:toy"]


async def opened(choice: str, served: Served) -> Embedder:
    base = served.url + ("/v1" if choice.startswith("openai") else "")
    embedder = await open_embedder(choice, EmbedderOptions(offline=True, base_url=base, api_key="k-1"))
    served.asked.clear()
    return embedder


@pytest.fixture(params=CHOICES)
async def remote(request: pytest.FixtureRequest, served: Served):
    embedder = await opened(request.param, served)
    yield embedder
    await embedder.close()


async def test_ollama_is_asked_at_its_embed_route(served: Served):
    embedder = await opened("ollama:toy:latest", served)
    await embedder.embed(["tea", "milk"], EmbeddingPurpose.STORE)
    await embedder.close()

    assert served.paths[-1] == "/api/embed"
    assert served.asked == [{"model": "toy:latest", "input": ["tea", "milk"], "truncate": True}]


async def test_openai_is_asked_at_its_embeddings_route_with_the_key(served: Served):
    embedder = await opened("openai:toy", served)
    await embedder.embed(["tea"], EmbeddingPurpose.STORE)
    await embedder.close()

    assert served.paths[-1] == "/v1/embeddings"
    assert served.headers[-1]["Authorization"] == "Bearer k-1"
    assert served.asked == [{"model": "toy", "input": ["tea"], "encoding_format": "float"}]


@pytest.mark.requirement("X-75")
@pytest.mark.parametrize(
    ("purpose", "task"),
    [
        (EmbeddingPurpose.STORE, "RETRIEVAL_DOCUMENT"),
        (EmbeddingPurpose.QUERY, "RETRIEVAL_QUERY"),
        (EmbeddingPurpose.COMPARE, "SEMANTIC_SIMILARITY"),
        (EmbeddingPurpose.CLUSTER, "CLUSTERING"),
    ],
)
async def test_gemini_is_told_the_task_and_for_storing_the_kind_as_title(
    served: Served, purpose: EmbeddingPurpose, task: str
):
    embedder = await opened("gemini:toy", served)
    await embedder.embed(["tea"], purpose, kind="fact")
    await embedder.close()

    expected = {"model": "models/toy", "taskType": task, "content": {"parts": [{"text": "tea"}]}}
    title = {"title": "fact"} if purpose is EmbeddingPurpose.STORE else {}
    assert served.paths[-1] == "/models/toy:batchEmbedContents"
    assert served.headers[-1]["x-goog-api-key"] == "k-1"
    assert served.asked == [{"requests": [expected | title]}]


@pytest.mark.requirement("X-75")
async def test_gemini_gives_another_vector_for_each_purpose(served: Served):
    embedder = await opened("gemini:toy", served)

    made = {(await embedder.embed(["tea"], purpose))[0].tobytes() for purpose in EmbeddingPurpose}

    await embedder.close()
    assert len(made) == 4


@pytest.mark.requirement("X-74")
async def test_a_hundred_texts_go_in_one_call_and_more_in_several(remote: Embedder, served: Served):
    await remote.embed([f"text {number}" for number in range(230)], EmbeddingPurpose.STORE)

    sizes = [len(body.get("input") or body["requests"]) for body in served.asked]
    assert sizes == [100, 100, 30]


@pytest.mark.requirement("X-74")
@pytest.mark.parametrize("status", [400, 500])
async def test_a_text_that_the_server_chokes_on_does_not_lose_the_others(remote: Embedder, served: Served, status: int):
    served.spoil = lambda texts: web.Response(status=status) if "bad" in texts else None
    texts = [f"text {number}" for number in range(99)] + ["bad"]

    with pytest.raises(PartlyEmbedded) as caught:
        await remote.embed(texts, EmbeddingPurpose.STORE)

    assert list(caught.value.failures) == [99]
    assert sum(vector is not None for vector in caught.value.vectors) == 99


@pytest.mark.parametrize(
    "row",
    [
        lambda text: [0.0] * DIMENSIONS,
        lambda text: row_of(text)[:-1],
        lambda text: [*row_of(text), 0.5],
        lambda text: [None] * DIMENSIONS,
        lambda text: [],
        lambda text: "vector",
    ],
)
async def test_a_bad_vector_is_never_returned(remote: Embedder, served: Served, row: Callable[[str], object]):
    served.row = served_unfit(row)

    with pytest.raises(PartlyEmbedded) as caught:
        await remote.embed(["tea", "bad", "milk"], EmbeddingPurpose.STORE)

    assert [vector is None for vector in caught.value.vectors] == [False, True, False]


async def test_nan_is_refused(remote: Embedder, served: Served):
    served.row = lambda text: [float("nan")] * DIMENSIONS

    with pytest.raises(ProviderRefused):
        await remote.embed(["tea"], EmbeddingPurpose.STORE)


async def test_an_answer_in_another_shape_is_refused(remote: Embedder, served: Served):
    served.spoil = lambda texts: web.json_response({"result": []})

    with pytest.raises(ProviderRefused, match="something else than vectors"):
        await remote.embed(["tea"], EmbeddingPurpose.STORE)


async def test_the_length_of_an_unknown_model_is_learnt_and_that_of_a_known_one_is_not_asked(served: Served):
    unknown = await open_embedder("ollama:toy", EmbedderOptions(offline=True, base_url=served.url))
    asked = len(served.asked)
    known = await open_embedder("ollama:nomic-embed-text", EmbedderOptions(offline=True, base_url=served.url))

    assert (unknown.dimensions, known.dimensions) == (DIMENSIONS, 768)
    assert (asked, len(served.asked)) == (1, 1)
    await unknown.close()
    await known.close()


@pytest.mark.parametrize("choice", CHOICES)
async def test_an_unknown_model_whose_length_cannot_be_learnt_is_not_opened(choice: str, served: Served):
    served.row = lambda text: 7

    with pytest.raises(ProviderRefused):
        await opened(choice, served)


@pytest.mark.parametrize("choice", ["ollama:", "openai:", "gemini:"])
async def test_a_provider_without_a_model_is_refused(choice: str, served: Served):
    with pytest.raises(BadSetting, match="names no model"):
        await opened(choice, served)


async def test_a_server_that_is_gone_is_a_provider_that_is_down():
    gone = EmbedderOptions(offline=True, base_url="http://127.0.0.1:1")

    with pytest.raises(ProviderDown):
        await open_embedder("ollama:toy", gone)
