from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from tests.integrations.conftest import CUE, HARBOUR, TOLD

import festinger
from festinger.integrations.langchain import FestingerMiddleware


class ScriptedModel(BaseChatModel):
    """Learns something by a tool, then answers; keeps what it was asked."""

    asked: list[str] = []  # noqa: RUF012 - a field of pydantic
    tools: list[str] = []  # noqa: RUF012

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_more: Any) -> Any:
        self.tools[:] = sorted(each.name for each in tools)
        return self

    def _generate(self, messages: list[BaseMessage], *_args: Any, **_more: Any) -> ChatResult:
        self.asked.append(str(messages))
        call = {"name": "learn", "args": {"text": "The build takes nine minutes."}, "id": "1"}
        answer = AIMessage("", tool_calls=[call]) if len(self.asked) == 1 else AIMessage("At 0730.")
        return ChatResult(generations=[ChatGeneration(message=answer)])


@pytest.mark.requirement("I-30")
async def test_an_agent_gets_notes_and_tools_and_is_learned_from(memory: festinger.Memory):
    model = ScriptedModel(asked=[], tools=[])
    agent = create_agent(model, middleware=[FestingerMiddleware(memory)])
    state = await agent.ainvoke(
        {"messages": [{"role": "user", "content": f"{TOLD} {CUE}"}]}, {"configurable": {"thread_id": "t1"}}
    )
    said = await memory.turns("t1")
    build = await memory.recall("How long does the build take?")
    port = await memory.recall("Which port does the staging database use?")

    assert state["messages"][-1].text == "At 0730."
    assert model.tools == ["learn", "recall"]
    assert [each.count(HARBOUR) for each in model.asked] == [1, 1]
    assert HARBOUR not in str(state["messages"])
    assert [(turn.role.value, turn.content) for turn in said] == [("user", f"{TOLD} {CUE}"), ("assistant", "At 0730.")]
    assert build.items[0].text == "The build takes nine minutes."
    assert "5433" in port.items[0].text


@pytest.mark.requirement("I-30")
async def test_a_message_of_blocks_gets_notes_too(memory: festinger.Memory):
    model = ScriptedModel(asked=["begun"], tools=[])
    agent = create_agent(model, middleware=[FestingerMiddleware(memory)])
    await agent.ainvoke({"messages": [{"role": "user", "content": [{"type": "text", "text": CUE}]}]})

    assert HARBOUR in model.asked[-1]
    assert [turn.content for turn in await memory.turns("langchain")] == [CUE, "At 0730."]
