"""Which worlds does this process keep, and are they still true?

A space is loaded when it is first needed; the longest unused give way. Each follows the log of its space, whether
the change was made here or elsewhere: there is one way by which a change comes into memory. What the log no longer
has, or has too much of, is loaded anew and swapped in one step.
"""

import asyncio
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

import structlog

from festinger.clock import Clock, Stopwatch
from festinger.errors import StoreDown
from festinger.ids import SpaceId
from festinger.observability.checks import Check, ok, warn
from festinger.settings.beliefs import WorldSettings
from festinger.store.cache_invalidation import GONE, MEGABYTE, BoundedCache, Change
from festinger.store.pool import Store
from festinger.store.queries import queries_of
from festinger.world.loading import load, refresh, version_of
from festinger.world.world import World

log = structlog.get_logger(room="world")

Q = queries_of("festinger.world")

ROOM = "world"
MOST_DUE = 10_000
"""Lines of the log beyond which loading anew is quicker."""

BYTES_PER_EDGE = 260
BYTES_PER_CONCEPT = 420
"""Measured on a million edges of a hundred thousand concepts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reloaded:
    concepts: int
    edges: int
    pending: int
    version: int
    ms: int


def weight(world: World) -> int:
    """About how many bytes a world takes."""
    edges = sum(map(len, world.urd_by_concept.values()))
    return edges * BYTES_PER_EDGE + len(world.soas_by_token) * BYTES_PER_CONCEPT


class Worlds:
    """The worlds of one process by space."""

    def __init__(self, store: Store, *, clock: Clock, stopwatch: Stopwatch, settings: WorldSettings) -> None:
        self.stale_since: datetime | None = None
        """Since when changes of others could not be followed."""
        self._store = store
        self._clock = clock
        self._stopwatch = stopwatch
        self._most = settings.world_spaces_in_memory
        self._kept: BoundedCache[SpaceId, World] = BoundedCache(
            ROOM, limit=settings.world_cache_mb * MEGABYTE, weigh=weight
        )
        self._locks: defaultdict[SpaceId, asyncio.Lock] = defaultdict(asyncio.Lock)

    def find(self, space: SpaceId) -> World | None:
        """The world of a space if it is in memory; never waits."""
        return self._kept.find(space)

    def is_too_large(self, space: SpaceId) -> bool:
        """Whether a space does not fit and must be asked for piece by piece."""
        return bool(self._kept.degraded(space))

    def held(self) -> list[SpaceId]:
        return list(self._kept)

    async def need(self, space: SpaceId) -> World:
        """The world of a space, loaded if it is not in memory yet."""
        async with self._locks[space]:
            return self.find(space) or await self._load(space)

    async def reload(self, space: SpaceId) -> Reloaded:
        """Build the world of a space anew and swap it in; if that fails, the old one stays."""
        began = self._stopwatch()
        async with self._locks[space]:
            world = await self._load(space)
        return Reloaded(
            concepts=len(world.soas_by_token),
            edges=sum(map(len, world.urd_by_concept.values())),
            pending=len(world.pending_slots),
            version=world.version,
            ms=round((self._stopwatch() - began) * 1000),
        )

    async def follow(self, space: SpaceId) -> None:
        """Bring a space that is in memory up to date. With the store away the old state goes on being served."""
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

    async def changed(self, change: Change) -> None:
        """What the listener calls when a version rose somewhere."""
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
        if world is not None and not await self._catch_up(space, world):
            await self._load(space)

    async def _catch_up(self, space: SpaceId, world: World) -> bool:
        """Apply what the log has after the world's version; false if the log cannot tell all of it."""
        due = await self._store.all(Q["log_after"], space=space, version=world.version, limit=MOST_DUE + 1)
        if not due:
            return await version_of(self._store, space) == world.version
        if len(due) > MOST_DUE or due[0]["version"] > world.version + 1:
            return False
        concepts = [row["concept_id"] for row in due if row["concept_id"] is not None]
        await refresh(self._store, space, world, concepts=concepts, now=self._clock())
        world.version = due[-1]["version"]
        return True

    async def _load(self, space: SpaceId) -> World:
        world = await load(self._store, space, now=self._clock())
        # What changed while it was read was told to nobody yet who could have followed it.
        await self._catch_up(space, world)
        while len(self._kept) >= self._most and space not in self._kept:
            self._kept.drop(next(iter(self._kept)))
        self._kept.keep(space, world)
        return world


def check_worlds(worlds: Worlds) -> Check:
    """Whether what is in memory is true, for `doctor`."""
    if worlds.stale_since is None:
        return ok("world.cache", f"{len(worlds.held())} spaces are in memory and up to date.")
    return warn(
        "world.cache",
        f"What is in memory is stale since {worlds.stale_since.isoformat()}.",
        "It catches up by itself when the database answers; look at `store.server` if this stays.",
        stale_since=worlds.stale_since.isoformat(),
    )
