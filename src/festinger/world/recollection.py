"""What does the world have to say about a text?

Finds the concepts that stand out in what was just said, takes their edges and chooses among them. One step deep:
a parent speaks only if it stands in the text itself. Everything is read from memory; being read changes nothing.
How a line looks is `rendering`'s matter, which text counts as unseen the door's.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain

from festinger.ids import Origin
from festinger.settings.beliefs import WorldSettings
from festinger.world.claims import Claim, collides
from festinger.world.concept import SoasRow, effective, standing
from festinger.world.edge import UrdEdge, freshness
from festinger.world.rendering import line, unknown_lines
from festinger.world.world import Slot, World

EVERY_SOURCE = "all"
SPEAKERS = (Origin.PERSON, Origin.MODEL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A text as it was read: its words, what it asserts, and who said it."""

    words: Sequence[str]
    origin: Origin
    claims: Sequence[Claim] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One edge that a line shows, in the state that it showed."""

    concept: str
    dimension: str
    parent: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """Lines about what is known, and which edges they show. No line means that nothing is relevant."""

    lines: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    zero_hits: tuple[str, ...] = ()
    """Names that stand out and that nothing is known about."""
    zero_hit_lines: tuple[str, ...] = ()
    cut: int = 0
    """Concepts and edges that had no room."""

    def __bool__(self) -> bool:
        return bool(self.lines or self.zero_hit_lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What a session has shown so far."""

    first_seen: Mapping[str, datetime] = field(default_factory=dict)
    """When the text of a concept was first seen in it."""
    noted: Collection[str] = ()
    """Unknown names that it was already told of."""


def recollect(
    world: World, heard: Sequence[Heard], *, now: datetime, terms: WorldSettings, past: Past | None = None
) -> Recollection:
    """What is known of what was heard, newest first."""
    past = past or Past()
    rows = _salient(world, heard, threshold=terms.saliency_read_threshold)
    is_audible = _hearing(now=now, terms=terms)
    known = [row for row in rows if any(map(is_audible, world.edges(row.id)))]
    zero_hits = _unknown(world, rows, heard)
    chosen = _ranked(known, now=now, past=past, limit=terms.recollection_max_concepts)
    told = {row: list(filter(is_audible, world.edges(row.id))) for row in chosen}
    disputed = _disputed(world, heard, now=now, terms=terms)
    shown = {row: _best(told[row], now=now, limit=terms.recollection_max_edges) for row in chosen}
    return Recollection(
        lines=tuple(line(world, row, edges, disputed=disputed) for row, edges in shown.items()),
        notes=tuple(_note(world, row, edge) for row, edges in shown.items() for edge in edges),
        zero_hits=zero_hits,
        zero_hit_lines=_zero_hit_lines(zero_hits, terms=terms, past=past),
        cut=len(known) - len(shown) + sum(len(told[row]) - len(edges) for row, edges in shown.items()),
    )


def _salient(world: World, heard: Iterable[Heard], *, threshold: float) -> list[SoasRow]:
    """The words that stand out, each once, in the order in which they were heard."""
    words = dict.fromkeys(chain.from_iterable(each.words for each in heard))
    return list(dict.fromkeys(row for row in world.rows(words) if effective(row) >= threshold))


def _hearing(*, now: datetime, terms: WorldSettings) -> Callable[[UrdEdge], bool]:
    """Which edges are sure and recent enough to be told."""
    oldest = now - timedelta(days=terms.recollection_recency_days)
    floor, fading = terms.recollection_confidence_floor, terms.recollection_recency_applies_to
    all_fade = EVERY_SOURCE in fading

    def is_audible(edge: UrdEdge) -> bool:
        if edge.confidence < floor:
            return False
        confirmed = edge.last_confirmed
        return confirmed is None or confirmed >= oldest or not (all_fade or edge.source in fading)

    return is_audible


def _ranked(rows: Iterable[SoasRow], *, now: datetime, past: Past, limit: int) -> list[SoasRow]:
    def rank(row: SoasRow) -> tuple[float, str]:
        since = past.first_seen.get(row.token)
        return -(effective(row) if since is None else standing(row, now - since)), row.token

    return sorted(rows, key=rank)[:limit]


def _best(edges: Sequence[UrdEdge], *, now: datetime, limit: int) -> Sequence[UrdEdge]:
    if len(edges) <= limit:
        return edges
    return sorted(edges, key=lambda edge: (-freshness(edge, now), edge.dim_id))[:limit]


def _disputed(world: World, heard: Iterable[Heard], *, now: datetime, terms: WorldSettings) -> set[Slot]:
    """The disputed slots, and those that what was just said collides with before anything of it is written."""
    said = (claim for each in heard if each.origin in SPEAKERS for claim in each.claims)
    fresh = set(filter(None, (collides(world, claim, now=now, terms=terms) for claim in said)))
    return world.pending_slots | fresh if fresh else world.pending_slots


def _unknown(world: World, rows: Iterable[SoasRow], heard: Iterable[Heard]) -> tuple[str, ...]:
    bare = [row.token for row in rows if not world.edges(row.id)]
    if not bare:
        return ()
    spoken = {word for each in heard if each.origin in SPEAKERS for word in each.words}
    return tuple(token for token in bare if token in spoken)


def _zero_hit_lines(zero_hits: Iterable[str], *, terms: WorldSettings, past: Past) -> tuple[str, ...]:
    if not terms.zero_hit_notes:
        return ()
    fresh = [token for token in zero_hits if token not in past.noted][: terms.zero_hit_max]
    return tuple(_flat(unknown_lines(token, command=terms.iknowthat_command) for token in fresh))


def _flat(groups: Iterable[Iterable[str]]) -> Iterator[str]:
    for group in groups:
        yield from group


def _note(world: World, row: SoasRow, edge: UrdEdge) -> Note:
    return Note(
        concept=row.token,
        dimension=world.soas_by_id[edge.dim_id],
        parent=world.soas_by_id[edge.parent_id],
        version=edge.version,
    )
