"""Classifies pairs of texts on onnxruntime: does the second follow from the first, or contradict it.

`onnx:/path/to/folder` takes any folder with `model.onnx`, `tokenizer.json` and a `config.json` whose
`id2label` names entailment, neutral and contradiction, the usual form of published NLI models. None is
bundled. The name includes a checksum of the weights, so that the answers of one model are never taken for
another's. Interpreting the shares is left to the caller.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from festinger.embedding.embedder import EmbedderOptions, require_readable
from festinger.embedding.runtime import Numbers, Runner, is_quantized, open_session, open_tokenizer
from festinger.embedding.weights import sha256_of
from festinger.errors import BadSetting, ProviderDown, ProviderRefused, WeightsUnfit

PROVIDER = "onnx"
MAX_TOKENS = 256
SHORT_DIGEST = 12
CLASSES = ("entailment", "neutral", "contradiction")


class PairClassifier:
    """A local model that reads two texts at once."""

    def __init__(self, name: str, runner: Runner, *, timeout_s: float) -> None:
        self.name = name
        self._runner = runner
        self._timeout_s = timeout_s

    async def shares(self, pairs: Sequence[tuple[str, str]]) -> Numbers:
        """Return for each pair the shares of entailment, neutral and contradiction; each row sums to 1."""
        if not pairs:
            return np.zeros((0, len(CLASSES)), dtype=np.float32)
        require_readable([text for pair in pairs for text in pair])
        try:
            async with asyncio.timeout(self._timeout_s):
                rows = await self._runner.rows(list(pairs))
        except TimeoutError as error:
            raise ProviderDown(f"`{self.name}` did not answer in {self._timeout_s:g} s.") from error
        if not np.isfinite(rows).all():
            raise ProviderRefused(f"`{self.name}` answered with a share that is not a number.")
        return rows

    async def close(self) -> None:
        self._runner.close()


async def open_pair_classifier(choice: str, supplies: EmbedderOptions) -> PairClassifier:
    """Open the classifier that `choice` names. Raises `BadSetting`, `WeightsUnfit`."""
    provider, _, model = choice.partition(":")
    if provider != PROVIDER or "/" not in model:
        raise BadSetting(f"`{choice}` names no model that judges.", hint="Give `onnx:/path/to/folder`.")
    return await asyncio.to_thread(_open, model, supplies)


def _open(model: str, supplies: EmbedderOptions) -> PairClassifier:
    folder = Path(model).expanduser()
    file = folder / "model.onnx"
    try:
        graph, digest = file.read_bytes(), sha256_of(file)
    except OSError as error:
        raise WeightsUnfit(f"`{folder}` holds no `model.onnx` that can be read.") from error
    columns = find_class_columns(_labels(folder), source=str(folder))
    tokenizer = open_tokenizer(folder, max_tokens=MAX_TOKENS)
    session = open_session(graph)
    width = session.get_outputs()[0].shape[-1]
    if width != len(CLASSES):
        raise WeightsUnfit(f"The model in `{folder}` gives {width} numbers a pair; it must give {len(CLASSES)}.")

    def read(output: Numbers, _mask: NDArray[np.int64]) -> Numbers:
        return softmax(output[:, columns])

    runner = Runner(session, tokenizer, read=read, alone=is_quantized(graph))
    return PairClassifier(f"{PROVIDER}:{folder.name}@{digest[:SHORT_DIGEST]}", runner, timeout_s=supplies.timeout_s)


def _labels(folder: Path) -> Mapping[str, str]:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        labels: Mapping[str, str] = config["id2label"]
    except (OSError, ValueError, KeyError) as error:
        raise WeightsUnfit(
            f"`{folder}` does not say which of its numbers means what.",
            hint="Its `config.json` must hold `id2label` with entailment, neutral and contradiction.",
        ) from error
    return labels


def find_class_columns(labels: Mapping[str, str], *, source: str) -> list[int]:
    """Return the columns of an output that hold the three classes."""
    found = {label.casefold(): int(place) for place, label in labels.items()}
    if set(found) != set(CLASSES):
        raise WeightsUnfit(f"`{source}` tells {', '.join(sorted(found))} apart, not {', '.join(CLASSES)}.")
    return [found[name] for name in CLASSES]


def softmax(logits: Numbers) -> Numbers:
    """Convert logits to shares that sum to 1."""
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), dtype=np.float32)
