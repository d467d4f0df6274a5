from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.errors import BadInput, NotFound, Refused
from festinger.ids import EVERY_SPACE, MAIN_SPACE, SpaceId
from festinger.store.cache_invalidation import bump_cache_version, load_cache_versions
from festinger.store.pool import Store
from festinger.store.repositories.spaces import (
    NAME,
    ConfigRow,
    Space,
    check_space_name,
    choose_space_id,
    create_space,
    delete_space,
    find_space,
    load_spaces,
    put_config,
    read_config_rows,
    rename_space,
)

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
NAMES = st.from_regex(NAME, fullmatch=True)


async def create(store: Store, name: str) -> Space:
    async with store.transaction() as transaction:
        return await create_space(transaction, name, at=MONDAY)


async def delete(store: Store, space: SpaceId, typed: str) -> int:
    async with store.transaction(patient=True) as transaction:
        return await delete_space(transaction, space, typed_name=typed)


@pytest.mark.requirement("X-31")
async def test_a_new_store_has_the_space_main(store: Store) -> None:
    assert [space.name for space in await load_spaces(store)] == ["main"]


@pytest.mark.requirement("X-31")
async def test_a_created_space_is_listed_and_found(store: Store) -> None:
    made = await create(store, "work")

    assert made == Space(id=SpaceId("work"), name="work", created_at=MONDAY, settings_version=0)
    assert made in await load_spaces(store)
    assert await find_space(store, "work") == made
    with pytest.raises(NotFound):
        await find_space(store, "home")


@pytest.mark.requirement("X-31")
@pytest.mark.parametrize("name", ["", "Work", "1work", "-work", "wörk", "a b", "a_b", "a" * 64, "*", "a\n"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(BadInput):
        check_space_name(name)


@pytest.mark.requirement("X-31")
@pytest.mark.parametrize("name", ["a", "work", "a1-2-3", "a" * 63])
def test_a_name_of_small_letters_digits_and_hyphens_is_taken(name: str) -> None:
    assert check_space_name(name) == name


async def test_two_spaces_cannot_share_a_name(store: Store) -> None:
    with pytest.raises(Refused):
        await create(store, "main")


@pytest.mark.requirement("X-31")
async def test_a_renamed_space_keeps_its_id_and_gives_its_name_free(store: Store) -> None:
    work = await create(store, "work")
    async with store.transaction() as transaction:
        renamed = await rename_space(transaction, work.id, name="office")

    second = await create(store, "work")

    assert (renamed.id, renamed.name) == ("work", "office")
    assert (second.id, second.name) == ("work-2", "work")
    assert await find_space(store, "work") == second


async def test_a_space_that_is_not_there_cannot_be_renamed_or_deleted(store: Store) -> None:
    async with store.transaction() as transaction:
        with pytest.raises(NotFound):
            await rename_space(transaction, SpaceId("nowhere"), name="somewhere")
        with pytest.raises(NotFound):
            await delete_space(transaction, SpaceId("nowhere"), typed_name="nowhere")


@pytest.mark.requirement("X-31")
@pytest.mark.parametrize("typed", ["", "Work", "work ", "main"])
async def test_a_space_is_deleted_only_when_its_name_was_typed(store: Store, typed: str) -> None:
    work = await create(store, "work")

    with pytest.raises(Refused):
        await delete(store, work.id, typed)

    assert await find_space(store, "work") == work


async def test_main_cannot_be_deleted(store: Store) -> None:
    with pytest.raises(Refused):
        await delete(store, MAIN_SPACE, "main")

    assert await find_space(store, "main")


@pytest.mark.requirement("X-31")
async def test_deleting_a_space_counts_its_rows_and_leaves_the_others_alone(store: Store) -> None:
    work = await create(store, "work")
    for space in (work.id, MAIN_SPACE, EVERY_SPACE):
        async with store.transaction() as transaction:
            row = ConfigRow(space=space, key="llm.write", value="", updated_at=MONDAY, updated_by="ann")
            await put_config(transaction, row)

    # Its settings row, its cache version and itself.
    assert await delete(store, work.id, "work") == 3

    assert {row.space for row in await read_config_rows(store)} == {MAIN_SPACE, EVERY_SPACE}
    assert {cached.space for cached in await load_cache_versions(store)} == {MAIN_SPACE, EVERY_SPACE}


async def test_a_deleted_space_is_told_to_who_keeps_something_of_it(store: Store) -> None:
    work = await create(store, "work")
    async with store.transaction() as transaction:
        await bump_cache_version(transaction, space=work.id, room="world")

    async with store.apart() as listening:
        await listening.execute("listen festinger_cache")
        await delete(store, work.id, "work")
        told = [note.payload async for note in listening.notifies(stop_after=1)]

    assert told == ['{"space" : "work", "room" : "world", "version" : 0}']


@given(name=NAMES, taken=st.sets(NAMES))
def test_a_free_id_is_a_name_that_nobody_has(name: str, taken: set[str]) -> None:
    found = choose_space_id(name, taken)

    assert found not in taken
    assert check_space_name(found)
    assert found == name or name in taken


def test_an_id_at_its_full_length_still_finds_room_for_a_number() -> None:
    name = "a" * 63

    assert choose_space_id(name, {name, "a" * 61 + "-2"}) == "a" * 61 + "-3"
