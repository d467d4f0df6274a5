"""How does a raw reply become an answer that a room may trust?

Every answer is read into its shape. A first answer that is cut off, empty or misshapen gets one repair call;
a second one is refused. A model on a line carries nothing from one question to the next: what is sent is
exactly what was given.
"""

from collections.abc import AsyncIterator, Sequence

from festinger.errors import ProviderRefused
from festinger.llm.call import Call
from festinger.llm.line import Exchange, Exchanged
from festinger.llm.port import Answer, Chunk, Message, Shape, T, Usage, prompt_hash
from festinger.llm.prices import together
from festinger.llm.reading import Flaw, read, repair


class Checked:
    """A `Model` on a line."""

    def __init__(self, line: Exchange) -> None:
        self._line = line

    @property
    def name(self) -> str:
        return self._line.name

    async def answer(self, messages: Sequence[Message], shape: type[T]) -> Answer[T]:
        reasons_first(shape)
        first = await self._ask(messages, shape)
        if not isinstance(first.result, Flaw):
            return self._answer(first.result, messages, (first.call,))
        if not first.result.repairable:
            raise self._refusal(first.result)
        second = await self._ask(repair(messages, first.result, shape), shape)
        if isinstance(second.result, Flaw):
            raise self._refusal(second.result)
        return self._answer(second.result, messages, (first.call, second.call))

    def chat(self, messages: Sequence[Message]) -> AsyncIterator[Chunk]:
        return self._line.stream(messages)

    async def _ask(self, messages: Sequence[Message], shape: type[T]) -> Exchanged[T]:
        return await self._line.exchange(messages, shape, accept=lambda reply: read(reply, shape))

    def _answer(self, value: T, messages: Sequence[Message], calls: tuple[Call, ...]) -> Answer[T]:
        return Answer(
            value=value,
            model=self.name,
            prompt_hash=prompt_hash(messages),
            usage=_sum([call.usage for call in calls]),
            cost_usd=together(call.cost_usd for call in calls),
            calls=len(calls),
        )

    def _refusal(self, flaw: Flaw) -> ProviderRefused:
        return ProviderRefused(
            f"`{self.name}` gave no usable answer: {flaw.kind}.",
            hint="Nothing was decided. If it happens often, choose another model for this purpose.",
            flaw=flaw.kind.value,
        )


def reasons_first(shape: type[Shape]) -> None:
    """A shape that would let the verdict come before its reasons is a mistake of ours."""
    if next(iter(shape.model_fields)) != "reasoning":
        raise TypeError(f"the first field of `{shape.__name__}` must be `reasoning`")


def _sum(usages: Sequence[Usage | None]) -> Usage | None:
    known = [usage for usage in usages if usage is not None]
    if len(known) < len(usages):
        return None
    return Usage(
        tokens_in=sum(usage.tokens_in for usage in known),
        tokens_out=sum(usage.tokens_out for usage in known),
        tokens_cached=sum(usage.tokens_cached for usage in known),
    )
