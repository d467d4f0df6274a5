"""What does it mean to turn texts into vectors?

Holds the port `Embedder` that the other rooms call, and the smaller port `Engine` that a provider implements:
an engine gives raw rows for texts that are already written for its model, and everything that all embedders
owe their callers (order, unit length, no bad vector, batches) is added once, by `checked`. Which engine stands
behind a name is `registry`'s matter; what closeness means is the callers'.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from festinger.clock import Stopwatch, system_stopwatch
from festinger.embedding.profiles import Profile, Purpose, bundled_profiles
from festinger.errors import BadInput

if TYPE_CHECKING:
    import aiohttp

__all__ = ["Embedder", "Engine", "Purpose", "Rows", "Supplies", "Vector", "readable"]

Vector = NDArray[np.float32]
"""One text as a read-only array of unit length."""

Rows = Sequence[Sequence[float]] | NDArray[np.float32]
"""What an engine answers: one row a text, unchecked, of any length."""


class Embedder(Protocol):
    """Vectors of one model, in the order of the texts. `name` says which vectors may be compared."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def profile(self) -> Profile: ...

    async def embed(self, texts: Sequence[str], purpose: Purpose, *, kind: str = "") -> list[Vector]:
        """One vector a text. `kind` is the kind of memory that is stored; it counts for `store` only.

        Raises `BadInput` for a blank text, `ProviderDown` or `ProviderRefused` when there are no vectors, and
        `PartlyEmbedded` when there are some.
        """
        ...

    async def close(self) -> None: ...


class Engine(Protocol):
    """One provider's model. It may answer wrongly: `checked` looks at every row."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def batch(self) -> int:
        """How many texts one call takes at most."""
        ...

    async def rows(self, texts: Sequence[str], purpose: Purpose, *, kind: str) -> Rows:
        """One row a text. `texts` are written for the model already (prefixes are there)."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Supplies:
    """What whoever opens an embedder hands it: limits, places, addresses and keys."""

    offline: bool = False
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    batch: int = 100
    timeout_s: float = 30.0
    models: Path | None = None
    """Folder for weights that were fetched from a model hub."""
    session: "aiohttp.ClientSession | None" = None
    """Shared by the caller and closed by it; without one, an engine makes its own."""
    profiles: Mapping[str, Profile] = field(default_factory=bundled_profiles)
    stopwatch: Stopwatch = system_stopwatch


def readable(texts: Sequence[str]) -> None:
    """Refuse what no model can read, naming the first such text by its place."""
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
