"""Festinger as a capability of pydantic-ai agents.

    agent = Agent("openai:gpt-5", capabilities=[FestingerMemory(memory)])

Notes go into the request beside the newest prompt and not into the message history; tools `recall` and `learn`;
the prompt and the output are captured after a run. Read from pydantic-ai 2.66.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelRequest, UserContent, UserPromptPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.toolsets import AgentToolset, FunctionToolset

from festinger.client.memory import Memory
from festinger.integrations.conversation import AgentConversation


@dataclass
class FestingerMemory(AbstractCapability[Any]):
    """The memory of an agent. A session is named, or is the `conversation_id` of the run."""

    memory: Memory
    session: str | None = None
    _talks: dict[str, AgentConversation] = field(default_factory=dict, init=False, repr=False)

    def _talk(self, ctx: RunContext[Any]) -> AgentConversation:
        session = self.session or ctx.conversation_id or "pydantic-ai"
        return self._talks.setdefault(session, AgentConversation(self.memory, session))

    def get_toolset(self) -> AgentToolset[Any]:
        async def recall(ctx: RunContext[Any], cue: str) -> str:
            return await self._talk(ctx).recall(cue)

        async def learn(ctx: RunContext[Any], text: str) -> str:
            return await self._talk(ctx).learn(text)

        recall.__doc__, learn.__doc__ = AgentConversation.recall.__doc__, AgentConversation.learn.__doc__
        return FunctionToolset([recall, learn])

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        messages = list(request_context.messages)
        for at, message in reversed(list(enumerate(messages))):
            prompt = _find_prompt(message)
            if prompt is not None and isinstance(message, ModelRequest):
                if notes := await self._talk(ctx).notes(prompt_text(prompt.content)):
                    parts = [_with_notes(part, notes) if part is prompt else part for part in message.parts]
                    messages[at] = replace(message, parts=parts)
                break
        return replace(request_context, messages=messages)

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        talk = self._talk(ctx)
        if ctx.prompt:
            await talk.capture("user", prompt_text(ctx.prompt))
        await talk.capture("assistant", str(result.output))
        return result


def _find_prompt(message: ModelMessage) -> UserPromptPart | None:
    return next((part for part in reversed(message.parts) if isinstance(part, UserPromptPart)), None)


def _with_notes(prompt: UserPromptPart, notes: str) -> UserPromptPart:
    said = prompt.content
    return replace(prompt, content=f"{notes}\n{said}" if isinstance(said, str) else [notes, *said])


def prompt_text(content: str | Sequence[UserContent]) -> str:
    return content if isinstance(content, str) else "\n".join(part for part in content if isinstance(part, str))
