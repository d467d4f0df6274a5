"""Agents that live on inside `serve`: reminders on time, thoughts while nobody talks, and what is said first again."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.agent.test_mind import answering, say, scope
from tests.consolidation.sleeper import Sleeper, insights, thinking
from tests.jobs.deps import rows
from tests.runtime.server import Hands, fixed_tools, opened, told

from festinger.agent.goals import GoalState, list_open, settle_goal
from festinger.agent.idle import MOST_ALONE, load_thoughts
from festinger.agent.readiness import MILESTONES, load_milestones
from festinger.agent.reminders import add_reminder, deliver_due_reminders
from festinger.agent.tools import AgentTool, ToolEffect
from festinger.consolidation.reflect import InsightsAnswer
from festinger.ids import Origin
from festinger.llm.model import MessageRole
from festinger.llm.providers.scripted import call_tool
from festinger.runtime.app import StartOptions
from festinger.services.agent import describe_mind, list_cycles, open_mind
from festinger.services.resident import run_resident_agents, tick

FACTS = (
    "I live in Lisgate.", "My goal is to run a marathon by May.", "I prefer short answers.",
    "My knee hurts when I run downhill.", "Our dog is called Pepper.",
)  # fmt: skip
READY = {"agent__require_readiness": True}
THOUGHT = "Your knee may not like the downhill part of the marathon: train on flat ground first."


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FESTINGER_PROXY__UPSTREAM", "http://127.0.0.1:1")


@asynccontextmanager
async def living(url: str, folder: Path, *answers: Any, **flags: Any) -> AsyncIterator[tuple[Any, Hands]]:
    """An app with a person who said some things, and a scripted model for what comes then."""
    file, hands = folder / "answers.jsonl", Hands()
    file.write_text("\n".join(map(json.dumps, answers)))
    flags = {
        "llm__chat": f"scripted:{file}",
        "embedding__model": "hashed:64",
        "proxy__upstream": "http://127.0.0.1:1",
    } | flags
    async with opened(url, folder, tools=fixed_tools(hands), start=StartOptions(providers=True), **flags) as app:
        choose, _ = answering(*["All right."] * len(FACTS))
        async with open_mind(app, scope(app), choose=choose, closes=False) as agent:
            for fact in FACTS:
                await say(agent, fact)
        yield app, hands


def asked(app: Any) -> list[Any]:
    """What the scripted model of the settings was asked."""
    return [call for provider in app.switchboard._open.values() for call in provider.asked]


@pytest.mark.requirement("A-73")
async def test_after_a_conversation_it_thinks_and_says_so_first_when_the_next_one_begins(
    database_url: str, tmp_path: Path
):
    async with living(database_url, tmp_path, THOUGHT) as (app, hands):
        here = scope(app)
        hands.forward(timedelta(seconds=59))
        early = await tick(app)
        hands.forward(timedelta(seconds=2))
        (cycle,) = await tick(app)
        again = await tick(app)
        (kept,) = await rows(app.store, "select * from agent_cycle where source = 'idle'")
        turns = await rows(app.store, "select role, content from episode_turn where role = 'thought'")
        learned = await rows(app.store, "select content from memory where content like '%%downhill part%%'")
        mind = await describe_mind(app, here.space, here.agent)
        shown = await list_cycles(app, here, limit=1)
        choose, script = answering("Yes, flat ground.")
        async with open_mind(app, here, choose=choose) as agent:
            first, second = await agent.tell_thought(), await agent.tell_thought()
            await say(agent, "What did you think of, again?")
        (call,) = asked(app)

    assert (early, again) == ([], [])
    assert (cycle.action, kept["action"], cycle.reply) == ("thought", "thought", THOUGHT)
    assert [row["content"] for row in turns] == [THOUGHT]
    assert learned == []
    assert [message.role for message in call.messages] == [MessageRole.SYSTEM, MessageRole.USER]
    assert "Nobody is talking with you now." in call.messages[1].text
    assert [each["content"] for each in mind["thoughts"]] == [THOUGHT]
    assert (shown[0]["source"], shown[0]["message"]) == ("idle", THOUGHT)
    assert first == f"Meanwhile I thought: {THOUGHT}"
    assert second is None
    assert script.asked[0].messages[-2].text == first


async def test_it_thinks_a_few_times_and_then_rests_until_somebody_talks(database_url: str, tmp_path: Path):
    async with living(database_url, tmp_path, *[f"Thought {n}." for n in range(30)]) as (app, hands):
        alone = 0
        for _ in range(MOST_ALONE + 5):
            hands.forward(timedelta(minutes=10))
            alone += len(await tick(app))
        choose, _ = answering("Fine.")
        async with open_mind(app, scope(app), choose=choose) as agent:
            await say(agent, "Good morning to you, dear agent.")
        hands.forward(timedelta(minutes=10))
        after = len(await tick(app))

    assert (alone, after) == (MOST_ALONE, 1)


@pytest.mark.parametrize(
    "flags",
    [
        {"agent__resident": "off"},
        {"llm__chat": "openai:gpt-5@https://models.example/v1", "offline": False},
        {"llm__chat": "ollama:glm-5:cloud"},
        {"llm__chat": ""},
    ],
)
async def test_nothing_is_thought_when_it_is_off_nor_with_a_paid_model_nor_without_one(
    database_url: str, tmp_path: Path, flags: dict[str, Any]
):
    async with living(database_url, tmp_path, **flags) as (app, hands):
        hands.forward(timedelta(hours=1))
        thought = await tick(app)
        cycles = await rows(app.store, "select action from agent_cycle where source = 'idle'")

    assert (thought, cycles) == ([], [])


async def test_nothing_is_thought_while_somebody_talks(database_url: str, tmp_path: Path):
    async with living(database_url, tmp_path, THOUGHT) as (app, hands):
        hands.forward(timedelta(hours=1))
        async with open_mind(app, scope(app)):
            talking = await tick(app)
        after = await tick(app)

    assert (talking, len(after)) == ([], 1)


async def test_with_nothing_to_say_nothing_is_kept_and_a_failing_model_is_no_end(database_url: str, tmp_path: Path):
    async with living(database_url, tmp_path, "NOTHING") as (app, hands):
        hands.forward(timedelta(hours=1))
        (cycle,) = await tick(app)
        hands.forward(timedelta(hours=1))
        failed = await tick(app) + await tick(app)
        thoughts = await load_thoughts(app.memory.deps, scope(app), limit=9)
        cycles = await rows(app.store, "select action from agent_cycle where source = 'idle' order by n")

    assert (cycle.action, cycle.reply) == ("nothing", "")
    assert (failed, thoughts) == ([], [])
    assert [row["action"] for row in cycles] == ["nothing", "failed"]


async def test_while_it_is_idle_it_may_only_look_and_change_nothing(database_url: str, tmp_path: Path):
    done: list[str] = []

    def tool(name: str, effect: ToolEffect) -> AgentTool:
        async def run(_given: Any) -> str:
            done.append(name)
            return "done"

        return AgentTool(name=name, description="", schema={"type": "object"}, run=run, effect=effect)

    calls: list[Any] = [{"call": name, "with": {}} for name in ("look", "learn", "send", "goal")]
    async with living(database_url, tmp_path, *calls, "I looked.") as (app, hands):
        app.agent_tools = lambda _app, _scope: [
            tool("look", ToolEffect.NOTHING), tool("learn", ToolEffect.INNER), tool("send", ToolEffect.IRREVERSIBLE)
        ]  # fmt: skip
        hands.forward(timedelta(hours=1))
        (cycle,) = await tick(app)
        offered = [each.name for each in asked(app)[0].tools]

    assert (done, offered) == (["look"], ["look", "send"])
    assert cycle.reply.startswith("I looked.\n\nI want to call `send`")


@pytest.mark.requirement("A-08")
async def test_a_reminder_comes_into_the_conversation_when_it_is_due_and_is_told_once(
    database_url: str, tmp_path: Path
):
    async with living(database_url, tmp_path, "NOTHING", "NOTHING") as (app, hands):
        deps, here = app.memory.deps, scope(app)
        await add_reminder(deps, here, "in 2 hours call Ada", origin=Origin.PERSON)
        await tick(app)
        before = await told(app, "reminder_due")
        hands.forward(timedelta(hours=3))
        await tick(app)
        await tick(app)
        events = await told(app, "reminder_due")
        mind = await describe_mind(app, here.space, here.agent)
        due, again = await deliver_due_reminders(deps, here), await deliver_due_reminders(deps, here)
        turns = await rows(app.store, "select content from episode_turn where content like 'Reminder%%'")

    assert (before, len(events)) == ([], 1)
    assert mind["turns"][-1]["content"] == "Reminder: call Ada"
    assert ([each.text for each in due], again) == (["call Ada"], [])
    assert len(turns) == 1


async def test_a_night_is_asked_what_two_memories_show_that_an_idle_thought_connected(
    database_url: str, tmp_path: Path
):
    statement = "I live in Lisgate with our dog Pepper"
    async with living(database_url, tmp_path, THOUGHT) as (app, hands):
        hands.forward(timedelta(hours=1))
        await tick(app)
        ids = {row["content"]: row["id"] for row in await rows(app.store, "select id, content from memory")}
        await rows(
            app.store,
            "update thought set channel = 'connection', memory_id = %(one)s, other_id = %(other)s returning id",
            one=ids["I live in Lisgate"],
            other=ids["Our dog is called Pepper"],
        )
        prompts: list[str] = []
        model = thinking(lambda _prompt: statement, question="Nothing of all this?")

        def connect(prompt: str) -> InsightsAnswer:
            prompts.append(prompt)
            return insights((statement, [1, 2]))

        model.answers[InsightsAnswer] = connect
        at = Sleeper(app=app, hands=hands)
        await at.night(model, agent="ada")
        connected = [each for each in prompts if "An idle thought connected" in each]
        await at.night(model, agent="ada")

    assert len(connected) == 1
    assert "I live in Lisgate" in connected[0]
    assert "Our dog is called Pepper" in connected[0]
    assert len([each for each in prompts if "An idle thought connected" in each]) == 1


async def test_the_loop_goes_on_when_a_tick_fails(database_url: str, tmp_path: Path):
    pauses = 0

    async def pause(_seconds: float) -> None:
        nonlocal pauses
        pauses += 1
        if pauses == 3:
            raise InterruptedError

    async with living(database_url, tmp_path, THOUGHT) as (app, hands):
        hands.forward(timedelta(hours=1))
        with pytest.raises(InterruptedError):
            await run_resident_agents(app, pause=pause)
        thoughts = await load_thoughts(app.memory.deps, scope(app), limit=9)

    assert len(thoughts) == 1


async def test_a_goal_that_was_reached_is_thought_about_once(database_url: str, tmp_path: Path):
    async with living(database_url, tmp_path, "Flat ground helped.", "NOTHING") as (app, hands):
        here = scope(app)
        (goal,) = await list_open(app.memory.deps, here)
        await settle_goal(app.memory.deps, here, goal.id, GoalState.ACHIEVED, by="test")
        hands.forward(timedelta(hours=1))
        await tick(app)
        hands.forward(timedelta(hours=1))
        await tick(app)
        first, second = (call.messages[-1].text for call in asked(app))
        (reached,) = [each for each in await load_milestones(app.store, here) if each["name"] == "goal"]

    assert f"- {goal.content}" in first
    assert "The person reached this goal." in first
    assert "The person reached this goal." not in second
    assert reached["reached_at"] == hands.now - timedelta(hours=1)


async def test_a_call_that_an_earlier_thought_wanted_is_agreed_to_when_that_one_is_told(
    database_url: str, tmp_path: Path
):
    done: list[str] = []

    async def run(_given: Any) -> str:
        done.append("booked")
        return "booked"

    tool = AgentTool(name="book", description="", schema={"type": "object"}, run=run, effect=ToolEffect.OUTSIDE)
    idea = {"call": "book", "with": {}}
    async with living(database_url, tmp_path, idea, "A hall would help.", "Also this.") as (app, hands):
        app.agent_tools = lambda _app, _scope: [tool]
        hands.forward(timedelta(hours=1))
        await tick(app)
        hands.forward(timedelta(hours=1))
        await tick(app)
        await rows(
            app.store,
            "update thought set channel = case when at < %(now)s then 'goal' else 'value' end returning id",
            now=hands.now,
        )
        choose, _ = answering(call_tool("book"), "Booked.")
        async with open_mind(app, scope(app), choose=choose) as agent:
            told = await agent.tell_thought()
            cycle = await say(agent, "Yes, please do.")
        (acted,) = [each for each in await load_milestones(app.store, scope(app)) if each["name"] == "self_prompt"]

    assert told is not None
    assert "I want to call `book`" in told
    assert done == ["booked"]
    assert {each.split()[0] for each in cycle.tools} == {"book", "agreed"}
    assert acted["reached_at"] == hands.now


@pytest.mark.parametrize(("flags", "verified", "trust"), [({}, 0, 3), (READY, 9, 0), (READY, 10, 3)])
async def test_an_agent_that_must_be_ready_is_not_trusted_before_all_milestones_are_verified(
    database_url: str, tmp_path: Path, flags: dict[str, Any], verified: int, trust: int
):
    async with (
        living(database_url, tmp_path, consolidation__trust_level=3, **flags) as (app, _),
        open_mind(app, scope(app)) as agent,
    ):
        await rows(
            app.store,
            "insert into milestone select 'main', 'ada', name, now(), 'ann' from unnest(%(names)s::text[]) as n (name) returning name",
            names=list(MILESTONES)[:verified],
        )
        found = await agent.deps.trust()

    assert found == trust
