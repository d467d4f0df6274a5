"""What is removed, and what never is."""

from datetime import timedelta

import pytest
from tests.events.wiring import Wired, context_builder, make_told
from tests.jobs.deps import drain, rows, run_sql

from festinger.errors import BadInput
from festinger.events.catalogue import Event
from festinger.events.outbox import BATCH, event_history, prune_events
from festinger.ids import MAIN_SPACE
from festinger.settings.tree import EventsSettings
from festinger.store.pool import Store, Transaction

SETTINGS = EventsSettings()


class Reports:
    def __init__(self) -> None:
        self.done: list[int] = []

    async def __call__(self, done: int) -> None:
        self.done.append(done)


async def emit_up(wired: Wired) -> Event:
    async with wired.store.transaction() as transaction:
        return await wired.outbox.emit(
            transaction, "provider_up", space=MAIN_SPACE, subject="p", payload={"provider": "p"}
        )


async def prune(wired: Wired, reports: Reports | None = None) -> int:
    return await prune_events(wired.store, SETTINGS, now=wired.hands.now, report=reports or Reports())


@pytest.mark.requirement("X-47")
async def test_a_delivered_event_is_removed_after_its_days_and_not_before(store: Store):
    wired = Wired(store)
    await make_told(store)
    wired.outbox.subscribe("provider_up", "cache", context_builder("cache"))
    await emit_up(wired)
    await drain(wired.jobs)

    wired.hands.forward(timedelta(days=30))
    on_the_day = await prune(wired)
    wired.hands.forward(timedelta(seconds=1))

    assert on_the_day == 0
    assert await prune(wired) == 1
    assert await rows(store, "select count(*) as n from event_delivery") == [{"n": 0}]


@pytest.mark.requirement("X-47")
async def test_what_waits_or_was_given_up_is_never_removed(store: Store):
    wired = Wired(store)

    async def deaf(_transaction: Transaction, _event: Event) -> None:
        raise BadInput("deaf")

    wired.outbox.subscribe("provider_up", "deaf", deaf)
    dead = await emit_up(wired)
    await drain(wired.jobs)
    waiting = await emit_up(wired)
    wired.hands.forward(timedelta(days=5000))

    await prune(wired)

    assert await event_history(store, space=MAIN_SPACE, names=["provider_up"]) == [waiting, dead]


@pytest.mark.requirement("X-47")
async def test_events_are_removed_in_batches_of_a_thousand(store: Store):
    wired, reports = Wired(store), Reports()
    await run_sql(
        store,
        """insert into event (space_id, id, name, version, subject, payload, at)
           select 'main', gen_random_uuid(), 'provider_up', 1, 'p', '{}', '2020-01-01' from generate_series(1, 2500)""",
    )

    assert await prune(wired, reports) == 2500
    assert (BATCH, reports.done) == (1000, [1000, 2000, 2500])


async def test_what_people_did_is_kept_for_a_year(store: Store):
    wired = Wired(store)
    kept = await wired.emit()
    await emit_up(wired)

    wired.hands.forward(timedelta(days=365))
    await prune(wired)
    after_a_year = await event_history(store, space=MAIN_SPACE)
    wired.hands.forward(timedelta(days=1))
    await prune(wired)

    assert after_a_year == [kept]
    assert await event_history(store, space=MAIN_SPACE) == []
