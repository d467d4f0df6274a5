"""Goals from the day that a person sets them until they are reached or dropped, and what they do to a prompt meanwhile."""

from pathlib import Path

import pytest
from tests.agent.test_mind import answering, minds, say, scope
from tests.jobs.deps import rows
from tests.runtime.server import given

import festinger
from festinger.agent.goals import (
    GoalState,
    add_goal,
    detect_goal_state,
    list_open,
    list_settled,
    reopen_goal,
    settle_goal,
    states_goal,
)
from festinger.errors import BadInput, NotFound
from festinger.ids import MAIN_SPACE
from festinger.memory.undo import undo
from festinger.services.agent import open_mind
from festinger.settings.tree import EmbeddingSettings

EMBEDDER = EmbeddingSettings().model


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("sentence", "is_goal"),
    [
        ("My goal is to finish the thesis", True),
        ("Our main goal is a release every week", True),
        ("We plan to move the database to Postgres 18", True),
        ("I want to run a marathon by May", True),
        ("I'd like to lose five kilos before summer", True),
        ("I'm trying to learn Portuguese this year", True),
        ("I want to know where the log is", False),
        ("I'm trying to connect to the database", False),
        ("I'd like to write it by hand", False),
        ("The goal of the game is to win", False),
        ("I live in Lisgate", False),
    ],
)
def test_a_goal_is_set_outright_or_as_a_wish_with_a_date(sentence: str, is_goal: bool):
    assert states_goal(sentence) is is_goal


@pytest.mark.parametrize(
    ("sentence", "goal", "state"),
    [
        ("I finished my thesis yesterday!", "My goal is to finish the thesis by May", GoalState.ACHIEVED),
        ("The thesis is finally done.", "My goal is to finish the thesis by May", GoalState.ACHIEVED),
        ("We've just shipped v2.", "Our goal is to ship v2 in June", GoalState.ACHIEVED),
        ("I gave up on the marathon.", "I want to run a marathon by May", GoalState.DROPPED),
        ("I no longer want to run the marathon", "I want to run a marathon by May", GoalState.DROPPED),
        ("I finished my thesis.", "I want to run a marathon by May", None),
        ("My sister finished her thesis.", "My goal is to finish the thesis by May", None),
        ("I have not finished my thesis.", "My goal is to finish the thesis by May", None),
        ("I haven't finished my thesis.", "My goal is to finish the thesis by May", None),
        ("Have I finished my thesis?", "My goal is to finish the thesis by May", None),
        ("When I have finished my thesis, we celebrate.", "My goal is to finish the thesis by May", None),
    ],
)
def test_a_goal_is_settled_by_words_about_it_that_say_so(sentence: str, goal: str, state: GoalState | None):
    assert detect_goal_state(sentence, goal) is state


async def test_a_goal_that_a_person_states_is_in_the_prompts_until_it_is_reached(database_url: str, tmp_path: Path):
    async with minds(database_url, tmp_path) as app:
        choose, script = answering(*["Fine."] * 4)
        async with open_mind(app, scope(app), choose=choose) as agent:
            set_ = await agent.hear("My goal is to finish the thesis by May.")
            first = await agent.step()
            reached = await agent.hear("Guess what: I finished my thesis yesterday!")
            await agent.step()
            await say(agent, "What shall I do now?")
            settled = await list_settled(app.memory.deps, agent.scope, limit=5)
        kept = await rows(app.store, "select goals from agent_cycle order by n")

    assert [(step.state, step.memory.content) for step in set_.goals] == [
        (GoalState.OPEN, "My goal is to finish the thesis by May")
    ]
    assert first is not None
    assert "What the person wants to reach" in script.asked[0].messages[0].text
    assert [row["goals"] for row in kept] == [[set_.goals[0].memory.id], [], []]
    assert [step.state for step in reached.goals] == [GoalState.ACHIEVED]
    assert "thesis" not in script.asked[2].messages[0].text
    assert [(each["state"], each["evidence"]) for each in settled] == [
        ("achieved", "Guess what: I finished my thesis yesterday!")
    ]


async def test_a_wish_for_help_with_a_date_becomes_a_goal_and_other_requests_do_not(database_url: str, tmp_path: Path):
    async with minds(database_url, tmp_path) as app, open_mind(app, scope(app)) as agent:
        await say(agent, f"Help me with {'very ' * 200} much by May.")
        await say(agent, "Help me fix this loop. Help me to move to Porto by the end of June.")
        goals = await list_open(app.memory.deps, agent.scope)

    assert [each.content for each in goals] == ["Help me to move to Porto by the end of June"]


async def test_of_many_goals_those_near_to_what_is_talked_about_are_in_even_for_a_short_follow_up(
    database_url: str, tmp_path: Path
):
    async with festinger.open(given(tmp_path, model=EMBEDDER), database=database_url) as memory:
        app = memory._app
        place = scope(app)
        for text in (
            "We plan to migrate the staging database to Postgres 18.",
            "We plan to upgrade the database driver.",
            "We plan to shrink the database backups.",
            "I want to run a marathon by May.",
            "I want to learn to bake sourdough bread this year.",
            "I want to visit my sister in Lisbon this summer.",
        ):
            await add_goal(app.memory.deps, place, text, by="ann")
        choose, script = answering(*["Fine."] * 3)
        async with open_mind(app, place, choose=choose) as agent:
            await say(agent, "How do I dump a Postgres database?")
            await say(agent, "And then?")
        async with open_mind(app, place, choose=choose) as agent:
            await say(agent, "Go on, please.")

    for asked in script.asked:
        read = asked.messages[0].text + asked.messages[-1].text
        assert read.count("We plan to migrate the staging database to Postgres 18") == 1
        assert "marathon" not in read


async def test_goals_are_added_dropped_and_reopened_by_hand_and_each_step_is_undone_like_a_change(
    database_url: str, tmp_path: Path
):
    async with minds(database_url, tmp_path) as app:
        deps, place = app.memory.deps, scope(app)
        made = await add_goal(deps, place, "Read a book a month.", by="ann")
        dropped = await settle_goal(deps, place, made.memory.id, GoalState.DROPPED, by="ann")
        again = await settle_goal(deps, place, made.memory.id, GoalState.ACHIEVED, by="ann")
        gone = await list_open(deps, place)
        assert dropped.change is not None
        await undo(deps, MAIN_SPACE, dropped.change, by="ann")
        back = await list_open(deps, place)
        await settle_goal(deps, place, made.memory.id, GoalState.ACHIEVED, evidence="Twelve books.", by="ann")
        settled = await list_settled(deps, place, limit=5)
        await reopen_goal(deps, place, made.memory.id, by="ann")
        reopened = await list_open(deps, place)
        with pytest.raises(NotFound):
            await settle_goal(deps, scope(app, agent="bob"), made.memory.id, GoalState.DROPPED, by="bob")
        with pytest.raises(BadInput):
            await add_goal(deps, place, " ", by="ann")

    assert again.change is None
    assert gone == []
    assert [each.content for each in back] == [each.content for each in reopened] == ["Read a book a month"]
    assert [(each["state"], each["evidence"]) for each in settled] == [("achieved", "Twelve books.")]
