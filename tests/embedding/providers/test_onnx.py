"""Models that run here: the bundled ones, and folders that a person brings along."""

import json
import shutil
from pathlib import Path

import pytest
from tests.embedding.servers import serving_hub

from festinger.embedding.embedder import Embedder, EmbedderOptions
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.embedding.registry import open_embedder
from festinger.embedding.weights import ALL_MINILM, BGE_SMALL, find_bundle_folder
from festinger.errors import BadSetting, WeightsUnfit

FAR, NEAR = "Stock prices fell on Monday.", "A feline rested on the rug."
CAT = "The cat sat on the mat."


def folder_of(bundle_folder: Path, at: Path, *files: str) -> Path:
    at.mkdir(parents=True)
    for file in files:
        (at / file).parent.mkdir(exist_ok=True)
        shutil.copy(bundle_folder / file, at / file)
    return at


@pytest.fixture(scope="module")
def weights_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = ("model.safetensors", "config.json", "tokenizer.json", "1_Pooling/config.json")
    return folder_of(find_bundle_folder(ALL_MINILM), tmp_path_factory.mktemp("models") / "mine", *files)


@pytest.mark.requirement("X-72")
async def test_the_bundled_model_is_real_it_knows_what_words_mean(minilm: Embedder):
    cat, near, far = await minilm.embed([CAT, NEAR, FAR], EmbeddingPurpose.COMPARE)

    assert minilm.dimensions == 384
    assert float(cat @ near) > 0.5 > 0.2 > float(cat @ far)


@pytest.mark.requirement("X-72")
async def test_the_bundled_model_gives_the_published_vectors(minilm: Embedder):
    """The cosines that its makers print for these three sentences in the model's own documentation, up to what
    weights of 8 bits change."""
    sentences = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]

    today, sunny, stadium = await minilm.embed(sentences, EmbeddingPurpose.COMPARE)

    assert [float(today @ sunny), float(today @ stadium), float(sunny @ stadium)] == pytest.approx(
        [0.6660, 0.1046, 0.1411], abs=0.01
    )


@pytest.mark.requirement("X-73")
@pytest.mark.parametrize("size", [2, 9, 40])
async def test_a_sentence_has_one_vector_in_lists_of_any_size(minilm: Embedder, size: int):
    company = [f"Company {number} of {size}. " + "More words here. " * (number % 9) for number in range(size)]

    [alone] = await minilm.embed([f"{CAT} {size}"], EmbeddingPurpose.STORE)
    among = (await minilm.embed([*company, f"{CAT} {size} "], EmbeddingPurpose.STORE))[-1]

    assert float(alone @ among) >= 0.99999


@pytest.mark.requirement("X-71")
async def test_a_folder_of_weights_gives_the_vectors_of_the_bundled_model(weights_folder: Path, minilm: Embedder):
    mine = await open_embedder(f"onnx:{weights_folder}", EmbedderOptions(offline=True))

    [ours] = await mine.embed([CAT], EmbeddingPurpose.COMPARE)
    [bundled] = await minilm.embed([CAT], EmbeddingPurpose.COMPARE)
    await mine.close()

    # Nobody measured the channels of a folder's model, so its products are others.
    assert float(ours @ bundled) >= 0.995
    assert mine.name == "onnx:mine@53aa51172d14"
    assert not mine.profile.is_calibrated


@pytest.mark.requirement("X-71")
async def test_a_folder_with_a_graph_is_run_with_its_own_pooling(tmp_path: Path, bge: Embedder):
    folder = folder_of(find_bundle_folder(BGE_SMALL), tmp_path / "mine", "model.onnx", "tokenizer.json")
    plain = await open_embedder(f"onnx:{folder}", EmbedderOptions(offline=True))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    first_token = await open_embedder(f"onnx:{folder}", EmbedderOptions(offline=True))

    [bundled] = await bge.embed([CAT], EmbeddingPurpose.COMPARE)
    [by_mean] = await plain.embed([CAT], EmbeddingPurpose.COMPARE)
    [by_first] = await first_token.embed([CAT], EmbeddingPurpose.COMPARE)
    await plain.close()
    await first_token.close()

    assert float(bundled @ by_first) >= 0.99999
    assert float(bundled @ by_mean) < 0.999


async def test_other_weights_under_the_same_path_have_another_name(tmp_path: Path):
    folder = folder_of(find_bundle_folder(BGE_SMALL), tmp_path / "mine", "model.onnx", "tokenizer.json")
    before = await open_embedder(f"onnx:{folder}", EmbedderOptions(offline=True))
    with (folder / "model.onnx").open("ab") as model:
        model.write(b"\x72\x00")  # an empty metadata entry: another file, the same graph
    after = await open_embedder(f"onnx:{folder}", EmbedderOptions(offline=True))
    await before.close()
    await after.close()

    assert before.name != after.name


async def test_a_folder_without_a_model_is_refused(tmp_path: Path):
    with pytest.raises(WeightsUnfit, match="holds no model"):
        await open_embedder(f"onnx:{tmp_path}", EmbedderOptions(offline=True))


@pytest.mark.requirement("X-71")
async def test_a_model_that_is_not_bundled_is_refused_with_those_that_are():
    with pytest.raises(BadSetting, match="`onnx:all-minilm` is not a bundled model") as caught:
        await open_embedder("onnx:all-minilm", EmbedderOptions(offline=True))

    assert "`onnx:all-minilm-l6-v2`, `onnx:bge-small-en-v1.5`" in caught.value.hint


async def test_a_model_of_a_hub_is_fetched_once_and_then_used_without_it(tmp_path: Path):
    files = {
        name: (find_bundle_folder(BGE_SMALL) / name).read_bytes()
        for name in ("model.onnx", "tokenizer.json", "config.json")
    }
    async with serving_hub("owner/small", files) as hub:
        here = EmbedderOptions(offline=True, base_url=hub.url, models=tmp_path)
        fetched = await open_embedder("onnx:owner/small", here)
        await fetched.close()
        asked = len(hub.paths)
    again = await open_embedder("onnx:owner/small", EmbedderOptions(offline=True, models=tmp_path))
    await again.close()

    assert asked > 0
    assert again.name == fetched.name == "onnx:owner/small@68807e3ff2ab"
