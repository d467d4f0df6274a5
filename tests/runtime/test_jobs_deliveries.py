"""Events become work, done by real workers, and work that dies becomes an event."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.jobs.deps import drain_all
from tests.runtime.server import SOON, opened, told

from festinger.errors import BadInput
from festinger.events.catalogue import Event
from festinger.events.health import dead_deliveries, subscriber_lags
from festinger.observability.logs import bind_request_id
from festinger.runtime.app import StartOptions
from festinger.runtime.settings import change_setting
from festinger.store.pool import Transaction


@pytest.mark.requirement("X-42")
async def test_a_subscriber_hears_of_an_event_from_a_worker_of_the_house(database_url: str, tmp_path: Path):
    heard: asyncio.Queue[Event] = asyncio.Queue()

    async def hear(_transaction: Transaction, event: Event) -> None:
        heard.put_nowait(event)

    async with opened(database_url, tmp_path, start=StartOptions(workers=True)) as app:
        app.outbox.subscribe("setting_changed", "ear", hear)
        await change_setting(app, "llm.max_parallel", "9", by="me")

        event = await asyncio.wait_for(heard.get(), SOON)

        assert event.payload["new"] == "9"


@pytest.mark.requirement("X-42")
async def test_a_delivery_that_can_never_be_made_is_given_up_and_told(database_url: str, tmp_path: Path):
    async def refuse(_transaction: Transaction, _event: Event) -> None:
        raise BadInput("Not this one.")

    async with opened(database_url, tmp_path) as app:
        app.outbox.subscribe("setting_changed", "ear", refuse)
        await change_setting(app, "llm.max_parallel", "9", by="me")
        await drain_all(app.jobs)

        (event,) = await told(app, "event_dead")
        (dead,) = await dead_deliveries(app.store)
        assert event.payload["subscriber"] == dead.subscriber == "ear"
        assert await subscriber_lags(app.store, now=app.tools.clock()) == []


async def test_a_job_that_is_given_up_is_told_in_its_space(database_url: str, tmp_path: Path):
    async def hopeless(_run: Any, **_ids: Any) -> None:
        raise BadInput("Never.")

    async with opened(database_url, tmp_path) as app:
        app.jobs.register("hopeless", hopeless)
        job = await app.jobs.defer(None, "hopeless", space="main")
        await drain_all(app.jobs)

        (event,) = await told(app, "job_dead")
        assert event.payload == {"job": job, "name": "hopeless", "error": "bad_input"}


@pytest.mark.requirement("X-96")
async def test_what_a_subscriber_does_carries_the_request_that_caused_it(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:

        async def tell_on(transaction: Transaction, event: Event) -> None:
            await app.outbox.emit(
                transaction, "config_refused", space=event.space, subject="x", payload={"source": "s", "error": "e"}
            )

        app.outbox.subscribe("setting_changed", "ear", tell_on)
        with bind_request_id("req-9"):
            await change_setting(app, "llm.max_parallel", "9", by="me")
        await drain_all(app.jobs)

        (event,) = await told(app, "config_refused")
        assert event.trace == "req-9"
