import asyncio
import logging

import pytest
from pgvector import HalfVector
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr
from structlog.testing import capture_logs
from tests.store.relay import relay_to

from festinger.errors import BadSetting, FestingerError, NotFound, StoreDown, StoreUnfit
from festinger.observability.metrics import STORE_ROUND_TRIPS
from festinger.settings.tree import StoreSettings
from festinger.store.pool import LIFETIME_SECONDS, NestedStore, Store, open_store
from festinger.store.queries import Query

PATIENT_MS = 30_000
"""On a busy machine even a new connection takes its time."""
SMALL = StoreSettings(pool_min=1, pool_max=2, statement_timeout_ms=2000)


def sql(text: str) -> Query:
    return Query(room="test", name="x", purpose="x", sql=text)


ONE = sql("select 1")
SLEEP = sql("select pg_sleep(%(seconds)s)")
SHOW = sql("select current_setting(%(name)s)")
KILL_OTHERS = sql(
    "select count(pg_terminate_backend(pid)) from pg_stat_activity"
    " where datname = current_database() and pid <> pg_backend_pid()"
)


async def test_a_transaction_is_all_or_nothing(store: Store) -> None:
    async def insert_then_fail() -> None:
        async with store.transaction() as transaction:
            await transaction.run(sql("insert into space (id, name) values ('other', 'other')"))
            await transaction.one(sql("select 1 where false"))

    with pytest.raises(NotFound):
        await insert_then_fail()

    assert await store.value(sql("select count(*) from space")) == 1


async def test_a_snapshot_sees_one_moment_and_cannot_write(store: Store) -> None:
    count, add = sql("select count(*) from space"), sql("insert into space (id, name) values (%(id)s, %(id)s)")
    async with store.transaction(snapshot=True) as transaction:
        before = await transaction.value(count)
        await store.run(add, id="other")
        after = await transaction.value(count)
        limit = await transaction.value(SHOW, name="statement_timeout")
    async with store.transaction(snapshot=True) as transaction:
        later = await transaction.value(count)
        with pytest.raises(FestingerError):
            await transaction.run(add, id="third")

    assert (before, after, later, limit) == (1, 1, 2, "0")
    assert await store.value(count) == 2


async def test_many_rows_go_in_together(store: Store) -> None:
    async with store.transaction() as transaction:
        count = await transaction.run_many(
            sql("insert into space (id, name) values (%(id)s, %(id)s)"), [{"id": "a"}, {"id": "b"}]
        )

    assert count == 2
    assert await store.value(sql("select count(*) from space")) == 3


async def test_what_is_not_there_is_none_or_not_found(store: Store) -> None:
    assert await store.maybe(sql("select 1 where false")) is None
    assert await store.all(sql("select 1 where false")) == []
    with pytest.raises(NotFound):
        await store.one(sql("select 1 where false"))


@pytest.mark.requirement("X-28")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hnsw.iterative_scan", "relaxed_order"),
        ("hnsw.ef_search", "100"),
        ("statement_timeout", "30s"),
        ("lock_timeout", "5s"),
        ("application_name", "festinger:test"),
        ("timezone", "UTC"),
    ],
)
async def test_every_connection_is_configured(store: Store, name: str, value: str) -> None:
    assert await store.value(SHOW, name=name) == value


@pytest.mark.requirement("X-28")
async def test_behind_a_pooler_each_transaction_is_configured_and_the_session_is_left_alone(database_url: str) -> None:
    settings = StoreSettings(pool_min=1, pool_max=2, listen_url=SecretStr(database_url))
    async with open_store(database_url, settings, door="pooled") as store:
        inside = await store.value(SHOW, name="application_name")
        async with store.pool.connection() as connection:
            cursor = await connection.execute("select current_setting('application_name') as name")
            outside = await cursor.fetchone()
            prepares_after = connection.prepare_threshold

    assert inside == "festinger:pooled"
    assert outside == {"name": ""}
    assert prepares_after is None


async def test_half_vectors_go_in_and_come_out(store: Store) -> None:
    vector = HalfVector([1.0, 0.5, -2.0])

    row = await store.one(sql("select %(v)s::halfvec as same, %(v)s <=> '[1,0.5,-2]'::halfvec as distance"), v=vector)

    assert row == {"same": vector, "distance": 0.0}


async def test_a_connection_does_not_live_for_ever(store: Store) -> None:
    assert store.pool.max_lifetime == LIFETIME_SECONDS == 1800


@pytest.mark.requirement("X-26")
async def test_a_statement_over_its_limit_is_store_down_and_the_next_works(database_url: str) -> None:
    settings = StoreSettings(statement_timeout_ms=100)
    async with open_store(database_url, settings, door="test") as store:
        with pytest.raises(StoreDown) as caught:
            await store.value(SLEEP, seconds=60)

        assert caught.value.details == {"kind": "too_slow"}
        assert await store.value(ONE) == 1


@pytest.mark.requirement("X-26")
async def test_a_hot_transaction_has_the_tighter_limit_and_leaves_it_behind(store: Store) -> None:
    with pytest.raises(StoreDown):
        await store.value(SLEEP, hot=True, seconds=60)

    async with store.transaction(hot=True) as transaction:
        assert await transaction.value(SHOW, name="statement_timeout") == "250ms"
    assert await store.value(SHOW, name="statement_timeout") == "30s"


async def test_a_single_statement_is_kept_without_a_transaction_and_nested_in_one(store: Store) -> None:
    insert = sql("insert into space (id, name) values (%(id)s, %(id)s) returning id")

    async def insert_then_fail() -> None:
        async with store.transaction() as transaction:
            await NestedStore(transaction).value(insert, id="nested")
            await transaction.one(sql("select 1 where false"))

    before = STORE_ROUND_TRIPS._value.get()
    await store.value(insert, id="alone")
    spent = STORE_ROUND_TRIPS._value.get() - before
    with pytest.raises(NotFound):
        await insert_then_fail()

    assert spent == 1
    assert await store.value(sql("select array_agg(id order by id) from space")) == ["alone", "main"]


async def test_a_patient_transaction_has_no_limit(store: Store) -> None:
    async with store.transaction(patient=True) as transaction:
        assert await transaction.value(SHOW, name="statement_timeout") == "0"


@pytest.mark.requirement("X-26")
async def test_a_caller_who_finds_every_connection_taken_is_told_so_in_time(database_url: str) -> None:
    settings = StoreSettings(pool_min=1, pool_max=2, hot_timeout_ms=50)
    async with open_store(database_url, settings, door="test") as store:
        async with store.transaction(), store.transaction():
            with pytest.raises(StoreDown) as caught:
                await store.value(ONE, hot=True)

        assert caught.value.details == {"kind": "no_connection"}


@pytest.mark.requirement("X-26")
async def test_after_all_connections_were_ended_the_next_hot_call_works(database_url: str) -> None:
    async with open_store(database_url, StoreSettings(hot_timeout_ms=PATIENT_MS), door="test") as store:
        await asyncio.gather(*(store.value(SLEEP, seconds=0.05) for _ in range(8)))
        async with store.apart() as connection:
            await connection.execute(KILL_OTHERS.sql)

        assert await store.value(ONE, hot=True) == 1


@pytest.mark.requirement("X-26")
async def test_a_connection_lost_inside_a_transaction_is_store_down_and_the_next_works(store: Store) -> None:
    async def end_itself() -> None:
        async with store.transaction() as transaction:
            pid = await transaction.value(sql("select pg_backend_pid()"))
            await store.run(sql("select pg_terminate_backend(%(pid)s, 5000)"), pid=pid)
            await transaction.value(ONE)

    with pytest.raises(StoreDown) as caught:
        await end_itself()

    assert caught.value.details == {"kind": "lost"}
    assert await store.value(ONE) == 1


@pytest.mark.requirement("X-26", "X-27")
async def test_a_server_that_went_away_and_came_back_is_found_without_a_restart(database_url: str) -> None:
    settings = StoreSettings(pool_min=1, pool_max=2, statement_timeout_ms=PATIENT_MS, hot_timeout_ms=500)
    async with relay_to(database_url) as relay, open_store(relay.url, settings, door="test") as store:
        await relay.cut()
        with pytest.raises(StoreDown) as caught:
            await store.value(ONE, hot=True)
        await relay.mend()

        assert caught.value.details == {"kind": "lost"}
        assert "does not answer" in str(caught.value)
        assert await store.value(ONE) == 1


@pytest.mark.requirement("X-26")
async def test_a_store_that_closes_while_its_server_is_away_leaves_nobody_trying(database_url: str) -> None:
    async with relay_to(database_url) as relay:
        async with open_store(relay.url, SMALL, door="test") as store:
            await relay.cut()
            with pytest.raises(StoreDown):
                await store.value(ONE, hot=True)

        assert store.pool.closed
        assert [task for task in asyncio.all_tasks() if store.pool.name in task.get_name()] == []


async def test_many_rows_may_take_longer_than_one_statement(store: Store) -> None:
    async with store.transaction(hot=True) as transaction:
        await transaction.run_many(SLEEP, [{"seconds": 0.05}] * 10)
        assert await transaction.value(ONE) == 1


@pytest.mark.requirement("X-27")
async def test_a_database_that_cannot_be_had_is_store_down_at_once_without_the_password() -> None:
    with pytest.raises(StoreDown) as caught:
        async with open_store("postgresql://ann:s3cret@127.0.0.1:1/notes", SMALL, door="test"):
            pass

    assert "s3cret" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


@pytest.mark.requirement("X-27")
async def test_a_url_that_is_none_is_a_bad_setting() -> None:
    with pytest.raises(BadSetting):
        async with open_store("postgresql:/ann:s3cret@host", SMALL, door="test"):
            pass


@pytest.mark.requirement("X-27")
async def test_no_log_line_says_the_password_while_the_server_is_away(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with relay_to(database_url) as relay:
        url = make_conninfo(relay.url, password="s3cret")
        with capture_logs() as lines:
            async with open_store(url, SMALL, door="test") as store:
                await relay.cut()
                with pytest.raises(StoreDown) as caught:
                    await store.value(ONE, hot=True)

    assert caplog.text
    assert "s3cret" not in f"{caplog.text} {lines} {caught.value!r} {caught.value.__cause__!r}"


@pytest.mark.requirement("X-20")
async def test_a_server_that_is_too_old_is_not_opened(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("festinger.store.migration.OLDEST_POSTGRES", 99)

    with pytest.raises(StoreUnfit, match="PostgreSQL 18"):
        async with open_store(database_url, SMALL, door="test"):
            pass


async def test_a_connection_apart_has_no_limits_and_is_in_autocommit(store: Store) -> None:
    async with store.apart() as connection:
        cursor = await connection.execute("select current_setting('statement_timeout') as limit")

        assert connection.autocommit
        assert await cursor.fetchone() == {"limit": "0"}


async def test_the_gauges_say_how_many_connections_there_are(store: Store) -> None:
    from festinger.observability.metrics import STORE_POOL_SIZE, STORE_POOL_WAITING

    store.measure()

    assert STORE_POOL_SIZE._value.get() == store.pool.get_stats()["pool_size"]
    assert STORE_POOL_WAITING._value.get() == 0
