"""Which censors are in force, as this process knows them?

Held in memory and loaded again when another process changes one, so that asking them costs no query. Meanings that
have no vector of the present embedder are embedded as they are loaded; without an embedder patterns alone strike.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from festinger.embedding.embedder import Embedder
from festinger.embedding.profiles import Purpose, Threshold
from festinger.embedding.providers.none import NAME as NO_EMBEDDER
from festinger.errors import ProviderDown, ProviderRefused
from festinger.ids import SpaceId
from festinger.memory.censors.censor import Censor, censor_of
from festinger.memory.desk import Desk
from festinger.memory.vectors import EMBEDDER, text_hash
from festinger.observability.metrics import DEGRADED
from festinger.store.cache_invalidation import Change, raise_version
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.store.vectors import halfvec
from festinger.text.regex import Patterns, patterns_of

Q = queries_of("festinger.memory")

ROOM = "censors"
"""What changes of censors are counted under."""

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InForce:
    """The censors of a space that may strike."""

    censors: Mapping[UUID, Censor]
    patterns: Patterns[UUID]
    model: str | None
    """Whose vectors the meanings have."""
    meant: tuple[UUID, ...] = ()
    meanings: Matrix | None = None
    """A row for each of `meant`."""
    threshold: float | None = None


@dataclass(slots=True, kw_only=True)
class Watch:
    """The censors of every space, as far as this process was asked of them."""

    desk: Desk
    _held: dict[SpaceId, InForce] = field(default_factory=dict)
    _changes: defaultdict[SpaceId, int] = field(default_factory=lambda: defaultdict(int))

    async def in_force(self, space: SpaceId) -> InForce:
        """The censors of a space, from memory if nothing changed."""
        held = self._held.get(space)
        if held is not None and held.model == _name(embedder_of(self.desk)):
            return held
        before = self._changes[space]
        loaded = await _load(self.desk, space)
        # What changed while it was being read must be read again by the next who asks.
        if self._changes[space] == before:
            self._held[space] = loaded
        return loaded

    def forget(self, space: SpaceId) -> None:
        """Load the censors of a space again when they are asked next."""
        self._changes[space] += 1
        self._held.pop(space, None)

    async def changed(self, change: Change) -> None:
        """Hear that another process changed something."""
        self.forget(change.what.space)


async def tell_of_change(transaction: Transaction, space: SpaceId) -> None:
    """Let every process load the censors of a space again, once this transaction ends well."""
    await raise_version(transaction, space=space, room=ROOM)


def embedder_of(desk: Desk) -> Embedder | None:
    embedder = desk.embedder()
    return None if embedder is None or embedder.name == NO_EMBEDDER else embedder


async def vectors_of(desk: Desk, texts: Sequence[str]) -> Matrix | None:
    """Texts as they are held against meanings; none if nobody can embed them. Not within a transaction."""
    embedder = embedder_of(desk)
    if embedder is None or not texts:
        return None
    try:
        return np.stack(await embedder.embed(texts, Purpose.COMPARE)).astype(np.float32)
    except (ProviderDown, ProviderRefused):
        DEGRADED.labels(EMBEDDER).inc()
        return None


async def _load(desk: Desk, space: SpaceId) -> InForce:
    rows = await desk.store.all(Q["censors_in_force"], space=space)
    censors = {row["id"]: censor_of(row) for row in rows}
    patterns = patterns_of({id_: each.pattern for id_, each in censors.items() if each.pattern})
    embedder = embedder_of(desk)
    meant = {id_: each.meaning for id_, each in censors.items() if each.meaning}
    if embedder is None or not meant:
        return InForce(censors=censors, patterns=patterns, model=_name(embedder))
    vectors = await _vectors(desk, space, embedder, meant)
    return InForce(
        censors=censors,
        patterns=patterns,
        model=embedder.name,
        meant=tuple(vectors),
        meanings=np.stack(list(vectors.values())) if vectors else None,
        threshold=embedder.profile.threshold(Threshold.CENSOR),
    )


async def _vectors(
    desk: Desk, space: SpaceId, embedder: Embedder, meant: Mapping[UUID, str]
) -> dict[UUID, Matrix]:
    """What censors mean, as vectors; those that were missing are made and kept."""
    rows = await desk.store.all(Q["censor_vectors"], space=space, model=embedder.name)
    found = {
        row["censor_id"]: np.asarray(row["embedding"].to_list(), dtype=np.float32)
        for row in rows
        if bytes(row["text_hash"]) == text_hash(meant.get(row["censor_id"], ""))
    }
    missing = [id_ for id_ in meant if id_ not in found]
    made = await vectors_of(desk, [meant[id_] for id_ in missing])
    for place, id_ in enumerate(missing if made is not None else ()):
        assert made is not None
        found[id_] = made[place]
        await desk.store.run(
            Q["put_censor_vector"],
            space=space,
            censor=id_,
            model=embedder.name,
            dims=embedder.dimensions,
            text_hash=text_hash(meant[id_]),
            embedding=halfvec(made[place]),
            at=desk.clock(),
        )
    return {id_: found[id_] for id_ in meant if id_ in found}


def _name(embedder: Embedder | None) -> str | None:
    return embedder.name if embedder else None
