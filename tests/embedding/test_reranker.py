"""What every reranker owes its callers, held against each of them."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from festinger.embedding import reranker as registry
from festinger.embedding.embedder import EmbedderOptions
from festinger.embedding.reranker import Reranker, open_reranker
from festinger.embedding.weights import RERANKERS, verify_bundle_folder
from festinger.errors import BadInput, BadSetting, ProviderDown, WeightsUnfit

BUNDLED = "onnx:ms-marco-minilm-l-12-v2"
QUERY = "Where does Anna live?"
TEXTS = ["Stock prices fell on Monday.", "Anna lives in a house near the lake.", "Ben likes tea."]


@pytest.fixture(scope="module", params=[BUNDLED, "lexical:"])
def reranker(request: pytest.FixtureRequest) -> Iterator[Reranker]:
    with ThreadPoolExecutor(1) as thread:
        opened = thread.submit(asyncio.run, open_reranker(request.param, EmbedderOptions(offline=True))).result()
        assert opened is not None
        yield opened
        thread.submit(asyncio.run, opened.close()).result()


@pytest.mark.requirement("X-89")
async def test_the_text_that_answers_has_the_highest_score(reranker: Reranker):
    scores = await reranker.score("anna lives where", TEXTS)

    assert len(scores) == 3
    assert max(scores) == scores[1]


@pytest.mark.requirement("X-89")
async def test_a_score_belongs_to_its_text_in_any_order_and_company(reranker: Reranker):
    forth = await reranker.score(QUERY, TEXTS)
    back = await reranker.score(QUERY, TEXTS[::-1])
    alone = [(await reranker.score(QUERY, [text]))[0] for text in TEXTS]

    assert back[::-1] == pytest.approx(forth, abs=1e-5)
    assert alone == pytest.approx(forth, abs=1e-5)


@pytest.mark.requirement("X-89")
async def test_no_texts_have_no_scores(reranker: Reranker):
    assert await reranker.score(QUERY, []) == []


@pytest.mark.requirement("X-89")
@pytest.mark.parametrize(("query", "texts"), [(" ", ["tea"]), ("tea", ["fine", ""])])
async def test_blank_texts_are_refused(reranker: Reranker, query: str, texts: list[str]):
    with pytest.raises(BadInput):
        await reranker.score(query, texts)


@pytest.mark.requirement("X-89")
async def test_there_is_none_unless_one_is_chosen():
    assert await open_reranker("", EmbedderOptions()) is None


@pytest.mark.parametrize("choice", ["cohere:x", "onnx:", "onnx:ms-marco"])
async def test_an_unknown_reranker_is_refused(choice: str):
    with pytest.raises(BadSetting):
        await open_reranker(choice, EmbedderOptions())


async def test_a_folder_without_a_graph_is_refused(tmp_path: Path):
    with pytest.raises(WeightsUnfit, match=r"holds no `model\.onnx`"):
        await open_reranker(f"onnx:{tmp_path}", EmbedderOptions())


async def test_a_reranker_that_takes_too_long_is_down():
    hurried = await open_reranker(BUNDLED, EmbedderOptions(offline=True, timeout_s=0.0))
    assert hurried is not None

    with pytest.raises(ProviderDown, match="did not answer"):
        await hurried.score(QUERY, TEXTS)
    await hurried.close()


@pytest.mark.requirement("F-104")
async def test_without_its_weights_the_reranker_names_the_command(monkeypatch):
    monkeypatch.setattr("festinger.embedding.weights.find_spec", lambda name: None)

    with pytest.raises(WeightsUnfit) as caught:
        await open_reranker(BUNDLED, EmbedderOptions(offline=True))

    assert "festinger models fetch" in caught.value.hint


def test_built_in_rerankers_cannot_be_taken_over(monkeypatch):
    from importlib.metadata import EntryPoint

    thief = EntryPoint(name="onnx", value="thief:open_reranker", group=registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [thief])

    assert registry.find_rerankers()["onnx"].value == "festinger.embedding.providers.cross_encoder:open_reranker"


@pytest.mark.requirement("X-89")
async def test_a_folder_in_the_same_layout_is_opened_by_its_path_and_reads_256_tokens():
    folder = verify_bundle_folder(RERANKERS[BUNDLED.removeprefix("onnx:")])
    by_path, by_name = [
        await open_reranker(choice, EmbedderOptions(offline=True)) for choice in (f"onnx:{folder}", BUNDLED)
    ]
    assert by_path
    assert by_name
    long = "Anna lives in a house near the lake. " * 60

    scores = await by_path.score(QUERY, [*TEXTS, long, long + "Ben likes tea."])

    assert scores[:3] == pytest.approx(await by_name.score(QUERY, TEXTS), abs=1e-5)
    assert scores[3] == pytest.approx(scores[4], abs=1e-5)
    await by_path.close()
    await by_name.close()
