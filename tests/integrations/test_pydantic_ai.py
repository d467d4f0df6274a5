import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.integrations.conftest import CUE, HARBOUR, TOLD

import festinger
from festinger.integrations.pydantic_ai import FestingerMemory


@pytest.mark.requirement("I-30")
async def test_an_agent_gets_notes_and_tools_and_is_learned_from(memory: festinger.Memory):
    asked: list[str] = []
    tools: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(str(messages))
        tools[:] = sorted(each.name for each in info.function_tools)
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("learn", {"text": "The build takes nine minutes."})])
        return ModelResponse(parts=[TextPart("At 0730.")])

    agent = Agent(FunctionModel(model), capabilities=[FestingerMemory(memory, session="s1")])
    result = await agent.run(f"{TOLD} {CUE}")
    said = await memory.turns("s1")
    build = await memory.recall("How long does the build take?")
    port = await memory.recall("Which port does the staging database use?")

    assert result.output == "At 0730."
    assert tools == ["learn", "recall"]
    # Both requests carry the notes, once; the history does not.
    assert [each.count(HARBOUR) for each in asked] == [1, 1]
    assert HARBOUR not in str(result.all_messages())
    assert [(turn.role.value, turn.content) for turn in said] == [("user", f"{TOLD} {CUE}"), ("assistant", "At 0730.")]
    assert build.items[0].text == "The build takes nine minutes."
    assert "5433" in port.items[0].text


@pytest.mark.requirement("I-30")
async def test_a_prompt_of_parts_gets_notes_too_and_the_run_names_the_session(memory: festinger.Memory):
    asked: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(str(messages[-1]))
        return ModelResponse(parts=[TextPart("At 0730.")])

    agent = Agent(FunctionModel(model), capabilities=[FestingerMemory(memory)])
    await agent.run([CUE, "Be brief."], conversation_id="c7")

    assert HARBOUR in asked[0]
    assert [turn.content for turn in await memory.turns("c7")] == [f"{CUE}\nBe brief.", "At 0730."]
