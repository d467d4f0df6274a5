"""An agent that hears, remembers and answers, with a scripted model and without one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.jobs.deps import rows
from tests.runtime.server import given

import festinger
from festinger.agent.cycle import SECOND_THOUGHT, ChooseModel, MistakeCorrection, System2Answer
from festinger.agent.mind import Agent
from festinger.errors import AlreadyRunning, ProviderDown, StoreDown
from festinger.ids import AgentId, Scope, SessionId
from festinger.llm.ledger import ModelCaller
from festinger.llm.model import MessageRole, ModelPurpose
from festinger.llm.providers.scripted import FailStep, ScriptedProvider, build_scripted_model
from festinger.services.agent import last_chat_session, open_mind, use_local_model


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


@asynccontextmanager
async def minds(database_url: str, home: Path) -> AsyncIterator[Any]:
    async with festinger.open(given(home), database=database_url) as memory:
        yield memory._app


def scope(app: Any, session: str = "chat:1", agent: str = "ada") -> Scope:
    return Scope(space=app.directory.need("main"), agent=AgentId(agent), session=SessionId(session))


def answering(*answers: Any, slow: Any = None) -> tuple[ChooseModel, ScriptedProvider]:
    """Models that answer by script."""
    model, script = build_scripted_model(*answers)
    deep, _ = build_scripted_model(*([slow] if slow else []))

    async def choose(purpose: ModelPurpose, _scope: Scope) -> Any:
        return model if purpose is ModelPurpose.CHAT else deep if slow and purpose is ModelPurpose.SYSTEM2 else None

    return choose, script


async def say(agent: Agent, text: str) -> Any:
    await agent.hear(text)
    return await agent.step()


@pytest.mark.requirement("A-50")
async def test_what_was_said_in_one_chat_stands_in_the_prompt_of_the_next(database_url: str, tmp_path: Path):
    async with minds(database_url, tmp_path) as app:
        choose, script = answering("Noted.", "You live in Lisgate.")
        async with open_mind(app, scope(app), choose=choose) as agent:
            first = await say(agent, "I live in Lisgate.")
        async with open_mind(app, scope(app, "chat:2"), choose=choose) as agent:
            second = await say(agent, "Where do I live?")
        (shown,) = await rows(app.store, "select content from memory where id = %(id)s", id=second.injected[0])

    asked = script.asked[1].messages
    assert [message.role for message in asked] == [MessageRole.SYSTEM, MessageRole.USER]
    assert "You are ada" in asked[0].text
    assert ["all of them are empty yet" in call.messages[0].text for call in script.asked] == [True, False]
    assert "- I live in Lisgate" in asked[1].text
    assert asked[1].text.endswith("Where do I live?")
    assert (first.injected, first.reply, second.reply) == ([], "Noted.", "You live in Lisgate.")
    assert shown["content"] == "I live in Lisgate"


@pytest.mark.requirement("A-04")
async def test_without_a_model_it_answers_from_memory_or_says_that_it_knows_nothing(database_url: str, tmp_path: Path):
    async with minds(database_url, tmp_path) as app, open_mind(app, scope(app)) as agent:
        told = await say(agent, "I live in Lisgate.")
        asked = await say(agent, "Where do I live?")
        unknown = await say(agent, "What is the capital of Kazakhstan?")
        nothing = await agent.step()

    assert (told.action, told.reply) == ("remembered", "I will remember that.")
    assert "- I live in Lisgate" in asked.reply
    assert unknown.reply == "I remember nothing about that."
    assert nothing is None


async def test_a_message_that_asks_and_teaches_nothing_is_kept_and_told_so(database_url: str, tmp_path: Path):
    async with minds(database_url, tmp_path) as app, open_mind(app, scope(app)) as agent:
        thanks = await say(agent, "thanks a lot")

    assert thanks.reply == "Okay. I found nothing to remember in that."


async def test_what_was_heard_of_a_stopped_reply_stays_in_the_conversation(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    choose, script = answering("One two three.", "Fine.")
    at_once = script.stream

    async def stream(*asked: Any) -> AsyncIterator[Any]:
        async for chunk in at_once(*asked):
            yield chunk
            await asyncio.sleep(0)

    monkeypatch.setattr(script, "stream", stream)
    async with minds(database_url, tmp_path) as app, open_mind(app, scope(app), choose=choose) as agent:
        await agent.hear("Tell me a long story.")

        def stop(_piece: str) -> None:
            task.cancel()

        task = asyncio.ensure_future(agent.step(stop))
        with pytest.raises(asyncio.CancelledError):
            await task
        await say(agent, "Shorter than that, please.")
        kept = await rows(app.store, "select action from agent_cycle order by n")

    assert script.asked[1].messages[-2].text == "One …"
    assert [row["action"] for row in kept] == ["stopped", "said"]


async def test_what_was_heard_of_a_reply_that_broke_off_stays_in_the_conversation(database_url: str, tmp_path: Path):
    choose, script = answering(FailStep(error=ProviderDown("gone"), text="Your dog is"), "Pepper.")
    async with minds(database_url, tmp_path) as app, open_mind(app, scope(app), choose=choose) as agent:
        with pytest.raises(ProviderDown):
            await say(agent, "What is our dog called?")
        await say(agent, "Go on, please.")
        kept = await rows(app.store, "select action, degraded from agent_cycle order by n")

    assert script.asked[1].messages[-2].text == "Your dog is …"
    assert [(row["action"], row["degraded"]) for row in kept] == [("stopped", ["model"]), ("said", [])]


async def test_a_wish_to_forget_shows_what_is_known_and_is_neither_kept_nor_sent_to_a_model(
    database_url: str, tmp_path: Path
):
    choose, script = answering("Noted.")
    async with minds(database_url, tmp_path) as app, open_mind(app, scope(app), choose=choose) as agent:
        await say(agent, "I have epilepsy.")
        wish = await say(agent, "Please forget that I have epilepsy.")
        last = await say(agent, "forget what I just said")
        unknown = await say(agent, "Forget everything about my sister Ingrid")
        turns = await rows(app.store, "select content from episode_turn order by seq")
        known = await rows(app.store, "select id, content from memory")

    assert [row["content"] for row in turns] == ["I have epilepsy.", "Noted."]
    assert [row["content"] for row in known] == ["I have epilepsy"]
    assert len(script.asked) == 1
    assert wish.reply.splitlines()[1:] == [
        "- I have epilepsy",
        "`/forget 1` erases this for good; so does its page in the console.",
    ]
    assert wish.injected == last.injected == [str(known[0]["id"])]
    assert unknown.reply == "I remember nothing about that."


async def test_a_question_about_everything_is_answered_with_everything(database_url: str, tmp_path: Path):
    choose, script = answering("Noted.", "Noted.", "You are a nurse in Lisgate.")
    async with minds(database_url, tmp_path) as app:
        async with open_mind(app, scope(app), choose=choose) as agent:
            await say(agent, "I work as a nurse.")
            await say(agent, "We live in Lisgate near the river.")
        async with open_mind(app, scope(app, "chat:2"), choose=choose) as agent:
            told = await say(agent, "So, what do you know about me?")

    read = script.asked[2].messages[-1].text
    assert "- I work as a nurse (noted " in read
    assert "- We live in Lisgate near the river (noted " in read
    assert (len(told.injected), told.degraded) == (2, [])


@pytest.mark.requirement("A-03")
async def test_each_cycle_is_kept_with_numbers_and_ids_and_no_words(database_url: str, tmp_path: Path):
    async with minds(database_url, tmp_path) as app:
        choose, _ = answering("Fine.", "Fine again.")
        async with open_mind(app, scope(app), choose=choose) as agent:
            await say(agent, "How are you on this lovely day?")
            await say(agent, "And how is the weather in Lisgate?")
        kept = await rows(app.store, "select * from agent_cycle order by n")

    assert [row["n"] for row in kept] == [1, 2]
    assert {row["source"] for row in kept} == {"user"}
    assert all(row["candidates"][0]["id"] == str(row["winner"]) for row in kept)
    assert not any("Lisgate" in str(value) for row in kept for value in row.values())


@pytest.mark.requirement("A-02")
async def test_a_fault_of_the_memory_leaves_the_reply_and_is_told(database_url: str, tmp_path: Path):
    async def away(*_given: Any, **_more: Any) -> Any:
        raise StoreDown("The store is away.")

    async with minds(database_url, tmp_path) as app:
        choose, script = answering("Fine.")
        async with open_mind(app, scope(app), choose=choose) as agent:
            agent.deps = replace(agent.deps, recollect=away, observe_reply=away)
            cycle = await say(agent, "How is the weather in Lisgate today?")
        (kept,) = await rows(app.store, "select degraded from agent_cycle")

    assert cycle.reply == "Fine."
    assert kept["degraded"] == ["memory"]
    assert script.asked[0].messages[-1].text == "How is the weather in Lisgate today?"


@pytest.mark.requirement("A-86")
async def test_the_model_is_told_what_it_cost_and_how_often_it_was_started(database_url: str, tmp_path: Path):
    async with minds(database_url, tmp_path) as app:
        choose, script = answering("Fine.")
        async with open_mind(app, scope(app), choose=choose) as agent:
            await say(agent, "How is the weather in Lisgate today?")

    assert "This conversation has cost nothing so far. You were started 0 times." in script.asked[0].messages[0].text


@pytest.mark.requirement("A-01")
async def test_only_one_process_thinks_for_an_agent(database_url: str, tmp_path: Path):
    async with minds(database_url, tmp_path) as app, open_mind(app, scope(app)):
        with pytest.raises(AlreadyRunning, match="`ada` is talking elsewhere"):
            async with open_mind(app, scope(app, "chat:2")):
                pass
        async with open_mind(app, scope(app, agent="bob")) as other:
            assert other.scope.agent == "bob"


@pytest.mark.requirement("A-67")
async def test_a_reply_in_doubt_is_asked_for_once_more_and_the_surer_one_stands(database_url: str, tmp_path: Path):
    async with minds(database_url, tmp_path) as app:
        choose, script = answering("Maybe? I think, perhaps, I'm not sure.", "I do not have that in my notes.")
        async with open_mind(app, scope(app), choose=choose) as agent:
            heard: list[str] = []
            await agent.hear("What is my cat called?")
            cycle = await agent.step(heard.append)

    assert cycle is not None
    assert cycle.retried
    assert cycle.reply == f"Maybe? I think, perhaps, I'm not sure.{SECOND_THOUGHT}I do not have that in my notes."
    assert "".join(heard) == cycle.reply
    assert "sounded unsure" in script.asked[1].messages[-1].text


async def test_a_plain_reply_is_not_asked_again_only_because_nothing_was_remembered(database_url: str, tmp_path: Path):
    async with minds(database_url, tmp_path) as app:
        choose, script = answering("The capital of Kazakhstan is Astana.")
        async with open_mind(app, scope(app), choose=choose) as agent:
            cycle = await say(agent, "What is the capital of Kazakhstan?")

    assert (cycle.retried, len(script.asked)) == (False, 1)


@pytest.mark.requirement("A-67")
async def test_slow_thought_answers_and_its_correction_stands_in_the_next_similar_turn(
    database_url: str, tmp_path: Path
):
    thought = System2Answer(
        reasoning="The notes say nothing.",
        answer="I do not know which port it is.",
        explanation="Nothing is remembered of it.",
        correction=MistakeCorrection(
            trigger="asked for the port of the Lisgate server",
            error_type="guess",
            original_reasoning="it is usually 80",
            correction="look it up in the deploy file of Lisgate",
        ),
    )
    unsure = "Maybe 80? I think it might be, perhaps, not sure."
    async with minds(database_url, tmp_path) as app:
        choose, script = answering(unsure, unsure, "It stands in the deploy file.", slow=thought)
        async with open_mind(app, scope(app), choose=choose) as agent:
            first = await say(agent, "What is the port of the Lisgate server?")
            second = await say(agent, "Tell me the port of the Lisgate server, please.")

    assert first.escalated
    assert first.triggers == ["doubt", "unknown"]
    assert first.reply.endswith("I do not know which port it is.")
    assert len(second.corrections) == 1
    assert "look it up in the deploy file of Lisgate" in script.asked[2].messages[0].text


async def test_a_model_that_is_away_is_told_and_the_message_stays(database_url: str, tmp_path: Path):
    async with minds(database_url, tmp_path) as app:
        choose, _ = answering(FailStep(error=ProviderDown("The model is away.")), "Here again.")
        async with open_mind(app, scope(app), choose=choose) as agent:
            await agent.hear("I live in Lisgate.")
            with pytest.raises(ProviderDown):
                await agent.step()
            again = await say(agent, "Are you there?")
        kept = await rows(app.store, "select content from memory where status = 'active'")

    assert again.reply == "Here again."
    assert [row["content"] for row in kept] == ["I live in Lisgate"]


@pytest.mark.requirement("A-50")
async def test_boundaries_are_always_in_the_prompt(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path), database=database_url, agent="ada") as memory:
        app = memory._app
        await memory.learn("Never send mail on my behalf.", immutable=True)
        choose, script = answering(*["Fine."] * 5)
        async with open_mind(app, scope(app), choose=choose) as agent:
            for number in range(5):
                await say(agent, f"Tell me a story about the number {number}.")

    assert all("- Never send mail on my behalf." in call.messages[0].text for call in script.asked)


async def test_a_chat_goes_on_where_the_last_one_ended(database_url: str, tmp_path: Path):
    async with minds(database_url, tmp_path) as app:
        choose, script = answering("Hello.", "Yes.")
        async with open_mind(app, scope(app), choose=choose) as agent:
            await say(agent, "Good morning to you, dear agent.")
        session = await last_chat_session(app, scope(app, "chat:new"))
        assert session is not None
        async with open_mind(app, scope(app, session), choose=choose) as agent:
            await say(agent, "Do you still know what I said?")
        episodes = await rows(app.store, "select state from episode order by seq")

    texts = [message.text for message in script.asked[1].messages[1:]]
    assert session == "chat:1"
    assert texts[:2] == ["Good morning to you, dear agent.", "Hello."]
    assert {row["state"] for row in episodes} == {"closed"}


@asynccontextmanager
async def serving(**answers: Any) -> AsyncIterator[str]:
    """A model server that answers these paths."""

    async def answer(request: web.Request) -> web.Response:
        found = answers.get(request.path.strip("/").replace("/", "_"))
        if callable(found):
            found = found(await request.json())
        if isinstance(found, web.Response):
            return found
        return web.json_response(found) if found is not None else web.Response(status=404)

    pages = web.Application()
    pages.router.add_route("*", "/{anything:.*}", answer)
    runner = web.AppRunner(pages, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


OLLAMA = {
    "api_ps": {"models": []},
    "api_tags": {"models": [{"name": "nomic-embed-text"}, {"name": "llama3.2"}]},
    "api_show": lambda asked: {"capabilities": ["embedding" if "embed" in asked["model"] else "completion"]},
    "v1_models": {"data": [{"id": "other"}]},
}


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (OLLAMA, "ollama:llama3.2@{base}"),
        ({**OLLAMA, "api_ps": {"models": [{"name": "qwen3"}]}}, "ollama:qwen3@{base}"),
        ({"v1_models": {"data": [{"id": "mistral"}, {"id": "phi"}]}}, "openai:mistral@{base}/v1"),
        ({"v1_models": {"data": []}}, ""),
        ({"api_tags": ["nonsense"], "v1_models": "nonsense"}, ""),
    ],
)
async def test_a_chat_talks_with_the_model_that_is_already_there(
    database_url: str, tmp_path: Path, answers: dict[str, Any], expected: str
):
    async with serving(**answers) as base:
        settings = {**given(tmp_path), "proxy": {"upstream": base}}
        async with festinger.open(settings, database=database_url) as memory:
            app = memory._app
            await use_local_model(app)
            model = await app.model(ModelPurpose.CHAT, ModelCaller())

    assert app.own_model.setting == expected.format(base=base)
    assert (model.name if model else "") == expected.partition("@")[0]


async def test_a_model_elsewhere_is_not_used_unless_it_is_named(database_url: str, tmp_path: Path):
    settings = {**given(tmp_path), "proxy": {"upstream": "https://models.example"}}
    async with festinger.open(settings, database=database_url) as memory:
        await use_local_model(memory._app)

    assert memory._app.own_model.setting == ""
