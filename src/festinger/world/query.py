"""Queries the world: the neighborhood of a concept, a full report on it, and earlier states.

A neighborhood walks a few steps up to parents and down to children and stops at a number of words; the rest
is only counted. It reads the store, so it works for every space, loaded or not. A report gives the parts of a
word's score, its edges with who stated them, their history, disputes and quarantine; an unknown word gets the
nearest spellings. Edge history allows rebuilding any earlier state, with the confidence of each edge when it
last came in.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from festinger.errors import NoSuchConcept
from festinger.ids import SpaceId
from festinger.store.queries import load_queries
from festinger.world.conflicts import Conflict, load_conflicts
from festinger.world.graph import Slot
from festinger.world.model import SoasRow, UrdEdge, WorldDeps, effective_saliency
from festinger.world.quarantine import QuarantineEntry, load_quarantine
from festinger.world.write import EdgeOp, load_concept_rows

Q = load_queries("festinger.world")

MOST_SPELLINGS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeEvidence:
    """An edge in words, with who stated it."""

    edge: Mapping[str, Any]
    causes: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptReport:
    concept: SoasRow
    effective: float
    edges: Sequence[EdgeEvidence]
    history: Sequence[Mapping[str, Any]]
    conflicts: Sequence[Conflict]
    quarantine: Sequence[QuarantineEntry]


def concept_report_json(found: ConceptReport) -> dict[str, Any]:
    """Format the report for all interfaces."""
    return {**asdict(found), "concept": found.concept._asdict()}


async def build_concept_report(deps: WorldDeps, space: SpaceId, token: str) -> ConceptReport:
    """Collect everything known about a word."""
    concept = await _find_concept(deps, space, token)
    return ConceptReport(
        concept=concept,
        effective=effective_saliency(concept),
        edges=await _load_edge_evidence(deps, space, concept.id),
        history=await deps.store.all(Q["history_of"], space=space, concept=concept.id),
        conflicts=await load_conflicts(deps, space, statuses=("pending", "resolved", "dismissed"), concept=concept.id),
        quarantine=await load_quarantine(deps, space, statuses=None, concept=concept.token),
    )


async def _find_concept(deps: WorldDeps, space: SpaceId, token: str) -> SoasRow:
    async with deps.store.transaction() as transaction:
        rows = await load_concept_rows(transaction, space, [token])
    if token not in rows:
        raise await unknown_concept_error(deps, space, token)
    return rows[token]


async def _load_edge_evidence(deps: WorldDeps, space: SpaceId, concept: int) -> list[EdgeEvidence]:
    found = []
    for edge in await deps.store.all(Q["edges_named"], space=space, concept=concept):
        causes = await deps.store.all(
            Q["causes_of"], space=space, concept=concept, parent=edge["parent_id"], dim=edge["dim_id"]
        )
        found.append(EdgeEvidence(edge=edge, causes=causes))
    return found


async def unknown_concept_error(deps: WorldDeps, space: SpaceId, token: str) -> NoSuchConcept:
    """Build the error for an unknown word, with similar spellings."""
    rows = await deps.store.all(Q["nearest_tokens"], space=space, beginning=f"{_escape_like_pattern(token[:1])}%")
    near = get_close_matches(token, [row["token"] for row in rows], n=MOST_SPELLINGS, cutoff=0.5)
    listed = ", ".join(f"`{one}`" for one in near)
    return NoSuchConcept(
        f"There is no concept `{token[:64]}`.", hint=f"The nearest known are {listed}." if near else None, nearest=near
    )


def _escape_like_pattern(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


MOST_WORDS = 60
MOST_EDGES = 500
"""Edges read per step; a word with more shows the most certain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NearbyConcept:
    """A word, and how far below the center it is; above is negative."""

    token: str
    level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NearbyEdge:
    concept: str
    parent: str
    dimension: str
    is_isa: bool
    confidence: float
    last_confirmed: datetime | None
    source: str
    disputed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighborhood:
    centre: str
    words: Sequence[NearbyConcept]
    edges: Sequence[NearbyEdge]
    beyond: Mapping[str, int]
    """Words with more neighbors than were kept, and how many."""


async def load_neighborhood(
    deps: WorldDeps, space: SpaceId, token: str, *, depth: int = 1, dimension: str | None = None, most: int = MOST_WORDS
) -> Neighborhood:
    """Load the neighborhood of a word. Raises `NoSuchConcept` for an unknown one."""
    concept = await _find_concept(deps, space, token)
    walk = _NeighborhoodWalk(deps=deps, space=space, dimension=dimension, most=most, centre=concept.token)
    walk.levels[concept.token] = 0
    await walk.go(concept.id, "edges_upwards", depth=depth)
    await walk.go(concept.id, "edges_downwards", depth=depth)
    return walk.seen()


async def page_edges(
    deps: WorldDeps, space: SpaceId, *, before: int | None = None, limit: int = 50
) -> list[dict[str, Any]]:
    """List what is believed of concepts, those met last first; `before` is the number of the last one shown."""
    return [dict(row) for row in await deps.store.all(Q["browse_edges"], space=space, before=before, limit=limit)]


class _NeighborhoodWalk:
    """One walk in progress: which words were met where, and by which edges."""

    def __init__(self, *, deps: WorldDeps, space: SpaceId, dimension: str | None, most: int, centre: str) -> None:
        self._deps, self._space, self._dimension, self._most = deps, space, dimension, most
        self._centre = centre
        self.levels: dict[str, int] = {}
        self._edges: dict[tuple[str, str, str], NearbyEdge] = {}
        self._beyond: dict[str, set[str]] = {}

    async def go(self, start: int, query: str, *, depth: int) -> None:
        """Walk in one direction, step by step."""
        step, near, far = (-1, "concept", "parent") if query == "edges_upwards" else (1, "parent", "concept")
        ids = {start}
        for level in range(1, depth + 1):
            rows = await self._deps.store.all(
                Q[query], space=self._space, concepts=sorted(ids), dimension=self._dimension, limit=MOST_EDGES
            )
            far_id = "parent_id" if far == "parent" else "id"
            ids = {row[far_id] for row in rows if self._add_edge_of_walk(row, near=near, far=far, level=step * level)}
            if not ids:
                return

    def _add_edge_of_walk(self, row: Mapping[str, Any], *, near: str, far: str, level: int) -> bool:
        """Add an edge; returns whether its far end is a new word."""
        token, is_new = row[far], row[far] not in self.levels
        if is_new and len(self.levels) >= self._most:
            self._beyond.setdefault(row[near], set()).add(token)
            return False
        self.levels.setdefault(token, level)
        edge = NearbyEdge(**{name: row[name] for name in NearbyEdge.__slots__})
        self._edges[edge.concept, edge.parent, edge.dimension] = edge
        return is_new

    def seen(self) -> Neighborhood:
        words = [NearbyConcept(token=token, level=level) for token, level in self.levels.items()]
        return Neighborhood(
            centre=self._centre,
            words=sorted(words, key=lambda word: (word.level, word.token)),
            edges=[self._edges[key] for key in sorted(self._edges)],
            beyond={token: len(others) for token, others in sorted(self._beyond.items())},
        )


COMES = (EdgeOp.ADD, EdgeOp.RESTORE)


def fold_edge_history(steps: Iterable[tuple[EdgeOp, UrdEdge]]) -> dict[Slot, UrdEdge]:
    """Return the edges that hold after all steps, without roots."""
    standing: dict[Slot, UrdEdge] = {}
    for op, edge in steps:
        if op in COMES:
            standing[edge.slot] = edge
        else:
            standing.pop(edge.slot, None)
    return {slot: edge for slot, edge in standing.items() if not edge.is_root}


async def load_edges_as_of(deps: WorldDeps, space: SpaceId, moment: datetime) -> dict[Slot, UrdEdge]:
    rows = await deps.store.all(Q["history_until"], space=space, until=moment)
    return fold_edge_history((EdgeOp(row["op"]), UrdEdge(*(row[name] for name in UrdEdge._fields))) for row in rows)
