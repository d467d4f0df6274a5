"""How does the world of a space come into memory, whole or in part?

Read in pieces, so that a large space holds up nothing else, and kept out of the garbage collector's walks: a
million edges that are walked over and over would show as pauses in every request. What changes while the pieces are
read is in the log after the version that was read first, so following it afterwards makes the whole true.
"""

import gc
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from festinger.ids import SpaceId
from festinger.store.pool import Store, Transaction
from festinger.store.queries import queries_of
from festinger.world.concept import SoasRow
from festinger.world.edge import UrdEdge
from festinger.world.world import SETTLED_FOR, Slot, World

Q = queries_of("festinger.world")

PAGE = 2_000
FREEZE_EVERY = 20
"""Pages between two moments at which what was read is put beyond the collector."""


async def version_of(store: Store, space: SpaceId) -> int:
    row = await store.maybe(Q["world_version"], space=space)
    return row["version"] if row else 0


async def load(store: Store, space: SpaceId, *, now: datetime) -> World:
    """The whole world of a space, at least as new as its version says."""
    world = World()
    world.version = await version_of(store, space)
    await _load_vocabulary(store, space, world)
    await _load_edges(store, space, world)
    async with store.transaction() as transaction:
        (await _disputes(transaction, space, now=now, concepts=None)).put(world, ())
    _freeze()
    return world


async def _load_vocabulary(store: Store, space: SpaceId, world: World) -> None:
    after, page = 0, 0
    while rows := await store.all(Q["vocabulary_page"], space=space, after=after, limit=PAGE):
        for row in rows:
            world.put_row(SoasRow(**row))
        after, page = rows[-1]["id"], page + 1
        _freeze_now_and_then(page)


async def _load_edges(store: Store, space: SpaceId, world: World) -> None:
    after, after_dim, page = 0, 0, 0
    names = _Names(world)
    while rows := await store.all(Q["edges_page"], space=space, after=after, after_dim=after_dim, limit=PAGE):
        edges = [names.edge(*row.values()) for row in rows]
        _put_page(world, edges)
        after, after_dim, page = edges[-1].id, edges[-1].dim_id, page + 1
        _freeze_now_and_then(page)


class _Names:
    """Gives equal values of many edges one place in memory."""

    def __init__(self, world: World) -> None:
        self._numbers = {number: number for number in world.soas_by_id}
        self._texts: dict[str, str] = {}
        self._shares: dict[float, float] = {}

    def edge(
        self,
        id: int,  # noqa: A002 - the columns of the table, in its words and its order
        parent_id: int,
        dim_id: int,
        is_isa: bool,
        confidence: float,
        last_confirmed: datetime | None,
        source: str,
        origin: str,
        evidence_count: int,
        person_stated: bool,
        unconfirmed: bool,
        created_at: datetime,
        version: int,
    ) -> UrdEdge:
        numbers, texts = self._numbers, self._texts
        return UrdEdge(
            numbers.get(id, id),
            numbers.get(parent_id, parent_id),
            numbers.get(dim_id, dim_id),
            is_isa,
            self._shares.setdefault(confidence, confidence),
            created_at if last_confirmed == created_at else last_confirmed,
            texts.setdefault(source, source),
            texts.setdefault(origin, origin),
            evidence_count,
            person_stated,
            unconfirmed,
            created_at,
            version,
        )


def _put_page(world: World, edges: Sequence[UrdEdge]) -> None:
    """Put edges that are sorted by concept. A concept may go on from the page before."""
    for concept, group in groupby(edges, key=lambda edge: edge.id):
        own = tuple(group)
        world.dimensions.update(edge.dim_id for edge in own)
        standing = tuple(edge for edge in own if not edge.is_root)
        if standing:
            world.urd_by_concept[concept] = world.urd_by_concept.get(concept, ()) + standing


async def load_part(store: Store, space: SpaceId, tokens: Iterable[str], *, now: datetime) -> World:
    """As much of a world as a text with these words can ask for; for a space that is too large to keep."""
    rows = await store.all(Q["concepts_of_tokens"], space=space, tokens=list(tokens))
    world = World()
    world.version = await version_of(store, space)
    await refresh(store, space, world, concepts=[row["id"] for row in rows], now=now)
    return world


async def refresh(
    store: Store, space: SpaceId, world: World, *, concepts: Sequence[int], now: datetime
) -> None:
    """Read some concepts anew, with everything that hangs on them.

    All is read before anything is changed: a reader of the world sees the old state or the new one.
    """
    wanted = list(dict.fromkeys(concepts))
    async with store.transaction() as transaction:
        rows = await transaction.all(Q["rows_of_concepts"], space=space, concepts=wanted)
        found = await transaction.all(Q["edges_of_concepts"], space=space, concepts=wanted)
        edges = [UrdEdge(**row) for row in found]
        disputes = await _disputes(transaction, space, now=now, concepts=wanted)
        around = {number for edge in edges for number in (edge.parent_id, edge.dim_id)} | disputes.parents
        unknown = sorted(around - world.soas_by_id.keys() - set(wanted))
        neighbours = await transaction.all(Q["rows_of_concepts"], space=space, concepts=unknown)
    for concept in set(wanted) - {row["id"] for row in rows}:
        world.drop_row(concept)
    for row in (*rows, *neighbours):
        world.put_row(SoasRow(**row))
    for concept in wanted:
        world.urd_by_concept.pop(concept, None)
    _put_page(world, edges)
    disputes.put(world, set(wanted))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Disputes:
    """What is disputed, what was dismissed, and other names."""

    pending: set[Slot]
    dismissed: dict[tuple[int, int, int], datetime]
    aliases: dict[str, int]
    parents: set[int]
    """What is said against an edge; its word must be known to know it again."""

    def put(self, world: World, of: Collection[int]) -> None:
        """Let this be all that is known of these concepts."""
        world.pending_slots = {slot for slot in world.pending_slots if slot[0] not in of} | self.pending
        world.dismissed = {
            triple: at for triple, at in world.dismissed.items() if triple[0] not in of
        } | self.dismissed
        world.aliases = {
            token: concept for token, concept in world.aliases.items() if concept not in of
        } | self.aliases


async def _disputes(
    transaction: Transaction, space: SpaceId, *, now: datetime, concepts: list[int] | None
) -> _Disputes:
    pending = await transaction.all(Q["pending_slots"], space=space, concepts=concepts)
    since = now - SETTLED_FOR
    dismissed = await transaction.all(Q["dismissed_triples"], space=space, concepts=concepts, since=since)
    aliases = await transaction.all(Q["aliases"], space=space, concepts=concepts)
    return _Disputes(
        pending={(row["concept_id"], row["dim_id"]) for row in pending},
        dismissed={
            (row["concept_id"], row["dim_id"], row["incoming_parent_id"]): row["at"] for row in dismissed
        },
        aliases={row["token"]: row["concept_id"] for row in aliases},
        parents={row["incoming_parent_id"] for row in (*pending, *dismissed)},
    )


def _freeze_now_and_then(page: int) -> None:
    if page % FREEZE_EVERY == 0:
        _freeze()


def _freeze() -> None:
    # The young are collected first, or their garbage would be frozen with the rest.
    gc.collect(0)
    gc.freeze()
