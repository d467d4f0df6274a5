"""The `Reranker` port: models that read query and text together; slower and sharper than vectors.

Off unless one is chosen as `provider:model`: `onnx:` runs the bundled cross-encoder or one from a folder,
`lexical:` counts shared words and is the shipped fake. Scores have an order and no scale; `retrieval` blends
them.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol

from festinger.embedding.embedder import EmbedderOptions
from festinger.errors import BadSetting

GROUP = "festinger.rerankers"


class Reranker(Protocol):
    @property
    def name(self) -> str: ...

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one finite score per text, in order; higher is better. Blank query or text → `BadInput`."""
        ...

    async def close(self) -> None: ...


OpenReranker = Callable[[str, EmbedderOptions], Awaitable[Reranker]]

BUILT_IN = (
    EntryPoint(name="onnx", value="festinger.embedding.providers.cross_encoder:open_reranker", group=GROUP),
    EntryPoint(name="lexical", value="festinger.embedding.providers.lexical:open_reranker", group=GROUP),
)


def find_rerankers() -> Mapping[str, EntryPoint]:
    """Return every available provider by name, without importing any."""
    others = {entry.name: entry for entry in entry_points(group=GROUP)}
    return {**others, **{entry.name: entry for entry in BUILT_IN}}


async def open_reranker(choice: str, supplies: EmbedderOptions) -> Reranker | None:
    """Open the reranker that `choice` names; none if it is empty."""
    if not choice:
        return None
    provider, _, model = choice.partition(":")
    known = find_rerankers()
    if provider not in known:
        names = ", ".join(f"`{name}:`" for name in sorted(known))
        raise BadSetting(f"`{choice}` names no reranker.", hint=f"There are {names}; empty is none.")
    opener: OpenReranker = known[provider].load()
    return await opener(model, supplies)
