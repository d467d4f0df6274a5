"""Brings captured entries to the store, whatever happens to the store or to this process.

Exchanges, events and records of recalls go to the spool first: many share one fsync, and `put` returns a
future that is done once they are on disk, so that the last byte of a response can wait for it. One task
ingests the spool in batches, in order; an entry leaves the spool only after the store has it, so neither a
kill nor a stop loses one.
Session states and log lines are small and needed by the next request: they go straight to the store, to the
spool only while it is away. A server with a worker process ingests nothing: everything goes to the spool, whose
files are sealed a few times a second for the worker.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from itertools import islice
from typing import Any, Protocol, TypeVar

import structlog

from festinger.clock import Stopwatch
from festinger.errors import BadInput, Unavailable
from festinger.events.catalogue import NewEvent
from festinger.ids import MAIN_SPACE, SpaceId
from festinger.observability.metrics import PROXY_CAPTURE_DROPPED, PROXY_SPOOL_BYTES
from festinger.proxy.capture.exchange import Capture, redact_capture
from festinger.proxy.capture.spool import Spool
from festinger.proxy.capture.write import (
    Entry,
    RequestLogEntry,
    SessionEntry,
    StandaloneEventsEntry,
    WorkPacer,
    decode_entry,
    encode_entry,
    remove_forgotten_sentences,
    write_entries,
)
from festinger.proxy.errors import fail_open
from festinger.runtime.app import App
from festinger.settings.tree import ProxySettings
from festinger.store.repositories.request_log import MalformedLine
from festinger.text.secrets import Redact, redact

log = structlog.get_logger(room="proxy")

QUEUE = 10_000
BATCH = 200
GATHER_SECONDS = 0.02
"""Minimum time that a batch gathers."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
"""Pauses between attempts while the store is away."""
SEAL_SECONDS = 0.2
"""How long the entries of a sealed file gather; a worker ingests many as cheaply as one."""
ADOPT_SECONDS = 60.0
"""How often files of dead processes are looked for."""
FINISH_SECONDS = 5.0
"""How long a stopping process keeps writing; the rest stays in the spool for the next one."""
STUCK_SECONDS = 2.0
"""The next response does not wait for a disk that takes longer than this."""
MEGABYTE = 2**20
MOST_REPORTED = 100
"""Maximum losses reported in one entry."""
MOST_UNREPORTED = 1000
"""Maximum losses reported individually once the store is back."""


RedactOf = Callable[[SpaceId], Redact]
"""Returns the function that redacts texts of a space before they are written."""

T = TypeVar("T")


class SpoolIngester(Protocol):
    """Another process that brings the spool to the store."""

    @property
    def is_running(self) -> bool: ...

    def wake(self) -> None:
        """Say that a file was sealed."""


class _WriteOutcome(Enum):
    DONE = auto()
    AWAY = auto()
    FAILED = auto()


@dataclass(slots=True, kw_only=True)
class CaptureLosses:
    """Losses since the start."""

    dropped: Counter[str] = field(default_factory=Counter)
    """Entries by reason."""
    refused: int = 0
    """Records that were set aside."""


class CaptureWriter:
    """The spool, the task that appends to it, and the task that brings its records to the store."""

    def __init__(
        self,
        app: Callable[[], App | None],
        spool: Spool,
        *,
        settings: Callable[[], ProxySettings],
        stopwatch: Stopwatch,
        redact: RedactOf = lambda _space: redact,
        ingester: SpoolIngester | None = None,
        adopt_seconds: float = ADOPT_SECONDS,
    ) -> None:
        """Without an `ingester`, entries are brought to the store here."""
        self.tally = CaptureLosses()
        self.redact = redact
        self.disk_fault = ""
        """Why the last write to the spool failed; empty while it works."""
        self._app = app
        self._spool = spool
        self._settings = settings
        self._stopwatch = stopwatch
        self._ingester = ingester
        self._adopt_seconds = adopt_seconds
        self._pace = WorkPacer(stopwatch)
        self._disk = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spool")
        self._incoming: list[tuple[Entry, asyncio.Future[None]]] = []
        self._appending: asyncio.Task[None] | None = None
        self._append_began = 0.0
        self._unspooled: deque[Entry] = deque()
        self._quick: deque[Entry] = deque()
        self._batch: asyncio.Task[bool] | None = None
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._pause = 0.0
        self._retry_at = 0.0
        self._adopt_at = 0.0
        self._unreported: list[NewEvent] = []

    @property
    def waiting(self) -> int:
        """Entries in memory that are not on disk yet."""
        return len(self._incoming) + len(self._unspooled)

    @property
    def spooled(self) -> int:
        return self._spool.waiting

    @property
    def set_aside(self) -> int:
        """Bytes of records that could not be read or written."""
        return self._spool.refused_bytes

    @property
    def is_database_down(self) -> bool:
        """Whether the store did not take the last batch, or does not answer."""
        app = self._app()
        return self._pause > 0 or (app is not None and app.store.is_database_down)

    @property
    def has_store(self) -> bool:
        """Whether there is a store that takes waiting entries, and somebody who brings them."""
        is_ingested = self._ingester is None or self._ingester.is_running
        return self._app() is not None and not self.is_database_down and is_ingested

    def wake(self) -> None:
        """Look for entries and files now."""
        self._adopt_at = 0.0
        self._wake.set()

    def put(self, entry: Entry) -> asyncio.Future[None] | None:
        """Take an entry; return a future that is done once it is on disk, or `None` if the queue is full.

        Entries that bypass the spool, and all entries while the disk hangs, get a future that is already
        done.
        """
        stored = asyncio.get_running_loop().create_future()
        if isinstance(entry, SessionEntry | RequestLogEntry):
            if len(self._quick) >= QUEUE:
                self._record_dropped("queue", 1)
                return None
            self._quick.append(entry)
            self._wake.set()
            stored.set_result(None)
        else:
            if self.waiting >= QUEUE:
                self._record_dropped("queue", 1)
                return None
            self._incoming.append((entry, stored))
            if self._appending is None:
                self._append_began = self._stopwatch()
                self._appending = asyncio.create_task(self._append_incoming())
            elif self._stopwatch() - self._append_began > STUCK_SECONDS:
                stored.set_result(None)
        self._idle.clear()
        return stored

    async def settled(self) -> None:
        """Wait until everything that was put is in the store."""
        await self._idle.wait()

    async def run(self) -> None:
        """Write until canceled. A batch in progress is not canceled: `finish` waits for it."""
        while True:
            with fail_open("capture"):
                await self._adopt_orphaned_files()
                await self._work()
            with suppress(TimeoutError):
                until_retry = max(self._retry_at - self._stopwatch(), 0.0)
                async with asyncio.timeout(until_retry if self._pause else self._adopt_seconds):
                    await self._wake.wait()
            await self._wait_for_batch()
            self._wake.clear()

    async def finish(self) -> None:
        """Write what can be written soon; leave the rest in the spool. Call after `run` was canceled."""
        self._retry_at = self._adopt_at = 0.0
        if self._appending is not None:
            await asyncio.wait({self._appending})
        with fail_open("capture"):
            await self._adopt_orphaned_files()
            last = asyncio.create_task(self._work())
            await asyncio.wait({last}, timeout=FINISH_SECONDS)
            last.cancel()
            await asyncio.wait({last})
            if self._batch is not None and not self._batch.done():
                # Nothing leaves a queue or the spool before it is written, so a canceled batch is retried.
                self._batch.cancel()
                await asyncio.wait({self._batch})
        with fail_open("capture"):
            await self._spool_lanes()
        self._record_dropped("disk", len(self._quick) + len(self._unspooled))
        await self._run_on_disk_thread(self._spool.close)
        self._disk.shutdown(wait=False)

    async def _wait_for_batch(self) -> None:
        """Let a batch gather: longer while requests keep coming, which also makes it cheaper."""
        await asyncio.sleep(GATHER_SECONDS if self._ingester is None else SEAL_SECONDS)
        if (app := self._app()) is not None:
            await app.jobs.courtesy.turn()

    async def _run_on_disk_thread(self, act: Callable[..., T], *given: Any) -> T:
        """Run on the one thread that touches the spool."""
        return await asyncio.get_running_loop().run_in_executor(self._disk, act, *given)

    async def _append_incoming(self) -> None:
        """Append incoming entries; those that arrive meanwhile share the next fsync."""
        try:
            while self._incoming:
                batch, self._incoming = self._incoming, []
                self._append_began = self._stopwatch()
                with fail_open("capture spooled"):
                    await self._append_to_spool([entry for entry, _ in batch])
                for _, stored in batch:
                    if not stored.done():
                        stored.set_result(None)
        finally:
            self._appending = None
            self._wake.set()

    async def _adopt_orphaned_files(self) -> None:
        """Adopt files that dead processes left behind."""
        if self._stopwatch() < self._adopt_at or self._ingester is not None:
            return
        self._adopt_at = self._stopwatch() + self._adopt_seconds
        if await self._run_on_disk_thread(self._spool.adopt_unheld_files):
            self._idle.clear()
            PROXY_SPOOL_BYTES.set(self._spool.waiting)

    async def _work(self) -> None:
        """Write until nothing waits or the store is away."""
        if self._ingester is not None:
            await self._hand_over_to_ingester(self._ingester)
            return
        is_behind = False
        while self._quick or self._unspooled or self._spool.waiting:
            with self._hold_jobs() if is_behind else nullcontext():
                if self._stopwatch() < self._retry_at or not await self._write_uncancelled():
                    await self._spool_lanes()
                    return
                self._pause = 0.0
                await self._pace.yield_to_requests()
            is_behind = True
        if not self._incoming and self._appending is None:
            self._idle.set()

    def _hold_jobs(self) -> AbstractContextManager[None]:
        """Let jobs wait, as for a request: what was said goes before what is made of it."""
        app = self._app()
        return nullcontext() if app is None else app.jobs.courtesy.serving()

    async def _hand_over_to_ingester(self, ingester: SpoolIngester) -> None:
        """Give everything to the ingester; only what the disk does not take goes to the store from here."""
        if unreported := self._unreported[:MOST_REPORTED]:
            self._quick.append(StandaloneEventsEntry(space=MAIN_SPACE, happenings=tuple(unreported)))
            del self._unreported[: len(unreported)]
        await self._spool_lanes()
        while self._unspooled and self.disk_fault and await self._write_uncancelled():
            self._pause = 0.0
        if ingester.is_running:
            await self._run_on_disk_thread(self._spool.seal)
            ingester.wake()
        PROXY_SPOOL_BYTES.set(self._spool.waiting)
        if not (self._incoming or self._quick or self._unspooled) and self._appending is None:
            self._idle.set()

    async def _write_uncancelled(self) -> bool:
        """Write a batch in its own task, which continues if the caller is canceled."""
        if self._batch is None or self._batch.done():
            self._batch = asyncio.create_task(self._write_next_batch())
        return await asyncio.shield(self._batch)

    async def _write_next_batch(self) -> bool:
        """Write the next batch; return whether the store took it."""
        if self._quick and not await self._write_from(self._quick):
            return False
        if self._spool.waiting and self._ingester is None:
            return await self._write_spooled()
        return await self._write_from(self._unspooled)

    async def _write_from(self, lane: deque[Entry]) -> bool:
        batch = list(islice(lane, BATCH))
        if not await self._written(batch):
            return False
        for _ in batch:
            lane.popleft()
        return True

    async def _write_spooled(self) -> bool:
        """Write the oldest records of the spool; return whether the store took them."""
        entries: list[Entry] = []
        for record in await self._run_on_disk_thread(self._spool.next, BATCH):
            if isinstance(record, MalformedLine):
                await self._refuse(record)
                continue
            try:
                entries.append(decode_entry(record))
            except BadInput as error:
                await self._refuse(MalformedLine(line=record, reason=error.name))
        if not await self._written(entries):
            return False
        await self._run_on_disk_thread(self._spool.done)
        PROXY_SPOOL_BYTES.set(self._spool.waiting)
        return True

    async def _written(self, entries: Sequence[Entry]) -> bool:
        """Write a batch; return false if the store is away. Set aside entries that cannot be written."""
        outcome = await self._attempt(entries)
        if outcome is _WriteOutcome.FAILED:
            for entry in entries:
                outcome = await self._attempt([entry])
                if outcome is _WriteOutcome.FAILED:
                    await self._refuse(MalformedLine(line=encode_entry(entry), reason="unwritable"))
                elif outcome is _WriteOutcome.AWAY:
                    break
        if outcome is _WriteOutcome.AWAY:
            self._pause = min(max(self._pause * 2, FIRST_PAUSE), LONGEST_PAUSE)
            self._retry_at = self._stopwatch() + self._pause
        return outcome is not _WriteOutcome.AWAY

    async def _attempt(self, entries: Sequence[Entry]) -> _WriteOutcome:
        app = self._app()
        if app is None:
            return _WriteOutcome.AWAY
        with fail_open("capture batch") as attempt:
            try:
                await write_entries(app, await remove_forgotten_sentences(app, entries), pace=self._pace)
            except Unavailable as error:
                log.warning("what was captured waits for the store", error=error.message)
                return _WriteOutcome.AWAY
        with fail_open("capture told"):
            await self._report_losses(app)
        return _WriteOutcome.FAILED if attempt.failed else _WriteOutcome.DONE

    async def _report_losses(self, app: App) -> None:
        """Emit events about losses, now that the store is back."""
        if unreported := self._unreported[:]:
            async with app.store.transaction() as transaction:
                await app.outbox.emit_all(transaction, unreported, space=MAIN_SPACE)
            del self._unreported[: len(unreported)]

    async def _spool_lanes(self) -> None:
        """Move everything that waits only in memory to the spool, oldest first."""
        for lane in (self._quick, self._unspooled):
            for _ in range(0, len(lane), BATCH):
                await self._append_to_spool([lane.popleft() for _ in range(min(len(lane), BATCH))])
                if self.disk_fault:
                    return

    async def _append_to_spool(self, entries: Sequence[Entry]) -> None:
        """Append redacted entries. While the disk fails, they wait in memory for the store."""
        clean = await self._run_on_disk_thread(self._redact_and_encode, entries)
        self._record_dropped("fault", len(entries) - len(clean))
        limit = self._settings().spool_max_mb * MEGABYTE
        try:
            added = await self._run_on_disk_thread(
                partial(self._spool.append, [record for _, record in clean], limit=limit)
            )
        except OSError as error:
            self.disk_fault = error.strerror or type(error).__name__
            log.error("spool not written", error=self.disk_fault)
            held = [entry for entry, _ in clean[: QUEUE - len(self._unspooled)]]
            self._unspooled.extend(held)
            self._record_dropped("disk", len(clean) - len(held))
            return
        self.disk_fault = ""
        PROXY_SPOOL_BYTES.set(self._spool.waiting)
        self._record_dropped("spool", len(clean) - added)

    def _redact_and_encode(self, entries: Sequence[Entry]) -> list[tuple[Entry, bytes]]:
        """Redact and encode entries. One that cannot be redacted may hold secrets and is dropped."""
        clean: list[tuple[Entry, bytes]] = []
        for entry in entries:
            with fail_open("capture cleaned"):
                each = entry
                if isinstance(entry, Capture):
                    each = redact_capture(entry, redact=self.redact(entry.space))
                clean.append((each, encode_entry(each)))
        return clean

    async def _refuse(self, refused: MalformedLine) -> None:
        """Set a record aside and report it."""
        self.tally.refused += 1
        log.error("record set aside", file=refused.file, line=refused.number, reason=refused.reason)
        payload = {"file": refused.file, "line": refused.number, "reason": refused.reason}
        self._unreported.append(NewEvent(name="spool_line_refused", subject="spool", payload=payload))
        try:
            await self._run_on_disk_thread(self._spool.set_aside, refused.line)
        except OSError as error:
            log.error("record lost", error=error.strerror)

    def _record_dropped(self, reason: str, count: int) -> None:
        if count <= 0:
            return
        self.tally.dropped[reason] += count
        PROXY_CAPTURE_DROPPED.inc(count)
        log.error("captured entries dropped", reason=reason, count=count)
        payload = {"count": count, "reason": reason}
        if len(self._unreported) < MOST_UNREPORTED:
            self._unreported.append(NewEvent(name="capture_dropped", subject="capture", payload=payload))
