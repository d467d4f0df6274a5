"""A cross-encoder on onnxruntime: reads query and text together and scores how well they fit.

`onnx:ms-marco-minilm-l-12-v2` is bundled; `onnx:/path/to/folder` takes any folder with `model.onnx` and
`tokenizer.json`. The bundled one is quantized, so pairs run alone: scores must not depend on the batch.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from festinger.embedding.embedder import EmbedderOptions, require_readable
from festinger.embedding.runtime import Numbers, Runner, is_quantized, open_session, open_tokenizer
from festinger.embedding.weights import RERANKERS, verify_bundle_folder
from festinger.errors import BadSetting, ProviderDown, ProviderRefused, WeightsUnfit

MAX_TOKENS = 256


class CrossEncoder:
    def __init__(self, name: str, runner: Runner, *, timeout_s: float) -> None:
        self.name = name
        self._runner = runner
        self._timeout_s = timeout_s

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        require_readable([query, *texts])
        if not texts:
            return []
        try:
            async with asyncio.timeout(self._timeout_s):
                rows = await self._runner.rows([(query, text) for text in texts])
        except TimeoutError as error:
            raise ProviderDown(f"`{self.name}` did not answer in {self._timeout_s:g} s.") from error
        if not np.isfinite(rows).all():
            raise ProviderRefused(f"`{self.name}` answered with a score that is not a number.")
        return [float(score) for score in rows]

    async def close(self) -> None:
        self._runner.close()


async def open_reranker(model: str, supplies: EmbedderOptions) -> CrossEncoder:
    return await asyncio.to_thread(_open, model, supplies)


def _open(model: str, supplies: EmbedderOptions) -> CrossEncoder:
    folder = _folder(model)
    try:
        graph = (folder / "model.onnx").read_bytes()
    except OSError as error:
        raise WeightsUnfit(f"`{folder}` holds no `model.onnx` that can be read.") from error
    tokenizer = open_tokenizer(folder, max_tokens=MAX_TOKENS)
    runner = Runner(open_session(graph), tokenizer, read=_relevance, alone=is_quantized(graph))
    return CrossEncoder(f"onnx:{model}", runner, timeout_s=supplies.timeout_s)


def _folder(model: str) -> Path:
    if model in RERANKERS:
        return verify_bundle_folder(RERANKERS[model])
    if "/" in model:
        return Path(model).expanduser()
    known = ", ".join(f"`onnx:{name}`" for name in RERANKERS)
    raise BadSetting(
        f"`onnx:{model}` is not a bundled reranker.", hint=f"There are {known} and `onnx:/path/to/folder`."
    )


def _relevance(output: Numbers, mask: NDArray[np.int64]) -> Numbers:
    """Return the last logit: the only one, or that of `relevant` where the model has two classes."""
    return output[:, -1]
