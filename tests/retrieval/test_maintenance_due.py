"""What should come to mind by itself."""

from datetime import timedelta
from typing import Any

import pytest
from tests.retrieval.recalling import Recaller

from festinger.ids import MAIN_SPACE
from festinger.memory.edit import archive
from festinger.outcomes.model import OutcomeDeps
from festinger.outcomes.store import set_rhythm
from festinger.retrieval.maintenance import list_due_memories
from festinger.retrieval.query import parse_recall_query

DAY = timedelta(days=1)


def outcomes_of(mind: Recaller) -> OutcomeDeps:
    return OutcomeDeps(
        store=mind.store,
        outbox=mind.deps.outbox,
        clock=mind.hands.clock,
        new_id=mind.deps.new_id,
        terms=lambda space: mind.searching.terms(space).outcomes,
        memory=mind.deps,
        world=mind.deps.world,
    )


async def texts(mind: Recaller, **asked: Any) -> list[str]:
    place = mind.place(agent=asked.pop("agent", "default"))
    limit = asked.pop("limit", 5)
    query = parse_recall_query("anything", now=mind.hands.now, **asked)
    return [each.memory.content for each in await list_due_memories(mind.searching, place, limit=limit, query=query)]


@pytest.mark.requirement("R-57")
async def test_only_what_comes_round_or_presses_is_due_the_strongest_first(by_words: Recaller):
    """A year later everything plain has faded; at its time the yearly comes, and what was left alone presses."""
    outcomes = outcomes_of(by_words)
    plain, yearly, pressing, calm = await by_words.put(
        "Tea is green.", "The harbour fair opens.", "The roof leaks.", "The gate squeaks."
    )
    phase = (by_words.hands.now + 365 * DAY).timestamp()
    place = by_words.place()
    await set_rhythm(outcomes, place, yearly, cycles=[(365 * DAY.total_seconds(), 2.0, phase)], decay_rate=2.0)
    await set_rhythm(outcomes, place, pressing, pressure_rate=0.1, decay_rate=2.0)
    await set_rhythm(outcomes, place, calm, pressure_rate=0.0001, decay_rate=2.0)
    by_words.forward(365 * DAY)

    assert plain
    assert await texts(by_words) == ["The roof leaks.", "The harbour fair opens."]
    assert await texts(by_words, limit=1) == ["The roof leaks."]
    by_words.forward(182 * DAY)
    assert await texts(by_words) == ["The roof leaks."]


@pytest.mark.requirement("R-57")
@pytest.mark.requirement("R-06")
async def test_no_filter_lets_through_what_is_not_meant(by_words: Recaller):
    outcomes, place = outcomes_of(by_words), by_words.place()
    other = await by_words.open_space("other")
    when = by_words.hands.now - DAY
    about: dict[str, Any] = {"subject": "roof", "tags": ("house",), "event_time": when, "shared": False}
    [mine] = await by_words.put("The roof leaks.", **about)
    [theirs] = await by_words.put("The roof leaks.", agent="second", **about)
    [elsewhere] = await by_words.put("The roof leaks.", space=other, **about)
    await set_rhythm(outcomes, place, mine, pressure_rate=1.0)
    await set_rhythm(outcomes, place, theirs, pressure_rate=1.0)
    await set_rhythm(outcomes, by_words.place(space=other), elsewhere, pressure_rate=1.0)
    by_words.forward(DAY)
    now = by_words.hands.now

    asked: dict[str, Any]
    for asked in ({}, {"kinds": ["fact"]}, {"subject": "roof"}, {"tags": ["house"]}, {"origins": ["person"]},
                  {"since": when}, {"until": now}, {"as_of": now}):  # fmt: skip
        assert await texts(by_words, **asked) == ["The roof leaks."], asked
    for asked in ({"kinds": ["insight"]}, {"kinds": ["turn"]}, {"subject": "gate"}, {"tags": ["sea"]},
                  {"origins": ["tool"]}, {"since": now}, {"until": when - DAY}, {"exclude": [mine]},
                  {"as_of": when - DAY}, {"agent": "nobody"}):  # fmt: skip
        assert await texts(by_words, **asked) == [], asked
    await archive(by_words.deps, MAIN_SPACE, mine, by="test")
    assert await texts(by_words) == []
