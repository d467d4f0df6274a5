"""Who brings what passed through to the store, whatever happens to the store?

A bounded queue takes what requests leave behind, at once and without waiting; one task writes it in batches beside
them. With the store away, or with more than it can keep up with, entries go to the spool and come back in their
order; while some wait there, the younger ones wait behind them. States of sessions and lines of the log do not queue
up behind exchanges: they are small, and the next request needs the former. What cannot be kept is counted and told.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import structlog

from festinger.app.wiring import App
from festinger.clock import Stopwatch
from festinger.errors import BadInput, Unavailable
from festinger.events.event import Happening
from festinger.ids import MAIN_SPACE, SpaceId
from festinger.proxy.capture import Capture, without_any_secret
from festinger.proxy.edge import going_on
from festinger.proxy.entries import Entry, Happened, entry_in, record_of
from festinger.proxy.pacing import Pace
from festinger.proxy.replaying import as_remembered
from festinger.proxy.spool import Refused, Spool
from festinger.proxy.writing import write
from festinger.seeing.metrics import PROXY_CAPTURE_DROPPED, PROXY_SPOOL_BYTES
from festinger.settings.tree import ProxySettings
from festinger.text.redaction import Redact, redact

log = structlog.get_logger(room="proxy")

QUEUE = 10_000
CROWDED = QUEUE // 2
"""With more waiting than this the oldest go to the spool, which is quicker than the store."""
BATCH = 200
GATHER_SECONDS = 0.02
"""How long a batch gathers at least."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
"""Between tries while the store is away."""
ADOPT_SECONDS = 60.0
"""How often files of dead processes are looked for."""
FINISH_SECONDS = 5.0
"""How long a process that stops goes on writing before it spools the rest."""
MEGABYTE = 2**20
UNTOLD = 1000
"""Losses that are told one by one once the store is back."""


RedactOf = Callable[[SpaceId], Redact]
"""What a space takes out of texts before they are written."""


def secrets_only(_space: SpaceId) -> Redact:
    return redact


class _Outcome(Enum):
    DONE = auto()
    AWAY = auto()
    FAILED = auto()


@dataclass(slots=True, kw_only=True)
class Tally:
    """What could not be kept, since the start."""

    dropped: Counter[str] = field(default_factory=Counter)
    """Entries by reason."""
    refused: int = 0
    """Records that were set aside."""


class Writer:
    """The queue and the task that empties it."""

    def __init__(
        self,
        app: Callable[[], App | None],
        spool: Spool,
        *,
        settings: Callable[[], ProxySettings],
        stopwatch: Stopwatch,
        redact: RedactOf = secrets_only,
    ) -> None:
        self.tally = Tally()
        self.redact = redact
        self._app = app
        self._spool = spool
        self._settings = settings
        self._stopwatch = stopwatch
        self._pace = Pace(stopwatch)
        self._queue: deque[Capture | Happened] = deque()
        self._quick: deque[Entry] = deque()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._pause = 0.0
        self._retry_at = 0.0
        self._untold: list[Happening] = []

    @property
    def waiting(self) -> int:
        """Exchanges in the queue."""
        return len(self._queue)

    @property
    def spooled(self) -> int:
        """Bytes in the spool."""
        return self._spool.waiting

    @property
    def set_aside(self) -> int:
        """Bytes of records that could not be read or written."""
        return self._spool.refused_bytes

    @property
    def is_away(self) -> bool:
        """Whether the store did not take the last batch."""
        return self._pause > 0

    @property
    def is_settled(self) -> bool:
        """Whether nothing waits."""
        return not (self._queue or self._quick or self._spool.waiting)

    def put(self, entry: Entry) -> bool:
        """Take an entry; returns at once, false if there is no room for it."""
        lane = self._lane(entry)
        if len(lane) >= QUEUE:
            self._dropped("queue", 1)
            return False
        lane.append(entry)
        self._idle.clear()
        self._wake.set()
        return True

    async def settled(self) -> None:
        """Wait until everything that was put is in the store."""
        await self._idle.wait()

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            with going_on("capture"):
                await self._look_for_files()
                await self._work()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._until_next()):
                    await self._wake.wait()
            await self._gather()
            self._wake.clear()

    async def finish(self) -> None:
        """The end: write what can be written soon, spool the rest."""
        self._retry_at = 0.0
        with going_on("capture"), suppress(TimeoutError):
            async with asyncio.timeout(FINISH_SECONDS):
                await self._work()
        with going_on("capture"):
            await self._spool_all()
        await asyncio.to_thread(self._spool.close)

    async def _gather(self) -> None:
        """Let a batch gather: longer while requests come one after the other, which also makes it cheaper."""
        await asyncio.sleep(GATHER_SECONDS)
        if (app := self._app()) is not None:
            await app.jobs.courtesy.turn()

    def _lane(self, entry: Entry) -> deque[Any]:
        # What happened is told in the order of the exchanges that it lies between.
        return self._queue if isinstance(entry, Capture | Happened) else self._quick

    def _until_next(self) -> float:
        return max(self._retry_at - self._stopwatch(), 0.0) if self.is_away else ADOPT_SECONDS

    async def _look_for_files(self) -> None:
        """Take over what dead processes left behind."""
        if await asyncio.to_thread(self._spool.adopt):
            self._idle.clear()
            PROXY_SPOOL_BYTES.set(self._spool.waiting)

    async def _work(self) -> None:
        """Write until nothing waits or the store is away."""
        while not self.is_settled:
            if self._stopwatch() < self._retry_at or not await self._write_some():
                await self._spool_all()
                return
            self._pause = 0.0
            await self._pace.breathe()
        self._idle.set()

    async def _write_some(self) -> bool:
        """Write a batch of whatever is next; whether the store took it."""
        if self._quick and not await self._write_from(self._quick):
            return False
        if len(self._queue) > CROWDED:
            await self._to_spool(await self._taken(self._queue, len(self._queue) - CROWDED))
        if self._spool.waiting:
            return await self._replay()
        return await self._write_from(self._queue)

    async def _write_from(self, lane: deque[Any]) -> bool:
        batch = await self._taken(lane, BATCH)
        if await self._written(batch):
            return True
        # They are older than whatever still queues, and the spool was empty or these do not queue.
        await self._to_spool(batch)
        return False

    async def _taken(self, lane: deque[Any], most: int) -> list[Entry]:
        """The first entries of a lane, without secrets."""
        batch: list[Entry] = []
        for entry in [lane.popleft() for _ in range(min(len(lane), most))]:
            if not isinstance(entry, Capture):
                batch.append(entry)
                continue
            with going_on("capture cleaned") as attempt:
                batch.append(without_any_secret(entry, redact=self.redact(entry.space)))
            if attempt.failed:
                # Nobody can say what stands in it, so it may be written nowhere.
                self._dropped("fault", 1)
            await self._pace.breathe()
        return batch

    async def _replay(self) -> bool:
        """Write what waited longest in the spool; whether the store took it."""
        entries: list[Entry] = []
        for record in await asyncio.to_thread(self._spool.next, BATCH):
            if isinstance(record, Refused):
                await self._refuse(record)
                continue
            try:
                entries.append(entry_in(record))
            except BadInput as error:
                await self._refuse(Refused(line=record, reason=error.name))
        if not await self._written(entries, late=True):
            return False
        await asyncio.to_thread(self._spool.done)
        PROXY_SPOOL_BYTES.set(self._spool.waiting)
        return True

    async def _written(self, entries: Sequence[Entry], *, late: bool = False) -> bool:
        """Write a batch; false if the store is away. An entry that nobody can write is set aside."""
        outcome = await self._attempt(entries, late=late)
        if outcome is _Outcome.FAILED:
            for entry in entries:
                outcome = await self._attempt([entry], late=late)
                if outcome is _Outcome.FAILED:
                    await self._refuse(Refused(line=record_of(entry), reason="unwritable"))
                elif outcome is _Outcome.AWAY:
                    break
        if outcome is _Outcome.AWAY:
            self._pause = min(max(self._pause * 2, FIRST_PAUSE), LONGEST_PAUSE)
            self._retry_at = self._stopwatch() + self._pause
        return outcome is not _Outcome.AWAY

    async def _attempt(self, entries: Sequence[Entry], *, late: bool) -> _Outcome:
        app = self._app()
        if app is None:
            return _Outcome.AWAY
        with going_on("capture batch") as attempt:
            try:
                if late:
                    entries = [await as_remembered(app, entry) for entry in entries]
                await write(app, entries, pace=self._pace)
            except Unavailable as error:
                log.warning("what was captured waits for the store", error=error.message)
                return _Outcome.AWAY
        with going_on("capture told"):
            await self._tell(app)
        return _Outcome.FAILED if attempt.failed else _Outcome.DONE

    async def _tell(self, app: App) -> None:
        """Say what could not be kept, now that somebody hears it."""
        if untold := self._untold[:]:
            async with app.store.transaction() as transaction:
                await app.outbox.emit_all(transaction, untold, space=MAIN_SPACE)
            del self._untold[: len(untold)]

    async def _spool_all(self) -> None:
        """Put everything that waits in memory into the spool, the oldest first."""
        for lane in (self._quick, self._queue):
            while lane:
                await self._to_spool(await self._taken(lane, BATCH))

    async def _to_spool(self, entries: Sequence[Entry]) -> None:
        if not entries:
            return
        records = [record_of(entry) for entry in entries]
        limit = self._settings().spool_max_mb * MEGABYTE
        try:
            added = await asyncio.to_thread(self._spool.append, records, limit=limit)
        except OSError as error:
            log.error("spool not written", error=error.strerror)
            self._dropped("disk", len(records))
            return
        PROXY_SPOOL_BYTES.set(self._spool.waiting)
        if added < len(records):
            self._dropped("spool", len(records) - added)

    async def _refuse(self, refused: Refused) -> None:
        """Set a record aside, and say so."""
        self.tally.refused += 1
        log.error("record set aside", file=refused.file, line=refused.number, reason=refused.reason)
        payload = {"file": refused.file, "line": refused.number, "reason": refused.reason}
        self._untold.append(Happening(name="spool_line_refused", subject="spool", payload=payload))
        try:
            await asyncio.to_thread(self._spool.set_aside, refused.line)
        except OSError as error:
            log.error("record lost", error=error.strerror)

    def _dropped(self, reason: str, count: int) -> None:
        self.tally.dropped[reason] += count
        PROXY_CAPTURE_DROPPED.inc(count)
        log.error("captured entries dropped", reason=reason, count=count)
        payload = {"count": count, "reason": reason}
        if len(self._untold) < UNTOLD:
            self._untold.append(Happening(name="capture_dropped", subject="capture", payload=payload))
