import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from tests.store.relay import relay_to

from festinger.errors import StoreDown
from festinger.ids import SpaceId
from festinger.observability.checks import CheckSeverity
from festinger.settings.tree import StoreSettings
from festinger.store.cache_invalidation import (
    CacheChange,
    CacheListener,
    CacheScope,
    ListenerState,
    bump_cache_version,
    check_cache_listener,
)
from festinger.store.pool import Store, open_store
from festinger.store.queries import Query

MAIN = SpaceId("main")
NEVER = 3600.0
SOON = 0.01
SETTINGS = StoreSettings(pool_min=1, pool_max=3)


def sql(text: str) -> Query:
    return Query(room="test", name="x", purpose="x", sql=text)


class Reloads:
    """What a room was told to reload."""

    def __init__(self) -> None:
        self.versions: list[int] = []

    async def __call__(self, change: CacheChange) -> None:
        self.versions.append(change.version)


@asynccontextmanager
async def running(listener: CacheListener) -> AsyncIterator[None]:
    task = asyncio.create_task(listener.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def write(store: Store, room: str = "world") -> CacheChange:
    async with store.transaction() as transaction:
        version = await bump_cache_version(transaction, space=MAIN, room=room)
    return CacheChange(what=CacheScope(space=MAIN, room=room), version=version)


async def within(seconds: float, change: CacheChange, listener: CacheListener) -> None:
    async with asyncio.timeout(seconds):
        await listener.caught_up(change)


@pytest.mark.requirement("X-60")
async def test_a_write_elsewhere_is_heard_and_reloaded_by_its_room_alone(store: Store) -> None:
    listener, world, memory = (CacheListener(store, compare_every=NEVER, poll_every=NEVER), Reloads(), Reloads())
    listener.on_change("world", world)
    listener.on_change("memory", memory)

    async with running(listener):
        await within(60, await write(store), listener)

    assert world.versions == [1]
    assert memory.versions == []
    assert listener.hearing is ListenerState.LISTENING
    assert check_cache_listener(listener).severity is CheckSeverity.OK


@pytest.mark.requirement("X-60")
async def test_a_thousand_writes_of_one_process_are_each_seen_by_a_reader_of_another(
    database_url: str, store: Store
) -> None:
    await store.run(sql("create table thing (n bigint)"))
    await store.run(sql("insert into thing values (0)"))
    async with open_store(database_url, SETTINGS, door="reader") as reader:
        kept = 0

        async def reload(_: CacheChange) -> None:
            nonlocal kept
            kept = await reader.value(sql("select n from thing"))

        listener = CacheListener(reader, compare_every=NEVER, poll_every=NEVER)
        listener.on_change("things", reload)
        stale = []
        async with running(listener):
            for number in range(1, 1001):
                async with store.transaction() as transaction:
                    await transaction.run(sql("update thing set n = %(n)s"), n=number)
                    version = await bump_cache_version(transaction, space=MAIN, room="things")
                change = CacheChange(what=CacheScope(space=MAIN, room="things"), version=version)
                # Neither comparing nor polling runs here: what is seen was heard, which takes milliseconds.
                await within(60, change, listener)
                if kept != number:
                    stale.append(number)

    assert stale == []


async def test_a_burst_of_writes_in_a_room_that_rests_is_reloaded_at_its_first_and_after_its_last(store: Store) -> None:
    listener, world, keys = CacheListener(store, compare_every=NEVER, poll_every=NEVER), Reloads(), Reloads()
    listener.on_change("world", world, rest=1.0)
    listener.on_change("keys", keys)
    async with running(listener):
        for _ in range(3):
            await within(60, await write(store, "keys"), listener)
        await within(60, await write(store), listener)
        begun = asyncio.get_running_loop().time()
        changes = [await write(store) for _ in range(20)]
        burst = asyncio.get_running_loop().time() - begun
        await within(60, changes[-1], listener)

    assert keys.versions == [1, 2, 3]
    assert world.versions[0] == 1
    assert world.versions[-1] == 21
    assert len(world.versions) <= 3 + burst


@pytest.mark.requirement("X-61")
async def test_what_was_written_before_anybody_listened_is_reloaded_at_the_start(store: Store) -> None:
    await write(store)
    change = await write(store)
    listener, reloads = CacheListener(store, compare_every=NEVER, poll_every=NEVER), Reloads()
    listener.on_change("world", reloads)

    async with running(listener):
        await within(60, change, listener)

    assert reloads.versions == [2]


@pytest.mark.requirement("X-61")
async def test_after_a_lost_connection_what_was_missed_is_reloaded(database_url: str, store: Store) -> None:
    async with relay_to(database_url) as relay, open_store(relay.url, SETTINGS, door="reader") as reader:
        listener, reloads = CacheListener(reader, compare_every=NEVER, poll_every=NEVER), Reloads()
        listener.on_change("world", reloads)
        async with running(listener):
            await within(60, await write(store), listener)
            await relay.cut()
            missed = await write(store)
            await relay.mend()
            await within(60, missed, listener)

    assert reloads.versions == [1, 2]


@pytest.mark.requirement("X-61")
async def test_a_lost_notification_is_made_up_by_comparing(store: Store) -> None:
    listener, reloads = CacheListener(store, compare_every=SOON, poll_every=SOON), Reloads()
    listener.on_change("world", reloads)
    async with running(listener):
        await within(60, await write(store), listener)
        # Counted, but told to nobody.
        await store.run(sql("update cache_version set version = 9"))
        await within(60, CacheChange(what=CacheScope(space=MAIN, room="world"), version=9), listener)

    assert reloads.versions == [1, 9]


@pytest.mark.requirement("X-61")
async def test_a_count_that_went_back_is_reloaded_too(store: Store) -> None:
    listener, reloads = CacheListener(store, compare_every=NEVER, poll_every=NEVER), Reloads()
    listener.on_change("world", reloads)
    async with running(listener):
        await write(store)
        await write(store)
        await within(60, await write(store), listener)
        # As after a restore.
        await store.run(sql("update cache_version set version = 1"))
        await listener.compare()
        await within(60, await write(store, room="other"), listener)

    assert reloads.versions[-1] == 1


@pytest.mark.requirement("X-61")
async def test_what_is_no_longer_counted_is_reloaded_once_more(store: Store) -> None:
    listener, reloads = CacheListener(store, compare_every=NEVER, poll_every=NEVER), Reloads()
    listener.on_change("world", reloads)
    async with running(listener):
        await within(60, await write(store), listener)
        # As when a space was erased while nobody listened.
        await store.run(sql("delete from cache_version"))
        await listener.compare()
        await within(60, await write(store, room="other"), listener)
        await listener.compare()
        await within(60, await write(store, room="other"), listener)

    assert reloads.versions == [1, 0]


@pytest.mark.requirement("X-61")
async def test_a_reload_that_failed_is_tried_again(store: Store) -> None:
    tries = 0

    async def fails_once(_: CacheChange) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise StoreDown

    listener = CacheListener(store, compare_every=SOON, poll_every=SOON)
    listener.on_change("world", fails_once)
    async with running(listener):
        await within(60, await write(store), listener)

    assert tries == 2


@pytest.mark.requirement("X-64")
async def test_where_nothing_can_be_heard_versions_are_polled_and_doctor_names_the_cost(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("festinger.store.cache_invalidation.PROOF_SECONDS", 0.01)
    deaf = CacheListener(store, compare_every=NEVER, poll_every=SOON)
    monkeypatch.setattr(deaf, "_pump", _hear_nothing)
    reloads = Reloads()
    deaf.on_change("world", reloads)

    async with running(deaf):
        while deaf.hearing is ListenerState.STARTING:
            await within(60, await write(store), deaf)
        last = await write(store)
        await within(60, last, deaf)

    assert reloads.versions[-1] == last.version
    assert deaf.hearing is ListenerState.POLLING
    check = check_cache_listener(deaf)
    assert check.severity is CheckSeverity.WARN
    assert "every 2 s" in check.message
    assert "store.listen_url" in check.remedy


async def _hear_nothing(_: object) -> None:
    await asyncio.Event().wait()


@pytest.mark.requirement("X-64")
async def test_listening_goes_past_the_pooler_when_told_how(database_url: str, store: Store) -> None:
    async with relay_to(database_url) as relay:
        settings = StoreSettings.model_validate({"pool_min": 1, "pool_max": 2, "listen_url": relay.url})
        async with open_store(database_url, settings, door="reader") as reader:
            listener = CacheListener(reader, compare_every=NEVER, poll_every=NEVER)
            before = relay.calls
            async with running(listener):
                await within(60, await write(store), listener)

            assert relay.calls == before + 1


@pytest.mark.requirement("X-61", "X-64")
def test_the_rhythms_are_those_that_people_are_told() -> None:
    from festinger.store.cache_invalidation import COMPARE_SECONDS, POLL_SECONDS

    assert (COMPARE_SECONDS, POLL_SECONDS) == (30.0, 2.0)


async def test_a_listener_that_has_not_heard_yet_warns(store: Store) -> None:
    assert check_cache_listener(CacheListener(store)).severity is CheckSeverity.WARN
