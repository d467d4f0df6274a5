"""Festinger as middleware of LangChain agents, which are graphs of LangGraph.

    agent = create_agent(model, middleware=[FestingerMiddleware(memory)])
    await agent.ainvoke({"messages": [...]}, {"configurable": {"thread_id": "1"}})

Notes go into the request beside the newest human message and not into the state; tools `recall` and `learn`; the
exchange is captured after the agent has answered. The thread is the session. The memory is asynchronous, so the
agent must be called with `ainvoke` or `astream`. Read from langchain 1.4.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.config import get_config
from langgraph.runtime import Runtime

from festinger.client.memory import Memory
from festinger.integrations.conversation import AgentConversation

DEFAULT_THREAD = "langchain"


class FestingerMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """The memory of an agent, one session per thread."""

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self._memory = memory
        self._talks: dict[str, AgentConversation] = {}

        async def recall(cue: str, config: RunnableConfig) -> str:
            return await self._talk(config).recall(cue)

        async def learn(text: str, config: RunnableConfig) -> str:
            return await self._talk(config).learn(text)

        self.tools = [
            tool("recall", description=AgentConversation.recall.__doc__)(recall),
            tool("learn", description=AgentConversation.learn.__doc__)(learn),
        ]

    def _talk(self, config: RunnableConfig) -> AgentConversation:
        session = str(config.get("configurable", {}).get("thread_id") or DEFAULT_THREAD)
        return self._talks.setdefault(session, AgentConversation(self._memory, session))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        messages = list(request.messages)
        at = _find_last_human(messages)
        if at is not None and (notes := await self._talk(get_config()).notes(messages[at].text)):
            said = messages[at].content
            added: Any = f"{notes}\n{said}" if isinstance(said, str) else [{"type": "text", "text": notes}, *said]
            messages[at] = messages[at].model_copy(update={"content": added})
        return await handler(request.override(messages=messages))

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        messages = list(state["messages"])
        at = _find_last_human(messages)
        if at is None:
            return
        talk = self._talk(get_config())
        await talk.capture("user", messages[at].text)
        answers = [each.text for each in messages[at + 1 :] if isinstance(each, AIMessage) and each.text]
        if answers:
            await talk.capture("assistant", answers[-1])


def _find_last_human(messages: list[Any]) -> int | None:
    return next((at for at in reversed(range(len(messages))) if isinstance(messages[at], HumanMessage)), None)
