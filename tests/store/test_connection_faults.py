import traceback

import psycopg
import psycopg_pool
import pytest
from psycopg import errors as pg

from festinger.errors import Refused, StoreBusy, StoreDown
from festinger.store.connection import translate_store_errors
from festinger.store.pool import Store
from festinger.store.queries import Query


def sql(text: str) -> Query:
    return Query(room="test", name="x", purpose="x", sql=text)


RAISE = sql("do $$ begin raise exception 'planted' using errcode = '53100'; end $$")


@pytest.mark.requirement("X-06", "X-26")
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (pg.DiskFull("planted"), "disk_full"),
        (pg.ReadOnlySqlTransaction("planted"), "read_only"),
        (pg.QueryCanceled("planted"), "too_slow"),
        (pg.IdleInTransactionSessionTimeout("planted"), "too_slow"),
        (pg.TransactionTimeout("planted"), "too_slow"),
        (psycopg_pool.PoolTimeout("planted"), "no_connection"),
        (psycopg_pool.PoolClosed("planted"), "closed"),
        (pg.AdminShutdown("planted"), "lost"),
        (pg.CannotConnectNow("planted"), "lost"),
        (pg.TooManyConnections("planted"), "lost"),
        (pg.OutOfMemory("planted"), "lost"),
        (pg.IoError("planted"), "lost"),
        (psycopg.InterfaceError("planted"), "lost"),
    ],
)
def test_what_may_pass_by_itself_is_store_down_with_its_kind_and_cause(error: Exception, kind: str) -> None:
    with pytest.raises(StoreDown) as caught, translate_store_errors():
        raise error

    assert caught.value.details == {"kind": kind}
    assert caught.value.__cause__ is error


@pytest.mark.requirement("X-06")
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (pg.LockNotAvailable("planted"), "held"),
        (pg.DeadlockDetected("planted"), "busy"),
        (pg.SerializationFailure("planted"), "busy"),
    ],
)
def test_that_others_are_at_the_same_rows_is_told_as_busy_with_what_to_do(error: Exception, kind: str) -> None:
    with pytest.raises(StoreBusy) as caught, translate_store_errors():
        raise error

    told = caught.value
    assert (told.name, told.http, told.details, told.retry_after) == ("store_busy", 503, {"kind": kind}, 1)
    assert told.hint == "Try again in a moment."
    assert told.__cause__ is error


@pytest.mark.requirement("X-06")
@pytest.mark.parametrize(
    "error", [pg.SyntaxError("planted"), pg.CheckViolation("planted"), pg.UndefinedTable("planted"), KeyError("x")]
)
def test_a_fault_of_ours_stays_what_it_is(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, translate_store_errors():
        raise error

    assert caught.value is error


@pytest.mark.requirement("X-26")
async def test_a_full_disk_names_itself_and_the_next_statement_works(store: Store) -> None:
    with pytest.raises(StoreDown, match="disk of the database is full"):
        await store.run(RAISE)

    assert await store.value(sql("select 1")) == 1


@pytest.mark.requirement("X-26")
async def test_a_database_that_takes_no_writes_is_store_down_for_writes_and_still_read(store: Store) -> None:
    async with store.transaction() as transaction:
        await transaction.run(sql("set transaction read only"))
        assert await transaction.value(sql("select count(*) from space")) == 1
        with pytest.raises(StoreDown, match="takes no writes"):
            await transaction.run(sql("insert into space (id, name) values ('other', 'other')"))


@pytest.mark.requirement("X-06")
async def test_a_row_that_is_already_there_is_refused_without_its_values(store: Store) -> None:
    with pytest.raises(Refused) as caught:
        await store.run(sql("insert into space (id, name) values ('elsewhere', 'main')"))

    assert caught.value.details == {"table": "space", "constraint": "space_name_key"}
    assert "main" not in str(caught.value)


async def test_a_row_whose_owner_is_missing_is_refused(store: Store) -> None:
    await store.run(sql("create table leaf (space_id text references space (id))"))

    with pytest.raises(Refused, match="belongs to"):
        await store.run(sql("insert into leaf values ('nowhere')"))


SAID = "My dog is called Quokka"
DETAILED = sql(f"do $$ begin raise exception 'planted' using errcode = '23514', detail = '{SAID}'; end $$")


@pytest.mark.requirement("F-94")
async def test_the_detail_of_an_error_reaches_nobody_who_prints_it(store: Store) -> None:
    with pytest.raises(psycopg.Error) as caught:
        await store.run(DETAILED)

    assert str(caught.value) == "planted"
    assert SAID not in "".join(traceback.format_exception(caught.value))
