"""A fake model that answers from a script.

It ships for tests, for stories through the real interfaces and for trying things out: a queue of steps and a
record of its calls. It can also fail, hang, be cut off or talk nonsense on demand. As a setting it is
`scripted:FILE`, with one answer per line, as JSON text or as a JSON object; `{"call": NAME, "with": {…}}` calls a tool.
"""

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from festinger.clock import system_clock, system_stopwatch
from festinger.errors import BadSetting, FestingerError, ProviderRefused
from festinger.llm.client import BufferedLedger, CallPolicy, CheckedModel, GuardedConnection, ModelDeps
from festinger.llm.endpoint import Endpoint, ProviderName
from festinger.llm.ledger import CallTotals, ModelCall, ModelCaller, ServerGuards
from festinger.llm.model import (
    AnswerSchema,
    FinishReason,
    Model,
    ModelPurpose,
    ModelReply,
    ModelToolCall,
    PromptMessage,
    ReplyChunk,
    ToolOffer,
    Usage,
)

_PIECE = re.compile(r"(?:\A\s*+)?\S++\s*+")

SOME_USAGE = Usage(tokens_in=10, tokens_out=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class SayStep:
    """Answer with this text, and call tools."""

    text: str = ""
    finish: FinishReason = FinishReason.DONE
    usage: Usage | None = SOME_USAGE
    calls: tuple[ModelToolCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FailStep:
    """Raise this error; in a stream, after this text."""

    error: FestingerError
    text: str = ""


@dataclass(frozen=True, slots=True)
class HangStep:
    """Never answer."""


Step = SayStep | FailStep | HangStep


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedCall:
    messages: tuple[PromptMessage, ...]
    shape: type[AnswerSchema] | None
    tools: tuple[ToolOffer, ...] = ()


def call_tool(name: str, **arguments: Any) -> SayStep:
    return SayStep(calls=(ModelToolCall(id=f"call-{name}", name=name, arguments=arguments),))


def to_step(answer: Step | AnswerSchema | str) -> Step:
    """Build a step from whatever is shortest to write."""
    if isinstance(answer, AnswerSchema):
        return SayStep(text=answer.model_dump_json())
    if isinstance(answer, str):
        return SayStep(text=answer)
    return answer


class ScriptedProvider:
    """A provider with a queue of steps."""

    def __init__(self, *answers: Step | AnswerSchema | str, endpoint: Endpoint | None = None) -> None:
        self.endpoint = endpoint or Endpoint(provider=ProviderName.SCRIPTED, model="script", address="")
        self.queue: deque[Step] = deque(to_step(answer) for answer in answers)
        self.asked: list[ScriptedCall] = []
        self.reached = asyncio.Event()
        """Set once it has been called; for tests that wait until it hangs."""
        self.closed = False

    def add(self, *answers: Step | AnswerSchema | str) -> None:
        self.queue.extend(to_step(answer) for answer in answers)

    async def complete(self, messages: Sequence[PromptMessage], shape: type[AnswerSchema] | None) -> ModelReply:
        said = await self._next(messages, shape)
        return ModelReply(text=said.text, finish=said.finish, usage=said.usage)

    async def stream(
        self, messages: Sequence[PromptMessage], tools: Sequence[ToolOffer] = ()
    ) -> AsyncIterator[ReplyChunk]:
        if self.queue and isinstance(failing := self.queue[0], FailStep) and failing.text:
            for piece in _PIECE.findall(failing.text):
                yield ReplyChunk(text=piece)
        said = await self._next(messages, None, tools)
        for piece in _PIECE.findall(said.text):
            yield ReplyChunk(text=piece)
        yield ReplyChunk(finish=said.finish, usage=said.usage, calls=said.calls)

    async def close(self) -> None:
        self.closed = True

    async def _next(
        self, messages: Sequence[PromptMessage], shape: type[AnswerSchema] | None, tools: Sequence[ToolOffer] = ()
    ) -> SayStep:
        self.asked.append(ScriptedCall(messages=tuple(messages), shape=shape, tools=tuple(tools)))
        self.reached.set()
        if not self.queue:
            raise ProviderRefused("The script has no more answers.", hint="Add one for each call.")
        taken = self.queue.popleft()
        if isinstance(taken, FailStep):
            raise taken.error
        if isinstance(taken, HangStep):
            await asyncio.Event().wait()
            raise AssertionError("unreachable")
        return taken


class NullLedger:
    """A ledger that keeps nothing."""

    async def record(self, call: ModelCall) -> None:
        pass

    async def tally(self, since: datetime, purpose: ModelPurpose | None = None) -> CallTotals:
        return CallTotals()


def build_scripted_model(*answers: Step | AnswerSchema | str) -> tuple[Model, ScriptedProvider]:
    """Return a checked model on a script, and the script, to inspect its calls."""
    script = ScriptedProvider(*answers)
    deps = ModelDeps(
        book=BufferedLedger(NullLedger()),
        guards=ServerGuards(system_stopwatch),
        clock=system_clock,
        stopwatch=system_stopwatch,
        new_id=uuid4,
    )
    line = GuardedConnection(script, deps, purpose=ModelPurpose.CHAT, caller=ModelCaller(), terms=CallPolicy())
    return CheckedModel(line), script


def open_provider(asked: Endpoint) -> ScriptedProvider:
    """Open the script that an endpoint names: its model is a file of answers, or empty."""
    return ScriptedProvider(*(_answers(Path(asked.model)) if asked.model else ()), endpoint=asked)


def _answers(file: Path) -> list[Step | str]:
    try:
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise BadSetting(
            f"`scripted:{file}` cannot be read as a script.", hint="One answer a line, as JSON."
        ) from error
    return [_answer(line) for line in lines]


def _answer(line: Any) -> Step | str:
    if isinstance(line, dict) and "call" in line:
        return call_tool(line["call"], **line.get("with", {}))
    return line if isinstance(line, str) else json.dumps(line)
