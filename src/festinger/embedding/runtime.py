"""How is a model run without holding up anybody else?

Tokenises, cuts what is longer than the model reads, pads to the longest text of a run and no further, and runs
the session in threads of its own, so the event loop never waits. Long lists go through in small runs of texts of
like length: padding costs time, and a question asked meanwhile waits for one run, not for the list.
"""

import asyncio
import ctypes
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from festinger.embedding.quiet import faults, ort
from festinger.errors import ProviderRefused, WeightsUnfit
from festinger.observability.metrics import EMBEDDING_CLIPPED

A = TypeVar("A")
B = TypeVar("B")

Numbers = NDArray[np.float32]
Feed = Mapping[str, NDArray[np.int64]]
Read = Callable[[Numbers, NDArray[np.int64]], Numbers]
"""Takes the first output of a run and its attention mask, gives one row a text."""

RUN = 8
"""Texts in one run. On two cores larger runs are not faster (5.2 ms a text at 8, 5.5 at 32), only longer."""

WORKERS = 2
"""Runs at once: a question need not wait for a list that is under way, and no more than two share the cores."""

NICENESS = 10
"""A run takes long and needs a whole core; whoever only passes something on needs one for a moment, but at once."""

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


class Runner:
    """A session with its tokenizer. `alone`: every text is run by itself."""

    def __init__(self, session: ort.InferenceSession, tokenizer: Tokenizer, *, read: Read, alone: bool) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._read = read
        self._size = 1 if alone else RUN
        self._inputs = frozenset(known.name for known in session.get_inputs())
        self._threads = ThreadPoolExecutor(
            WORKERS, thread_name_prefix="festinger-embedding", initializer=lower_thread_priority
        )
        self._urgent = ThreadPoolExecutor(WORKERS, thread_name_prefix="festinger-urgent")

    async def rows(self, texts: Sequence[str] | Sequence[tuple[str, str]], *, is_urgent: bool = False) -> Numbers:
        """One row a text or pair of texts, in their order. What a request waits for is urgent: it does not give way."""
        threads = self._urgent if is_urgent else self._threads
        encodings = await _in_thread(threads, self._tokenizer.encode_batch, list(texts))
        EMBEDDING_CLIPPED.inc(sum(bool(encoding.overflowing) for encoding in encodings))
        places = plan_batches([len(encoding.ids) for encoding in encodings], size=self._size)
        rows = [await _in_thread(threads, self._run, [encodings[place] for place in run]) for run in places]
        return np.concatenate(rows)[np.argsort(np.concatenate(places))]

    def close(self) -> None:
        for threads in (self._threads, self._urgent):
            threads.shutdown(wait=False, cancel_futures=True)

    def _run(self, encodings: Sequence[Encoding]) -> Numbers:
        feed = pad_encodings(encodings)
        wanted = {name: numbers for name, numbers in feed.items() if name in self._inputs}
        try:
            first = self._session.run(None, wanted)[0]
        except RUNTIME_FAULTS as error:
            raise ProviderRefused(f"The model could not be run: {error}") from error
        return self._read(first, feed["attention_mask"])


async def _in_thread(threads: ThreadPoolExecutor, deed: Callable[[A], B], given: A) -> B:
    return await asyncio.get_running_loop().run_in_executor(threads, deed, given)


def lower_thread_priority() -> None:
    """Let this thread run after those that answer, where a system knows threads apart."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        # Nobody may become less nice than they were started.
        os.setpriority(os.PRIO_PROCESS, thread, max(NICENESS, os.getpriority(os.PRIO_PROCESS, thread)))


def release_memory() -> None:
    """Return to the system what reading a model needed for a moment. The C library would keep it for later, and
    nothing as large comes later."""
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):  # glibc; others return memory by themselves
        library.malloc_trim(0)


def plan_batches(lengths: Sequence[int], *, size: int) -> list[list[int]]:
    """The places of the texts, shortest first, cut into runs of at most `size`."""
    order = sorted(range(len(lengths)), key=lambda place: lengths[place])
    return [order[start : start + size] for start in range(0, len(order), size)]


def pad_encodings(encodings: Sequence[Encoding]) -> Feed:
    """The tables of one run, as wide as its longest text. The padding token is 0 and is masked."""
    shape = (len(encodings), max(len(encoding.ids) for encoding in encodings))
    feed = {name: np.zeros(shape, dtype=np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")}
    for row, encoding in enumerate(encodings):
        length = len(encoding.ids)
        feed["input_ids"][row, :length] = encoding.ids
        feed["attention_mask"][row, :length] = encoding.attention_mask
        feed["token_type_ids"][row, :length] = encoding.type_ids
    return feed


def open_tokenizer(folder: Path, *, max_tokens: int) -> Tokenizer:
    """The folder's tokenizer, told to cut at `max_tokens` and not to pad.

    The bundled files say to pad to full length, which would cost as much for a word as for a page.
    """
    path = folder / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except Exception as error:  # `tokenizers` raises nothing narrower for a file that it cannot read
        raise WeightsUnfit(f"`{path}` is not a tokenizer: {error}") from error
    tokenizer.enable_truncation(max_tokens)
    tokenizer.no_padding()
    return tokenizer


def open_session(model: bytes, weights: Mapping[str, NDArray[np.float32]] | None = None) -> ort.InferenceSession:
    """A session over `model`; `weights` are arrays that the model names but does not hold."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = available_cores()
    options.log_severity_level = 4
    # Idle threads that spin are a little quicker alone and ruinous in company: on two cores shared with other
    # busy processes a sentence took 59 ms with it and 6 to 27 ms without.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # A second, rearranged copy of every matrix would be a tenth of a whole server's memory for a fifth of a run.
    options.add_session_config_entry("session.disable_prepacking", "1")
    if weights:
        values = [ort.OrtValue.ortvalue_from_numpy(array) for array in weights.values()]
        options.add_external_initializers(list(weights), values)
    try:
        return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except RUNTIME_FAULTS as error:
        raise WeightsUnfit(f"The model cannot be run: {error}") from error


def available_cores() -> int:
    """The cores that this process may use; not every system tells them from those that there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def is_quantized(model: bytes) -> bool:
    """Whether activations are quantised while running. Their scale is then that of the whole run, so a text gets
    another vector in other company, and only texts that run alone can be compared."""
    return b"DynamicQuantizeLinear" in model
