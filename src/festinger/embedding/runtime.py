"""Runs ONNX models in their own threads so that the event loop never waits.

Tokenizes, truncates, and pads only to the longest text of a run. Long lists go through in small runs of texts
of similar length: padding costs time, and a query that arrives meanwhile waits for one run, not for the list.
"""

import asyncio
import ctypes
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from festinger.embedding.bert import WORDS
from festinger.embedding.quiet_onnxruntime import faults, ort
from festinger.errors import ProviderRefused, WeightsUnfit
from festinger.observability.metrics import EMBEDDING_CLIPPED

A = TypeVar("A")
B = TypeVar("B")

Numbers = NDArray[np.float32]
Feed = Mapping[str, NDArray[np.int64]]
Read = Callable[[Numbers, NDArray[np.int64]], Numbers]
"""Takes the first output of a run and its attention mask; returns one row per text."""

RUN = 8
"""Texts in one run. On two cores larger runs are not faster (5.2 ms a text at 8, 5.5 at 32), only longer."""

WORKERS = 2
"""Concurrent runs: a query need not wait for a list in progress, and at most two share the cores."""

NICENESS, URGENT_NICENESS = 10, 3
"""A run needs a whole core for long; threads that serve requests need one briefly, but at once. Where a request waits
for the run, the others still go first: their answers are on the way."""

RUNTIME_FAULTS = (
    faults.EPFail,
    faults.Fail,
    faults.InvalidArgument,
    faults.InvalidGraph,
    faults.InvalidProtobuf,
    faults.NoModel,
    faults.NotImplemented,
    faults.RuntimeException,
    ValueError,
)


class ModelSession:
    """A loaded model."""

    def __init__(
        self, session: ort.InferenceSession, weights: Mapping[str, NDArray[Any]], words: NDArray[Any] | None
    ) -> None:
        self._session = session
        self._inputs = [each.name for each in session.get_inputs()]
        # The session reads the arrays in place without holding a reference to them.
        self._weights = weights
        self._words = words

    @property
    def width(self) -> int | str | None:
        """Numbers in a row of the output; a name or nothing where the model does not say."""
        width: int | str | None = self._session.get_outputs()[0].shape[-1]
        return width

    def run(self, feed: Mapping[str, NDArray[Any]]) -> Numbers:
        """Return the first output for those of the arrays that the model takes; words are looked up here."""
        given = feed if self._words is None else {**feed, WORDS: self._words[feed["input_ids"]]}
        try:
            found: list[Numbers] = self._session.run(None, {name: given[name] for name in self._inputs})
        except RUNTIME_FAULTS as error:
            raise ProviderRefused(f"The model could not be run: {error}") from error
        return found[0]


class Runner:
    """A session with its tokenizer. `alone`: every text is run by itself."""

    def __init__(self, session: ModelSession, tokenizer: Tokenizer, *, read: Read, alone: bool) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._read = read
        self._size = 1 if alone else RUN
        self._threads = ThreadPoolExecutor(
            WORKERS, thread_name_prefix="festinger-embedding", initializer=lower_thread_priority
        )
        self._urgent = open_urgent_threads()

    async def rows(self, texts: Sequence[str] | Sequence[tuple[str, str]], *, is_urgent: bool = False) -> Numbers:
        """Return one row per text or pair, in order. Urgent calls, with a request waiting, keep priority and take all
        threads at once."""
        threads = self._urgent if is_urgent else self._threads
        if len(texts) == 1:
            # A query: it would wait for a thread twice.
            return await _run_in_thread(threads, self._encode_and_run, list(texts))
        encodings = await _run_in_thread(threads, self._encode, list(texts))
        size = min(self._size, -(-len(texts) // WORKERS)) if is_urgent else self._size
        places = plan_batches([len(encoding.ids) for encoding in encodings], size=size)
        runs = (_run_in_thread(threads, self._run, [encodings[place] for place in run]) for run in places)
        rows = await asyncio.gather(*runs) if is_urgent else [await run for run in runs]
        return np.concatenate(rows)[np.argsort(np.concatenate(places))]

    def close(self) -> None:
        for threads in (self._threads, self._urgent):
            threads.shutdown(wait=False, cancel_futures=True)

    def _encode_and_run(self, texts: Sequence[Any]) -> Numbers:
        return self._run(self._encode(texts))

    def _encode(self, texts: Sequence[Any]) -> list[Encoding]:
        encodings = self._tokenizer.encode_batch(texts)
        EMBEDDING_CLIPPED.inc(sum(bool(encoding.overflowing) for encoding in encodings))
        return encodings

    def _run(self, encodings: Sequence[Encoding]) -> Numbers:
        feed = pad_encodings(encodings)
        return self._read(self._session.run(feed), feed["attention_mask"])


def open_urgent_threads() -> ThreadPoolExecutor:
    """Threads for runs that a request waits for."""
    return ThreadPoolExecutor(
        WORKERS, thread_name_prefix="festinger-urgent", initializer=lower_thread_priority, initargs=(URGENT_NICENESS,)
    )


async def _run_in_thread(threads: ThreadPoolExecutor, operation: Callable[[A], B], given: A) -> B:
    return await asyncio.get_running_loop().run_in_executor(threads, operation, given)


def lower_thread_priority(niceness: int = NICENESS) -> None:
    """Lower the priority of this thread below those that serve requests, where the system supports it."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        # An unprivileged process may not raise its priority.
        os.setpriority(os.PRIO_PROCESS, thread, max(niceness, os.getpriority(os.PRIO_PROCESS, thread)))


def release_memory() -> None:
    """Return memory to the system that was needed only for reading a model. The C library would keep it for
    later, and nothing as large comes later."""
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):  # glibc; others return memory by themselves
        library.malloc_trim(0)


def plan_batches(lengths: Sequence[int], *, size: int) -> list[list[int]]:
    """Return the indexes of the texts, shortest first, in runs of at most `size`."""
    order = sorted(range(len(lengths)), key=lambda place: lengths[place])
    return [order[start : start + size] for start in range(0, len(order), size)]


def pad_encodings(encodings: Sequence[Encoding]) -> Feed:
    """Build the input arrays of one run, as wide as its longest text. The padding token is 0 and masked."""
    shape = (len(encodings), max(len(encoding.ids) for encoding in encodings))
    feed = {name: np.zeros(shape, dtype=np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")}
    for row, encoding in enumerate(encodings):
        length = len(encoding.ids)
        feed["input_ids"][row, :length] = encoding.ids
        feed["attention_mask"][row, :length] = encoding.attention_mask
        feed["token_type_ids"][row, :length] = encoding.type_ids
    return feed


def open_tokenizer(folder: Path, *, max_tokens: int) -> Tokenizer:
    """Open the folder's tokenizer, truncating at `max_tokens` and without padding.

    The bundled files ask for padding to full length, which would make a word cost as much as a page.
    """
    path = folder / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except Exception as error:  # `tokenizers` raises nothing narrower for a file that it cannot read
        raise WeightsUnfit(f"`{path}` is not a tokenizer: {error}") from error
    tokenizer.enable_truncation(max_tokens)
    tokenizer.no_padding()
    return tokenizer


def open_session(
    model: bytes,
    weights: Mapping[str, NDArray[Any]] | None = None,
    *,
    words: NDArray[Any] | None = None,
    threads: int | None = None,
) -> ModelSession:
    """Open a session over `model`; `weights` are arrays that the model names but does not contain, `words` the
    embeddings of words if it takes those instead of their numbers, and `threads` how many share a run, else all cores."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads or available_cores()
    options.log_severity_level = 4
    # Spinning idle threads are a little faster alone and ruinous under load: on two cores shared with other
    # busy processes a sentence took 59 ms with it and 6 to 27 ms without.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if weights:
        values = [ort.OrtValue.ortvalue_from_numpy(array) for array in weights.values()]
        options.add_external_initializers(list(weights), values)
    try:
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except RUNTIME_FAULTS as error:
        raise WeightsUnfit(f"The model cannot be run: {error}") from error
    return ModelSession(session, weights or {}, words)


def available_cores() -> int:
    """Return the cores that this process may use, or all of them where the system cannot tell."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def is_quantized(model: bytes) -> bool:
    """Whether activations are quantized at run time. Their scale is then that of the whole run, so a text
    gets a different vector in another batch, and only texts that run alone can be compared."""
    return b"DynamicQuantizeLinear" in model
