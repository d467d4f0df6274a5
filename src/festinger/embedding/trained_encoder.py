"""The bundled encoder with trained layers, as a classifier of texts or of notes beside a message.

Trained layers have 8 bits (`benchmarks/training/train.py`) and take the place of the encoder's. The word
embeddings are shared with the embedder of the same process.

Many notes are read beside one message while a request waits, and mostly the same ones again. So a `SplitReader` reads
the message once, and a note alone in the first layers, whose result is kept; only the last layers read both.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TypeVar

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray
from tokenizers import Tokenizer

from festinger.embedding.bert import (
    STATES_TO_VECTORS,
    TEXTS_TO_STATES,
    TEXTS_TO_VECTORS,
    WORDS,
    Array,
    EncoderShape,
    GraphPorts,
    OnnxGraphBuilder,
    Pooling,
    build_graph,
    build_message_graph,
    build_note_graph,
    build_pair_graph,
    load_word_embeddings,
    read_shape,
    read_tensors,
    select_large_arrays,
    to_onnx,
)
from festinger.embedding.providers.onnx import return_output
from festinger.embedding.runtime import (
    WORKERS,
    ModelSession,
    Numbers,
    Runner,
    open_session,
    open_tokenizer,
    open_urgent_threads,
    pad_encodings,
    plan_batches,
    release_memory,
)
from festinger.embedding.weights import ALL_MINILM, verify_bundle_folder

R = TypeVar("R")

MAX_TOKENS = 128
SCALE = 20.0
"""Length of the vector before the output layer, as in training."""
HEAD = "head.weight", "head.bias"
KNOWN_TEXTS = 2_000
"""Texts whose numbers are kept: what a person said is read when it comes, and again before a model is asked."""
ALONE = 4
"""Layers of six in which a note is read alone. On held-out people the AUC is .952, with all six together .956."""
KNOWN_TOKENS = 40_000
"""Tokens of notes whose states are kept, at 768 bytes each: some 3,000 notes."""
KNOWN_MESSAGES = 32
TOGETHER = 8
"""Notes read in one run, of about the same length."""
THREADS = 1
"""For a run, which is short: with two, the notes of a request took a fifth more processor time and no less of the
clock."""


class TextClassifier:
    """Returns logits for `yes` or for each class."""

    def __init__(self, runner: Runner, head: Numbers, bias: Numbers) -> None:
        self._runner = runner
        self._head = head
        self._bias = bias
        self._known: LRUCache[str, Numbers] = LRUCache(KNOWN_TEXTS)

    async def logits(self, texts: Sequence[str]) -> list[float]:
        """Return one number per text, for a yes-or-no question."""
        return [float(row[0]) for row in await self.scores(texts)]

    async def scores(self, texts: Sequence[str]) -> Numbers:
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


class SplitReader:
    """Returns a logit for each of several notes beside one message."""

    def __init__(self, layers: "TrainedLayers") -> None:
        self._tokenizer = layers.tokenizer
        self._head = layers.head[0] * SCALE
        self._bias = float(layers.bias[0])
        read = layers.tensors, layers.shape
        self._read_notes = layers.open(build_note_graph(*read, alone=ALONE), TEXTS_TO_STATES)
        self._read_message = layers.open(build_message_graph(*read, alone=ALONE), TEXTS_TO_STATES)
        self._read_both = layers.open(build_pair_graph(*read, alone=ALONE), STATES_TO_VECTORS)
        self._threads = open_urgent_threads()
        # Two threads read for different requests, and a cache changes when it is read.
        self._lock = Lock()
        self._notes: LRUCache[str, NDArray[np.float16]] = LRUCache(KNOWN_TOKENS, getsizeof=len)
        self._messages: LRUCache[str, Numbers] = LRUCache(KNOWN_MESSAGES)

    async def logits(self, notes: Sequence[str], message: str) -> list[float]:
        """Return one number per note: how much it helps with the message, which is read even if there is no note yet."""
        loop, read = asyncio.get_running_loop(), list(dict.fromkeys(notes))
        seen = await loop.run_in_executor(self._threads, self._load_message, message)
        parts = [read[at::WORKERS] for at in range(min(WORKERS, len(read)))]
        runs = [loop.run_in_executor(self._threads, self._score, part, seen) for part in parts]
        scores: dict[str, float] = {}
        for part, found in zip(parts, await asyncio.gather(*runs), strict=True):
            scores.update(zip(part, found.tolist(), strict=True))
        return [scores[note] for note in notes]

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _load_message(self, message: str) -> Numbers:
        with self._lock:
            seen = self._messages.get(message)
        if seen is None:
            seen = self._read_message.run(pad_encodings(self._tokenizer.encode_batch([message])))
            with self._lock:
                self._messages[message] = seen
        return seen

    def _score(self, notes: Sequence[str], seen: Numbers) -> Numbers:
        states, scores = self._load_states(notes), np.empty(len(notes), np.float32)
        for run in plan_batches([len(each) for each in states], size=TOGETHER):
            vectors = self._read_both.run({**pad_states([states[at] for at in run]), "message_states": seen})
            scores[run] = vectors @ self._head + self._bias
        return scores

    def _load_states(self, notes: Sequence[str]) -> list[NDArray[np.float16]]:
        """The states of notes after the layers that read them alone, kept from before or read now."""
        with self._lock:
            states = {note: known for note in notes if (known := self._notes.get(note)) is not None}
        unread = [note for note in notes if note not in states]
        encodings = self._tokenizer.encode_batch(unread)
        for run in plan_batches([len(each.ids) for each in encodings], size=TOGETHER):
            read = self._read_notes.run(pad_encodings([encodings[at] for at in run]))
            for at, row in zip(run, read, strict=True):
                states[unread[at]] = row[: len(encodings[at].ids)].astype(np.float16)
        with self._lock:
            self._notes.update((note, states[note]) for note in unread)
        return [states[note] for note in notes]


def pad_states(states: Sequence[NDArray[np.float16]]) -> dict[str, Array]:
    """Build the inputs of one run from the states of notes, as wide as the longest."""
    shape = len(states), max(map(len, states))
    mask, padded = np.zeros(shape, np.int64), np.zeros((*shape, states[0].shape[1]), np.float32)
    for row, each in enumerate(states):
        mask[row, : len(each)], padded[row, : len(each)] = 1, each
    return {"note_states": padded, "attention_mask": mask}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedLayers:
    """The bundled encoder's weights with trained layers in the place of its own, and what opens sessions on them."""

    shape: EncoderShape
    tokenizer: Tokenizer
    tensors: Mapping[str, Array]
    words: Array
    head: Numbers
    bias: Numbers

    def open(self, graph: OnnxGraphBuilder, ports: GraphPorts) -> ModelSession:
        words = self.words if WORDS in ports.inputs else None
        model, weights = to_onnx(graph, self.shape.hidden, ports), select_large_arrays(graph)
        return open_session(model, weights, words=words, threads=THREADS)


async def open_text_classifier(layers: Path) -> TextClassifier:
    """Open the bundled encoder with trained layers. Raises `WeightsUnfit`."""
    return await _open(layers, _build_classifier)


async def open_split_reader(layers: Path) -> SplitReader:
    """Open the bundled encoder with layers trained to read notes beside a message. Raises `WeightsUnfit`."""
    return await _open(layers, SplitReader)


async def _open(layers: Path, build: Callable[[TrainedLayers], R]) -> R:
    reader = await asyncio.to_thread(lambda: build(load_trained_layers(layers)))
    release_memory()
    return reader


def _build_classifier(layers: TrainedLayers) -> TextClassifier:
    session = layers.open(build_graph(layers.tensors, layers.shape, Pooling.MEAN), TEXTS_TO_VECTORS)
    runner = Runner(session, layers.tokenizer, read=return_output, alone=False)
    return TextClassifier(runner, layers.head, layers.bias)


def load_trained_layers(layers: Path) -> TrainedLayers:
    folder = verify_bundle_folder(ALL_MINILM)
    own = {
        name: values if values.dtype == np.int8 else values.astype(np.float32)
        for name, values in read_tensors(layers).items()
    }
    head, bias = (own.pop(name) for name in HEAD)
    source = folder / "model.safetensors"
    base = read_tensors(source)
    return TrainedLayers(
        shape=read_shape(folder),
        tokenizer=open_tokenizer(folder, max_tokens=MAX_TOKENS),
        tensors={**base, **own},
        words=load_word_embeddings(source, base),
        head=head,
        bias=bias,
    )
