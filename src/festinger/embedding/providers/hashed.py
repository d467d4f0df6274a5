"""A toy embedder for tests: words and their trigrams, hashed into a vector.

Chosen as `hashed:` or, with other dimensions, `hashed:64`. Deterministic, without dependencies, and blind to
meaning: texts are close when they share words or parts of words. Not for real memories.
"""

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b

import numpy as np

from festinger.embedding.embedder import EmbedderOptions, Rows
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.errors import BadSetting

DIMENSIONS = 256
LARGEST = 4096
_WORD = re.compile(r"\w+|[^\w\s]")


class HashedEngine:
    batch = 1_000

    def __init__(self, dimensions: int) -> None:
        self.name = f"hashed:{dimensions}"
        self.dimensions = dimensions

    async def rows(self, texts: Sequence[str], purpose: EmbeddingPurpose, *, kind: str) -> Rows:
        return [self._row(text) for text in texts]

    async def close(self) -> None:
        return None

    def _row(self, text: str) -> list[float]:
        row = np.zeros(self.dimensions)
        for feature, weight in _features(text):
            digest = int.from_bytes(blake2b(feature.encode(), digest_size=8).digest())
            row[digest % self.dimensions] += weight if digest >> 63 else -weight
        # Opposite features may cancel out; a constant keeps such a text from becoming a zero vector.
        row[0] += 0.01
        return [float(value) for value in row]


async def open_engine(model: str, supplies: EmbedderOptions) -> HashedEngine:
    if not model:
        return HashedEngine(DIMENSIONS)
    if not model.isdecimal() or not 1 <= int(model) <= LARGEST:
        raise BadSetting(
            f"`hashed:{model}` does not name a number of dimensions.",
            hint=f"Write `hashed:{DIMENSIONS}`, with a number from 1 to {LARGEST}.",
        )
    return HashedEngine(int(model))


def _features(text: str) -> Iterator[tuple[str, float]]:
    for word in _WORD.findall(text.casefold()):
        yield word, 1.0
        padded = f"<{word}>"
        for start in range(len(padded) - 2):
            yield f"3:{padded[start : start + 3]}", 0.25
