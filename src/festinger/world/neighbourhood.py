"""What stands around a concept?

Walks from one word up to its parents and down to its children, a few steps each way, and stops at a number of
words: what lies beyond is only counted. It reads the store, so it sees every space alike, loaded or not. How it is
drawn is a door's matter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from festinger.ids import SpaceId
from festinger.store.queries import queries_of
from festinger.world.desk import Desk
from festinger.world.why import unknown_concept

Q = queries_of("festinger.world")

MOST_WORDS = 60
MOST_EDGES = 500
"""Edges that one step reads; a word with more of them shows the most certain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """A word, and how far below the one in the middle it stands; above is negative."""

    token: str
    level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NearEdge:
    concept: str
    parent: str
    dimension: str
    is_isa: bool
    confidence: float
    last_confirmed: datetime | None
    source: str
    disputed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    centre: str
    words: Sequence[Near]
    edges: Sequence[NearEdge]
    beyond: Mapping[str, int]
    """Words that have more neighbours than could be kept, with how many."""


async def around(
    desk: Desk,
    space: SpaceId,
    token: str,
    *,
    depth: int = 1,
    dimension: str | None = None,
    most: int = MOST_WORDS,
) -> Neighbourhood:
    """The neighbourhood of a word; an unknown one is `NoSuchConcept`."""
    rows = await desk.store.all(Q["rows_of_tokens"], space=space, tokens=[token])
    if not rows:
        raise await unknown_concept(desk, space, token)
    row = max(rows, key=lambda found: bool(found["is_alias"]))
    walk = _Walk(desk=desk, space=space, dimension=dimension, most=most, centre=row["token"])
    walk.levels[row["token"]] = 0
    await walk.go(row["id"], "edges_upwards", depth=depth)
    await walk.go(row["id"], "edges_downwards", depth=depth)
    return walk.seen()


class _Walk:
    """One walk in progress: which words were met where, and by which edges."""

    def __init__(self, *, desk: Desk, space: SpaceId, dimension: str | None, most: int, centre: str) -> None:
        self._desk, self._space, self._dimension, self._most = desk, space, dimension, most
        self._centre = centre
        self.levels: dict[str, int] = {}
        self._edges: dict[tuple[str, str, str], NearEdge] = {}
        self._beyond: dict[str, set[str]] = {}

    async def go(self, start: int, query: str, *, depth: int) -> None:
        """Walk in one direction, step by step."""
        step, near, far = (-1, "concept", "parent") if query == "edges_upwards" else (1, "parent", "concept")
        ids = {start}
        for level in range(1, depth + 1):
            rows = await self._desk.store.all(
                Q[query],
                space=self._space,
                concepts=sorted(ids),
                dimension=self._dimension,
                limit=MOST_EDGES,
            )
            far_id = "parent_id" if far == "parent" else "id"
            ids = {row[far_id] for row in rows if self._meet(row, near=near, far=far, level=step * level)}
            if not ids:
                return

    def _meet(self, row: Mapping[str, Any], *, near: str, far: str, level: int) -> bool:
        """Take an edge in; whether its far end is a word that was not met before."""
        token, is_new = row[far], row[far] not in self.levels
        if is_new and len(self.levels) >= self._most:
            self._beyond.setdefault(row[near], set()).add(token)
            return False
        self.levels.setdefault(token, level)
        edge = NearEdge(**{name: row[name] for name in NearEdge.__slots__})
        self._edges[edge.concept, edge.parent, edge.dimension] = edge
        return is_new

    def seen(self) -> Neighbourhood:
        words = [Near(token=token, level=level) for token, level in self.levels.items()]
        return Neighbourhood(
            centre=self._centre,
            words=sorted(words, key=lambda word: (word.level, word.token)),
            edges=[self._edges[key] for key in sorted(self._edges)],
            beyond={token: len(others) for token, others in sorted(self._beyond.items())},
        )
