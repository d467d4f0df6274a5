import sys
from pathlib import Path

import pytest

from festinger.embedding.embedder import EmbedderOptions
from festinger.embedding.weights import fetch_model_folder
from festinger.errors import BadSetting, ProviderDown, ProviderRefused


@pytest.mark.requirement("X-86")
def test_offline_nothing_is_fetched_from_a_hub(tmp_path: Path):
    with pytest.raises(ProviderRefused, match="was not fetched before, and Festinger is offline"):
        fetch_model_folder("owner/name", EmbedderOptions(offline=True, models=tmp_path))


def test_a_hub_that_does_not_answer_is_a_provider_that_is_down(tmp_path: Path):
    nobody = EmbedderOptions(base_url="http://127.0.0.1:1", models=tmp_path, timeout_s=1)

    with pytest.raises(ProviderDown, match="does not answer"):
        fetch_model_folder("owner/name", nobody)


@pytest.mark.parametrize("name", ["owner/na me", "a/b/c"])
def test_a_name_that_no_hub_knows_is_a_wrong_setting(tmp_path: Path, name: str):
    with pytest.raises(BadSetting, match="not the name of a model"):
        fetch_model_folder(name, EmbedderOptions(offline=True, models=tmp_path))


def test_without_the_client_a_folder_by_path_is_advised(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)

    with pytest.raises(ProviderRefused) as caught:
        fetch_model_folder("owner/name", EmbedderOptions(models=tmp_path))

    assert "onnx:/path/to/folder" in caught.value.hint
