"""Makes model calls: admits, times, prices and records each one, and validates the answer.

Every call that was sent gets a ledger row, even if it failed, was refused, was unusable or was abandoned by
the caller. If the ledger is down, the answer is still returned: the row waits in memory and is written with
the next one. A first answer that is cut off, empty or malformed gets one repair call; a second one is
refused. Nothing carries over from one question to the next: what is sent is exactly what was given.

A reply is parsed into its shape, or the flaw is found that prevents it: cut off by length, empty, not JSON, wrong
shape, implausibly long, or withheld by the provider. Nothing is guessed and nothing is filled in.

Chooses the model that answers a caller for a purpose.

Holds the open providers, their guards and the call ledger, and returns a `Model` under the settings in force
for the caller, or none if none is configured. Each package has its own stated path without a model.
"""

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

import structlog
from pydantic import ValidationError

from festinger.clock import Clock, Stopwatch
from festinger.errors import FestingerError, ProviderRefused, Unavailable
from festinger.ids import NewId
from festinger.llm.endpoint import (
    Endpoint,
    ProviderName,
    ResolveModel,
    needs_api_key,
    require_endpoint_allowed,
    resolve_endpoint,
)
from festinger.llm.ledger import (
    DAY,
    HOUR,
    CallLedger,
    ModelCall,
    ModelCaller,
    ServerGuards,
    UsageLimits,
    await_within,
    check_call_limit,
    check_spending_limit,
    price_call,
    sum_costs,
)
from festinger.llm.model import (
    AnswerSchema,
    FinishReason,
    MessageRole,
    Model,
    ModelAnswer,
    ModelPurpose,
    ModelReply,
    PromptMessage,
    Provider,
    ReplyChunk,
    T,
    ToolOffer,
    Usage,
    prompt_hash,
)
from festinger.llm.prompts import load_prompt
from festinger.observability.metrics import DEGRADED, LLM_CALLS, LLM_COST, LLM_SECONDS, LLM_TOKENS
from festinger.settings.tree import LlmSettings

LONGEST_CHARS = 2_000_000
"""Beyond the longest output of any current model (128,000 tokens are about 600,000 characters)."""

ECHO_CHARS = 4_000
"""How much of a flawed answer goes back to the model that wrote it."""

_FENCE = re.compile(r"\A```[a-z]*\s*\n(.*)\n```\Z", re.DOTALL)


class FlawKind(StrEnum):
    CUT_OFF = "cut off"
    EMPTY = "empty"
    NOT_JSON = "not json"
    WRONG_SHAPE = "wrong shape"
    TOO_LONG = "too long"
    FILTERED = "filtered"


REPAIRABLE = frozenset({FlawKind.CUT_OFF, FlawKind.EMPTY, FlawKind.NOT_JSON, FlawKind.WRONG_SHAPE})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyFlaw:
    kind: FlawKind
    says: str
    """What is wrong, in words for the model."""
    text: str = ""


def parse_reply(reply: ModelReply, shape: type[T]) -> T | ReplyFlaw:
    """Return the answer in its shape, or its first flaw."""
    text = reply.text.strip()
    if len(text) > LONGEST_CHARS:
        return ReplyFlaw(kind=FlawKind.TOO_LONG, says=f"it has {len(text)} characters.")
    if reply.finish is FinishReason.FILTERED:
        return ReplyFlaw(kind=FlawKind.FILTERED, says="it was held back.")
    # A text that was cut off may still parse; it is not what the model wanted to say.
    if reply.finish is FinishReason.LENGTH:
        return ReplyFlaw(kind=FlawKind.CUT_OFF, says="it was cut off before its end; be shorter.", text=text)
    if not text:
        return ReplyFlaw(kind=FlawKind.EMPTY, says="it is empty.")
    fenced = _FENCE.match(text)
    try:
        return shape.model_validate_json(fenced[1] if fenced else text)
    except ValidationError as error:
        return _flaw_from_error(error, text)


def build_repair_messages(
    messages: Sequence[PromptMessage], flaw: ReplyFlaw, shape: type[AnswerSchema]
) -> list[PromptMessage]:
    """Repeat the question, with the flawed answer and what is wrong with it."""
    schema = json.dumps(shape.model_json_schema(), ensure_ascii=False)
    ask = load_prompt("festinger.llm", "repair").message(flaw=flaw.says, schema=schema)
    spoken = [PromptMessage(role=MessageRole.ASSISTANT, text=flaw.text[:ECHO_CHARS])] if flaw.text else []
    return [*messages, *spoken, PromptMessage(role=MessageRole.USER, text=ask.text)]


def _flaw_from_error(error: ValidationError, text: str) -> ReplyFlaw:
    # Only the first few, and without the values: they are in the answer itself.
    found = error.errors(include_url=False, include_context=False, include_input=False)
    if found[0]["type"] == "json_invalid":
        return ReplyFlaw(kind=FlawKind.NOT_JSON, says="it is not one JSON object.", text=text)
    said = "; ".join(f"`{'.'.join(map(str, item['loc']))}`: {item['msg']}" for item in found[:5])
    return ReplyFlaw(kind=FlawKind.WRONG_SHAPE, says=f"it has another shape: {said}.", text=text)


log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPolicy:
    """Limits for calls, taken from the settings in force when the work began."""

    timeout_s: float = 120.0
    at_once: int = 4
    limits: UsageLimits = field(default_factory=UsageLimits)


class BufferedLedger:
    """The ledger, with rows that it could not take yet."""

    def __init__(self, ledger: CallLedger) -> None:
        self.ledger = ledger
        self._waiting: list[ModelCall] = []

    def later(self, call: ModelCall) -> None:
        """Queue a row for the next write."""
        self._waiting.append(call)

    async def write(self) -> None:
        """Write the queued rows. A row that could not be written stays queued."""
        while self._waiting:
            call = self._waiting.pop(0)
            written = False
            try:
                await self.ledger.record(call)
                written = True
            except Unavailable as error:
                DEGRADED.labels("ledger").inc()
                log.warning("ledger is away", room="llm", waiting=len(self._waiting) + 1, reason=error.name)
                return
            finally:
                # Also when cancelled here: a row that arrives twice is stored once, by its id.
                if not written:
                    self._waiting.insert(0, call)


@dataclass(slots=True, kw_only=True)
class _CallInProgress:
    at: datetime
    began: float
    prompt_hash: str | None
    usage: Usage | None = None
    ok: bool = False
    row: ModelCall | None = None
    """Its row, once it has ended."""


def null_transaction_check() -> bool:
    """For wiring without a database."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDeps:
    """What all connections of a process share."""

    book: BufferedLedger
    guards: ServerGuards
    clock: Clock
    stopwatch: Stopwatch
    new_id: NewId
    holds_transaction: Callable[[], bool] = null_transaction_check
    """Whether the caller holds an open database transaction, which a model could block for minutes."""


class GuardedConnection:
    """One provider for one purpose and caller."""

    def __init__(
        self, provider: Provider, deps: ModelDeps, *, purpose: ModelPurpose, caller: ModelCaller, terms: CallPolicy
    ) -> None:
        self._provider = provider
        self._deps = deps
        self._purpose = purpose
        self._caller = caller
        self._terms = terms
        self._guard = deps.guards.of(provider.endpoint.server)

    @property
    def name(self) -> str:
        return self._provider.endpoint.name

    async def exchange(self, messages: Sequence[PromptMessage], shape: type[T]) -> tuple[T | ReplyFlaw, ModelCall]:
        """Make one call; return the answer in its shape or its flaw, and the ledger row."""
        async with self._admit_call(messages) as call:
            waited = self._provider.complete(messages, shape)
            reply = await await_within(self._terms.timeout_s, waited, server=self._guard.server)
            call.usage = reply.usage
            result = parse_reply(reply, shape)
            call.ok = not isinstance(result, ReplyFlaw)
        assert call.row is not None
        return result, call.row

    async def stream(
        self, messages: Sequence[PromptMessage], tools: Sequence[ToolOffer] = ()
    ) -> AsyncIterator[ReplyChunk]:
        """Stream one call; the timeout applies to each chunk."""
        length = 0
        calls = False
        async with self._admit_call(messages) as call:
            pieces = aiter(self._provider.stream(messages, tools))
            while True:
                try:
                    chunk = await await_within(self._terms.timeout_s, anext(pieces), server=self._guard.server)
                except StopAsyncIteration:
                    break
                call.usage = chunk.usage or call.usage
                length += len(chunk.text)
                calls = calls or bool(chunk.calls)
                if length > LONGEST_CHARS:
                    raise ProviderRefused(f"{self.name} does not stop writing.")
                yield chunk
            if not length and not calls:
                raise ProviderRefused(f"{self.name} gave an empty answer.")
            call.ok = True

    @asynccontextmanager
    async def _admit_call(self, messages: Sequence[PromptMessage]) -> AsyncIterator[_CallInProgress]:
        """Admit a call; its row is written when it ends, however it ends."""
        deps = self._deps
        if deps.holds_transaction():
            raise FestingerError("A model was asked inside a database transaction.")
        async with self._guard.slot(self._terms.at_once):
            await self._check_budget()
            call = _CallInProgress(at=deps.clock(), began=deps.stopwatch(), prompt_hash=prompt_hash(messages))
            try:
                async with self._guard.watched():
                    deps.guards.under_way[self._purpose] += 1
                    try:
                        yield call
                    finally:
                        # A caller that goes away cannot wait for the ledger; the next write includes the row.
                        deps.guards.under_way[self._purpose] -= 1
                        call.row = self._row(call)
                        deps.book.later(call.row)
            except FestingerError:
                await deps.book.write()
                raise
            await deps.book.write()

    async def _check_budget(self) -> None:
        now, limits = self._deps.clock(), self._terms.limits
        ledger = self._deps.book.ledger
        hour = await ledger.tally(now - HOUR, self._purpose)
        # Counted after the wait, so that none of many concurrent callers is missed.
        under_way = self._deps.guards.under_way[self._purpose]
        check_call_limit(self._purpose, limits, hour=hour, under_way=under_way)
        if limits.daily_usd is not None:
            check_spending_limit(limits, day=await ledger.tally(now - DAY))

    def _row(self, call: _CallInProgress) -> ModelCall:
        asked = self._provider.endpoint
        seconds = max(0.0, self._deps.stopwatch() - call.began)
        row = ModelCall(
            id=self._deps.new_id(),
            at=call.at,
            caller=self._caller,
            purpose=self._purpose,
            provider=asked.provider,
            model=asked.model,
            usage=call.usage,
            cost_usd=price_call(asked, call.usage, at=call.at),
            latency_ms=round(seconds * 1000),
            ok=call.ok,
            prompt_hash=call.prompt_hash,
        )
        _measure(row, seconds)
        return row


def _measure(row: ModelCall, seconds: float) -> None:
    LLM_CALLS.labels(row.purpose, "ok" if row.ok else "failed").inc()
    LLM_SECONDS.labels(row.purpose).observe(seconds)
    if row.usage:
        LLM_TOKENS.labels(row.purpose, "in").inc(row.usage.tokens_in)
        LLM_TOKENS.labels(row.purpose, "out").inc(row.usage.tokens_out)
    if row.cost_usd is not None:
        LLM_COST.labels(row.purpose).inc(float(row.cost_usd))


class CheckedModel:
    """A `Model` on a connection."""

    def __init__(self, line: GuardedConnection) -> None:
        self._line = line

    @property
    def name(self) -> str:
        return self._line.name

    async def answer(self, messages: Sequence[PromptMessage], shape: type[T]) -> ModelAnswer[T]:
        require_reasoning_first(shape)
        first, call = await self._line.exchange(messages, shape)
        if not isinstance(first, ReplyFlaw):
            return self._answer(first, messages, call)
        if first.kind not in REPAIRABLE:
            raise self._refusal(first)
        second, repair = await self._line.exchange(build_repair_messages(messages, first, shape), shape)
        if isinstance(second, ReplyFlaw):
            raise self._refusal(second)
        return self._answer(second, messages, call, repair)

    def chat(self, messages: Sequence[PromptMessage], tools: Sequence[ToolOffer] = ()) -> AsyncIterator[ReplyChunk]:
        return self._line.stream(messages, tools)

    def _answer(self, value: T, messages: Sequence[PromptMessage], *calls: ModelCall) -> ModelAnswer[T]:
        return ModelAnswer(
            value=value,
            model=self.name,
            prompt_hash=prompt_hash(messages),
            usage=_sum([call.usage for call in calls]),
            cost_usd=sum_costs(call.cost_usd for call in calls),
            calls=len(calls),
        )

    def _refusal(self, flaw: ReplyFlaw) -> ProviderRefused:
        return ProviderRefused(
            f"`{self.name}` gave no usable answer: {flaw.kind}.",
            hint="Nothing was decided. If it happens often, name a larger model, or none, in the settings `llm.*`.",
            flaw=flaw.kind.value,
        )


def require_reasoning_first(shape: type[AnswerSchema]) -> None:
    """Raise on a shape that would let the verdict come before its reasons: that is a bug of ours."""
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


def open_provider(asked: Endpoint) -> Provider:
    """Open a provider for this endpoint. It holds connections until it is closed."""
    if needs_api_key(asked) and asked.api_key is None:
        raise ProviderRefused(f"`{asked.name}` needs an API key.", hint="`festinger models add` takes one.")
    if asked.provider is ProviderName.SCRIPTED:
        from festinger.llm.providers import scripted

        return scripted.open_provider(asked)
    # The client libraries take seconds to load, and most commands never ask a model.
    from festinger.llm.providers import pydantic_ai

    return pydantic_ai.open_provider(asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRouterDeps:
    """What the router takes from outside."""

    ledger: CallLedger
    clock: Clock
    stopwatch: Stopwatch
    new_id: NewId
    environment: Mapping[str, str]
    offline: bool
    open: Callable[[Endpoint], Provider] = open_provider
    holds_transaction: Callable[[], bool] = null_transaction_check


class ModelRouter:
    def __init__(self, outside: ModelRouterDeps) -> None:
        self._outside = outside
        self._deps = ModelDeps(
            book=BufferedLedger(outside.ledger),
            guards=ServerGuards(outside.stopwatch),
            clock=outside.clock,
            stopwatch=outside.stopwatch,
            new_id=outside.new_id,
            holds_transaction=outside.holds_transaction,
        )
        self._open: dict[Endpoint, Provider] = {}

    async def model(
        self, purpose: ModelPurpose, caller: ModelCaller, *, settings: LlmSettings, resolve: ResolveModel
    ) -> Model | None:
        """Return the model that the settings name for this purpose; none if they name none."""
        wanted = await self.endpoint(purpose, settings=settings, resolve=resolve)
        return None if wanted is None else self.at(wanted, purpose, caller=caller, settings=settings)

    async def endpoint(self, purpose: ModelPurpose, *, settings: LlmSettings, resolve: ResolveModel) -> Endpoint | None:
        """Return where the model for this purpose is; none if the settings name none."""
        setting: str = getattr(settings, purpose.value)
        return await resolve_endpoint(setting, resolve, environment=self._outside.environment)

    def at(self, wanted: Endpoint, purpose: ModelPurpose, *, caller: ModelCaller, settings: LlmSettings) -> Model:
        """Return the model at an endpoint, whatever the settings name; for trying one out."""
        permitted = require_endpoint_allowed(wanted, offline=self._outside.offline)
        if permitted not in self._open:
            self._open[permitted] = self._outside.open(permitted)
        line = GuardedConnection(
            self._open[permitted], self._deps, purpose=purpose, caller=caller, terms=build_call_policy(settings)
        )
        return CheckedModel(line)

    async def close(self) -> None:
        """Write the pending ledger rows and close every connection."""
        await self._deps.book.write()
        while self._open:
            _, provider = self._open.popitem()
            await provider.close()


def build_call_policy(settings: LlmSettings) -> CallPolicy:
    daily = settings.daily_limit_usd
    return CallPolicy(
        timeout_s=settings.timeout_s,
        at_once=settings.max_parallel,
        limits=UsageLimits(
            calls_per_hour=settings.max_calls_per_hour, daily_usd=None if daily is None else Decimal(str(daily))
        ),
    )
