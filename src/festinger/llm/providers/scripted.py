"""A model that says what it was told to say.

The shipped fake, for tests, for stories through the real doors and for trying things out: a queue of steps,
and a record of what it was asked. It can also fail, hang, be cut off or talk nonsense on demand. By name it
is `scripted:FILE`, with one answer a line, as JSON text or as a JSON object.
"""

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from festinger.errors import BadSetting, FestingerError, ProviderRefused
from festinger.llm.client import Checked, Exchanged, V
from festinger.llm.endpoint import Endpoint, ProviderName
from festinger.llm.ledger import Call, Caller
from festinger.llm.model import Chunk, Finish, Message, Model, Purpose, Reply, Shape, Usage, prompt_hash
from festinger.llm.reply import Flaw

_PIECE = re.compile(r"(?:\A\s*+)?\S++\s*+")

SOME_USAGE = Usage(tokens_in=10, tokens_out=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """Answer this text."""

    text: str
    finish: Finish = Finish.DONE
    usage: Usage | None = SOME_USAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """Raise this error; in a stream, after this text."""

    error: FestingerError
    text: str = ""


@dataclass(frozen=True, slots=True)
class Hang:
    """Never answer."""


Step = Say | Fail | Hang


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one call was asked."""

    messages: tuple[Message, ...]
    shape: type[Shape] | None


def step(answer: Step | Shape | str) -> Step:
    """A step from whatever is shortest to write."""
    if isinstance(answer, Shape):
        return Say(text=answer.model_dump_json())
    if isinstance(answer, str):
        return Say(text=answer)
    return answer


class Scripted:
    """A provider with a queue of steps."""

    def __init__(self, *answers: Step | Shape | str, endpoint: Endpoint | None = None) -> None:
        self.endpoint = endpoint or Endpoint(provider=ProviderName.SCRIPTED, model="script", address="")
        self.queue: deque[Step] = deque(step(answer) for answer in answers)
        self.asked: list[Asked] = []
        self.reached = asyncio.Event()
        """Set as soon as it was asked once; for whoever must wait until it hangs."""
        self.closed = False

    def add(self, *answers: Step | Shape | str) -> None:
        self.queue.extend(step(answer) for answer in answers)

    async def complete(self, messages: Sequence[Message], shape: type[Shape] | None) -> Reply:
        said = await self._next(messages, shape)
        return Reply(text=said.text, finish=said.finish, usage=said.usage)

    async def stream(self, messages: Sequence[Message]) -> AsyncIterator[Chunk]:
        if self.queue and isinstance(failing := self.queue[0], Fail) and failing.text:
            for piece in _PIECE.findall(failing.text):
                yield Chunk(text=piece)
        said = await self._next(messages, None)
        for piece in _PIECE.findall(said.text):
            yield Chunk(text=piece)
        yield Chunk(finish=said.finish, usage=said.usage)

    async def close(self) -> None:
        self.closed = True

    async def _next(self, messages: Sequence[Message], shape: type[Shape] | None) -> Say:
        self.asked.append(Asked(messages=tuple(messages), shape=shape))
        self.reached.set()
        if not self.queue:
            raise ProviderRefused("The script has no more answers.", hint="Add one for each call.")
        taken = self.queue.popleft()
        if isinstance(taken, Fail):
            raise taken.error
        if isinstance(taken, Hang):
            await asyncio.Event().wait()
            raise AssertionError("unreachable")
        return taken


class Unguarded:
    """A line without guards and ledger, for a fake in a test of another room."""

    def __init__(self, provider: Scripted) -> None:
        self._provider = provider

    @property
    def name(self) -> str:
        return self._provider.endpoint.name

    async def exchange(
        self, messages: Sequence[Message], shape: type[Shape], *, accept: Callable[[Reply], V | Flaw]
    ) -> Exchanged[V]:
        reply = await self._provider.complete(messages, shape)
        result = accept(reply)
        call = Call(
            id=UUID(int=len(self._provider.asked)),
            at=datetime(2026, 1, 5, 12, tzinfo=UTC),
            caller=Caller(),
            purpose=Purpose.CHAT,
            provider=self._provider.endpoint.provider,
            model=self._provider.endpoint.model,
            usage=reply.usage,
            cost_usd=None,
            latency_ms=0,
            ok=not isinstance(result, Flaw),
            prompt_hash=prompt_hash(messages),
        )
        return Exchanged(result=result, call=call)

    def stream(self, messages: Sequence[Message]) -> AsyncIterator[Chunk]:
        return self._provider.stream(messages)


def scripted_model(*answers: Step | Shape | str) -> tuple[Model, Scripted]:
    """A checked model on a script, and the script, to see what it was asked."""
    script = Scripted(*answers)
    return Checked(Unguarded(script)), script


def opened(asked: Endpoint) -> Scripted:
    """The script that an endpoint names: its model is a file of answers, or nothing."""
    return Scripted(*(_answers(Path(asked.model)) if asked.model else ()), endpoint=asked)


def _answers(file: Path) -> list[str]:
    try:
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise BadSetting(
            f"`scripted:{file}` cannot be read as a script.", hint="One answer a line, as JSON."
        ) from error
    return [line if isinstance(line, str) else json.dumps(line) for line in lines]
