"""What was captured reaches the store, the spool, or the count of what was lost; the request never waits for it."""

import asyncio
import errno
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from tests.proxy.store_recorder import recorder, recording
from tests.runtime.server import opened, told

from festinger.errors import StoreDown
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, Origin, SessionId, SpaceId
from festinger.observability.metrics import LISTED, PROXY_BREAKERS_OPEN, PROXY_PREFIX_CHANGED
from festinger.proxy.capture import queue as writing
from festinger.proxy.capture.exchange import Capture
from festinger.proxy.capture.spool import Spool
from festinger.proxy.capture.write import RequestLogEntry, encode_entry, write_entries
from festinger.proxy.health import (
    check_capture,
    check_memory_coverage,
    check_prefixes_and_loops,
    explain_missing_memory,
)
from festinger.runtime.app import App
from festinger.settings.tree import ProxySettings
from festinger.store.repositories.exchanges import ExchangeMessage, StoredExchange, session_messages
from festinger.store.repositories.request_log import LoggedRequest, encode_spool_line, list_requests
from festinger.text.secrets import RedactionResult, redact

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)


def capture(number: int, text: str = "", *, space: str = "main", session: str = "s") -> Capture:
    said = ExchangeMessage(
        id=UUID(int=number), role="user", origin=Origin.PERSON, text=text or f"Remember number {number}."
    )
    return Capture(
        space=SpaceId(space),
        exchange=StoredExchange(
            id=UUID(int=1000 + number),
            session=SessionId(session),
            agent=DEFAULT_AGENT,
            request=f"r{number}",
            at=MONDAY,
            said=(said,),
            reply=None,
            tool_calls=[],
            thinking=None,
            ended="whole",
            model="m",
            tokens_read=None,
            tokens_written=None,
            recollection=None,
        ),
        how="new",
        parent=None,
    )


def logged(number: int, memory: str = "empty") -> RequestLogEntry:
    line = LoggedRequest(
        id=f"r{number}", at=MONDAY, agent=DEFAULT_AGENT, session=None, route="/api/chat", model="m", status=200,
        memory=memory, reason="", ended=None, before_ms=0.0, after_ms=0.0,
    )  # fmt: skip
    return RequestLogEntry(space=MAIN_SPACE, request=line)


async def said(app: App, session: str = "s") -> list[str]:
    return sorted(each.text for each in await session_messages(app.store, MAIN_SPACE, SessionId(session)))


@pytest.mark.requirement("P-44", "P-47")
async def test_the_same_exchange_is_written_and_told_once(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app, recording(app, tmp_path) as at:
        for _ in range(3):
            at.writer.put(capture(1))
        await at.kept()
        at.writer.put(capture(1))
        await at.kept()
        events = await told(app, "exchange_captured", "session_started")
        texts = await said(app)

    assert texts == ["Remember number 1."]
    assert sorted(event.name for event in events) == ["exchange_captured", "session_started"]


@pytest.mark.requirement("P-47")
async def test_a_full_queue_drops_and_says_so(database_url: str, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(writing, "QUEUE", 2)
    async with opened(database_url, tmp_path) as app, recording(app, tmp_path) as at:
        taken = [at.writer.put(capture(number)) for number in range(3)]
        await at.kept()
        [event] = await told(app, "capture_dropped")
        check, _ = check_capture(at.writer)

    assert [stored is not None for stored in taken] == [True, True, False]
    assert event.payload == {"count": 1, "reason": "queue"}
    assert (check.severity, check.details) == ("fail", {"dropped": {"queue": 1}})


@pytest.mark.requirement("P-47")
async def test_a_full_spool_drops_the_newest_and_doctor_says_so(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    one = len(encode_spool_line(encode_entry(capture(1))))
    monkeypatch.setattr(writing, "MEGABYTE", 2 * one + 10)
    settings = ProxySettings(spool_max_mb=1)
    without = recorder(lambda: None, tmp_path / "spool", clock=lambda: MONDAY, settings=settings, name="0")
    for number in range(1, 4):
        without.writer.put(capture(number))
    await without.writer.finish()
    queue, _ = check_capture(without.writer)
    async with opened(database_url, tmp_path) as app, recording(app, tmp_path) as at:
        await until(lambda: size_of(tmp_path / "spool" / "0.spool") == 0)
        await at.kept()
        texts = await said(app)

    assert without.writer.tally.dropped == {"spool": 1}
    assert queue.severity == "fail"
    assert texts == ["Remember number 1.", "Remember number 2."]


def contents(file: Path) -> bytes:
    return file.read_bytes()


def size_of(file: Path) -> int:
    # Another thread may remove it at any time.
    with suppress(FileNotFoundError):
        return file.stat().st_size
    return 0


async def until(claim: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not claim():  # noqa: ASYNC110 - the writer tells nobody about its files
            await asyncio.sleep(0.01)


@pytest.mark.requirement("P-47")
async def test_an_entry_that_nobody_can_write_is_set_aside_and_the_others_go_on(database_url: str, tmp_path: Path):
    poison = capture(2)
    poison = Capture(
        space=poison.space,
        exchange=poison.exchange,
        how="x" * 300,  # more than an event may hold
        parent=None,
    )
    async with opened(database_url, tmp_path) as app, recording(app, tmp_path) as at:
        at.writer.put(capture(1, session="one"))
        at.writer.put(poison)
        at.writer.put(capture(3, session="three"))
        await at.kept()
        texts = [*await said(app, "one"), *await said(app), *await said(app, "three")]
        _, spool = check_capture(at.writer)

    assert texts == ["Remember number 1.", "Remember number 3."]
    assert at.writer.tally.refused == 1
    assert spool.severity == "warn"
    assert b"Remember number 2." in contents(tmp_path / "spool" / "spool.bad")


async def test_what_a_deleted_space_said_is_gone_with_it(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app, recording(app, tmp_path) as at:
        at.writer.put(capture(1, space="gone"))
        at.writer.put(capture(2))
        await at.kept()
        texts = await said(app)

    assert texts == ["Remember number 2."]
    assert list((tmp_path / "spool").iterdir()) == []


@pytest.mark.requirement("P-43", "P-47")
async def test_no_secret_reaches_the_spool(tmp_path: Path):
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"
    at = recorder(lambda: None, tmp_path, clock=lambda: MONDAY)
    at.writer.put(capture(1, f"My key is {secret}."))
    await at.writer.finish()

    written = contents(tmp_path / "1.spool")
    assert b"My key is" in written
    assert secret.encode() not in written


@pytest.mark.requirement("P-47")
async def test_what_a_stopping_server_cannot_write_is_written_by_the_next(database_url: str, tmp_path: Path):
    last = recorder(lambda: None, tmp_path / "spool", clock=lambda: MONDAY, name="0")
    last.writer.put(capture(1))
    last.writer.put(logged(1))
    await last.writer.finish()
    async with opened(database_url, tmp_path) as app, recording(app, tmp_path) as at:
        await until(lambda: size_of(tmp_path / "spool" / "0.spool") == 0)
        await at.kept()
        texts, lines = await said(app), await list_requests(app.store, MAIN_SPACE)

    assert texts == ["Remember number 1."]
    assert [line.id for line in lines] == ["r1"]


@pytest.mark.requirement("P-47")
async def test_a_store_that_comes_and_goes_loses_nothing_and_keeps_the_order(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writing, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(writing, "LONGEST_PAUSE", 0.001)
    monkeypatch.setattr(writing, "BATCH", 2)
    calls = 0

    async def flaky(app: App, entries, *, pace):
        nonlocal calls
        calls += 1
        if calls % 3:
            raise StoreDown
        await write_entries(app, entries, pace=pace)

    monkeypatch.setattr(writing, "write_entries", flaky)
    async with opened(database_url, tmp_path) as app, recording(app, tmp_path) as at:
        for number in range(1, 12):
            at.writer.put(capture(number))
        await at.kept()
        events = await told(app, "exchange_captured")
        texts = await said(app)

    assert texts == sorted(f"Remember number {number}." for number in range(1, 12))
    assert [event.trace for event in events] == [f"r{number}" for number in range(1, 12)]


@pytest.mark.requirement("P-47")
async def test_jobs_wait_while_a_backlog_is_brought_in_and_not_for_a_single_batch(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writing, "BATCH", 2)
    held: list[bool] = []

    async def watched(app: App, entries, *, pace):
        held.append(app.jobs.courtesy.is_serving)
        await write_entries(app, entries, pace=pace)

    monkeypatch.setattr(writing, "write_entries", watched)
    async with opened(database_url, tmp_path) as app, recording(app, tmp_path) as at:
        for number in range(1, 7):
            at.writer.put(capture(number))
        await at.kept()
        freed = app.jobs.courtesy.is_serving

    assert held == [False, True, True]
    assert not freed


@pytest.mark.requirement("P-47")
async def test_an_entry_is_on_disk_when_its_future_is_done_and_many_share_one_append(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    appended: list[int] = []
    append = Spool.append

    def counted(spool: Spool, records, *, limit: int) -> int:
        appended.append(len(records))
        return append(spool, records, limit=limit)

    monkeypatch.setattr(Spool, "append", counted)
    at = recorder(lambda: None, tmp_path, clock=lambda: MONDAY)
    stored = [at.writer.put(capture(number)) for number in range(50)]
    await asyncio.gather(*(each for each in stored if each is not None))

    assert contents(tmp_path / "1.spool").count(b"\n") == 50
    assert appended == [50]
    await at.writer.finish()


@pytest.mark.requirement("P-47")
async def test_an_entry_that_cannot_be_cleaned_is_written_nowhere_and_takes_no_other_along(tmp_path: Path):
    def faulty(text: str) -> RedactionResult:
        if "number 2" in text:
            raise ZeroDivisionError
        return redact(text)

    at = recorder(lambda: None, tmp_path, clock=lambda: MONDAY)
    at.writer.redact = lambda _space: faulty
    stored = [at.writer.put(capture(number)) for number in (1, 2, 3)]
    await asyncio.gather(*(each for each in stored if each is not None))

    written = contents(tmp_path / "1.spool")
    assert [f"number {number}".encode() in written for number in (1, 2, 3)] == [True, False, True]
    assert at.writer.tally.dropped == {"fault": 1}
    await at.writer.finish()


@pytest.mark.requirement("P-47")
async def test_a_writer_that_is_cancelled_in_the_middle_of_a_batch_loses_nothing_of_it(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    began, goes_on = asyncio.Event(), asyncio.Event()

    async def slow(app: App, entries, *, pace):
        began.set()
        await goes_on.wait()
        await write_entries(app, entries, pace=pace)

    monkeypatch.setattr(writing, "write_entries", slow)
    async with opened(database_url, tmp_path) as app:
        at = recorder(lambda: app, tmp_path / "spool", clock=lambda: MONDAY)
        working = asyncio.create_task(at.writer.run())
        for number in range(3):
            at.writer.put(capture(number))
            at.writer.put(logged(number))
        await began.wait()
        working.cancel()
        await asyncio.wait({working})
        goes_on.set()
        await at.writer.finish()
        texts, lines = await said(app), await list_requests(app.store, MAIN_SPACE)

    assert texts == [f"Remember number {number}." for number in range(3)]
    assert len(lines) == 3
    assert list((tmp_path / "spool").iterdir()) == []


@pytest.mark.requirement("P-47")
async def test_a_store_that_hangs_at_the_end_leaves_everything_in_the_spool(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def hangs(app: App, entries, *, pace):
        await asyncio.Event().wait()

    monkeypatch.setattr(writing, "write_entries", hangs)
    monkeypatch.setattr(writing, "FINISH_SECONDS", 0.01)
    async with opened(database_url, tmp_path) as app:
        at = recorder(lambda: app, tmp_path / "spool", clock=lambda: MONDAY)
        at.writer.put(capture(1))
        at.writer.put(logged(1))
        await at.writer.finish()

    kinds = [
        line.split(b'"kind":"')[1].split(b'"')[0] for line in contents(tmp_path / "spool" / "1.spool").splitlines()
    ]
    assert sorted(kinds) == [b"exchange", b"request"]


@pytest.mark.requirement("F-18", "P-47")
async def test_a_full_disk_fails_a_check_while_the_store_still_takes_everything(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    async with opened(database_url, tmp_path) as app, recording(app, tmp_path) as at:
        with monkeypatch.context() as broken:
            broken.setattr(Spool, "append", full)
            stored = at.writer.put(capture(1))
            assert stored is not None
            await stored
            check, _ = check_capture(at.writer)
        await at.kept()
        texts = await said(app)
        at.writer.put(capture(2))
        await at.kept()
        mended, _ = check_capture(at.writer)

    assert check.severity == "fail"
    assert "No space left on device" in check.message
    assert texts == ["Remember number 1."]
    assert mended.severity == "ok"


@pytest.mark.requirement("P-50")
async def test_a_disk_that_hangs_holds_up_no_later_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    thawed = threading.Event()
    append = Spool.append

    def hangs(spool: Spool, records, *, limit: int) -> int:
        thawed.wait()
        return append(spool, records, limit=limit)

    monkeypatch.setattr(Spool, "append", hangs)
    monkeypatch.setattr(writing, "STUCK_SECONDS", -1.0)
    at = recorder(lambda: None, tmp_path, clock=lambda: MONDAY)
    first, second = at.writer.put(capture(1)), at.writer.put(capture(2))

    assert first is not None
    assert not first.done()
    assert second is not None
    assert second.done()
    thawed.set()
    await at.writer.finish()
    assert contents(tmp_path / "1.spool").count(b"\n") == 2


@pytest.mark.requirement("P-91")
async def test_that_more_than_a_twentieth_went_without_memory_is_a_failure_with_its_cause(
    database_url: str, tmp_path: Path
):
    async with opened(database_url, tmp_path) as app, recording(app, tmp_path) as at:
        for number in range(57):
            at.writer.put(logged(number))
        for number, result in ((57, "late"), (58, "late"), (59, "failed")):
            at.writer.put(logged(number, result))
        for number in range(60, 70):
            at.writer.put(logged(number, "off"))
        await at.kept()
        fine = await check_memory_coverage(app.store, now=MONDAY)
        at.writer.put(logged(70, "not-ready"))
        await at.kept()
        much = await check_memory_coverage(app.store, now=MONDAY)
        later = await check_memory_coverage(app.store, now=MONDAY + timedelta(hours=2))

    assert (fine.severity, much.severity, later.severity) == ("ok", "fail", "ok")
    assert "7% of the 61 requests" in much.message
    assert "memory took longer than a request waits" in much.message
    assert "proxy.memory_deadline_ms" in much.remedy
    assert much.details["reasons"] == {"late": 2, "failed": 1, "not-ready": 1}


@pytest.mark.requirement("P-91")
@pytest.mark.parametrize(
    ("result", "reason", "says"),
    [
        ("late", "busy", "more requests asked memory at once"),
        ("late", "words", "finding by meaning"),
        ("not-ready", "store", "the store was not open"),
        ("failed", "fault", "something inside Festinger broke"),
        ("failed", "StoreDown", "memory failed (StoreDown)"),
    ],
)
def test_each_reason_is_said_in_plain_words_with_what_to_do(result: str, reason: str, says: str):
    cause, remedy = explain_missing_memory(result, reason)

    assert says in cause
    assert remedy


@pytest.mark.requirement("P-91")
def test_a_spool_that_waits_is_told(tmp_path: Path):
    spool = Spool(tmp_path, name="0")
    spool.append([b"something"], limit=1000)
    spool.close()
    at = recorder(lambda: None, tmp_path, clock=lambda: MONDAY)
    at.writer._spool.adopt_unheld_files()

    queue, waiting = check_capture(at.writer)

    assert (queue.severity, waiting.severity) == ("ok", "warn")


@pytest.mark.requirement("P-91")
def test_moved_prefixes_and_open_breakers_are_told():
    before = {check.name: check.details for check in check_prefixes_and_loops()}
    PROXY_PREFIX_CHANGED.labels("notes").inc()
    PROXY_BREAKERS_OPEN.inc()
    try:
        prefix, breakers = check_prefixes_and_loops()
    finally:
        PROXY_BREAKERS_OPEN.dec()

    assert (prefix.severity, breakers.severity) == ("warn", "warn")
    assert prefix.details["changed"] == before["proxy.prefix"]["changed"] + 1
    assert breakers.details["open"] == before["proxy.breakers"]["open"] + 1


NAMED = {
    "requests": ("route", "status"), "overhead_seconds": ("phase",), "memory": ("result", "reason"),
    "notes_injected": (), "block_tokens": (), "prefix_changed": ("reason",), "loops": ("rule", "level"),
    "stream_cuts": ("rule",), "breakers_open": (), "upstream_errors": ("kind",), "cancelled": ("window",),
    "capture_dropped": (), "spool_bytes": (), "sessions": (),
}  # fmt: skip


@pytest.mark.requirement("P-90")
def test_every_number_of_the_door_is_shown_with_its_labels():
    shown = {
        metric.name.removeprefix("festinger_proxy_").removesuffix("_total"): metric.labels
        for metric in LISTED
        if metric.name.startswith("festinger_proxy_")
    }

    assert NAMED.items() <= shown.items()


class Ingester:
    """Another process that would bring the spool to the store."""

    def __init__(self, *, is_running: bool) -> None:
        self.is_running = is_running
        self.woken = 0

    def wake(self) -> None:
        self.woken += 1


@pytest.mark.requirement("P-47")
async def test_a_writer_with_an_ingester_only_seals_files_and_a_second_process_brings_them_in(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writing, "SEAL_SECONDS", 0.0)
    ingester = Ingester(is_running=True)
    async with opened(database_url, tmp_path) as app:
        server = recorder(lambda: app, tmp_path / "spool", clock=lambda: MONDAY, name="0", ingester=ingester)
        working = asyncio.create_task(server.writer.run())
        server.writer.put(capture(1))
        server.writer.put(logged(1))
        await server.writer.settled()
        before = await said(app)
        async with recording(app, tmp_path) as worker:
            worker.writer.wake()
            await until(lambda: not size_of(tmp_path / "spool" / "0.spool"))
            await worker.kept()
        texts, lines = await said(app), await list_requests(app.store, MAIN_SPACE)
        working.cancel()
        await asyncio.wait({working})
        await server.writer.finish()

    assert ingester.woken
    assert (before, texts, [line.id for line in lines]) == ([], ["Remember number 1."], ["r1"])


@pytest.mark.requirement("P-47", "P-91")
async def test_without_its_ingester_a_writer_keeps_everything_in_one_file_and_doctor_says_so(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writing, "SEAL_SECONDS", 0.0)
    ingester = Ingester(is_running=False)
    async with opened(database_url, tmp_path) as app:
        server = recorder(lambda: app, tmp_path / "spool", clock=lambda: MONDAY, name="0", ingester=ingester)
        working = asyncio.create_task(server.writer.run())
        for number in range(3):
            server.writer.put(capture(number))
            await server.writer.settled()
        _, spool = check_capture(server.writer)
        working.cancel()
        await asyncio.wait({working})
        await server.writer.finish()

    assert [path.name for path in (tmp_path / "spool").iterdir()] == ["0.spool"]
    assert ingester.woken == 0
    assert spool.severity == "warn"
