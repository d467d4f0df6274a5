"""The `Embedder` port, and the checks, batching and cache around every provider's `Engine`.

An engine returns raw rows for texts already prepared for its model. `CheckedEmbedder` refuses blank texts,
applies the profile, sends bounded batches and turns each row into a unit vector or an error: a row of the
wrong length, NaN or zeros would spoil every search once stored. A failed batch is retried by halves until the
bad text is alone, unless both halves get no answer. `CachedEmbedder` embeds equal texts once, even for
concurrent callers.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from festinger.clock import Stopwatch, system_stopwatch
from festinger.embedding.profiles import EmbedderProfile, EmbeddingPurpose, load_bundled_profiles
from festinger.errors import BadInput, PartlyEmbedded, ProviderDown, ProviderRefused
from festinger.observability.metrics import (
    EMBEDDING_CACHED,
    EMBEDDING_FAILED,
    EMBEDDING_HALVED,
    EMBEDDING_SECONDS,
    EMBEDDING_TEXTS,
)

if TYPE_CHECKING:
    import aiohttp


Vector = NDArray[np.float32]
"""One text as a read-only unit vector."""

Rows = Sequence[Sequence[float]] | NDArray[np.float32]
"""An engine's answer: one row per text, unchecked, of any length."""


class Embedder(Protocol):
    """Vectors of one model, in the order of the texts. `name` says which vectors may be compared."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def profile(self) -> EmbedderProfile: ...

    async def embed(self, texts: Sequence[str], purpose: EmbeddingPurpose, *, kind: str = "") -> list[Vector]:
        """Return one vector per text. `kind` is the kind of memory being stored; it counts for `store` only.

        Raises `BadInput` for a blank text, `ProviderDown` or `ProviderRefused` when there are no vectors, and
        `PartlyEmbedded` when there are some.
        """
        ...

    async def close(self) -> None: ...


class Engine(Protocol):
    """One provider's model. It may answer wrongly: `CheckedEmbedder` checks every row."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def batch(self) -> int:
        """The most texts that one call takes."""
        ...

    async def rows(self, texts: Sequence[str], purpose: EmbeddingPurpose, *, kind: str) -> Rows:
        """Return one row per text. `texts` are already prepared for the model (with prefixes)."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderOptions:
    """What an embedder is opened with: limits, folders, addresses and keys."""

    offline: bool = False
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    batch: int = 100
    timeout_s: float = 30.0
    models: Path | None = None
    """Folder for weights fetched from a model hub."""
    session: "aiohttp.ClientSession | None" = None
    """Shared and closed by the caller; without one, an engine makes its own."""
    profiles: Mapping[str, EmbedderProfile] = field(default_factory=load_bundled_profiles)
    stopwatch: Stopwatch = system_stopwatch


def require_readable(texts: Sequence[str]) -> None:
    """Refuse what no model can read, naming the first such text by its position."""
    for place, text in enumerate(texts):
        if not text.strip():
            raise BadInput(f"Text {place} of {len(texts)} is blank.", hint="Leave blank texts out.")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise BadInput(
                f"Text {place} of {len(texts)} holds half a character at {error.start}.",
                hint="Decode the text again from its source.",
            ) from error


SMALLEST_LENGTH = 1e-6
"""A shorter row has no direction that float32 could tell from noise."""


def to_unit_vectors(rows: Rows, *, count: int, dimensions: int, name: str) -> list[Vector]:
    """Convert `rows` to unit vectors. Raises `ProviderRefused` if a single one is bad."""
    table = _table(rows, count=count, dimensions=dimensions, name=name)
    if not np.isfinite(table).all():
        raise ProviderRefused(f"`{name}` answered with a vector that is not made of numbers.")
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    if (lengths < SMALLEST_LENGTH).any():
        raise ProviderRefused(f"`{name}` answered with a vector of zeros.")
    unit = (table / lengths).astype(np.float32)
    # One array per vector: a view would keep the whole batch alive as long as one of them is cached.
    return [_make_read_only(row.copy()) for row in unit]


def _table(rows: Rows, *, count: int, dimensions: int, name: str) -> NDArray[np.float64]:
    try:
        table = [np.asarray(row, dtype=np.float64) for row in rows]
    except (TypeError, ValueError) as error:
        raise ProviderRefused(f"`{name}` answered with a vector that is not made of numbers.") from error
    if len(table) != count:
        raise ProviderRefused(f"`{name}` answered with {len(table)} vectors for {count} texts.")
    others = [row.shape for row in table if row.shape != (dimensions,)]
    if others:
        raise ProviderRefused(
            f"`{name}` answered with a vector of shape {others[0]}; it has {dimensions} dimensions.",
            hint="Another model answers under this name; choose it by its own name.",
        )
    return np.stack(table)


def _make_read_only(vector: Vector) -> Vector:
    vector.flags.writeable = False
    return vector


Call = Callable[[Sequence[str]], Awaitable[list[Vector]]]
Failure = ProviderDown | ProviderRefused
Outcome = Vector | Failure


async def embed_in_batches(texts: Sequence[str], call: Call, *, size: int) -> list[Vector]:
    """Embed every text. Raises `PartlyEmbedded` if some failed, the provider's own error if all did."""
    outcomes: list[Outcome] = []
    for start in range(0, len(texts), size):
        outcomes += await _embed_or_halve(texts[start : start + size], call)
    for outcome in outcomes:
        if isinstance(outcome, Failure):
            EMBEDDING_FAILED.labels(outcome.name).inc()
    return require_all_vectors(outcomes)


def require_all_vectors(outcomes: Sequence[Outcome]) -> list[Vector]:
    """Return the vectors if every outcome is one; else raise an error with the failures and the rest."""
    failures = {place: outcome for place, outcome in enumerate(outcomes) if isinstance(outcome, Failure)}
    vectors = [None if isinstance(outcome, Failure) else outcome for outcome in outcomes]
    if not failures:
        return [vector for vector in vectors if vector is not None]
    if len(failures) == len(outcomes):
        raise failures[0]
    raise PartlyEmbedded(vectors, failures)


async def _embed_or_halve(texts: Sequence[str], call: Call) -> list[Outcome]:
    first = await _attempt(texts, call)
    return await _embed_halves(texts, first, call) if isinstance(first, Failure) else first


async def _embed_halves(texts: Sequence[str], failure: Failure, call: Call) -> list[Outcome]:
    """Find the outcomes of texts that are known to fail together."""
    if len(texts) == 1:
        return [failure]
    EMBEDDING_HALVED.inc()
    middle = len(texts) // 2
    halves = (texts[:middle], texts[middle:])
    answers = [await _attempt(half, call) for half in halves]
    if all(isinstance(answer, ProviderDown) for answer in answers):
        return [failure] * len(texts)
    outcomes: list[Outcome] = []
    for half, answer in zip(halves, answers, strict=True):
        outcomes += await _embed_halves(half, answer, call) if isinstance(answer, Failure) else answer
    return outcomes


async def _attempt(texts: Sequence[str], call: Call) -> list[Outcome] | Failure:
    try:
        return list(await call(texts))
    except (ProviderDown, ProviderRefused) as error:
        return error


class CheckedEmbedder:
    """An engine with its profile, as an `Embedder`."""

    def __init__(self, engine: Engine, profile: EmbedderProfile, *, supplies: EmbedderOptions) -> None:
        self.name = engine.name
        self.dimensions = engine.dimensions
        self.profile = profile
        self._engine = engine
        self._batch = min(supplies.batch, engine.batch)
        self._timeout_s = supplies.timeout_s
        self._stopwatch = supplies.stopwatch

    async def embed(self, texts: Sequence[str], purpose: EmbeddingPurpose, *, kind: str = "") -> list[Vector]:
        require_readable(texts)
        written = [self.profile.written(text, purpose, kind=kind) for text in texts]

        async def call(batch: Sequence[str]) -> list[Vector]:
            rows = await self._rows(batch, purpose, kind)
            checked = to_unit_vectors(rows, count=len(batch), dimensions=self.dimensions, name=self.name)
            EMBEDDING_TEXTS.labels(purpose.value).inc(len(batch))
            return checked

        return await embed_in_batches(written, call, size=self._batch)

    async def _rows(self, batch: Sequence[str], purpose: EmbeddingPurpose, kind: str) -> Rows:
        since = self._stopwatch()
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._engine.rows(batch, purpose, kind=kind)
        except TimeoutError as error:
            raise ProviderDown(f"`{self.name}` did not answer in {self._timeout_s:g} s.") from error
        finally:
            EMBEDDING_SECONDS.observe(self._stopwatch() - since)

    async def close(self) -> None:
        await self._engine.close()


SIZE = 10_000
"""Vectors kept; with 384 dimensions about 15 MB."""

Key = tuple[str, EmbeddingPurpose, str, bytes]
Fetch = asyncio.Task[Mapping[Key, Outcome]]


class CachedEmbedder:
    """`inner` with an LRU cache of its vectors."""

    def __init__(self, inner: Embedder, *, size: int = SIZE) -> None:
        self._inner = inner
        self._kept: LRUCache[Key, Vector] = LRUCache(size)
        self._under_way: dict[Key, Fetch] = {}

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    @property
    def profile(self) -> EmbedderProfile:
        return self._inner.profile

    async def embed(self, texts: Sequence[str], purpose: EmbeddingPurpose, *, kind: str = "") -> list[Vector]:
        require_readable(texts)
        keys = [self._key(text, purpose, kind) for text in texts]
        found: dict[Key, Outcome] = {key: self._kept[key] for key in keys if key in self._kept}
        EMBEDDING_CACHED.labels(purpose.value).inc(sum(key in found for key in keys))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        for task in self._tasks(missing, purpose, kind):
            # Shielded: a caller that gives up must not cancel the vectors that others wait for.
            found |= await asyncio.shield(task)
        return require_all_vectors([found[key] for key in keys])

    async def close(self) -> None:
        for task in set(self._under_way.values()):
            task.cancel()
        await self._inner.close()

    def _key(self, text: str, purpose: EmbeddingPurpose, kind: str) -> Key:
        told = kind if purpose is EmbeddingPurpose.STORE else ""
        return self.name, purpose, told, sha256(text.encode()).digest()

    def _tasks(self, missing: Mapping[Key, str], purpose: EmbeddingPurpose, kind: str) -> set[Fetch]:
        """Return the tasks that bring the missing vectors: those already running, and one for the rest."""
        begun = {self._under_way[key] for key in missing if key in self._under_way}
        rest = {key: text for key, text in missing.items() if key not in self._under_way}
        if not rest:
            return begun
        fetch = asyncio.create_task(self._fetch(rest, purpose, kind))
        self._under_way |= dict.fromkeys(rest, fetch)
        return begun | {fetch}

    async def _fetch(self, texts: Mapping[Key, str], purpose: EmbeddingPurpose, kind: str) -> Mapping[Key, Outcome]:
        try:
            outcomes = await self._outcomes(list(texts.values()), purpose, kind)
        finally:
            for key in texts:
                self._under_way.pop(key, None)
        fetched = dict(zip(texts, outcomes, strict=True))
        for key, outcome in fetched.items():
            if not isinstance(outcome, Failure):
                self._kept[key] = outcome
        return fetched

    async def _outcomes(self, texts: Sequence[str], purpose: EmbeddingPurpose, kind: str) -> Sequence[Outcome]:
        try:
            return await self._inner.embed(texts, purpose, kind=kind)
        except PartlyEmbedded as partly:
            return [partly.failures.get(place, vector) for place, vector in enumerate(partly.vectors)]
        except (ProviderDown, ProviderRefused) as failure:
            return [failure] * len(texts)
