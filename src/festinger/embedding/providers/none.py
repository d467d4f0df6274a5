"""The null embedder: chosen as `none:`, or used because the chosen one is unavailable.

It has no vectors and refuses every call as a provider would; callers then continue by words. The reason is
kept, so that `health` and the error can tell a person what to do.
"""

from collections.abc import Sequence

from festinger.embedding.embedder import EmbedderOptions, Rows
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.errors import FestingerError, ProviderRefused

NAME = "none:"


class NullEngine:
    """Refuses every text. `why` is the error that made the chosen embedder unavailable, if one was chosen."""

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
