import json

import pytest

from festinger.errors import NotFound
from festinger.ids import SpaceId
from festinger.store.cache_invalidation import (
    CacheChange,
    CacheScope,
    bump_cache_version,
    load_cache_versions,
    parse_cache_notification,
)
from festinger.store.pool import Store
from festinger.store.queries import Query

MAIN = SpaceId("main")
NOTHING = Query(room="test", name="x", purpose="x", sql="select 1 where false")


@pytest.mark.requirement("X-61")
async def test_a_version_rises_with_each_write_of_its_room_and_space(store: Store) -> None:
    async with store.transaction() as transaction:
        first = await bump_cache_version(transaction, space=MAIN, room="world")
        second = await bump_cache_version(transaction, space=MAIN, room="world")
        other = await bump_cache_version(transaction, space=MAIN, room="memory")

    assert (first, second, other) == (1, 2, 1)
    assert await load_cache_versions(store) == {
        CacheScope(space=MAIN, room="world"): 2,
        CacheScope(space=MAIN, room="memory"): 1,
    }


@pytest.mark.requirement("X-60")
async def test_a_write_that_is_rolled_back_is_neither_counted_nor_told(store: Store) -> None:
    async def fail() -> None:
        async with store.transaction() as transaction:
            await bump_cache_version(transaction, space=MAIN, room="world")
            await transaction.one(NOTHING)

    async with store.apart() as listening:
        await listening.execute("listen festinger_cache")
        with pytest.raises(NotFound):
            await fail()
        async with store.transaction() as transaction:
            await bump_cache_version(transaction, space=MAIN, room="memory")
        told = [json.loads(note.payload) async for note in listening.notifies(stop_after=1)]

    assert told == [{"space": "main", "room": "memory", "version": 1}]
    assert await load_cache_versions(store) == {CacheScope(space=MAIN, room="memory"): 1}


def test_a_notification_says_what_changed() -> None:
    assert parse_cache_notification('{"space": "main", "room": "world", "version": 7}') == CacheChange(
        what=CacheScope(space=MAIN, room="world"), version=7
    )


@pytest.mark.parametrize("payload", ["", "heard by 7", "[1]", "7", '{"space": "main"}', '{"version": null}'])
def test_a_notification_that_is_not_ours_says_nothing(payload: str) -> None:
    assert parse_cache_notification(payload) is None
