"""Watches the sessions of a proxy for loops, and acts on each request.

`LoopGuard` judges a request once, before it is forwarded; if that fails, the request goes on unwatched. Then it
stops or edits the request, watches its reply, emits events and updates the session's loop state.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from math import ceil

from cachetools import LRUCache

from festinger.clock import Clock
from festinger.events.catalogue import NewEvent
from festinger.ids import NewId, SpaceId, TraceId
from festinger.observability.metrics import PROXY_BREAKERS_OPEN, PROXY_LOOPS, PROXY_STREAM_CUTS
from festinger.proxy.context.edit import FindModelfile
from festinger.proxy.errors import LocalResponse, build_error_response, fail_open
from festinger.proxy.headers import LoopStatus, first_header
from festinger.proxy.loops.history import Item, LoopRepetition, ToolStep, parse_steps
from festinger.proxy.loops.judge import (
    LoopJudgment,
    LoopKey,
    LoopRegistry,
    LoopState,
    SessionLoopEntry,
    build_reply_events,
    build_request_events,
    build_reset_events,
    judge_request,
    reset_loop,
    update_after_reply,
)
from festinger.proxy.loops.keys import ChatRole, parse_text_call, text_digest
from festinger.proxy.loops.mitigation import (
    LoopBreakerDecision,
    MitigationInput,
    format_json_stop_message,
    format_stop_message,
    mitigate_loop,
    retry_after_seconds,
)
from festinger.proxy.loops.stream import PART, ReplyMonitor
from festinger.proxy.parser import find_skip_reason
from festinger.proxy.protocols.messages import ChatRequest, SkipReason, build_cleaning_rules
from festinger.proxy.protocols.parse import parse_request
from festinger.proxy.protocols.replies import ReplyParser
from festinger.proxy.protocols.synthetic import SyntheticFinish, build_synthetic_response
from festinger.proxy.request import RequestContext
from festinger.proxy.routes import RouteTreatment
from festinger.proxy.sessions.session import shorten_session_id
from festinger.runtime.supervisor import LiveLoop
from festinger.settings.tree import ProxySettings
from festinger.text.secrets import remove_secrets

EmitEvents = Callable[[SpaceId, Sequence[NewEvent]], None]
"""Emits events that belong to no exchange; must not block."""

OK = 200
TOO_MANY = 429
FAILED = 499
"""From this status on there is no usable response: the client left or the upstream failed."""
FIXED_SAMPLING_MODELS = 1024

UNWRITTEN = frozenset({SkipReason.RAW, SkipReason.SUFFIX, SkipReason.TEMPLATE, SkipReason.CONTEXT, SkipReason.DEBUG})
"""The client writes the prompt itself, so nothing may be added to it."""


RETRIES = b"x-stainless-retry-count"


class LoopGuard:
    """Watches the sessions of one proxy."""

    def __init__(
        self, *, clock: Clock, new_id: NewId, settings: ProxySettings, emit: EmitEvents, modelfile: FindModelfile
    ) -> None:
        self._loops = LoopRegistry(most=settings.sessions_max, idle=timedelta(seconds=settings.session_idle))
        self._clock = clock
        self._new_id = new_id
        self._emit = emit
        self._modelfile = modelfile
        self._fixed_sampling: LRUCache[tuple[str, str], bool] = LRUCache(FIXED_SAMPLING_MODELS)
        """Models whose upstream rejects changed sampling, by protocol and name."""

    def check(self, ctx: RequestContext) -> None:
        """Judge a request. `ctx.guard` stays `None` if loop detection is off or fails."""
        if not ctx.options.watch_loops:
            ctx.loop_status = LoopStatus(off=True)
            return
        with fail_open(PART):
            self._judge(ctx)
            ctx.guard, ctx.loop_status = self, _build_status(ctx)

    def _judge(self, ctx: RequestContext) -> None:
        ctx.loop_key = LoopKey(caller=ctx.session.caller, agent=ctx.agent, session=ctx.session.id)
        now, retry = self._clock(), first_header(ctx.headers, RETRIES) or b"0"
        record = self._loops.find(ctx.loop_key, now=now)
        ctx.loop_before, failed_before = record.loop, None
        if record.failed is not None and record.failed[0] == hash(ctx.chat.body):
            failed_before = (now - record.failed[1]).total_seconds()
        ctx.judgment = judge_request(
            record.loop,
            ctx.chat.messages,
            keys=self._loops.keys(ctx.loop_key),
            now=now.timestamp(),
            settings=ctx.settings.proxy.loop,
            retry=int(retry) if retry.isdigit() else 0,
            failed_before=failed_before,
            waited=(now - record.at).total_seconds(),
        )
        self._loops.put(ctx.loop_key, replace(record, at=now, loop=ctx.judgment.loop))
        self._count(ctx.loop_before, ctx.judgment)

    def stop(self, ctx: RequestContext) -> str:
        """Answer in the model's place; return the text of the answer, empty for an error."""
        settings, cause = ctx.settings.proxy.loop, ctx.judgment.loop.breaker.cause
        assert cause is not None
        ctx.mitigations = ("breaker",)
        ctx.loop_status = _build_status(ctx)
        self._emit(ctx.space, _request_events(ctx))
        if settings.breaker == "error":
            ctx.local_response = self._build_refusal(ctx, cause)
            return ""
        explain = format_json_stop_message if _writes_json_calls(ctx.chat) else format_stop_message
        text = explain(cause, settings)
        ctx.local_response = build_synthetic_response(
            ctx.chat, text, finish=SyntheticFinish.STOP, answer_id=f"festinger-{self._new_id()}", at=self._clock()
        )
        return text

    def _build_refusal(self, ctx: RequestContext, cause: LoopRepetition) -> LocalResponse:
        settings = ctx.settings.proxy.loop
        left = retry_after_seconds(ctx.judgment.loop.breaker, now=self._clock().timestamp(), settings=settings)
        refusal = build_error_response(
            TOO_MANY,
            format_stop_message(cause, settings),
            code="loop_stopped",
            protocol=ctx.route.protocol,
            request_id=ctx.request_id,
            more=((b"x-should-retry", b"false"), (b"retry-after", b"%d" % max(1, ceil(left)))),
        )
        return replace(refusal, headers=(*refusal.headers, refusal.content_length))

    def mitigate(self, ctx: RequestContext) -> None:
        """Apply countermeasures to the request, and keep it without them in case the upstream rejects them."""
        # A request that was only read goes on as it came, compressed if it was; edits need it decompressed.
        body = ctx.chat.body if ctx.body is ctx.received else ctx.body
        assert isinstance(body, bytes)
        edited = body
        with fail_open(PART):
            edited, ctx.mitigations = self._mitigate(ctx, body)
        ctx.loop_status = _build_status(ctx)
        if edited is not body:
            ctx.fallback, ctx.body = ctx.body, edited

    def _mitigate(self, ctx: RequestContext, body: bytes) -> tuple[bytes, tuple[str, ...]]:
        loop, repeat, settings = ctx.judgment.loop, ctx.judgment.repeat, ctx.settings.proxy
        is_quiet = repeat is None and not loop.cuts and not loop.limited
        if is_quiet or ctx.route.treatment is not RouteTreatment.EDITED or not settings.loop.enabled:
            return body, ()
        request = _parse_again(ctx, body)
        if request is None:
            return body, ()
        temperature = None
        if repeat is not None:
            # Looked up from the first level on, because the second one needs it.
            modelfile = self._modelfile(request.model, request.kind.protocol, settings)
            temperature = modelfile.temperature if modelfile else None
        case = MitigationInput(
            repeat=repeat,
            items=parse_steps(request.messages, self._loops.keys(ctx.loop_key))[loop.pardoned :],
            cut=frozenset(loop.cuts),
            limited=loop.limited,
            temperature=temperature,
            boosts=_model_key(request) not in self._fixed_sampling,
            speaks=find_skip_reason(request) not in UNWRITTEN,
        )
        return mitigate_loop(request, case, settings.loop)

    def record_rejected_mitigation(self, ctx: RequestContext) -> None:
        """The upstream rejected the edited request, so it is sent without countermeasures."""
        if "temperature" in ctx.mitigations:
            self._fixed_sampling[_model_key(ctx.chat)] = True
        ctx.mitigations = ()
        ctx.loop_status = _build_status(ctx)

    def record_response_status(self, ctx: RequestContext, status: int | None) -> None:
        """Note the status of the upstream's response; `None` if there was none."""
        if status is None or status >= FAILED:
            now = self._clock()
            record = self._loops.find(ctx.loop_key, now=now)
            self._loops.put(ctx.loop_key, replace(record, failed=(hash(ctx.chat.body), now)))
        if status != OK:
            # This response will not be read to its end.
            self._emit(ctx.space, _request_events(ctx))

    def build_reply_monitor(self, ctx: RequestContext, parser: ReplyParser) -> ReplyMonitor:
        return ReplyMonitor(ctx.chat, parser, settings=ctx.settings.proxy.loop, clock=self._clock)

    def finish_reply(self, ctx: RequestContext, monitor: ReplyMonitor, text: str) -> tuple[NewEvent, ...]:
        """Update the loop state after a reply with this text, and return the events of the request."""
        found, cut, now = monitor.finish(), monitor.cut, self._clock()
        record = self._loops.find(ctx.loop_key, now=now)
        loop = update_after_reply(record.loop, noticed=bool(found), cut=text_digest(text.strip()) if cut else None)
        self._loops.put(ctx.loop_key, replace(record, at=now, loop=loop))
        if cut is not None:
            PROXY_STREAM_CUTS.labels(cut.finding.rule.value).inc()
        events = [*build_reply_events(str(shorten_session_id(ctx.session.id)), found, cut)]
        for event in events:
            if event.name == "loop_detected":
                PROXY_LOOPS.labels(event.payload["rule"], 0).inc()
        return (*_request_events(ctx), *_attribute_events(ctx, events))

    def _count(self, before: LoopState, after: LoopJudgment) -> None:
        standing = after.loop.standing
        if standing is not None and after.has_risen_since(before):
            PROXY_LOOPS.labels(standing.rule.value, standing.level).inc()
        if before.breaker.opened != after.loop.breaker.opened:
            self._update_breaker_gauge()

    def _update_breaker_gauge(self) -> None:
        stopped = self._loops.those(lambda _, loop: loop.breaker.opened is not None, now=self._clock())
        PROXY_BREAKERS_OPEN.set(sum(1 for _ in stopped))

    def live(self, space: SpaceId) -> Sequence[LiveLoop]:
        """The loops of a space, newest first."""
        found = self._loops.those(lambda key, loop: _is_live(key, loop, space), now=self._clock())
        return [_to_live_loop(key, record) for key, record in found]

    def reset(self, space: SpaceId, session: str, *, by: str) -> bool:
        """Let the sessions of this name continue."""
        found = [
            *self._loops.those(
                lambda key, loop: (
                    _is_live(key, loop, space) and session in (key.session, shorten_session_id(key.session))
                ),
                now=self._clock(),
            )
        ]
        for key, record in found:
            self._loops.put(key, replace(record, loop=reset_loop(record.loop)))
            name = shorten_session_id(key.session)
            events = build_reset_events(name, record.loop, by=by)
            self._emit(space, [replace(each, agent=key.agent, session=name) for each in events])
        self._update_breaker_gauge()
        return bool(found)


def is_stopped(ctx: RequestContext) -> bool:
    """Whether the breaker keeps this request from the upstream."""
    return ctx.guard is not None and ctx.judgment.decision is LoopBreakerDecision.STOPPED


def _build_status(ctx: RequestContext) -> LoopStatus:
    stopped = ctx.judgment.decision is LoopBreakerDecision.STOPPED
    found = ctx.judgment.loop.breaker.cause if stopped else ctx.judgment.repeat
    if found is None:
        return LoopStatus()
    return LoopStatus(level=found.level, rule=found.rule.value, count=found.count, did=ctx.mitigations)


def _request_events(ctx: RequestContext) -> tuple[NewEvent, ...]:
    session = str(shorten_session_id(ctx.session.id))
    return _attribute_events(ctx, build_request_events(session, ctx.loop_before, ctx.judgment, did=ctx.mitigations))


def _attribute_events(ctx: RequestContext, events: Iterable[NewEvent]) -> tuple[NewEvent, ...]:
    session, trace = shorten_session_id(ctx.session.id), TraceId(ctx.request_id)
    return tuple(replace(each, agent=ctx.agent, session=session, trace=trace) for each in events)


def _parse_again(ctx: RequestContext, body: bytes) -> ChatRequest | None:
    """Parse the request in this body: injected notes have moved positions."""
    if body is ctx.chat.body:
        return ctx.chat
    rules = build_cleaning_rules(ctx.mark, ctx.settings.proxy.volatile_markers)
    found = parse_request(body, ctx.chat.kind, rules=rules, limit=len(body))
    return None if isinstance(found, SkipReason) else found


def _model_key(request: ChatRequest) -> tuple[str, str]:
    return request.kind.protocol.value, request.model


def _writes_json_calls(request: ChatRequest) -> bool:
    """Whether the agent writes its calls as JSON text."""
    said = (message for message in reversed(request.messages) if message.role is ChatRole.ASSISTANT)
    latest = next(said, None)
    return latest is not None and not latest.calls and parse_text_call(latest.text) is not None


def _is_live(key: LoopKey, loop: LoopState, space: SpaceId) -> bool:
    return key.caller.space == space and (loop.standing is not None or loop.breaker.opened is not None)


def _to_live_loop(key: LoopKey, record: SessionLoopEntry) -> LiveLoop:
    loop = record.loop
    repeat = loop.breaker.cause or loop.standing
    assert repeat is not None  # only loops with a repetition are live
    return LiveLoop(
        session=key.session,
        agent=key.agent,
        rule=repeat.rule.value,
        level=repeat.level,
        count=repeat.count,
        what=tuple(remove_secrets(_format_item(item)) for item in repeat.block),
        is_stopped=loop.breaker.opened is not None,
        at=record.at,
    )


def _format_item(item: Item) -> str:
    return f"{item.tool} {item.arguments}" if isinstance(item, ToolStep) else item.opening
