"""Keeps the in-memory caches of all processes consistent with the database.

Each space counts the writes of each package. A write that others may have cached bumps its count in the same
transaction and notifies all listeners. A `CacheListener` reloads what changed; after a lost connection, and
every 30 seconds anyway, it also compares the counts, which bounds the cost of a lost notification. Where
nothing can be heard (a pooler that shares sessions) it compares every 2 seconds instead. A `BoundedCache`
limits what a package keeps by bytes; a value too large for it is queried each time, and results report
`degraded: cache`.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Never, TypeVar

import orjson
import structlog
from cachetools import LRUCache

from festinger.clock import backoff_delays
from festinger.errors import FestingerError, StoreDown
from festinger.ids import SpaceId
from festinger.observability.checks import Check, ok_check, warning_check
from festinger.observability.metrics import CACHE_RELOADS, DEGRADED
from festinger.store.connection import FIRST_PAUSE, LONGEST_PAUSE, Connection, cancel_tasks
from festinger.store.pool import Store, Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.store")

GONE = 0
"""Version of a scope that is no longer counted because its space was erased."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheScope:
    """A unit of caching: one package in one space."""

    space: SpaceId
    room: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheChange:
    """What was written, and the number of the write."""

    what: CacheScope
    version: int


async def bump_cache_version(transaction: Transaction, *, space: SpaceId, room: str) -> int:
    """Count a write and notify the other processes when this transaction commits."""
    row = await transaction.one(Q["raise_cache_version"], space=space, room=room)
    return int(row["version"])


async def load_cache_versions(store: Store) -> Mapping[CacheScope, int]:
    rows = await store.all(Q["cache_versions"])
    return {CacheScope(space=row["space_id"], room=row["room"]): row["version"] for row in rows}


def parse_cache_notification(payload: str) -> CacheChange | None:
    """Parse a notification; return `None` if it is not one of ours."""
    try:
        said = orjson.loads(payload)
        return CacheChange(
            what=CacheScope(space=SpaceId(said["space"]), room=said["room"]), version=int(said["version"])
        )
    except (ValueError, TypeError, KeyError):
        return None


log = structlog.get_logger(room="store")

COMPARE_SECONDS = 30.0
POLL_SECONDS = 2.0
PROOF_SECONDS = 2.0
"""How long a message to oneself may take before the connection counts as deaf."""
DEAF_SECONDS = 60.0
"""Pause before a deaf connection is tried again."""

Reload = Callable[[CacheChange], Awaitable[None]]
"""Brings the cached state of one package in one space up to date. May be called more often than needed."""


class ListenerState(StrEnum):
    STARTING = "starting"
    LISTENING = "listening"
    POLLING = "polling"
    LOST = "lost"


class ReloadReason(StrEnum):
    TOLD = "told"
    COMPARED = "compared"


class CacheListener:
    """Keeps the caches of one process consistent while `run` runs."""

    def __init__(
        self, store: Store, *, compare_every: float = COMPARE_SECONDS, poll_every: float = POLL_SECONDS
    ) -> None:
        self.hearing = ListenerState.STARTING
        self._store = store
        self._compare_every = compare_every
        self._poll_every = poll_every
        self._reloads: defaultdict[str, list[Reload]] = defaultdict(list)
        self._rests: dict[str, float] = {}
        self._resting: set[CacheScope] = set()
        self._seen: dict[CacheScope, int] = {}
        self._pending: dict[CacheScope, tuple[CacheChange, ReloadReason]] = {}
        self._wake = asyncio.Event()
        self._moved = asyncio.Condition()
        self._word_heard = asyncio.Event()

    def on_change(self, room: str, reload: Reload, *, rest: float = 0.0) -> None:
        """Call `reload` for each change of `room`, in any space; a burst within `rest` seconds at its first and after
        its last."""
        self._reloads[room].append(reload)
        self._rests[room] = rest

    async def run(self) -> Never:
        """Listen, compare and reload until canceled. Wait for a store that is down."""
        duties = (self._listen_forever(), self._compare_forever(), self._reload_forever())
        tasks = [asyncio.create_task(duty) for duty in duties]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            done.pop().result()  # they only end with an error
        finally:
            await cancel_tasks(tasks)
        raise AssertionError("its tasks never end")

    async def compare(self) -> None:
        """Schedule a reload of every scope whose version differs from the last one seen."""
        now = await load_cache_versions(self._store)
        for what in now.keys() | self._seen.keys():
            version = now.get(what, GONE)
            heard = self._pending.get(what)
            if self._seen.get(what, GONE) != version and not (heard and heard[0].version > version):
                self._schedule_reload(CacheChange(what=what, version=version), ReloadReason.COMPARED)

    async def caught_up(self, change: CacheChange) -> None:
        """Wait until a change, or a later one of the same scope, has been reloaded here."""
        async with self._moved:
            await self._moved.wait_for(lambda: self._seen.get(change.what, GONE) >= change.version)

    async def _listen_forever(self) -> None:
        pause = backoff_delays(FIRST_PAUSE, LONGEST_PAUSE)
        while True:
            try:
                await self._hear()
                await asyncio.sleep(DEAF_SECONDS)
            except StoreDown as error:
                if self.hearing is ListenerState.LISTENING:
                    pause = backoff_delays(FIRST_PAUSE, LONGEST_PAUSE)
                self.hearing = ListenerState.LOST
                log.warning("listening lost", error=error.message)
                await asyncio.sleep(next(pause))

    async def _hear(self) -> None:
        """Listen until the connection is lost; return only if it turns out to be deaf."""
        async with self._store.apart() as connection:
            await connection.execute(Q["listen"].sql)
            pump = asyncio.create_task(self._pump(connection))
            try:
                if not await self._can_hear_itself(connection, pump):
                    self.hearing = ListenerState.POLLING
                    log.warning("listening is deaf", remedy="set `store.listen_url`")
                    return
                self.hearing = ListenerState.LISTENING
                await self.compare()
                await pump
            finally:
                await cancel_tasks([pump])

    async def _can_hear_itself(self, connection: Connection, pump: asyncio.Task[None]) -> bool:
        """Return whether a message sent through the pool arrives here; behind a pooler it may not."""
        self._word_heard.clear()
        await self._store.run(Q["say_listening"], word=_word(connection))
        proof = asyncio.create_task(self._word_heard.wait())
        done, _ = await asyncio.wait({proof, pump}, timeout=PROOF_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        proof.cancel()
        if pump in done:
            await pump
        return proof in done

    async def _pump(self, connection: Connection) -> None:
        async for notification in connection.notifies():
            if notification.payload == _word(connection):
                self._word_heard.set()
            elif change := parse_cache_notification(notification.payload):
                # Only the last of a burst counts: a reload reads the state at the time it runs.
                self._schedule_reload(change, ReloadReason.TOLD)

    async def _compare_forever(self) -> None:
        while True:
            is_told = self.hearing is ListenerState.LISTENING
            await asyncio.sleep(self._compare_every if is_told else self._poll_every)
            try:
                await self.compare()
            except StoreDown as error:
                log.warning("versions not compared", error=error.message)

    def _schedule_reload(self, change: CacheChange, why: ReloadReason) -> None:
        self._pending[change.what] = (change, why)
        self._wake.set()

    async def _reload_forever(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while ready := [what for what in self._pending if what not in self._resting]:
                change, why = self._pending.pop(ready[0])
                if self._seen.get(change.what, GONE) != change.version:
                    await self._reload(change, why)
                    self._let_rest(change.what)

    def _let_rest(self, what: CacheScope) -> None:
        if rest := self._rests.get(what.room):
            self._resting.add(what)
            asyncio.get_running_loop().call_later(rest, self._end_rest, what)

    def _end_rest(self, what: CacheScope) -> None:
        self._resting.discard(what)
        self._wake.set()

    async def _reload(self, change: CacheChange, why: ReloadReason) -> None:
        try:
            for reload in self._reloads[change.what.room]:
                await reload(change)
        except FestingerError as error:
            # It stays unseen, so the next comparison tries again.
            log.warning("cache not reloaded", cached=change.what.room, error=error.message)
            return
        CACHE_RELOADS.labels(change.what.room, why.value).inc()
        async with self._moved:
            self._seen[change.what] = change.version
            if change.version == GONE:
                del self._seen[change.what]
            self._moved.notify_all()


def check_cache_listener(listener: CacheListener) -> Check:
    """Report how changes of other processes reach this one, for `doctor`."""
    match listener.hearing:
        case ListenerState.LISTENING:
            return ok_check("store.listen", "Changes of other processes are heard at once.")
        case ListenerState.POLLING:
            return warning_check(
                "store.listen",
                f"Changes of other processes are seen after up to {POLL_SECONDS:g} s, at a query every"
                f" {POLL_SECONDS:g} s for each process: this database connection hears no notifications.",
                "Give a URL that goes past the pooler in `store.listen_url`.",
            )
        case _:
            return warning_check(
                "store.listen",
                f"Changes of other processes are seen after up to {COMPARE_SECONDS:g} s:"
                " the connection that hears them is being made.",
                "Look at `store.server` if this stays.",
            )


def _word(connection: Connection) -> str:
    return f"heard by {connection.info.backend_pid}"


DEGRADATION = "cache"
MEGABYTE = 2**20

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """An LRU cache bounded by bytes. `weigh` returns the size of a value."""

    def __init__(self, name: str, *, limit: int, weigh: Callable[[V], int]) -> None:
        self.name = name
        self._weigh = weigh
        self._kept: LRUCache[K, V] = LRUCache(limit, getsizeof=weigh)
        self._too_large: set[K] = set()

    @property
    def limit(self) -> int:
        return int(self._kept.maxsize)

    @property
    def size(self) -> int:
        return int(self._kept.currsize)

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, key: K) -> bool:
        return key in self._kept

    def __iter__(self) -> Iterator[K]:
        return iter(self._kept)

    def find(self, key: K) -> V | None:
        """Return the value of `key`; this counts as a use."""
        return self._kept.get(key)

    def keep(self, key: K, value: V) -> bool:
        """Store a value, replacing an older one; return whether it fits."""
        self._kept.pop(key, None)
        if (size := self._weigh(value)) > self.limit:
            self._refuse(key, size)
            return False
        self._too_large.discard(key)
        self._kept[key] = value
        return True

    def drop(self, key: K) -> None:
        """Remove `key`, and forget that it was too large."""
        self._too_large.discard(key)
        self._kept.pop(key, None)

    def degraded(self, key: K) -> tuple[str, ...]:
        """Return what a result that had to do without the cache reports: `cache`, or nothing."""
        return (DEGRADATION,) if key in self._too_large else ()

    def _refuse(self, key: K, size: int) -> None:
        DEGRADED.labels(DEGRADATION).inc()
        if key not in self._too_large:
            log.warning("cache too small", cached=self.name, size_bytes=size, limit_bytes=self.limit)
        self._too_large.add(key)
