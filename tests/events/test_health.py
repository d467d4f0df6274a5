"""What `doctor` says of events."""

from datetime import timedelta

import pytest
from tests.events.wiring import Wired, context_builder, make_told
from tests.jobs.deps import drain

from festinger.events.health import check_events
from festinger.observability.checks import Check, CheckSeverity
from festinger.store.pool import Store


async def checks(wired: Wired) -> dict[str, Check]:
    return {check.name: check for check in await check_events(wired.store, now=wired.hands.now)}


@pytest.mark.requirement("X-45")
async def test_a_subscriber_over_a_minute_behind_warns_with_a_remedy(store: Store):
    wired = Wired(store)
    await make_told(store)
    wired.outbox.subscribe("setting_changed", "cache", context_builder("cache"))
    await wired.emit()

    wired.hands.forward(timedelta(seconds=60))
    on_the_minute = (await checks(wired))["events.lag"]
    wired.hands.forward(timedelta(seconds=1))
    late = (await checks(wired))["events.lag"]
    await drain(wired.jobs)

    assert on_the_minute.severity is CheckSeverity.OK
    assert late.severity is CheckSeverity.WARN
    assert "`cache` (61 s)" in late.message
    assert "festinger worker" in late.remedy
    assert (await checks(wired))["events.lag"].severity is CheckSeverity.OK


async def test_an_outbox_where_nothing_is_wrong_is_well(store: Store):
    assert {check.severity for check in (await checks(Wired(store))).values()} == {CheckSeverity.OK}
