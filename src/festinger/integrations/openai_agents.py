"""Festinger as the session of agents of the OpenAI Agents SDK.

    session = FestingerSession(memory, "talk-7")
    agent = Agent(name="Helper", tools=session.tools)
    await Runner.run(agent, "Hello", session=session, run_config=session.run_config())

The conversation is an episode: it is known in the next process, learned from, and summed up. Texts are kept; calls
of tools are kept while the process lives. Notes go into the input of a request and not into the session. Read from
openai-agents 0.24.
"""

from dataclasses import replace
from typing import Any, cast

from agents import RunConfig, SessionSettings, Tool, TResponseInputItem, function_tool
from agents.run_config import CallModelData, ModelInputData

from festinger.client.memory import Memory
from festinger.integrations.conversation import AgentConversation

KEPT = ("user", "assistant")


class FestingerSession:
    """A session whose history is an episode."""

    session_settings: SessionSettings | None = None

    def __init__(self, memory: Memory, session_id: str) -> None:
        self.session_id = session_id
        self._memory = memory
        self._talk = AgentConversation(memory, session_id)
        self._items: list[TResponseInputItem] | None = None
        self.tools: list[Tool] = [function_tool(self._talk.recall), function_tool(self._talk.learn)]

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        items = await self._load()
        return list(items if limit is None else items[-limit:] if limit > 0 else [])

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        (await self._load()).extend(items)
        for item in items:
            role, text = dict(item).get("role"), _text(item)
            if role in KEPT and text:
                await self._talk.capture(str(role), text)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the last item out of the history; that it was said stays in the episode."""
        items = await self._load()
        return items.pop() if items else None

    async def clear_session(self) -> None:
        """Begin anew: the episode ends and is summed up."""
        self._items = []
        await self._talk.close()

    def run_config(self, config: RunConfig | None = None) -> RunConfig:
        """Return a configuration that adds notes to every request."""
        return replace(config or RunConfig(), call_model_input_filter=self._add_notes)

    async def _load(self) -> list[TResponseInputItem]:
        """Return the history; at first what was said since the session was last cleared."""
        if self._items is None:
            turns = await self._memory.turns(self.session_id)
            said = [{"role": turn.role.value, "content": turn.content} for turn in turns if turn.role in KEPT]
            self._items = cast("list[TResponseInputItem]", said)
        return self._items

    async def _add_notes(self, data: CallModelData[Any]) -> ModelInputData:
        items: list[Any] = [dict(item) for item in data.model_data.input]
        for item in reversed(items):
            if item.get("role") != "user":
                continue
            if notes := await self._talk.notes(_text(item)):
                said = item["content"]
                block = {"type": "input_text", "text": notes}
                item["content"] = f"{notes}\n{said}" if isinstance(said, str) else [block, *said]
            break
        return replace(data.model_data, input=items)


def _text(item: Any) -> str:
    content = item.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if isinstance(part, dict) and "text" in part)
