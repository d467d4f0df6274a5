"""The job engine's tables come by our own migrator."""

import pytest

from festinger.jobs.queue import load_engine_migrations
from festinger.store.migration import load_own_migrations, migrate
from festinger.store.pool import Store
from festinger.store.queries import Query

TABLES = Query(
    room="jobs",
    name="tables",
    purpose="counts the engine's job table",
    sql="select count(*) from pg_tables where tablename = 'procrastinate_jobs'",
)


def test_the_engines_migrations_come_in_order_under_names_of_their_own():
    names = [migration.name for migration in load_engine_migrations()]

    assert names == sorted(names)
    assert all(name.startswith("procrastinate/") for name in names)
    assert names[0] == "procrastinate/00.00.00_01_initial"


@pytest.mark.requirement("X-50")
async def test_the_engine_lives_in_the_same_database(store: Store):
    assert await store.value(TABLES) == 1


async def test_a_second_migration_has_nothing_to_do(database_url: str):
    assert await migrate(database_url, [*load_own_migrations(), *load_engine_migrations()]) == []
