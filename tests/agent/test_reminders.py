"""Reminders: read from plain words, told once when they are due, and canceled."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.agent.test_mind import answering, say, scope
from tests.runtime.server import Hands, fixed_tools, opened

from festinger.agent.reminders import (
    add_reminder,
    cancel_reminder,
    list_reminders,
    parse_reminder,
    set_requested_reminders,
)
from festinger.errors import BadInput
from festinger.ids import Origin
from festinger.llm.providers.scripted import call_tool
from festinger.services.agent import describe_mind, open_mind

NOON = datetime(2026, 1, 5, 12)
"""A Monday, in the time zone of whoever runs the tests."""


@pytest.mark.parametrize(
    ("text", "due", "what"),
    [
        ("tomorrow 9:00 call Ada", datetime(2026, 1, 6, 9), "call Ada"),
        ("tomorrow at 9 to call Ada", datetime(2026, 1, 6, 9), "call Ada"),
        ("to call Ada tomorrow at 9am.", datetime(2026, 1, 6, 9), "call Ada"),
        ("in 2 hours check the oven", datetime(2026, 1, 5, 14), "check the oven"),
        ("about the rent on 2026-02-01 08:30", datetime(2026, 2, 1, 8, 30), "the rent"),
        ("Friday 17:00 that the 3 reports are due", datetime(2026, 1, 9, 17), "the 3 reports are due"),
    ],
)
def test_when_and_what_are_read_from_plain_words(text: str, due: datetime, what: str):
    assert parse_reminder(text, now=NOON.astimezone(UTC)) == (due.astimezone(UTC), what)


@pytest.mark.parametrize(("text", "why"), [("call Ada", "When"), ("2020-01-01 9:00 call Ada", "is past")])
def test_without_a_time_that_comes_nothing_is_read(text: str, why: str):
    with pytest.raises(BadInput, match=why):
        parse_reminder(text, now=NOON.astimezone(UTC))


async def test_what_a_person_asks_for_is_told_once_when_it_is_due(database_url: str, tmp_path: Path):
    hands = Hands()
    async with opened(database_url, tmp_path, tools=fixed_tools(hands)) as app:
        again_by_tool = call_tool("remind", when="in 3 hours", text="call Ada")
        choose, script = answering(again_by_tool, "All right.", "You are welcome.", "Still here.")
        async with open_mind(app, scope(app), choose=choose) as agent:
            heard = await agent.hear("Could you remind me in 2 hours to call Ada? And remind me what I said.")
            await agent.step()
            early = (await agent.hear("What else is there to do today?")).due
            await agent.step()
            hands.forward(timedelta(hours=3))
            later = await agent.hear("What was it that I wanted?")
            await agent.step()
            waiting = await list_reminders(app.memory.deps, agent.scope)
            again = (await agent.hear("And then, what was it?")).due
            mind = await describe_mind(app, agent.scope.space, agent.scope.agent)

    assert [each.text for each in heard.reminders] == ["call Ada"]
    assert "You just noted a reminder" in script.asked[0].messages[0].text
    assert (early, again, waiting, mind["reminders"]) == ([], [], [], [])
    assert [(each.text, each.origin) for each in later.due] == [("call Ada", Origin.PERSON)]
    assert script.asked[3].messages[-2].text == "Reminder: call Ada"
    assert script.asked[1].messages[-1].text.startswith("noted already: ")


async def test_without_a_model_it_is_noted_and_another_agent_is_not_told(database_url: str, tmp_path: Path):
    hands = Hands()
    async with opened(database_url, tmp_path, tools=fixed_tools(hands)) as app:
        async with open_mind(app, scope(app)) as agent:
            cycle = await say(agent, "Remind me in 2 hours to call Ada.")
            without_time = await say(agent, "Please remind me of the milk.")
        hands.forward(timedelta(hours=3))
        async with open_mind(app, scope(app, agent="bob")) as other:
            told = (await other.hear("Is there anything to do for me?")).due
        mind = await describe_mind(app, agent.scope.space, agent.scope.agent)

    assert cycle.reply.startswith("I will remind you: ")
    assert cycle.reply.endswith("call Ada")
    assert without_time.reply.startswith("When? ")
    assert told == []
    assert [each["text"] for each in mind["reminders"]] == ["call Ada"]


async def test_the_same_reminder_is_kept_once_and_a_canceled_one_is_gone(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path, tools=fixed_tools()) as app:
        deps, here = app.memory.deps, scope(app)
        first = await add_reminder(deps, here, "in 2 hours call Ada", origin=Origin.PERSON)
        assert await add_reminder(deps, here, "in 2 hours call Ada", origin=Origin.PERSON) == first
        assert await set_requested_reminders(deps, here, "Remind me of the milk. It is late.") == []
        with pytest.raises(BadInput, match="1 to 500"):
            await add_reminder(deps, here, "in 2 hours", origin=Origin.PERSON)
        await cancel_reminder(deps, here, first.id)
        assert await list_reminders(deps, here) == []
