import asyncio
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.embedding.embedder import Embedder
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.embedding.runtime import (
    NICENESS,
    RUN,
    is_quantized,
    lower_thread_priority,
    open_session,
    open_tokenizer,
    pad_encodings,
    plan_batches,
)
from festinger.embedding.weights import ALL_MINILM, BGE_SMALL, MS_MARCO_MINILM, verify_bundle_folder
from festinger.errors import WeightsUnfit
from festinger.observability.metrics import EMBEDDING_CLIPPED


@pytest.mark.requirement("X-72")
@pytest.mark.parametrize("bundle", [ALL_MINILM, BGE_SMALL, MS_MARCO_MINILM])
def test_the_cost_of_a_text_grows_with_its_length_up_to_256_tokens(bundle):
    """What a run is fed is its cost: a word must not cost what a page costs."""
    tokenizer = open_tokenizer(verify_bundle_folder(bundle), max_tokens=256)

    fed = [pad_encodings(tokenizer.encode_batch(["tea " * words]))["input_ids"].size for words in (1, 10, 100, 1000)]

    assert fed == [3, 12, 102, 256]


@pytest.mark.requirement("X-72")
def test_a_run_is_as_wide_as_its_longest_text_and_masks_the_rest():
    tokenizer = open_tokenizer(verify_bundle_folder(ALL_MINILM), max_tokens=256)

    feed = pad_encodings(tokenizer.encode_batch(["tea", "tea with milk"]))

    assert feed["input_ids"].shape == (2, 5)
    assert feed["attention_mask"].tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]


@given(st.lists(st.integers(1, 256), max_size=60), st.integers(1, 10))
def test_every_text_is_in_one_run_and_runs_hold_texts_of_like_length(lengths: list[int], size: int):
    made = plan_batches(lengths, size=size)

    assert sorted(place for run in made for place in run) == list(range(len(lengths)))
    assert all(len(run) <= size for run in made)
    in_order = [lengths[place] for run in made for place in run]
    assert in_order == sorted(in_order)


@pytest.mark.requirement("X-73")
def test_quantised_models_are_told_from_full_ones():
    assert is_quantized((verify_bundle_folder(BGE_SMALL) / "model.onnx").read_bytes())
    assert is_quantized((verify_bundle_folder(MS_MARCO_MINILM) / "model.onnx").read_bytes())
    assert not is_quantized(b"MatMul LayerNormalization")


async def test_the_loop_goes_on_while_a_model_runs(minilm: Embedder):
    """A task that only counts turns of the loop gets many of them during one long call."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await minilm.embed([f"{number} " + "tea and milk " * 20 for number in range(2 * RUN)], EmbeddingPurpose.STORE)
    counting.cancel()

    assert turns > 100


def test_a_thread_that_runs_a_model_gives_way_and_no_other_does():
    before = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    with ThreadPoolExecutor(1, initializer=lower_thread_priority) as threads:
        niceness = threads.submit(lambda: os.getpriority(os.PRIO_PROCESS, threading.get_native_id())).result()

    # Elsewhere threads are as nice as their process.
    assert niceness == (max(NICENESS, before) if sys.platform == "linux" else before)
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == before


async def test_a_text_longer_than_the_model_reads_is_cut_and_counted(minilm: Embedder):
    before = EMBEDDING_CLIPPED._value.get()

    [long, longer] = await minilm.embed(["tea " * 300, "tea " * 3000], EmbeddingPurpose.STORE)

    assert EMBEDDING_CLIPPED._value.get() == before + 2
    assert float(long @ longer) == pytest.approx(1, abs=1e-5)


def test_a_tokenizer_that_is_none_is_refused(tmp_path: Path):
    (tmp_path / "tokenizer.json").write_text("{}")

    with pytest.raises(WeightsUnfit, match="is not a tokenizer"):
        open_tokenizer(tmp_path, max_tokens=256)


def test_a_graph_that_is_none_is_refused():
    with pytest.raises(WeightsUnfit, match="cannot be run"):
        open_session(b"not a graph")


async def test_places_come_back_in_order_across_runs(minilm: Embedder):
    texts = [f"{'very ' * (number * 7 % 11)}hot tea number {number}" for number in range(3 * RUN + 1)]

    together = await minilm.embed(texts, EmbeddingPurpose.CLUSTER)
    nearest = [int(np.argmax([float(v @ alone) for v in together])) for alone in together]

    assert nearest == list(range(len(texts)))
    [last] = await minilm.embed([texts[-1] + " "], EmbeddingPurpose.CLUSTER)
    assert int(np.argmax([float(v @ last) for v in together])) == len(texts) - 1
