"""Embedders that run locally on onnxruntime: bundled, from a folder, or from a model hub.

`onnx:all-minilm-l6-v2` and `onnx:bge-small-en-v1.5` come with the install. `onnx:/path/to/folder` takes any
folder with `tokenizer.json` and either `model.onnx` or a BERT encoder's `model.safetensors` and
`config.json`; `onnx:owner/name` fetches such a folder from a model hub. Weights that are not bundled carry
their checksum in their name, so that vectors of other weights under the same path are never compared.
"""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from festinger.embedding.bert import (
    Pooling,
    build_graph,
    load_word_embeddings,
    quantize_weights,
    read_shape,
    read_tensors,
    select_large_arrays,
    to_onnx,
)
from festinger.embedding.embedder import EmbedderOptions, Rows
from festinger.embedding.profiles import EmbeddingPurpose, find_profile
from festinger.embedding.runtime import (
    ModelSession,
    Numbers,
    Read,
    Runner,
    is_quantized,
    open_session,
    open_tokenizer,
    release_memory,
)
from festinger.embedding.weights import EMBEDDERS, fetch_model_folder, ranges_path, sha256_of, verify_bundle_folder
from festinger.errors import BadSetting, WeightsUnfit

DEFAULT = "all-minilm-l6-v2"
MAX_TOKENS = 256
SHORT_DIGEST = 12


class OnnxEngine:
    """A local model. It takes any number of texts; the runner splits them into runs."""

    batch = 100

    def __init__(self, name: str, runner: Runner, *, dimensions: int) -> None:
        self.name = name
        self.dimensions = dimensions
        self._runner = runner

    async def rows(self, texts: Sequence[str], purpose: EmbeddingPurpose, *, kind: str) -> Rows:
        return await self._runner.rows(texts, is_urgent=purpose is EmbeddingPurpose.QUERY)

    async def close(self) -> None:
        self._runner.close()


async def open_engine(model: str, supplies: EmbedderOptions) -> OnnxEngine:
    # Reading and checking 90 MB takes a fraction of a second that would block the event loop.
    engine = await asyncio.to_thread(_open, model, supplies)
    release_memory()
    return engine


def _open(model: str, supplies: EmbedderOptions) -> OnnxEngine:
    if model in EMBEDDERS:
        bundle = EMBEDDERS[model]
        return _engine(verify_bundle_folder(bundle), f"onnx:{model}", supplies, pooling=Pooling(bundle.pooling))
    if "/" not in model:
        known = ", ".join(f"`onnx:{name}`" for name in EMBEDDERS)
        raise BadSetting(
            f"`onnx:{model}` is not a bundled model.",
            hint=f"Bundled are {known}; also `onnx:/path/to/folder` and `onnx:owner/name`.",
        )
    is_path = model.startswith(("/", "./", "../", "~"))
    folder = Path(model).expanduser() if is_path else fetch_model_folder(model, supplies)
    name = folder.name if is_path else model
    digest = sha256_of(find_model_file(folder))[:SHORT_DIGEST]
    return _engine(folder, f"onnx:{name}@{digest}", supplies, pooling=_read_pooling(folder))


def _engine(folder: Path, name: str, supplies: EmbedderOptions, *, pooling: Pooling) -> OnnxEngine:
    max_tokens = find_profile(name, supplies.profiles).max_tokens or MAX_TOKENS
    tokenizer = open_tokenizer(folder, max_tokens=max_tokens)
    model = find_model_file(folder)
    if model.suffix == ".safetensors":
        return _open_engine_from_weights(model, name, tokenizer, pooling=pooling)
    graph = model.read_bytes()
    session = open_session(graph)
    runner = Runner(session, tokenizer, read=_reader(pooling), alone=is_quantized(graph))
    return OnnxEngine(name, runner, dimensions=_read_dimensions(session, folder))


def _open_engine_from_weights(model: Path, name: str, tokenizer: Tokenizer, *, pooling: Pooling) -> OnnxEngine:
    """Build the graph from the weights each time: that takes a tenth of a second and no disk."""
    shape = read_shape(model.parent)
    tensors = read_tensors(model)
    is_measured = name == f"onnx:{DEFAULT}"
    if is_measured:
        tensors = quantize_weights(tensors, read_tensors(ranges_path()))
    graph = build_graph(tensors, shape, pooling)
    words = load_word_embeddings(model, tensors)
    # Products of integers are so short that a second thread costs more than it brings.
    threads = 1 if is_measured else None
    session = open_session(to_onnx(graph, shape.hidden), select_large_arrays(graph), words=words, threads=threads)
    runner = Runner(session, tokenizer, read=return_output, alone=False)
    return OnnxEngine(name, runner, dimensions=shape.hidden)


def find_model_file(folder: Path) -> Path:
    """Return the model file in a folder: its graph if there is one, else its weights."""
    for file in ("model.onnx", "onnx/model.onnx", "model.safetensors"):
        if (folder / file).is_file():
            return folder / file
    raise WeightsUnfit(
        f"`{folder}` holds no model.",
        hint="It must hold `tokenizer.json` and either `model.onnx` or `model.safetensors` with `config.json`.",
    )


def _read_dimensions(session: ModelSession, folder: Path) -> int:
    width = session.width
    if not isinstance(width, int):
        raise WeightsUnfit(f"The model in `{folder}` does not say how long its vectors are.")
    return width


def _read_pooling(folder: Path) -> Pooling:
    """Return the pooling stated in the layout of sentence-transformers; the mean by default."""
    said = folder / "1_Pooling" / "config.json"
    if not said.exists():
        return Pooling.MEAN
    config = json.loads(said.read_text(encoding="utf-8"))
    return Pooling.CLS if config.get("pooling_mode_cls_token") else Pooling.MEAN


def _reader(pooling: Pooling) -> Read:
    def read(output: Numbers, mask: NDArray[np.int64]) -> Numbers:
        if output.ndim == 2:  # the model pools by itself
            return output
        if pooling is Pooling.CLS:
            return output[:, 0]
        counted = output * mask[:, :, None]
        return np.asarray(counted.sum(axis=1) / mask.sum(axis=1, keepdims=True), dtype=np.float32)

    return read


def return_output(output: Numbers, mask: NDArray[np.int64]) -> Numbers:
    return output
