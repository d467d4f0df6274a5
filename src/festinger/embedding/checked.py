"""What does every embedder owe its callers, whatever stands behind it?

`CheckedEmbedder` puts an engine behind the port: it refuses blank texts, writes each text for the model as the
profile says, sends batches of a bounded size, and lets no bad vector through. Engines of third parties get the
same treatment as our own. Caching is `cache`'s matter.
"""

import asyncio
from collections.abc import Sequence

from festinger.embedding.batches import in_batches
from festinger.embedding.embedder import Engine, Rows, Supplies, Vector, readable
from festinger.embedding.profiles import Profile, Purpose
from festinger.embedding.vectors import vectors
from festinger.errors import ProviderDown
from festinger.observability.metrics import EMBEDDING_SECONDS, EMBEDDING_TEXTS


class CheckedEmbedder:
    """An engine with its profile, as an `Embedder`."""

    def __init__(self, engine: Engine, profile: Profile, *, supplies: Supplies) -> None:
        self.name = engine.name
        self.dimensions = engine.dimensions
        self.profile = profile
        self._engine = engine
        self._batch = min(supplies.batch, engine.batch)
        self._timeout_s = supplies.timeout_s
        self._stopwatch = supplies.stopwatch

    async def embed(self, texts: Sequence[str], purpose: Purpose, *, kind: str = "") -> list[Vector]:
        readable(texts)
        written = [self.profile.written(text, purpose, kind=kind) for text in texts]

        async def call(batch: Sequence[str]) -> list[Vector]:
            rows = await self._rows(batch, purpose, kind)
            checked = vectors(rows, count=len(batch), dimensions=self.dimensions, name=self.name)
            EMBEDDING_TEXTS.labels(purpose.value).inc(len(batch))
            return checked

        return await in_batches(written, call, size=self._batch)

    async def _rows(self, batch: Sequence[str], purpose: Purpose, kind: str) -> Rows:
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
