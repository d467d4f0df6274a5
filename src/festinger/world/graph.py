"""Keeps the worlds of spaces in memory, loads them and keeps them up to date.

`World` holds vocabulary, edges and disputes by their lookup keys. The edges of a concept are one tuple that
is swapped whole, so a reader sees the old or the new state and never a mixture. Worlds are loaded in pages,
so that a large space blocks nothing, and frozen out of garbage collection: repeated walks over a million
edges would show as pauses in every request. Each world follows the log of its space, also for changes made
here; this also covers changes made while loading. What the log no longer has, or has too much of, is loaded
anew and swapped in one step. The least recently used worlds are evicted.
"""

import asyncio
import gc
from collections import defaultdict
from collections.abc import AsyncGenerator, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import structlog
from numpy.typing import NDArray

from festinger.clock import Clock, Stopwatch
from festinger.errors import StoreDown
from festinger.ids import Origin, SpaceId
from festinger.observability.checks import Check, ok_check, warning_check
from festinger.settings.memory_sections import WorldSettings
from festinger.store.cache_invalidation import GONE, MEGABYTE, BoundedCache, CacheChange
from festinger.store.connection import cancel_tasks
from festinger.store.pool import Store, Transaction
from festinger.store.queries import load_queries
from festinger.world.model import EdgeSource, SoasRow, UrdEdge, closes_cycle

Slot = tuple[int, int]
"""A concept and a dimension."""

SETTLED_FOR = timedelta(days=30)
"""How long a dismissed statement is not raised again."""


class World:
    """One space in memory."""

    __slots__ = (
        "aliases",
        "dimensions",
        "dismissed",
        "pending_slots",
        "soas_by_id",
        "soas_by_token",
        "urd_by_concept",
        "version",
    )

    def __init__(
        self,
        *,
        soas_by_token: Mapping[str, SoasRow] | None = None,
        soas_by_id: Mapping[int, str] | None = None,
        urd_by_concept: Mapping[int, Iterable[UrdEdge]] | None = None,
        urd_by_concept_dim: Mapping[Slot, UrdEdge] | None = None,
        pending_conflicts: Iterable[int] = (),
    ) -> None:
        self.soas_by_token: dict[str, SoasRow] = dict(soas_by_token or {})
        self.soas_by_id: dict[int, str] = dict(soas_by_id or {})
        self.urd_by_concept: dict[int, tuple[UrdEdge, ...]] = {}
        self.dimensions: set[int] = set()
        self.aliases: dict[str, int] = {}
        self.dismissed: dict[tuple[int, int, int], datetime] = {}
        self.pending_slots: set[Slot] = set()
        self.version = 0
        for row in self.soas_by_token.values():
            self.soas_by_id.setdefault(row.id, row.token)
        for edges in (urd_by_concept or {}).values():
            self.put_edges(edges)
        self.put_edges((urd_by_concept_dim or {}).values())
        for concept in pending_conflicts:
            self.pending_slots.update(edge.slot for edge in self.edges(concept))

    @property
    def urd_by_concept_dim(self) -> "SlotView":
        return SlotView(self)

    @property
    def pending_conflicts(self) -> set[int]:
        """The concepts with a disputed slot."""
        return {concept for concept, _ in self.pending_slots}

    def row(self, token: str) -> SoasRow | None:
        """Return the row of a word, by any of its names."""
        if token in self.aliases:
            return self.soas_by_token.get(self.soas_by_id.get(self.aliases[token], ""))
        return self.soas_by_token.get(token)

    def rows(self, tokens: Collection[str]) -> Iterator[SoasRow]:
        """Yield the rows of words, by any of their names, in order."""
        by_name = self.soas_by_token.get if self.aliases.keys().isdisjoint(tokens) else self.row
        return filter(None, map(by_name, tokens))

    @property
    def dimension_names(self) -> "DimensionNameLookup":
        return DimensionNameLookup(self)

    def knows(self, token: str) -> bool:
        return token in self.soas_by_token or token in self.aliases

    def edges(self, concept: int) -> tuple[UrdEdge, ...]:
        return self.urd_by_concept.get(concept, ())

    def slot(self, concept: int, dim: int) -> UrdEdge | None:
        for edge in self.urd_by_concept.get(concept, ()):
            if edge.dim_id == dim:
                return edge
        return None

    def parent_in(self, dim: int, concept: int) -> int | None:
        edge = self.slot(concept, dim)
        return edge.parent_id if edge else None

    def would_cycle(self, concept: int, parent: int, dim: int) -> bool:
        return closes_cycle(concept, parent, lambda above: self.parent_in(dim, above))

    def is_recently_dismissed(self, concept: int, dim: int, *, parent: int, now: datetime) -> bool:
        """Whether this very statement was dismissed recently."""
        at = self.dismissed.get((concept, dim, parent))
        return at is not None and now - at < SETTLED_FOR

    def put_row(self, row: SoasRow) -> None:
        self.soas_by_token[row.token] = row
        self.soas_by_id[row.id] = row.token

    def put_edges(self, edges: Iterable[UrdEdge]) -> None:
        for edge in edges:
            self.put(edge)

    def put(self, edge: UrdEdge) -> None:
        """Put an edge into its slot, replacing any other."""
        self.dimensions.add(edge.dim_id)
        if not edge.is_root:
            others = tuple(one for one in self.edges(edge.id) if one.dim_id != edge.dim_id)
            self.urd_by_concept[edge.id] = (*others, edge)

    def clear(self, concept: int, dim: int) -> None:
        """Empty a slot."""
        left = tuple(edge for edge in self.edges(concept) if edge.dim_id != dim)
        if left:
            self.urd_by_concept[concept] = left
        else:
            self.urd_by_concept.pop(concept, None)

    def drop_row(self, concept: int) -> None:
        """Remove a word."""
        token = self.soas_by_id.pop(concept, None)
        if token is not None:
            self.soas_by_token.pop(token, None)
        self.urd_by_concept.pop(concept, None)
        self.dimensions.discard(concept)


class SlotView(Mapping[Slot, UrdEdge]):
    """The edges by slot, read from the edges by concept: a second dictionary would double the memory."""

    __slots__ = ("_world",)

    def __init__(self, world: World) -> None:
        self._world = world

    def __getitem__(self, slot: Slot) -> UrdEdge:
        edge = self._world.slot(*slot)
        if edge is None:
            raise KeyError(slot)
        return edge

    def __iter__(self) -> Iterator[Slot]:
        for edges in self._world.urd_by_concept.values():
            for edge in edges:
                yield edge.slot

    def __len__(self) -> int:
        return sum(map(len, self._world.urd_by_concept.values()))


class DimensionNameLookup(Container[str]):
    """Whether a word names a dimension of the space, without a list of all of them."""

    __slots__ = ("_world",)

    def __init__(self, world: World) -> None:
        self._world = world

    def __contains__(self, token: object) -> bool:
        row = self._world.soas_by_token.get(token) if isinstance(token, str) else None
        return row is not None and row.id in self._world.dimensions


Q = load_queries("festinger.world")

VOCABULARY_PAGE, EDGES_PAGE = (replace(Q[name], packed=True) for name in ("vocabulary_page", "edges_page"))
PAGE = 2_000
FETCHED = 5 * PAGE
"""Edges that are read at once; they are put in page by page."""
FREEZE_EVERY = 20
"""Pages between two freezes of what was loaded."""

Numbers = NDArray[np.void]
ARRAY_HEAD, ARRAY_ITEM = 20, np.dtype([("size", ">i4"), ("number", ">i8")])
"""How the database sends an array of numbers of eight bytes."""
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""From which the database counts microseconds; `NO_MOMENT` of them is minus infinity."""
NO_MOMENT = -(2**63)
SOURCES, ORIGINS = [each.value for each in EdgeSource], [each.value for each in Origin]


async def world_version(store: Store, space: SpaceId) -> int:
    row = await store.maybe(Q["world_version"], space=space)
    return row["version"] if row else 0


async def load_world(store: Store, space: SpaceId, *, now: datetime) -> World:
    """Load the whole world of a space, at least as new as its version says."""
    world = World()
    world.version = await world_version(store, space)
    await _load_vocabulary(store, space, world)
    await _load_edges(store, space, world)
    async with store.transaction() as transaction:
        (await _load_disputes_and_aliases(transaction, space, now=now, concepts=None)).put(world, ())
    _freeze_garbage_collector()
    return world


async def _load_vocabulary(store: Store, space: SpaceId, world: World) -> None:
    after, page = 0, 0
    while rows := await store.all(VOCABULARY_PAGE, space=space, after=after, limit=PAGE):
        for row in rows:
            world.put_row(SoasRow(*row.values()))
        after, page = rows[-1]["id"], page + 1
        _freeze_every_nth_page(page)


async def _load_edges(store: Store, space: SpaceId, world: World) -> None:
    columns = _EdgeColumns(world)
    page = 0
    async with aclosing(_fetch_edge_pages(store, space)) as pages:
        async for packed in pages:
            for edges in columns.edges(packed):
                _put_page(world, edges)
                page += 1
                _freeze_every_nth_page(page)
                # Others have their turn; and the next page is asked for, which comes while this one is put in.
                await asyncio.sleep(0)


async def _fetch_edge_pages(store: Store, space: SpaceId) -> AsyncGenerator[dict[str, Numbers], None]:
    """Yield the columns of many edges at a time, sorted by slot."""
    known: dict[str, Any] = {"space": space, "limit": FETCHED, "sources": SOURCES, "origins": ORIGINS}
    coming = asyncio.ensure_future(store.all(EDGES_PAGE, **known, after=0, after_dim=0))
    try:
        while (packed := (await coming)[0])["id"] is not None:
            page = {
                name: np.frombuffer(raw, dtype=ARRAY_ITEM, offset=ARRAY_HEAD)["number"] for name, raw in packed.items()
            }
            last: dict[str, Any] = {"after": int(page["id"][-1]), "after_dim": int(page["dim_id"][-1])}
            coming = asyncio.ensure_future(store.all(EDGES_PAGE, **known, **last))
            yield page
    finally:
        await cancel_tasks([coming])


class _InternPool(dict[Any, Any]):
    """Equal values as one object: a million edges have few different ones."""

    def __missing__(self, value: Any) -> Any:
        return self.setdefault(value, value)


class _DatetimeCache(dict[int, datetime | None]):
    """Moments as the database counts them."""

    def __missing__(self, microseconds: int) -> datetime | None:
        return self.setdefault(microseconds, EPOCH + timedelta(microseconds=microseconds))


class _EdgeColumns:
    """Builds edges from columns, sharing equal values in memory."""

    def __init__(self, world: World) -> None:
        self._numbers = _InternPool({number: number for number in world.soas_by_id})
        self._shares, self._versions = _InternPool(), _InternPool()
        self._moments = _DatetimeCache({NO_MOMENT: None})

    def edges(self, page: Mapping[str, Numbers]) -> Iterator[list[UrdEdge]]:
        """Yield the edges of a page, not so many at once that anything else would have to wait."""
        for start in range(0, len(page["id"]), PAGE):
            part = {name: column[start : start + PAGE] for name, column in page.items()}
            marks = part["marks"].astype(np.int64)
            columns = (
                *(map(self._numbers.__getitem__, part[name].tolist()) for name in ("id", "parent_id", "dim_id")),
                (marks & 1).astype(bool).tolist(),
                map(self._shares.__getitem__, part["confidence"].view(">f8").tolist()),
                map(self._moments.__getitem__, part["last_confirmed"].tolist()),
                map(SOURCES.__getitem__, ((marks >> 3 & 7) - 1).tolist()),
                map(ORIGINS.__getitem__, ((marks >> 6) - 1).tolist()),
                part["evidence_count"].tolist(),
                (marks & 2).astype(bool).tolist(),
                (marks & 4).astype(bool).tolist(),
                map(self._moments.__getitem__, part["created_at"].tolist()),
                map(self._versions.__getitem__, part["version"].tolist()),
            )
            yield list(map(UrdEdge._make, zip(*columns, strict=True)))


def _put_page(world: World, edges: Sequence[UrdEdge]) -> None:
    """Put edges sorted by concept; a concept may continue from the page before."""
    world.dimensions.update([edge.dim_id for edge in edges])
    standing = [edge for edge in edges if edge.id != edge.dim_id or not edge.is_root]
    for concept, own in groupby(standing, key=itemgetter(0)):
        world.urd_by_concept[concept] = (*world.urd_by_concept.get(concept, ()), *own)


async def load_partial_world(store: Store, space: SpaceId, tokens: Iterable[str], *, now: datetime) -> World:
    """Load as much of a world as a text with these words needs, for a space too large to keep."""
    rows = await store.all(Q["concepts_of_tokens"], space=space, tokens=list(tokens))
    world = World()
    world.version = await world_version(store, space)
    await refresh_concepts(store, space, world, concepts=[row["id"] for row in rows], now=now)
    return world


async def refresh_concepts(
    store: Store, space: SpaceId, world: World, *, concepts: Sequence[int], now: datetime
) -> None:
    """Reload some concepts with everything attached to them.

    All is read before anything is changed, so a reader sees the old state or the new one.
    """
    wanted = list(dict.fromkeys(concepts))
    async with store.transaction() as transaction:
        rows = await transaction.all(Q["rows_of_concepts"], space=space, concepts=wanted)
        found = await transaction.all(Q["edges_of_concepts"], space=space, concepts=wanted)
        edges = [UrdEdge(**row) for row in found]
        disputes = await _load_disputes_and_aliases(transaction, space, now=now, concepts=wanted)
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
class _DisputesAndAliases:
    """Disputes, dismissals and aliases."""

    pending: set[Slot]
    dismissed: dict[tuple[int, int, int], datetime]
    aliases: dict[str, int]
    parents: set[int]
    """Parents stated against an edge; their words must be loaded to recognize them."""

    def put(self, world: World, of: Collection[int]) -> None:
        """Replace everything known about disputes of these concepts."""
        world.pending_slots = {slot for slot in world.pending_slots if slot[0] not in of} | self.pending
        world.dismissed = {triple: at for triple, at in world.dismissed.items() if triple[0] not in of} | self.dismissed
        world.aliases = {token: concept for token, concept in world.aliases.items() if concept not in of} | self.aliases


async def _load_disputes_and_aliases(
    transaction: Transaction, space: SpaceId, *, now: datetime, concepts: list[int] | None
) -> _DisputesAndAliases:
    pending = await transaction.all(Q["pending_slots"], space=space, concepts=concepts)
    since = now - SETTLED_FOR
    dismissed = await transaction.all(Q["dismissed_triples"], space=space, concepts=concepts, since=since)
    aliases = await transaction.all(Q["aliases"], space=space, concepts=concepts)
    return _DisputesAndAliases(
        pending={(row["concept_id"], row["dim_id"]) for row in pending},
        dismissed={(row["concept_id"], row["dim_id"], row["incoming_parent_id"]): row["at"] for row in dismissed},
        aliases={row["token"]: row["concept_id"] for row in aliases},
        parents={row["incoming_parent_id"] for row in (*pending, *dismissed)},
    )


def _freeze_every_nth_page(page: int) -> None:
    if page % FREEZE_EVERY == 0:
        _freeze_garbage_collector()


def _freeze_garbage_collector() -> None:
    # The young generation is collected first, or its garbage would be frozen too.
    gc.collect(0)
    gc.freeze()


log = structlog.get_logger(room="world")

ROOM = "world"
MOST_DUE = 10_000
"""Log lines beyond which reloading is faster."""

BYTES_PER_EDGE = 260
BYTES_PER_CONCEPT = 420
"""Measured on a million edges of a hundred thousand concepts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldReloadResult:
    concepts: int
    edges: int
    pending: int
    version: int
    ms: int


def estimate_world_bytes(world: World) -> int:
    edges = sum(map(len, world.urd_by_concept.values()))
    return edges * BYTES_PER_EDGE + len(world.soas_by_token) * BYTES_PER_CONCEPT


class WorldCache:
    """The worlds of one process by space."""

    def __init__(self, store: Store, *, clock: Clock, stopwatch: Stopwatch, settings: WorldSettings) -> None:
        self.stale_since: datetime | None = None
        """Since when changes of others could not be followed."""
        self._store = store
        self._clock = clock
        self._stopwatch = stopwatch
        self._most = settings.world_spaces_in_memory
        self._kept: BoundedCache[SpaceId, World] = BoundedCache(
            ROOM, limit=settings.world_cache_mb * MEGABYTE, weigh=estimate_world_bytes
        )
        self._locks: defaultdict[SpaceId, asyncio.Lock] = defaultdict(asyncio.Lock)

    def find(self, space: SpaceId) -> World | None:
        """Return the world of a space if it is in memory; never waits."""
        return self._kept.find(space)

    def is_too_large(self, space: SpaceId) -> bool:
        """Whether a space does not fit and must be loaded in parts."""
        return bool(self._kept.degraded(space))

    def held(self) -> list[SpaceId]:
        return list(self._kept)

    async def need(self, space: SpaceId) -> World:
        async with self._locks[space]:
            return self.find(space) or await self._load(space)

    async def reload(self, space: SpaceId) -> WorldReloadResult:
        """Rebuild the world of a space and swap it in; on failure the old one stays."""
        began = self._stopwatch()
        async with self._locks[space]:
            world = await self._load(space)
        return WorldReloadResult(
            concepts=len(world.soas_by_token),
            edges=sum(map(len, world.urd_by_concept.values())),
            pending=len(world.pending_slots),
            version=world.version,
            ms=round((self._stopwatch() - began) * 1000),
        )

    async def follow(self, space: SpaceId) -> None:
        """Bring a loaded space up to date. If the store is down the old state continues to be served."""
        if space not in self._kept:
            return
        try:
            async with self._locks[space]:
                await self._follow(space)
        except StoreDown as error:
            self.stale_since = self.stale_since or self._clock()
            log.warning("world not followed", space=space, error=error.message)
            return
        self.stale_since = None

    async def changed(self, change: CacheChange) -> None:
        """Handle a listener's notice that a version rose somewhere."""
        space = change.what.space
        if change.version == GONE:
            self._kept.drop(space)
            return
        world = self.find(space)
        if world is not None and world.version < change.version:
            async with self._locks[space]:
                await self._follow(space)
            self.stale_since = None

    async def _follow(self, space: SpaceId) -> None:
        world = self._kept.find(space)
        if world is not None and not await self._apply_change_log(space, world):
            await self._load(space)

    async def _apply_change_log(self, space: SpaceId, world: World) -> bool:
        """Apply the log after the world's version; false if the log is incomplete or too long."""
        due = await self._store.all(Q["log_after"], space=space, version=world.version, limit=MOST_DUE + 1)
        if not due:
            return await world_version(self._store, space) == world.version
        if len(due) > MOST_DUE or due[0]["version"] > world.version + 1:
            return False
        concepts = [row["concept_id"] for row in due if row["concept_id"] is not None]
        await refresh_concepts(self._store, space, world, concepts=concepts, now=self._clock())
        world.version = due[-1]["version"]
        return True

    async def _load(self, space: SpaceId) -> World:
        world = await load_world(self._store, space, now=self._clock())
        # Changes made while loading were announced before this world could follow them.
        await self._apply_change_log(space, world)
        while len(self._kept) >= self._most and space not in self._kept:
            self._kept.drop(next(iter(self._kept)))
        self._kept.keep(space, world)
        return world


def check_world_cache(worlds: WorldCache) -> Check:
    """Check for `doctor` whether the worlds in memory are up to date."""
    if worlds.stale_since is None:
        return ok_check("world.cache", f"{len(worlds.held())} spaces are in memory and up to date.")
    return warning_check(
        "world.cache",
        f"What is in memory is stale since {worlds.stale_since.isoformat()}.",
        "It catches up by itself when the database answers; look at `store.server` if this stays.",
        stale_since=worlds.stale_since.isoformat(),
    )
