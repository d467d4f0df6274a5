"""What retrieval tells of itself in numbers."""

from typing import Any

import pytest
from tests.memory.remembering import DAY
from tests.retrieval.recalling import Recaller
from tests.retrieval.test_recall import Broken

from festinger.errors import StoreDown
from festinger.ids import MAIN_SPACE
from festinger.observability.metrics import REGISTRY
from festinger.retrieval.maintenance import update_dormant_gauge
from festinger.retrieval.query import parse_recall_query
from festinger.retrieval.recall import recall
from festinger.store.pool import Store

DOOR = "a door of this test"
RESULTS = ("items", "abstained", "failed")


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


async def ask(mind: Recaller, cue: str, **asked: Any) -> None:
    await recall(mind.searching, mind.place(), parse_recall_query(cue, now=mind.hands.now, **asked), door=DOOR)


@pytest.mark.requirement("R-84")
async def test_every_recall_is_counted_by_its_door_and_by_what_came_of_it(
    by_words: Recaller, monkeypatch: pytest.MonkeyPatch
):
    await by_words.put("Tea is green.")
    timed = value("festinger_recall_seconds_count")
    without = value("festinger_recall_degraded_total", what="embedder")
    before = [value("festinger_recalls_total", door=DOOR, result=result) for result in RESULTS]

    await ask(by_words, "tea")
    await ask(by_words, "tea")
    await ask(by_words, "plorf")
    Broken(monkeypatch).late = {"words"}
    with pytest.raises(StoreDown):
        await ask(by_words, "tea")

    after = [value("festinger_recalls_total", door=DOOR, result=result) for result in RESULTS]
    assert [late - early for late, early in zip(after, before, strict=True)] == [2.0, 1.0, 1.0]
    assert value("festinger_recall_seconds_count") == timed + 3
    assert value("festinger_recall_degraded_total", what="embedder") == without + 3


@pytest.mark.requirement("R-84")
async def test_the_time_of_a_search_is_told_by_the_ways_that_it_goes(store: Store):
    mind = Recaller(store, near={"tea": 1.0})
    ways = ("vector", "vector+words", "vector+words+time", "words")
    before = [value("festinger_recall_arm_seconds_count", arm=way) for way in ways]

    await ask(mind, "what is it?")
    await ask(mind, "tea")
    await ask(mind, "tea on 2026-01-04")
    mind.embedder = None
    await ask(mind, "tea")

    assert [value("festinger_recall_arm_seconds_count", arm=way) for way in ways] == [count + 1 for count in before]
    mind.forget_unwritten()


@pytest.mark.requirement("R-84")
async def test_as_many_sleep_as_a_recall_would_leave_asleep(by_words: Recaller):
    """One that may sleep and faded, beside all that may not: a person's, a fact, an immutable one, a fresh one."""
    await by_words.put("We mused about lanterns.", kind="episodic", origin="model")
    await by_words.put("We spoke of lanterns.", kind="episodic")
    await by_words.put("The lantern is a lamp.", origin="model")
    await by_words.put("Lanterns were lit.", kind="episodic", origin="system", immutable=True)
    by_words.forward(400 * DAY)
    await by_words.put("We dreamt of lanterns.", kind="episodic", origin="model")

    await update_dormant_gauge(by_words.searching, [MAIN_SPACE])

    assert value("festinger_dormant") == 1.0
    by_words.forward(-390 * DAY)
    await update_dormant_gauge(by_words.searching, [MAIN_SPACE])
    assert value("festinger_dormant") == 0.0
