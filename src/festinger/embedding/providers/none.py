"""Going without an embedder: chosen as `none:`, or forced because the chosen one cannot be had.

It has no vectors and says so each time it is asked, as a provider that refuses does; callers then go on by
words. The reason is kept, so that `health` and the error can tell a person what to do.
"""

from collections.abc import Sequence

from festinger.embedding.embedder import EmbedderOptions, Rows
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.errors import FestingerError, ProviderRefused

NAME = "none:"


class NullEngine:
    """Refuses every text. `why` is the error that took the embedder away, if none was not chosen freely."""

    name = NAME
    dimensions = 0
    batch = 1

    def __init__(self, why: FestingerError | None = None) -> None:
        self.why = why

    async def rows(self, texts: Sequence[str], purpose: EmbeddingPurpose, *, kind: str) -> Rows:
        if self.why is None:
            raise ProviderRefused("No embedder is chosen.", hint="Set `embedding.model` to search by meaning.")
        raise ProviderRefused(self.why.message, hint=self.why.hint) from self.why

    async def close(self) -> None:
        return None


async def open_engine(model: str, supplies: EmbedderOptions) -> NullEngine:
    return NullEngine()
