"""The bundled encoder with trained layers, as a classifier of texts.

Trained layers have 8 bits (`benchmarks/training/train.py`) and take the place of the encoder's. The word
embeddings are shared with the embedder of the same process.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from festinger.embedding.bert import Array, Pooling, build_graph, read_shape, read_tensors, share_large_arrays, to_onnx
from festinger.embedding.providers.onnx import return_output
from festinger.embedding.runtime import Runner, open_session, open_tokenizer, release_memory
from festinger.embedding.weights import ALL_MINILM, verify_bundle_folder

MAX_TOKENS = 128
SCALE = 20.0
"""Length of the vector before the output layer, as in training."""
HEAD = "head.weight", "head.bias"
KNOWN_TEXTS = 2_000
"""Texts whose numbers are kept: what a person said is read when it comes, and again before a model is asked."""


class TextClassifier:
    """Returns logits for `yes` or for each class."""

    def __init__(
        self, runner: Runner, head: NDArray[np.float32], bias: NDArray[np.float32], arrays: Mapping[str, Array]
    ) -> None:
        self._runner = runner
        self._head = head
        self._bias = bias
        # The session reads the arrays in place without holding a reference to them.
        self._arrays = arrays
        self._known: LRUCache[str, NDArray[np.float32]] = LRUCache(KNOWN_TEXTS)

    async def logits(self, texts: Sequence[str]) -> list[float]:
        """Return one number per text, for a yes-or-no question."""
        return [float(row[0]) for row in await self.scores(texts)]

    async def scores(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text with one number per class."""
        if not texts:
            return np.empty((0, len(self._bias)), np.float32)
        rows = {text: row for text in texts if (row := self._known.get(text)) is not None}
        if unread := [text for text in dict.fromkeys(texts) if text not in rows]:
            vectors = await self._runner.rows(unread, is_urgent=True)
            rows |= zip(unread, np.asarray(vectors @ self._head.T * SCALE + self._bias, np.float32), strict=True)
            self._known.update(rows)
        return np.stack([rows[text] for text in texts])

    async def close(self) -> None:
        self._runner.close()


async def open_text_classifier(layers: Path) -> TextClassifier:
    """Open the bundled encoder with trained layers. Raises `WeightsUnfit`."""
    classifier = await asyncio.to_thread(_open, layers)
    release_memory()
    return classifier


def _open(layers: Path) -> TextClassifier:
    folder = verify_bundle_folder(ALL_MINILM)
    shape = read_shape(folder)
    own = {
        name: values if values.dtype == np.int8 else values.astype(np.float32)
        for name, values in read_tensors(layers).items()
    }
    head, bias = (own.pop(name) for name in HEAD)
    model = folder / "model.safetensors"
    base = read_tensors(model)
    graph = build_graph({**base, **own}, shape, Pooling.MEAN)
    weights = share_large_arrays(graph, model, own=own)
    session = open_session(to_onnx(graph, shape.hidden), weights)
    tokenizer = open_tokenizer(folder, max_tokens=MAX_TOKENS)
    runner = Runner(session, tokenizer, read=return_output, alone=False)
    return TextClassifier(runner, head, bias, weights)
