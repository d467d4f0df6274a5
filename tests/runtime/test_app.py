"""The rooms joined: what a start writes down, goes without, and leaves behind."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.runtime.server import SOON, opened, settings_of, told

from festinger.errors import BadSetting, CannotStart
from festinger.ids import MAIN_SPACE
from festinger.observability.metrics import DEGRADED
from festinger.runtime.app import StartOptions, all_migrations
from festinger.runtime.lifecycle import record_stop, schema_before
from festinger.services.status import build_status
from festinger.store.cache_invalidation import ListenerState
from festinger.store.repositories.spaces import ProcessRun, begin_run, load_run_summary


def counted(what: str) -> float:
    value: float = DEGRADED.labels(what)._value.get()
    return value


@pytest.mark.requirement("X-07")
@pytest.mark.parametrize(("key", "what"), [("embedding__model", "embedder"), ("rerank__model", "reranker")])
async def test_what_cannot_be_had_is_gone_without_and_said_in_value_log_and_counter(
    key: str, what: str, database_url: str, tmp_path: Path
):
    flags: dict[str, Any] = {"embedding__model": "hashed:64", key: f"onnx:{tmp_path}/nowhere/"}
    before = counted(what)
    with capture_logs() as lines:
        async with opened(database_url, tmp_path, start=StartOptions(providers=True), **flags) as app:
            degraded = app.degraded
            told_in_status = (await build_status(app, space=MAIN_SPACE))["health"]["degraded"]

    assert degraded == (what,)
    assert told_in_status == [what]
    assert counted(what) == before + 1
    assert f"goes on without {what}" in [line["event"] for line in lines]


@pytest.mark.requirement("X-07")
async def test_with_everything_there_nothing_is_degraded(database_url: str, tmp_path: Path):
    flags: dict[str, Any] = {"embedding__model": "hashed:64", "rerank__model": "lexical:"}
    async with opened(database_url, tmp_path, start=StartOptions(providers=True), **flags) as app:
        assert app.degraded == ()
        assert app.embedder is not None
        assert app.reranker is not None


async def test_a_provider_that_does_not_exist_is_a_mistake_and_stops_the_start(database_url: str, tmp_path: Path):
    with pytest.raises(BadSetting, match="names no reranker"):
        async with opened(
            database_url, tmp_path, start=StartOptions(providers=True), embedding__model="none:", rerank__model="no:x"
        ):
            pass


@pytest.mark.requirement("X-100")
async def test_a_process_that_died_without_a_word_is_told_by_the_next_one_once(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        dead = ProcessRun(
            id=app.tools.new_id(), door="serve", version="0", host=socket.gethostname(), pid=2**22 + 1,
            started_at=app.tools.clock(),
        )  # fmt: skip
        async with app.store.transaction() as transaction:
            await begin_run(transaction, dead)

    async with opened(database_url, tmp_path), opened(database_url, tmp_path) as app:
        (event,) = await told(app, "process_crashed")
        lived = await load_run_summary(app.store, now=app.tools.clock())

        assert event.payload == {"run": str(dead.id)}
        assert lived.crashes == 1


@pytest.mark.requirement("X-100")
async def test_a_process_that_ends_well_says_so(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path):
        pass
    async with opened(database_url, tmp_path) as app:
        assert await told(app, "process_crashed") == []
        assert (await load_run_summary(app.store, now=app.tools.clock())).restarts == 1


async def test_an_end_that_cannot_be_written_down_is_logged_and_goes_on(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        run = ProcessRun(id=app.tools.new_id(), door="test", version="0", host="h", pid=1, started_at=app.tools.clock())
        await app.store.pool.close()
        with capture_logs() as lines:
            await record_stop(app, run)

    assert [line["event"] for line in lines] == ["end of this process not written down"]


async def test_a_new_shape_is_told_with_the_one_before(empty_database_url: str, tmp_path: Path):
    async with opened(empty_database_url, tmp_path) as app:
        (event,) = await told(app, "schema_migrated")

        assert event.payload == {"from": None, "to": all_migrations()[-1].name}
        assert app.applied == tuple(migration.name for migration in all_migrations())


def test_the_shape_before_is_the_migration_before_the_first_that_was_applied():
    names = ["a", "b", "c"]

    assert schema_before(["b", "c"], names) == "a"
    assert schema_before(["a", "b", "c"], names) is None


async def test_a_database_in_an_older_shape_is_left_alone_unless_migrating_is_allowed(
    empty_database_url: str, tmp_path: Path
):
    with pytest.raises(CannotStart):
        async with opened(empty_database_url, tmp_path, start=StartOptions(migrate=False)):
            pass
    async with opened(empty_database_url, tmp_path, start=StartOptions(migrate=True)) as app:
        assert app.applied


@pytest.mark.parametrize("rounds", [0, 1, 2, 5, 20, 100])
async def test_closing_is_prompt_at_whatever_point_listening_is(rounds: int, database_url: str, tmp_path: Path):
    async with asyncio.timeout(SOON):
        async with opened(database_url, tmp_path) as app:
            if rounds:
                while app.listener.hearing is not ListenerState.LISTENING:  # noqa: ASYNC110 - to the very step
                    await asyncio.sleep(0)
            for _ in range(rounds):
                await asyncio.sleep(0)

    assert app.background._tasks == set()


async def test_a_start_that_fails_late_closes_what_was_open(database_url: str, tmp_path: Path):
    before = asyncio.all_tasks()
    with pytest.raises(BadSetting):
        async with opened(database_url, tmp_path, start=StartOptions(providers=True), embedding__model="no:x"):
            pass

    assert asyncio.all_tasks() <= before
    async with opened(database_url, tmp_path) as app:
        assert await told(app, "process_crashed") == []


async def test_workers_do_what_is_asked_for_until_the_house_closes(database_url: str, tmp_path: Path):
    done = asyncio.Event()

    async def operation(_run: object) -> None:
        done.set()

    settings = settings_of(database_url, tmp_path, embedding__model="none:")
    async with opened(database_url, tmp_path, start=StartOptions(workers=True), settings=settings) as app:
        app.jobs.register("ring", operation)
        await app.jobs.defer(None, "ring")
        await asyncio.wait_for(done.wait(), SOON)

    assert done.is_set()
