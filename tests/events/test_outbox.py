"""An event is written with the change that it tells of, or not at all."""

import asyncio
from datetime import timedelta

import pytest
from tests.events.wiring import Wired, context_builder, make_told, told
from tests.jobs.deps import MONDAY, ask, rows

from festinger.errors import FestingerError
from festinger.events.catalogue import Event, NewEvent
from festinger.events.outbox import event_history
from festinger.ids import MAIN_SPACE, AgentId, SessionId, TraceId
from festinger.jobs.worker import run_workers
from festinger.store.pool import Store, Transaction

STAMP = ask(
    "update event set payload = payload || jsonb_build_object('new', %(n)s::int) where seq = currval('event_seq')"
)
COUNTS = """select (select count(*) from event) as events,
                   (select count(*) from event_delivery) as deliveries,
                   (select count(*) from procrastinate_jobs) as jobs"""


@pytest.mark.requirement("X-40", "X-01")
async def test_an_event_is_kept_with_its_whole_envelope(store: Store):
    wired = Wired(store)
    first = await wired.emit()

    event = await wired.emit(
        agent=AgentId("ada"), session=SessionId("s1"), trace=TraceId("t1"), caused_by=first.id, new=5
    )

    [kept] = await event_history(store, space=MAIN_SPACE, trace="t1")
    assert kept == event
    assert kept == Event(
        id=event.id,
        seq=first.seq + 1,
        name="setting_changed",
        version=1,
        space=MAIN_SPACE,
        subject="llm.write",
        agent=AgentId("ada"),
        session=SessionId("s1"),
        trace=TraceId("t1"),
        caused_by=first.id,
        payload={"key": "llm.write", "old": None, "new": 5, "source": "table", "by": None},
        at=MONDAY,
    )


@pytest.mark.requirement("X-40", "X-42")
async def test_a_rollback_leaves_no_event_no_delivery_and_no_job(store: Store):
    wired = Wired(store)
    wired.outbox.subscribe("setting_changed", "cache", context_builder("cache"))

    async def change_that_fails() -> None:
        async with store.transaction() as transaction:
            await wired.emit_in(transaction)
            raise ValueError("the change failed")

    with pytest.raises(ValueError, match="the change failed"):
        await change_that_fails()

    assert await rows(store, COUNTS) == [{"events": 0, "deliveries": 0, "jobs": 0}]


@pytest.mark.requirement("X-42")
async def test_each_subscriber_gets_a_delivery_in_the_same_transaction(store: Store):
    wired = Wired(store)
    wired.outbox.subscribe("setting_changed", "cache", context_builder("cache"))
    wired.outbox.subscribe("setting_changed", "index", context_builder("index"), queue="index")
    wired.outbox.subscribe("provider_up", "other", context_builder("other"))

    await wired.emit()

    assert await rows(store, COUNTS) == [{"events": 1, "deliveries": 2, "jobs": 2}]
    queues = await rows(store, "select queue_name, lock from procrastinate_jobs order by queue_name")
    assert [tuple(row.values()) for row in queues] == [
        ("index", "index:main:llm.write"),
        ("learn", "cache:main:llm.write"),
    ]


@pytest.mark.requirement("X-41")
async def test_an_unlisted_name_is_a_fault_and_writes_nothing(store: Store):
    wired = Wired(store)

    async with store.transaction() as transaction:
        with pytest.raises(FestingerError, match="`unheard` is not in the catalogue"):
            await wired.outbox.emit(transaction, "unheard", space=MAIN_SPACE, subject="x", payload={})

    assert await event_history(store, space=MAIN_SPACE) == []


@pytest.mark.requirement("X-41")
async def test_a_wrong_shape_is_a_fault_and_writes_nothing(store: Store):
    wired = Wired(store)

    async with store.transaction() as transaction:
        with pytest.raises(FestingerError, match="lacks `provider`"):
            await wired.outbox.emit(transaction, "provider_up", space=MAIN_SPACE, subject="x", payload={})

    assert await event_history(store, space=MAIN_SPACE) == []


def test_nobody_subscribes_to_an_event_that_is_not_listed_or_twice():
    wired = Wired(store=None)  # type: ignore[arg-type]
    wired.outbox.subscribe("provider_up", "cache", context_builder("cache"))

    with pytest.raises(FestingerError, match="not in the catalogue"):
        wired.outbox.subscribe("unheard", "cache", context_builder("cache"))
    with pytest.raises(FestingerError, match="twice"):
        wired.outbox.subscribe("provider_up", "cache", context_builder("cache"))


@pytest.mark.requirement("X-43")
async def test_a_thousand_updates_by_eight_writers_are_heard_in_the_order_of_commit(store: Store):
    wired = Wired(store)
    await make_told(store)
    heard = asyncio.Event()
    note = context_builder("cache")

    async def hear(transaction: Transaction, event: Event) -> None:
        await note(transaction, event)
        if event.payload["new"] == 1000:
            heard.set()

    wired.outbox.subscribe("setting_changed", "cache", hear)
    counter = 0

    async def update() -> None:
        nonlocal counter
        async with store.transaction() as transaction:
            # The number is taken under the subject's lock, so it is the order of commit.
            await wired.emit_in(transaction, new=0)
            counter += 1
            await transaction.run(STAMP, n=counter)

    async def writer() -> None:
        for _ in range(125):
            await update()

    async with run_workers(wired.jobs, roaming=2, shutdown_seconds=30):
        await asyncio.gather(*(writer() for _ in range(8)))
        await heard.wait()

    assert await told(store, "cache") == list(range(1, 1001))


async def test_events_of_different_subjects_do_not_wait_for_each_other(store: Store):
    wired = Wired(store)

    async with store.transaction() as first:
        await wired.emit_in(first, "llm.write")
        event = await wired.emit("llm.judge")

    assert [found.subject for found in await event_history(store, space=MAIN_SPACE)] == ["llm.judge", "llm.write"]
    assert event.subject == "llm.judge"


async def test_history_is_told_by_subject_name_and_page(store: Store):
    wired = Wired(store)
    events = []
    for n in range(3):
        wired.hands.forward(timedelta(seconds=1))
        events.append(await wired.emit(new=n))
    await wired.emit("llm.judge")

    by_subject = await event_history(store, space=MAIN_SPACE, subject="llm.write")
    page = await event_history(store, space=MAIN_SPACE, names=["setting_changed"], before=events[1].seq, limit=1)

    assert by_subject == events[::-1]
    assert page == [events[0]]


def changed(subject: str, new: int) -> NewEvent:
    payload = {"key": subject, "old": None, "new": new, "source": "table", "by": None}
    return NewEvent(
        name="setting_changed",
        subject=subject,
        payload=payload,
        agent=AgentId("ada"),
        session=SessionId("s1"),
        trace=TraceId("t1"),
    )


@pytest.mark.requirement("X-40", "X-42")
async def test_much_that_is_told_at_once_is_told_in_its_order_to_each_subscriber(store: Store):
    wired = Wired(store)
    await make_told(store)
    wired.outbox.subscribe("setting_changed", "cache", context_builder("cache"))
    async with store.transaction() as transaction:
        many = [changed(subject, new) for new in range(5) for subject in ("b", "a")]
        await wired.outbox.emit_all(transaction, many, space=MAIN_SPACE)

    kept = await event_history(store, space=MAIN_SPACE, trace="t1")
    assert [(event.subject, event.payload["new"]) for event in reversed(kept)] == [
        (each.subject, each.payload["new"]) for each in many
    ]
    assert {(event.agent, event.session, event.version) for event in kept} == {("ada", "s1", 1)}
    assert await rows(store, COUNTS) == [{"events": 10, "deliveries": 10, "jobs": 10}]


async def test_of_much_that_is_told_at_once_a_subscriber_hears_only_what_it_wants(store: Store):
    wired = Wired(store)
    await make_told(store)
    wired.outbox.subscribe(
        "setting_changed", "cache", context_builder("cache"), wants=lambda event: event.subject == "a"
    )
    async with store.transaction() as transaction:
        await wired.outbox.emit_all(transaction, [changed("a", 1), changed("b", 1)], space=MAIN_SPACE)

    assert await rows(store, COUNTS) == [{"events": 2, "deliveries": 1, "jobs": 1}]


@pytest.mark.requirement("X-41")
async def test_one_wrong_shape_among_many_writes_none_of_them(store: Store):
    wired = Wired(store)
    wrong = NewEvent(name="setting_changed", subject="a", payload={"key": "a"})
    with pytest.raises(FestingerError):
        async with store.transaction() as transaction:
            await wired.outbox.emit_all(transaction, [changed("a", 1), wrong], space=MAIN_SPACE)

    assert await rows(store, COUNTS) == [{"events": 0, "deliveries": 0, "jobs": 0}]
