from datetime import UTC, datetime

import pytest

from festinger.ids import EVERY_SPACE, SpaceId
from festinger.store.cache_invalidation import CacheScope, load_cache_versions
from festinger.store.pool import Store
from festinger.store.repositories.spaces import ROOM, ConfigRow, delete_config, find_space, put_config, read_config_rows

MAIN = SpaceId("main")
MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
TUESDAY = datetime(2026, 1, 6, 12, tzinfo=UTC)


def row(value: str, *, space: SpaceId = MAIN, key: str = "llm.write", at: datetime = MONDAY) -> ConfigRow:
    return ConfigRow(space=space, key=key, value=value, updated_at=at, updated_by="key:ann")


async def put(store: Store, wanted: ConfigRow) -> str | None:
    async with store.transaction() as transaction:
        return await put_config(transaction, wanted)


@pytest.mark.requirement("X-12")
async def test_a_row_comes_back_as_it_was_put_with_who_and_when(store: Store) -> None:
    everywhere, here = row("ollama:a", space=EVERY_SPACE), row("ollama:b")

    await put(store, everywhere)
    await put(store, here)

    assert await read_config_rows(store) == [everywhere, here]
    assert await read_config_rows(store, space=MAIN) == [here]


@pytest.mark.requirement("X-12")
async def test_a_second_value_takes_the_place_of_the_first_and_names_it(store: Store) -> None:
    newer = row("ollama:b", at=TUESDAY)

    assert await put(store, row("ollama:a")) is None
    assert await put(store, newer) == "ollama:a"

    assert await read_config_rows(store) == [newer]


@pytest.mark.requirement("X-12")
async def test_a_deleted_row_is_gone_and_says_what_it_was(store: Store) -> None:
    await put(store, row("ollama:a"))

    async with store.transaction() as transaction:
        first = await delete_config(transaction, space=MAIN, key="llm.write")
        second = await delete_config(transaction, space=MAIN, key="llm.write")

    assert (first, second) == ("ollama:a", None)
    assert await read_config_rows(store) == []


@pytest.mark.requirement("X-12", "X-60")
async def test_each_change_of_a_row_is_counted_and_deleting_nothing_is_none(store: Store) -> None:
    await put(store, row("ollama:a"))
    await put(store, row("ollama:a", space=EVERY_SPACE))
    async with store.transaction() as transaction:
        await delete_config(transaction, space=MAIN, key="llm.write")
        await delete_config(transaction, space=MAIN, key="llm.write")

    assert await load_cache_versions(store) == {
        CacheScope(space=MAIN, room=ROOM): 2,
        CacheScope(space=EVERY_SPACE, room=ROOM): 1,
    }
    assert (await find_space(store, "main")).settings_version == 2
