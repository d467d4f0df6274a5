"""Following the outbox: in order, without holes, never slowing a writer."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from tests.events.wiring import Wired
from tests.jobs.deps import run_sql

from festinger.errors import NotFound
from festinger.events.catalogue import Event
from festinger.events.outbox import MAX_WAITING, FeedGap, follow_feed, settled_sequence
from festinger.ids import EVERY_SPACE, MAIN_SPACE, EventId, SpaceId
from festinger.store.pool import Store

INSERT_MANY = """insert into event (space_id, id, name, version, subject, payload, at)
select 'main', gen_random_uuid(), 'provider_up', 1, 'p', '{}', now() from generate_series(1, %(count)s)"""


class Bell:
    """Wakes a reader when a test says so; `asked` tells that the reader has nothing left to read."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.rung = asyncio.Event()

    async def wake(self) -> None:
        self.asked.set()
        await self.rung.wait()
        self.rung.clear()
        self.asked.clear()


async def take(feed: AsyncIterator[Event | FeedGap], count: int) -> list[Event | FeedGap]:
    return [await anext(feed) for _ in range(count)]


@pytest.mark.requirement("X-46")
async def test_a_reader_follows_from_a_given_event_then_live(store: Store):
    wired, bell = Wired(store), Bell()
    events = [await wired.emit(new=n) for n in range(3)]
    feed = follow_feed(store, space=MAIN_SPACE, after=events[0].id, wake=bell.wake)

    assert await take(feed, 2) == events[1:]

    waiting = asyncio.create_task(take(feed, 1))
    await bell.asked.wait()
    live = await wired.emit(new=3)
    bell.rung.set()
    assert await waiting == [live]


@pytest.mark.requirement("X-46")
async def test_a_reader_without_a_place_begins_now(store: Store):
    wired, bell = Wired(store), Bell()
    await wired.emit()
    feed = follow_feed(store, space=MAIN_SPACE, wake=bell.wake)
    first = asyncio.create_task(take(feed, 1))
    await bell.asked.wait()

    event = await wired.emit(new=2)
    bell.rung.set()

    assert await first == [event]


@pytest.mark.requirement("X-46")
async def test_a_reader_hears_its_names_its_space_and_the_whole_installation(store: Store):
    wired, bell = Wired(store), Bell()
    start = await wired.emit()
    own = await wired.emit(new=2)
    await wired.emit(space=SpaceId("other"))
    everywhere = await wired.emit(space=EVERY_SPACE)
    async with store.transaction() as transaction:
        await wired.outbox.emit(transaction, "provider_up", space=MAIN_SPACE, subject="p", payload={"provider": "p"})

    feed = follow_feed(store, space=MAIN_SPACE, names=["setting_changed"], after=start.id, wake=bell.wake)
    found = await take(feed, 2)
    rest = asyncio.create_task(take(feed, 1))
    await bell.asked.wait()
    rest.cancel()

    assert found == [own, everywhere]


@pytest.mark.requirement("X-46")
async def test_a_reader_that_falls_a_thousand_behind_is_told_of_the_gap_and_cut_off(store: Store):
    wired, bell = Wired(store), Bell()
    start = await wired.emit()
    feed = follow_feed(store, space=MAIN_SPACE, after=start.id, wake=bell.wake)
    slow = asyncio.create_task(take(feed, 1))
    await bell.asked.wait()

    await run_sql(store, INSERT_MANY, count=MAX_WAITING + 1)
    bell.rung.set()

    assert await slow == [FeedGap(after=start.id)]
    with pytest.raises(StopAsyncIteration):
        await anext(feed)


@pytest.mark.requirement("X-46")
async def test_a_thousand_waiting_events_are_still_read(store: Store):
    wired, bell = Wired(store), Bell()
    start = await wired.emit()
    feed = follow_feed(store, space=MAIN_SPACE, after=start.id, wake=bell.wake)
    reading = asyncio.create_task(take(feed, MAX_WAITING))
    await bell.asked.wait()

    await run_sql(store, INSERT_MANY, count=MAX_WAITING)
    bell.rung.set()

    assert all(isinstance(item, Event) for item in await reading)


@pytest.mark.requirement("X-46")
async def test_a_reader_that_comes_back_after_long_reads_everything_from_its_place(store: Store):
    wired, bell = Wired(store), Bell()
    start = await wired.emit()
    await run_sql(store, INSERT_MANY, count=2 * MAX_WAITING + 5)

    found = await take(follow_feed(store, space=MAIN_SPACE, after=start.id, wake=bell.wake), 2 * MAX_WAITING + 5)

    numbers = [event.seq for event in found if isinstance(event, Event)]
    assert numbers == list(range(start.seq + 1, start.seq + 2 * MAX_WAITING + 6))


@pytest.mark.requirement("X-46")
async def test_an_event_is_not_overtaken_by_one_that_was_written_later_and_committed_earlier(store: Store):
    wired, bell = Wired(store), Bell()
    start = await wired.emit("start")
    feed = follow_feed(store, space=MAIN_SPACE, after=start.id, wake=bell.wake)
    reading = asyncio.create_task(take(feed, 2))
    await bell.asked.wait()

    async with store.transaction() as slow:
        first = await wired.emit_in(slow, "slow")
        second = await wired.emit("quick")
        bell.rung.set()
        await asyncio.sleep(0)
        await bell.asked.wait()
        async with store.transaction() as look:
            held_back = await settled_sequence(look)
    bell.rung.set()

    assert first.seq < second.seq
    assert held_back == start.seq
    assert await reading == [first, second]


async def test_a_rollback_holds_the_feed_back_no_longer_than_it_lasts(store: Store):
    wired = Wired(store)

    async def change_that_fails() -> None:
        async with store.transaction() as transaction:
            await wired.emit_in(transaction, "lost")
            raise ValueError

    with pytest.raises(ValueError):
        await change_that_fails()
    event = await wired.emit()

    async with store.transaction() as look:
        assert await settled_sequence(look) == event.seq


async def test_an_outbox_without_events_is_settled_at_its_beginning(store: Store):
    async with store.transaction() as look:
        assert await settled_sequence(look) == 0


async def test_the_first_event_ever_holds_back_until_it_commits(store: Store):
    wired = Wired(store)
    async with store.transaction() as transaction:
        event = await wired.emit_in(transaction)
        async with store.transaction() as look:
            before = await settled_sequence(look)

    assert (before, event.seq) == (0, 1)


async def test_a_reader_cannot_begin_at_an_event_that_is_gone(store: Store):
    feed = follow_feed(store, space=MAIN_SPACE, after=EventId(uuid4()), wake=Bell().wake)

    with pytest.raises(NotFound):
        await anext(feed)


@pytest.mark.requirement("X-46")
async def test_eight_writers_and_a_reader_that_never_misses_one(store: Store):
    wired = Wired(store)
    start = await wired.emit("start")

    async def look_again() -> None:
        await asyncio.sleep(0)

    async def writer(n: int) -> None:
        for _ in range(20):
            await wired.emit(f"key{n}")

    feed = follow_feed(store, space=MAIN_SPACE, after=start.id, wake=look_again)
    reading = asyncio.create_task(take(feed, 160))
    await asyncio.gather(*(writer(n) for n in range(8)))
    found = await reading

    numbers = [event.seq for event in found if isinstance(event, Event)]
    assert numbers == list(range(start.seq + 1, start.seq + 161))
