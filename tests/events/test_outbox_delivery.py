"""Subscribers hear at least once and act once; a poisoned one harms nobody else."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest
from tests.events.wiring import Wired, context_builder, make_told, told
from tests.jobs.deps import drain, drain_all, rows, run_sql

from festinger.errors import BadInput
from festinger.events.catalogue import Event, NewEvent
from festinger.events.health import check_events, dead_deliveries
from festinger.events.outbox import deliver_event, event_history, mark_delivery_dead
from festinger.ids import MAIN_SPACE
from festinger.jobs.dead_letters import JobState, drop_job, list_jobs, retry_dead_jobs
from festinger.observability.checks import CheckSeverity
from festinger.store.pool import Store, Transaction


class Poisoned:
    """A subscriber that cannot take one event until it is mended."""

    def __init__(self, name: str, poison: int) -> None:
        self.note = context_builder(name)
        self.poison: int | None = poison

    async def operation(self, transaction: Transaction, event: Event) -> None:
        await self.note(transaction, event)
        if event.payload["new"] == self.poison:
            raise ValueError("cannot take this one")


@pytest.mark.requirement("X-42")
async def test_each_event_delivered_twice_and_in_parallel_makes_the_rows_of_one_delivery(store: Store):
    wired = Wired(store)
    await make_told(store)
    wired.outbox.subscribe("setting_changed", "cache", context_builder("cache"))
    wired.outbox.subscribe("setting_changed", "index", context_builder("index"))
    events = [await wired.emit(f"key{n}", new=n) for n in range(20)]

    made = await asyncio.gather(
        *(
            deliver_event(store, wired.outbox, space="main", event=str(event.id), subscriber=subscriber)
            for event in events
            for subscriber in ("cache", "index")
            for _ in range(3)
        )
    )
    await drain(wired.jobs)

    assert sum(made) == 40
    assert sorted(await told(store, "cache")) == sorted(await told(store, "index")) == list(range(20))


@pytest.mark.requirement("X-42")
async def test_a_deed_that_fails_leaves_neither_its_rows_nor_the_mark(store: Store):
    wired = Wired(store)
    await make_told(store)
    wired.outbox.subscribe("setting_changed", "cache", Poisoned("cache", 7).operation)
    event = await wired.emit(new=7)

    with pytest.raises(ValueError, match="cannot take"):
        await deliver_event(store, wired.outbox, space="main", event=str(event.id), subscriber="cache")

    assert await told(store, "cache") == []
    assert await rows(store, "select state from event_delivery") == [{"state": "waiting"}]


@pytest.mark.requirement("X-44")
async def test_a_poison_event_stops_neither_others_nor_its_subject_and_a_retry_delivers_it_once(store: Store):
    wired = Wired(store)
    await make_told(store)
    poisoned = Poisoned("cache", 1)
    wired.outbox.subscribe("setting_changed", "cache", poisoned.operation)
    wired.outbox.subscribe("setting_changed", "index", context_builder("index"))
    for n in range(4):
        await wired.emit(new=n)

    await drain_all(wired.jobs)
    heard_before = await told(store, "cache")
    checks = {check.name: check for check in await check_events(store, now=wired.hands.now)}
    [dead] = await dead_deliveries(store)
    [letter] = await list_jobs(store, state=JobState.DEAD)

    poisoned.poison = None
    assert await retry_dead_jobs(store) == [letter.id]
    await drain_all(wired.jobs)

    assert heard_before == [0, 2, 3]
    assert await told(store, "index") == [0, 1, 2, 3]
    assert (dead.subscriber, dead.error) == ("cache", "cannot take this one")
    assert checks["events.dead"].severity is CheckSeverity.FAIL
    assert "festinger jobs retry" in checks["events.dead"].remedy
    assert await told(store, "cache") == [0, 2, 3, 1]
    assert await dead_deliveries(store) == []


@pytest.mark.requirement("X-44")
async def test_a_failing_delivery_keeps_later_ones_of_its_subject_waiting_until_it_is_given_up(store: Store):
    wired = Wired(store)
    await make_told(store)
    wired.outbox.subscribe("setting_changed", "cache", Poisoned("cache", 0).operation)
    for n in range(3):
        await wired.emit(new=n)
    await wired.emit("llm.judge", new=9)

    await drain(wired.jobs)

    assert await told(store, "cache") == [9]


@pytest.mark.requirement("X-44")
async def test_a_death_is_told_once_with_what_it_was_caused_by(store: Store):
    wired = Wired(store)
    await make_told(store)
    wired.outbox.subscribe("setting_changed", "cache", Poisoned("cache", 7).operation)
    event = await wired.emit(new=7)
    await drain_all(wired.jobs)
    async with store.transaction() as transaction:
        await mark_delivery_dead(
            transaction, wired.outbox, space="main", event=str(event.id), subscriber="cache", error="again"
        )

    [death] = await event_history(store, space=MAIN_SPACE, names=["event_dead"])
    assert death.caused_by == event.id
    assert death.payload == {"event": str(event.id), "subscriber": "cache", "error": "cannot take this one"}


async def test_a_death_that_cannot_be_heard_of_makes_no_further_death(store: Store):
    wired = Wired(store)

    async def deaf(_transaction: Transaction, _event: Event) -> None:
        raise BadInput("deaf")

    wired.outbox.subscribe("setting_changed", "cache", deaf)
    wired.outbox.subscribe("event_dead", "mourner", deaf)
    await wired.emit()
    await drain_all(wired.jobs)

    assert len(await event_history(store, space=MAIN_SPACE, names=["event_dead"])) == 1
    assert [dead.subscriber for dead in await dead_deliveries(store)] == ["cache", "mourner"]


@pytest.mark.requirement("X-44")
async def test_a_dropped_job_settles_its_delivery_for_good(store: Store):
    wired = Wired(store)
    await make_told(store)
    wired.outbox.subscribe("setting_changed", "cache", Poisoned("cache", 7).operation)
    event = await wired.emit(new=7)
    await drain_all(wired.jobs)
    [letter] = await list_jobs(store, state=JobState.DEAD)

    await drop_job(wired.jobs.deps, letter.id, note="no longer needed")

    assert await dead_deliveries(store) == []
    assert not await deliver_event(store, wired.outbox, space="main", event=str(event.id), subscriber="cache")
    assert await rows(store, "select state, note from event_delivery") == [
        {"state": "dropped", "note": "no longer needed"}
    ]


async def test_an_event_of_an_unknown_version_is_given_up_without_a_second_try(store: Store):
    wired = Wired(store)
    await make_told(store)
    wired.outbox.subscribe("setting_changed", "cache", context_builder("cache"))
    await wired.emit()
    await run_sql(store, "update event set version = 99")
    await drain(wired.jobs)

    [dead] = await dead_deliveries(store)
    [letter] = await list_jobs(store, state=JobState.DEAD)
    assert "version 99" in dead.error
    assert letter.attempts == 1


async def test_a_delivery_for_a_subscriber_that_is_gone_is_given_up_and_says_so(store: Store):
    before, after = Wired(store), Wired(store)
    before.outbox.subscribe("setting_changed", "retired", context_builder("retired"))
    await before.emit()
    await drain(after.jobs)

    [dead] = await dead_deliveries(store)
    assert "`retired`" in dead.error


async def test_poison_among_good_events_leaves_every_good_one_delivered_once(store: Store):
    wired = Wired(store)
    await make_told(store)

    async def picky(transaction: Transaction, event: Event) -> None:
        if event.payload["new"] % 10 == 0:
            raise BadInput("poison")
        await context_builder("cache")(transaction, event)

    wired.outbox.subscribe("setting_changed", "cache", picky)
    for n in range(200):
        await wired.emit(f"key{n % 7}", new=n)
    await drain(wired.jobs, workers=4)

    heard = await told(store, "cache")
    assert sorted(heard) == [n for n in range(200) if n % 10]
    assert len(await dead_deliveries(store, limit=1000)) == 20
    for key in range(7):
        assert all(a < b for a, b in pairwise(n for n in heard if n % 7 == key))


CHANGED = {"key": "llm.write", "old": None, "source": "table", "by": None}


async def emit_at_once(wired: Wired, store: Store, count: int) -> None:
    changes = [
        NewEvent(name="setting_changed", subject=f"setting:k{n}", payload={**CHANGED, "new": n}) for n in range(count)
    ]
    async with store.transaction() as transaction:
        await wired.outbox.emit_all(transaction, changes, space=MAIN_SPACE, at_once=True)


@pytest.mark.requirement("X-42")
async def test_a_batch_is_handled_in_the_transaction_that_writes_it_and_needs_no_job(store: Store):
    wired, batches = Wired(store), list[int]()
    await make_told(store)
    note = context_builder("cache")

    async def note_all(transaction: Transaction, events: Sequence[Event]) -> None:
        batches.append(len(events))
        for event in events:
            await note(transaction, event)

    wired.outbox.subscribe("setting_changed", "cache", note, batch=note_all)
    wired.outbox.subscribe("setting_changed", "index", context_builder("index"))
    await emit_at_once(wired, store, 5)
    at_once = await told(store, "cache")
    waiting = await rows(store, "select distinct subscriber from event_delivery")
    await drain(wired.jobs)

    assert (batches, at_once) == ([5], [0, 1, 2, 3, 4])
    assert waiting == [{"subscriber": "index"}]
    assert await told(store, "index") == [0, 1, 2, 3, 4]


@pytest.mark.requirement("X-42", "X-44")
async def test_a_batch_that_fails_leaves_no_rows_and_is_delivered_by_jobs(store: Store):
    wired = Wired(store)
    await make_told(store)
    note = context_builder("cache")

    async def fails(transaction: Transaction, events: Sequence[Event]) -> None:
        await note(transaction, events[0])
        raise ValueError("cannot take so many")

    wired.outbox.subscribe("setting_changed", "cache", note, batch=fails)
    await emit_at_once(wired, store, 3)
    before = await told(store, "cache")
    await drain(wired.jobs)

    assert before == []
    assert sorted(await told(store, "cache")) == [0, 1, 2]
