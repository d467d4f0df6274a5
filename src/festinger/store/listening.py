"""Is what this process keeps in memory still true?

A `Listener` hears of every counted write (`versions`) and has the rooms reload what changed. Hearing is the
fast way, comparing the sure one: after a lost connection, and every 30 seconds anyway, the counts are read and
whatever differs is reloaded, so a notification that was lost costs at most that. Where nothing can be heard
(a pooler that shares sessions), the counts are read every 2 seconds instead. What is kept, and how it is
reloaded, is each room's own matter.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Never

import structlog

from festinger.errors import FestingerError, StoreDown
from festinger.observability.checks import Check, ok, warn
from festinger.observability.metrics import CACHE_RELOADS
from festinger.store.cancelling import end_all
from festinger.store.line import Connection, pauses
from festinger.store.pool import Store
from festinger.store.queries import queries_of
from festinger.store.versions import GONE, Cached, Change, read_change, versions

log = structlog.get_logger(room="store")

Q = queries_of("festinger.store")

COMPARE_SECONDS = 30.0
POLL_SECONDS = 2.0
PROOF_SECONDS = 2.0
"""How long a word to oneself may take to come back before the connection counts as deaf."""
DEAF_SECONDS = 60.0
"""How long a deaf connection is left alone before the next try."""

Reload = Callable[[Change], Awaitable[None]]
"""Brings what is kept of one room in one space up to date. May be called more often than needed."""


class Hearing(StrEnum):
    STARTING = "starting"
    LISTENING = "listening"
    POLLING = "polling"
    LOST = "lost"


class Why(StrEnum):
    TOLD = "told"
    COMPARED = "compared"


class Listener:
    """Keeps the caches of one process true while `run` runs."""

    def __init__(
        self, store: Store, *, compare_every: float = COMPARE_SECONDS, poll_every: float = POLL_SECONDS
    ) -> None:
        self.hearing = Hearing.STARTING
        self._store = store
        self._compare_every = compare_every
        self._poll_every = poll_every
        self._reloads: defaultdict[str, list[Reload]] = defaultdict(list)
        self._seen: dict[Cached, int] = {}
        self._pending: dict[Cached, tuple[Change, Why]] = {}
        self._wake = asyncio.Event()
        self._moved = asyncio.Condition()
        self._word_heard = asyncio.Event()

    def on_change(self, room: str, reload: Reload) -> None:
        """Have `reload` called for each change of `room`, in any space."""
        self._reloads[room].append(reload)

    async def run(self) -> Never:
        """Hear, compare and reload until cancelled. A store that is away is waited for."""
        duties = (self._hear_for_ever(), self._compare_for_ever(), self._reload_for_ever())
        tasks = [asyncio.create_task(duty) for duty in duties]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            done.pop().result()  # none of them ends but by a fault
        finally:
            await end_all(tasks)
        raise AssertionError("its tasks never end")

    async def compare(self) -> None:
        """Have everything reloaded whose count is not the one that was seen last."""
        now = await versions(self._store)
        for what in now.keys() | self._seen.keys():
            version = now.get(what, GONE)
            heard = self._pending.get(what)
            if self._seen.get(what, GONE) != version and not (heard and heard[0].version > version):
                self._expect(Change(what=what, version=version), Why.COMPARED)

    async def caught_up(self, change: Change) -> None:
        """Wait until a change, or a later one of the same, was reloaded here."""
        async with self._moved:
            await self._moved.wait_for(lambda: self._seen.get(change.what, GONE) >= change.version)

    async def _hear_for_ever(self) -> None:
        pause = pauses()
        while True:
            try:
                await self._hear()
                await asyncio.sleep(DEAF_SECONDS)
            except StoreDown as error:
                if self.hearing is Hearing.LISTENING:
                    pause = pauses()
                self.hearing = Hearing.LOST
                log.warning("listening lost", error=error.message)
                await asyncio.sleep(next(pause))

    async def _hear(self) -> None:
        """Listen until the connection is lost; returns only if it turns out to be deaf."""
        async with self._store.apart() as connection:
            await connection.execute(Q["listen"].sql)
            pump = asyncio.create_task(self._pump(connection))
            try:
                if not await self._hears_itself(connection, pump):
                    self.hearing = Hearing.POLLING
                    log.warning("listening is deaf", remedy="set `store.listen_url`")
                    return
                self.hearing = Hearing.LISTENING
                await self.compare()
                await pump
            finally:
                await end_all([pump])

    async def _hears_itself(self, connection: Connection, pump: asyncio.Task[None]) -> bool:
        """Whether a word said through the pool comes back here; behind a pooler it may not."""
        self._word_heard.clear()
        await self._store.run(Q["say_listening"], word=_word(connection))
        proof = asyncio.create_task(self._word_heard.wait())
        done, _ = await asyncio.wait(
            {proof, pump}, timeout=PROOF_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        proof.cancel()
        if pump in done:
            await pump
        return proof in done

    async def _pump(self, connection: Connection) -> None:
        async for notification in connection.notifies():
            if notification.payload == _word(connection):
                self._word_heard.set()
            elif change := read_change(notification.payload):
                # Only the last of a burst counts: a reload reads what is there when it runs.
                self._expect(change, Why.TOLD)

    async def _compare_for_ever(self) -> None:
        while True:
            is_told = self.hearing is Hearing.LISTENING
            await asyncio.sleep(self._compare_every if is_told else self._poll_every)
            try:
                await self.compare()
            except StoreDown as error:
                log.warning("versions not compared", error=error.message)

    def _expect(self, change: Change, why: Why) -> None:
        self._pending[change.what] = (change, why)
        self._wake.set()

    async def _reload_for_ever(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._pending:
                change, why = self._pending.pop(next(iter(self._pending)))
                if self._seen.get(change.what, GONE) != change.version:
                    await self._reload(change, why)

    async def _reload(self, change: Change, why: Why) -> None:
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


def check_listening(listener: Listener) -> Check:
    """How changes of other processes reach this one, for `doctor`."""
    match listener.hearing:
        case Hearing.LISTENING:
            return ok("store.listen", "Changes of other processes are heard at once.")
        case Hearing.POLLING:
            return warn(
                "store.listen",
                f"Changes of other processes are seen after up to {POLL_SECONDS:g} s, at a query every"
                f" {POLL_SECONDS:g} s for each process: this database connection hears no notifications.",
                "Give a URL that goes past the pooler in `store.listen_url`.",
            )
        case _:
            return warn(
                "store.listen",
                f"Changes of other processes are seen after up to {COMPARE_SECONDS:g} s:"
                " the connection that hears them is being made.",
                "Look at `store.server` if this stays.",
            )


def _word(connection: Connection) -> str:
    return f"heard by {connection.info.backend_pid}"
