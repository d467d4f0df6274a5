import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from festinger.embedding import registry
from festinger.embedding.embedder import EmbedderOptions
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.embedding.registry import find_embedding_providers, open_embedder, open_embedder_or_null, split_choice
from festinger.errors import BadSetting, ProviderRefused
from festinger.observability.metrics import DEGRADED


@pytest.mark.requirement("X-71")
async def test_an_unknown_provider_is_refused_with_the_list():
    with pytest.raises(BadSetting, match="`onxx:all-minilm-l6-v2` names no provider") as caught:
        await open_embedder("onxx:all-minilm-l6-v2", EmbedderOptions())

    assert caught.value.hint == ("The providers are `gemini:`, `hashed:`, `none:`, `ollama:`, `onnx:`, `openai:`.")


@pytest.mark.requirement("X-71")
@pytest.mark.parametrize("choice", ["onnx", "", "hashed"])
async def test_a_choice_without_a_colon_is_refused(choice: str):
    with pytest.raises(BadSetting, match="not of the form"):
        await open_embedder(choice, EmbedderOptions())


def test_only_the_first_colon_parts_provider_and_model():
    assert split_choice("ollama:nomic-embed-text:latest") == ("ollama", "nomic-embed-text:latest")


@pytest.mark.requirement("X-71")
async def test_a_provider_of_another_package_is_imported_only_when_it_is_chosen(monkeypatch):
    entry = EntryPoint(name="broken", value="festinger_no_such_package:open_engine", group=registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry])

    assert "broken" in find_embedding_providers()
    assert (await open_embedder("hashed:", EmbedderOptions())).name == "hashed:256"
    with pytest.raises(ModuleNotFoundError):
        await open_embedder("broken:x", EmbedderOptions())


@pytest.mark.requirement("X-71")
def test_another_package_cannot_take_the_name_of_a_built_in_provider(monkeypatch):
    entry = EntryPoint(name="onnx", value="thief:open_engine", group=registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry])

    assert find_embedding_providers()["onnx"].value == "festinger.embedding.providers.onnx:open_engine"


@pytest.mark.requirement("X-71")
def test_choosing_one_provider_imports_none_of_the_others():
    program = """
import asyncio, sys
from festinger.embedding.embedder import EmbedderOptions
from festinger.embedding.registry import open_embedder
asyncio.run(open_embedder("hashed:", EmbedderOptions()))
heavy = {"onnx", "onnxruntime", "tokenizers", "aiohttp", "huggingface_hub"} & set(sys.modules)
print(sorted(heavy), sorted(name for name in sys.modules if name.startswith("festinger.embedding.o")))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[] []"


@pytest.mark.requirement("F-104")
async def test_without_weights_memory_goes_on_by_words_and_says_why(monkeypatch):
    monkeypatch.setattr("festinger.embedding.weights.find_spec", lambda name: None)
    degraded = DEGRADED.labels("embedder")
    before = degraded._value.get()

    embedder = await open_embedder_or_null("onnx:all-minilm-l6-v2", EmbedderOptions(offline=True))

    assert degraded._value.get() == before + 1
    assert embedder.name == "none:"
    with pytest.raises(ProviderRefused, match="not installed") as caught:
        await embedder.embed(["Where does Anna live?"], EmbeddingPurpose.QUERY)
    assert "festinger models fetch" in caught.value.hint


async def test_a_wrong_choice_is_refused_even_where_one_could_go_without():
    with pytest.raises(BadSetting):
        await open_embedder_or_null("onxx:model", EmbedderOptions())
