"""How far subscribers are behind."""

from datetime import timedelta

import pytest
from tests.events.wiring import Wired, context_builder, make_told
from tests.jobs.deps import drain

from festinger.events.health import SubscriberLag, subscriber_lags, update_lag_gauges
from festinger.observability.metrics import REGISTRY
from festinger.store.pool import Store


def gauge(subscriber: str) -> float | None:
    return REGISTRY.get_sample_value("festinger_events_lag_seconds", {"subscriber": subscriber})


@pytest.mark.requirement("X-45")
async def test_lag_is_the_age_of_the_oldest_event_that_a_subscriber_was_not_told_of(store: Store):
    wired = Wired(store)
    await make_told(store)
    wired.outbox.subscribe("setting_changed", "lag_test", context_builder("lag_test"))
    await wired.emit()
    wired.hands.forward(timedelta(seconds=40))
    await wired.emit()
    wired.hands.forward(timedelta(seconds=5))

    before = await subscriber_lags(store, now=wired.hands.now)
    await update_lag_gauges(store, now=wired.hands.now, subscribers=["lag_test"])
    behind = gauge("lag_test")
    await drain(wired.jobs)
    await update_lag_gauges(store, now=wired.hands.now, subscribers=["lag_test"])

    assert before == [SubscriberLag(subscriber="lag_test", age=timedelta(seconds=45), waiting=2)]
    assert behind == 45
    assert gauge("lag_test") == 0
    assert await subscriber_lags(store, now=wired.hands.now) == []


async def test_nobody_is_ahead_of_what_happened(store: Store):
    wired = Wired(store)
    wired.outbox.subscribe("setting_changed", "cache", context_builder("cache"))
    await wired.emit()

    [lag] = await subscriber_lags(store, now=wired.hands.now - timedelta(minutes=5))

    assert lag.age == timedelta(0)
