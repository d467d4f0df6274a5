import os
import random
from base64 import urlsafe_b64decode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.errors import NotFound, Refused
from festinger.ids import EVERY_SPACE, AgentId, SpaceId
from festinger.store.cache_invalidation import CacheScope, load_cache_versions
from festinger.store.pool import Store
from festinger.store.queries import Query
from festinger.store.repositories.auth import (
    LENGTH,
    ROOM,
    AccessRole,
    ApiKey,
    find_api_key,
    is_api_key,
    load_api_keys,
    make_key,
    new_api_key,
    record_key_use,
    revoke_key,
)

MAIN = SpaceId("main")
MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
SECRET = new_api_key(random.Random(1).randbytes)
OTHER_SECRET = new_api_key(random.Random(2).randbytes)

KEY = ApiKey(
    space=MAIN, id=UUID(int=1), name="laptop", role=AccessRole.AGENT, agent=AgentId("default"), created_at=MONDAY
)
OTHER = replace(KEY, space=EVERY_SPACE, id=UUID(int=2), name="ops", role=AccessRole.ADMIN, agent=None)


async def make(store: Store, key: ApiKey, secret: str) -> None:
    async with store.transaction() as transaction:
        await make_key(transaction, key, secret=secret)


async def revoke(store: Store, key: ApiKey, at: datetime) -> None:
    async with store.transaction() as transaction:
        await revoke_key(transaction, space=key.space, key=key.id, at=at)


@given(random_bytes=st.binary(min_size=32, max_size=32))
def test_a_secret_is_the_prefix_and_all_32_random_bytes(random_bytes: bytes) -> None:
    secret = new_api_key(lambda count: random_bytes[:count])

    assert secret.startswith("fst_")
    assert len(secret) == LENGTH
    assert urlsafe_b64decode(secret.removeprefix("fst_") + "=") == random_bytes


async def test_a_key_is_found_by_its_secret_alone(store: Store) -> None:
    await make(store, KEY, SECRET)
    await make(store, OTHER, OTHER_SECRET)

    assert await find_api_key(store, SECRET) == KEY
    assert await find_api_key(store, OTHER_SECRET, hot=True) == OTHER


@pytest.mark.parametrize(
    "shown",
    ["", "fst_", "ollama", "sk-123", SECRET[:-1], SECRET + "A", SECRET.upper(), OTHER_SECRET, "fst_" + "ä" * 43],
)
async def test_anything_else_finds_no_key(store: Store, shown: str) -> None:
    await make(store, KEY, SECRET)

    assert await find_api_key(store, shown) is None


@pytest.mark.parametrize("shown", ["sk-123", "fst_short", "x" * LENGTH])
async def test_what_cannot_be_ours_is_not_even_looked_up(store: Store, shown: str) -> None:
    await store.pool.close()

    assert await find_api_key(store, shown) is None


def test_only_what_has_the_prefix_is_taken_for_ours() -> None:
    assert is_api_key(SECRET)
    assert not is_api_key("sk-123")


async def test_the_secret_is_nowhere_in_the_database(store: Store) -> None:
    await make(store, KEY, SECRET)

    stored = await store.one(Query(room="test", name="x", purpose="x", sql="select k::text as row from api_key k"))

    assert SECRET not in stored["row"]
    assert SECRET.removeprefix("fst_") not in stored["row"]
    assert SECRET.encode().hex() not in stored["row"]


async def test_a_revoked_key_is_found_no_more_and_stays_listed(store: Store) -> None:
    await make(store, KEY, SECRET)
    await revoke(store, KEY, MONDAY + timedelta(days=1))
    await revoke(store, KEY, MONDAY + timedelta(days=2))

    assert await find_api_key(store, SECRET) is None
    assert await load_api_keys(store) == [replace(KEY, revoked_at=MONDAY + timedelta(days=1))]


async def test_a_key_of_another_space_cannot_be_revoked_from_here(store: Store) -> None:
    await make(store, KEY, SECRET)

    with pytest.raises(NotFound):
        await revoke(store, replace(KEY, space=SpaceId("other")), MONDAY)

    assert await find_api_key(store, SECRET) == KEY


async def test_keys_are_listed_by_space_oldest_first(store: Store) -> None:
    older = replace(OTHER, space=MAIN, created_at=MONDAY - timedelta(days=1))
    await make(store, KEY, SECRET)
    await make(store, older, OTHER_SECRET)

    assert await load_api_keys(store, space=MAIN) == [older, KEY]
    assert await load_api_keys(store, space=SpaceId("other")) == []


async def test_two_live_keys_of_a_space_cannot_share_a_name_but_a_revoked_one_gives_it_free(store: Store) -> None:
    await make(store, KEY, SECRET)
    duplicate = replace(KEY, id=UUID(int=3))

    with pytest.raises(Refused):
        await make(store, duplicate, OTHER_SECRET)

    await revoke(store, KEY, MONDAY)
    await make(store, duplicate, OTHER_SECRET)
    assert await find_api_key(store, OTHER_SECRET) == duplicate


async def test_making_and_revoking_are_counted_so_that_doors_let_go_of_a_revoked_key(store: Store) -> None:
    await make(store, KEY, SECRET)
    await revoke(store, KEY, MONDAY)

    assert await load_cache_versions(store) == {CacheScope(space=MAIN, room=ROOM): 2}


async def test_a_use_is_noted_at_most_once_a_minute(store: Store) -> None:
    await make(store, KEY, SECRET)

    noted = [
        await record_key_use(store, KEY, at=MONDAY + timedelta(seconds=seconds)) for seconds in (0, 59, 60, 61, 200)
    ]

    assert noted == [True, False, False, True, True]
    assert (await load_api_keys(store))[0].last_used_at == MONDAY + timedelta(seconds=200)


def test_two_secrets_from_the_operating_system_differ() -> None:
    assert new_api_key(os.urandom) != new_api_key(os.urandom)
