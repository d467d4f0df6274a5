"""Weights from a model hub, for those who name one.

Nothing is fetched unless a person chose `onnx:owner/name`, and never when offline; what was fetched before is
used again without asking. The client is optional: without it, a folder by path does the same.
"""

import os
from pathlib import Path

from festinger.embedding.embedder import Supplies
from festinger.errors import BadSetting, ProviderDown, ProviderRefused
from festinger.text.addresses import stays_here

WANTED = (
    "model.onnx",
    "onnx/model.onnx",
    "model.safetensors",
    "tokenizer.json",
    "config.json",
    "1_Pooling/config.json",
)


def fetched_folder(model: str, supplies: Supplies) -> Path:
    """The folder of `owner/name` or `owner/name@revision`, fetched once into the folder for models."""
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    except ImportError as error:
        raise ProviderRefused(
            "Fetching weights needs the client of the model hub.",
            hint="Install `huggingface-hub`, or give the folder by path: `onnx:/path/to/folder`.",
        ) from error
    repository, _, revision = model.partition("@")
    try:
        folder = snapshot_download(
            repository,
            revision=revision or None,
            cache_dir=supplies.models,
            allow_patterns=list(WANTED),
            endpoint=supplies.base_url,
            token=supplies.api_key or False,
            local_files_only=_must_not_ask(supplies),
            etag_timeout=supplies.timeout_s,
        )
    except HFValidationError as error:
        raise BadSetting(f"`onnx:{model}` is not the name of a model: {error}") from error
    except LocalEntryNotFoundError as error:
        raise _not_here(model, supplies) from error
    except HfHubHTTPError as error:
        raise ProviderRefused(f"The model hub refused `{model}`: {error}") from error
    return Path(folder)


def _must_not_ask(supplies: Supplies) -> bool:
    return supplies.offline and not stays_here(supplies.base_url or "")


def _not_here(model: str, supplies: Supplies) -> ProviderDown | ProviderRefused:
    if _must_not_ask(supplies):
        return ProviderRefused(
            f"`{model}` was not fetched before, and Festinger is offline.",
            hint="Unset `FESTINGER_OFFLINE` once, or give the folder by path: `onnx:/path/to/folder`.",
        )
    return ProviderDown(f"The model hub does not answer for `{model}`.")
