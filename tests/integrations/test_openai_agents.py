from pathlib import Path
from typing import Any

import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, Session, Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from tests.integrations.conftest import CUE, HARBOUR, TOLD
from tests.runtime.server import given

import festinger
from festinger.integrations.openai_agents import FestingerSession

QUIET = RunConfig(tracing_disabled=True)


class ScriptedModel(Model):
    """Learns something by a tool, then answers; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.tools: list[str] = []

    async def get_response(self, *_: Any, **request: Any) -> ModelResponse:
        self.asked.append(str(request["input"]))
        self.tools = sorted(each.name for each in request["tools"])
        words = '{"text": "The build takes nine minutes."}'
        call = ResponseFunctionToolCall(arguments=words, call_id="1", name="learn", type="function_call")
        text = ResponseOutputText(annotations=[], text="At 0730.", type="output_text", logprobs=[])
        answer = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[call if len(self.asked) == 1 else answer], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


@pytest.mark.requirement("I-30")
async def test_an_agent_gets_notes_and_tools_and_is_learned_from(memory: festinger.Memory):
    model, session = ScriptedModel(), FestingerSession(memory, "s1")
    agent = Agent(name="Helper", model=model, tools=session.tools)
    result = await Runner.run(agent, f"{TOLD} {CUE}", session=session, run_config=session.run_config(QUIET))
    said = await memory.turns("s1")
    build = await memory.recall("How long does the build take?")
    port = await memory.recall("Which port does the staging database use?")

    assert isinstance(session, Session)
    assert result.final_output == "At 0730."
    assert model.tools == ["learn", "recall"]
    assert [each.count(HARBOUR) for each in model.asked] == [1, 1]
    assert HARBOUR not in str(await session.get_items())
    assert [(turn.role.value, turn.content) for turn in said] == [("user", f"{TOLD} {CUE}"), ("assistant", "At 0730.")]
    assert build.items[0].text == "The build takes nine minutes."
    assert "5433" in port.items[0].text


@pytest.mark.requirement("I-30")
async def test_a_session_goes_on_in_the_next_process_until_it_is_cleared(database_url: str, tmp_path: Path):
    chosen = given(tmp_path)
    async with festinger.open(chosen, database=database_url) as memory:
        await FestingerSession(memory, "s1").add_items([{"role": "user", "content": "Hello"}])
    async with festinger.open(chosen, database=database_url) as memory:
        session = FestingerSession(memory, "s1")
        answer: Any = {"role": "assistant", "content": [{"type": "output_text", "text": "Good day"}]}
        await session.add_items([answer])
        kept = await session.get_items()
        newest, none = await session.get_items(1), await session.get_items(0)
        popped = await session.pop_item()
        left = await session.get_items()
        await session.clear_session()
        cleared = await session.get_items(), await session.pop_item()
        anew = await FestingerSession(memory, "s1").get_items()

    assert kept[0] == {"role": "user", "content": "Hello"}
    assert (newest, none, left) == (kept[1:], [], kept[:1])
    assert popped == kept[1]
    assert cleared == ([], None)
    assert anew == []
