from festinger.store.migrate import migrate, own_migrations
from festinger.store.pool import Store
from festinger.store.queries import Query


async def test_a_clone_has_the_default_space(store: Store) -> None:
    row = await store.one(Query(room="test", name="x", purpose="x", sql="select name from space"))

    assert row["name"] == "main"


async def test_migrating_twice_applies_nothing_the_second_time(empty_database_url: str) -> None:
    first = await migrate(empty_database_url, own_migrations())
    second = await migrate(empty_database_url, own_migrations())

    assert first == [migration.name for migration in own_migrations()]
    assert second == []
