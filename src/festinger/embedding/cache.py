"""Has this text been embedded before?

A wrapper around any embedder: an equal text for an equal purpose is embedded once, also when two callers ask at
the same moment. The least recently used vectors go first. Vectors that outlive the process are `store`'s.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import sha256

from festinger.embedding.batches import Failure, Outcome, all_or_error
from festinger.embedding.embedder import Embedder, Vector, readable
from festinger.embedding.profiles import Profile, Purpose
from festinger.errors import PartlyEmbedded, ProviderDown, ProviderRefused
from festinger.observability.metrics import EMBEDDING_CACHED

SIZE = 10_000
"""Vectors kept; with 384 dimensions about 15 MB."""

Key = tuple[str, Purpose, str, bytes]
Fetch = asyncio.Task[Mapping[Key, Outcome]]


class CachedEmbedder:
    """`inner` with a memory of its last vectors."""

    def __init__(self, inner: Embedder, *, size: int = SIZE) -> None:
        self._inner = inner
        self._size = size
        self._kept: OrderedDict[Key, Vector] = OrderedDict()
        self._under_way: dict[Key, Fetch] = {}

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    @property
    def profile(self) -> Profile:
        return self._inner.profile

    async def embed(self, texts: Sequence[str], purpose: Purpose, *, kind: str = "") -> list[Vector]:
        readable(texts)
        keys = [self._key(text, purpose, kind) for text in texts]
        found: dict[Key, Outcome] = {key: self._touch(key) for key in keys if key in self._kept}
        EMBEDDING_CACHED.labels(purpose.value).inc(sum(key in found for key in keys))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        for task in self._tasks(missing, purpose, kind):
            # Shielded: a caller that gives up must not take the vectors from others who wait for them.
            found |= await asyncio.shield(task)
        return all_or_error([found[key] for key in keys])

    async def close(self) -> None:
        for task in set(self._under_way.values()):
            task.cancel()
        await self._inner.close()

    def _key(self, text: str, purpose: Purpose, kind: str) -> Key:
        told = kind if purpose is Purpose.STORE else ""
        return self.name, purpose, told, sha256(text.encode()).digest()

    def _touch(self, key: Key) -> Vector:
        self._kept.move_to_end(key)
        return self._kept[key]

    def _tasks(self, missing: Mapping[Key, str], purpose: Purpose, kind: str) -> set[Fetch]:
        """What will bring the missing vectors: fetches that others began, and one for the rest."""
        begun = {self._under_way[key] for key in missing if key in self._under_way}
        rest = {key: text for key, text in missing.items() if key not in self._under_way}
        if not rest:
            return begun
        fetch = asyncio.create_task(self._fetch(rest, purpose, kind))
        self._under_way |= dict.fromkeys(rest, fetch)
        return begun | {fetch}

    async def _fetch(self, texts: Mapping[Key, str], purpose: Purpose, kind: str) -> Mapping[Key, Outcome]:
        try:
            outcomes = await self._outcomes(list(texts.values()), purpose, kind)
        finally:
            for key in texts:
                self._under_way.pop(key, None)
        fetched = dict(zip(texts, outcomes, strict=True))
        for key, outcome in fetched.items():
            if not isinstance(outcome, Failure):
                self._keep(key, outcome)
        return fetched

    async def _outcomes(self, texts: Sequence[str], purpose: Purpose, kind: str) -> Sequence[Outcome]:
        try:
            return await self._inner.embed(texts, purpose, kind=kind)
        except PartlyEmbedded as partly:
            return [partly.failures.get(place, vector) for place, vector in enumerate(partly.vectors)]
        except (ProviderDown, ProviderRefused) as failure:
            return [failure] * len(texts)

    def _keep(self, key: Key, vector: Vector) -> None:
        self._kept[key] = vector
        while len(self._kept) > self._size:
            self._kept.popitem(last=False)
