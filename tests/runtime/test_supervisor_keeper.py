"""The house opens in the background, and whatever is in the way is told and tried again."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from structlog.testing import capture_logs
from tests.runtime.server import SOON, opened, settings_of

from festinger.clock import backoff_delays
from festinger.errors import BadSetting, FestingerError, SchemaTooNew, StoreDown
from festinger.ids import MAIN_SPACE, SpaceId
from festinger.observability.checks import Check
from festinger.runtime.app import App
from festinger.runtime.supervisor import FIRST_PAUSE, LONGEST_PAUSE, RECENT_SECONDS, Supervisor
from festinger.store.repositories.spaces import ConfigRow, put_config

APP = cast(App, type("AnApp", (), {"door": "test"})())


class Pauses:
    """Notes how long it was to wait, and does not wait."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seen.append(seconds)
        await asyncio.sleep(0)


def opening(*failures: BaseException, closed: list[str] | None = None) -> Callable[[], Any]:
    """Fails in these ways first, then opens."""
    waiting: Iterator[BaseException] = iter(failures)

    @asynccontextmanager
    async def open_it() -> AsyncIterator[App]:
        if (failure := next(waiting, None)) is not None:
            raise failure
        yield APP
        if closed is not None:
            closed.append("closed")

    return open_it


async def until_open(supervisor: Supervisor) -> None:
    async with asyncio.timeout(SOON):
        while not supervisor.is_open():  # noqa: ASYNC110 - the keeper tells nobody when it is open
            await asyncio.sleep(0)


@pytest.mark.requirement("X-106")
async def test_a_store_that_comes_late_is_waited_for_with_growing_pauses(tmp_path: Path):
    wait, closed = Pauses(), list[str]()
    failures = [StoreDown(), StoreDown(), SchemaTooNew()]
    supervisor = Supervisor(settings_of(None, tmp_path), opening(*failures, closed=closed), pause=wait)
    keeping = asyncio.create_task(supervisor.keep())
    await until_open(supervisor)

    assert wait.seen == [0.5, 1.0, 2.0]
    assert supervisor.need() is APP
    assert supervisor.problem is None
    supervisor.stop()
    await asyncio.wait_for(keeping, SOON)
    assert closed == ["closed"]
    assert not supervisor.is_open()


def test_pauses_grow_up_to_half_a_minute():
    first = list(islice(backoff_delays(FIRST_PAUSE, LONGEST_PAUSE), 12))

    assert first == sorted(first)
    assert first[-1] == LONGEST_PAUSE == 30.0


@pytest.mark.requirement("X-106")
@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (StoreDown("Nobody answers at the database."), "Nobody answers"),
        (BadSetting("A row does not fit."), "A row does not fit"),
        (RuntimeError("a fault of ours"), "Something went wrong inside Festinger"),
    ],
)
async def test_whatever_is_in_the_way_is_told_and_does_not_end_the_keeper(
    failure: Exception, words: str, tmp_path: Path
):
    told: list[FestingerError | None] = []
    supervisor: Supervisor

    async def look(_seconds: float) -> None:
        told.append(supervisor.problem)

    supervisor = Supervisor(settings_of(None, tmp_path), opening(failure), pause=look)
    with capture_logs() as lines:
        keeping = asyncio.create_task(supervisor.keep())
        await until_open(supervisor)
        supervisor.stop()
        await asyncio.wait_for(keeping, SOON)

    assert told[0] is not None
    assert words in told[0].message
    assert [line["event"] for line in lines if line["log_level"] == "error"][-1] == (
        "no store, requests pass untouched"
    )


async def test_a_stop_does_not_wait_for_the_next_try(tmp_path: Path):
    async def for_ever(_seconds: float) -> None:
        supervisor.stop()
        await asyncio.Event().wait()

    supervisor = Supervisor(settings_of(None, tmp_path), opening(StoreDown()), pause=for_ever)

    await asyncio.wait_for(supervisor.keep(), SOON)
    assert not supervisor.is_open()


async def test_a_fault_at_closing_ends_the_keeper_and_is_kept(tmp_path: Path):
    @asynccontextmanager
    async def breaks_at_the_end() -> AsyncIterator[App]:
        yield APP
        raise StoreDown

    supervisor = Supervisor(settings_of(None, tmp_path), breaks_at_the_end)
    keeping = asyncio.create_task(supervisor.keep())
    await until_open(supervisor)
    supervisor.stop()
    await asyncio.wait_for(keeping, SOON)

    assert isinstance(supervisor.problem, StoreDown)


async def test_without_a_store_nobody_is_known_and_only_main_is_there(tmp_path: Path):
    supervisor = Supervisor(settings_of(None, tmp_path), opening())

    with pytest.raises(StoreDown, match="still starting"):
        await supervisor.find_key("fst_" + "x" * 43)
    assert supervisor.known_space("main") == MAIN_SPACE
    assert supervisor.known_space("team") is None


@pytest.mark.requirement("X-15")
async def test_a_row_that_no_longer_fits_is_told_and_the_house_opens_without_it(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as other:
        bad = ConfigRow(
            space=SpaceId("*"), key="llm.max_parallel", value="many", updated_at=other.tools.clock(), updated_by="x"
        )
        async with other.store.transaction() as transaction:
            await put_config(transaction, bad)
        settings = settings_of(database_url, tmp_path)
        async with opened(database_url, tmp_path, settings=settings):
            problem = settings.problem
            before = settings.now.llm.max_parallel
            async with other.store.transaction() as transaction:
                await put_config(transaction, ConfigRow(**{**_fields(bad), "value": "5"}))
            async with asyncio.timeout(SOON):
                while settings.problem:  # noqa: ASYNC110 - a mended row is heard of by the listener
                    await asyncio.sleep(0.01)

    assert problem is not None
    assert "llm.max_parallel" in problem.message
    assert (before, settings.now.llm.max_parallel) == (4, 5)


def _fields(row: ConfigRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("space", "key", "value", "updated_at", "updated_by")}


async def test_pages_get_checks_that_are_at_most_half_a_minute_old(tmp_path: Path):
    now, run = [100.0], list[float]()

    class Counting(Supervisor):
        async def checks(self, *, ask_models: bool = False) -> list[Check]:
            run.append(now[0])
            return []

    supervisor = Counting(settings_of(None, tmp_path), lambda: None)  # type: ignore[arg-type,return-value]
    await supervisor.recent_checks()
    supervisor.app = SimpleNamespace(tools=SimpleNamespace(stopwatch=lambda: now[0]))  # type: ignore[assignment]
    for seconds in (0.0, RECENT_SECONDS, RECENT_SECONDS + 1):
        now[0] = 100.0 + seconds
        await supervisor.recent_checks()

    assert run == [100.0, 100.0, 101.0 + RECENT_SECONDS]
