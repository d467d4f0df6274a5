"""Watches the sessions of a proxy for loops, and acts on each request.

`LoopGuard` examines a request once, before it is forwarded; if that fails, the request goes on unwatched. The
resulting `GuardedRequest` stops or edits the request, watches its reply, emits events and updates the
session's loop state.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil

from festinger.clock import Clock
from festinger.events.event import NewEvent
from festinger.ids import NewId, SpaceId, TraceId
from festinger.observability.metrics import PROXY_BREAKERS_OPEN, PROXY_LOOPS, PROXY_STREAM_CUTS
from festinger.proxy.capture.exchange import session_name
from festinger.proxy.context.edit import FindModelfile, find_no_modelfile
from festinger.proxy.errors import build_error_response, fail_open
from festinger.proxy.headers import NOT_BUFFERED, LoopStatus, RawHeaders, first_header
from festinger.proxy.hooks import LocalResponse, Recount, discard_events
from festinger.proxy.loops.actions import (
    LoopBreakerDecision,
    format_json_stop_message,
    format_stop_message,
    retry_after_seconds,
)
from festinger.proxy.loops.history import Item, LoopRepetition, ToolStep, parse_steps
from festinger.proxy.loops.judge import (
    LoopJudgment,
    LoopKey,
    LoopRecord,
    LoopRegistry,
    LoopState,
    RequestArrival,
    build_reply_events,
    build_request_events,
    build_reset_events,
    judge_request,
    reset_loop,
    update_after_reply,
)
from festinger.proxy.loops.keys import ChatRole, parse_text_call, text_digest
from festinger.proxy.loops.mitigation import MitigationInput, MitigationResult, mitigate_loop
from festinger.proxy.loops.stream import ChannelFinding
from festinger.proxy.loops.watcher import PART, ReplyMonitor
from festinger.proxy.parsed_request import ParsedRequest, find_skip_reason
from festinger.proxy.protocols.messages import ChatRequest, SkipReason, build_cleaning_rules
from festinger.proxy.protocols.parse import parse_request
from festinger.proxy.protocols.replies import ReplyParser
from festinger.proxy.protocols.synthetic import JSON, SyntheticFinish, build_synthetic_response
from festinger.proxy.routes import RouteTreatment
from festinger.runtime.supervisor import LiveLoop
from festinger.settings.tree import ProxySettings
from festinger.text.secrets import remove_secrets

OK = 200
TOO_MANY = 429
FAILED = 499
"""From this status on there is no usable response: the client left or the upstream failed."""
STUBBORN = 1024

UNWRITTEN = frozenset({SkipReason.RAW, SkipReason.SUFFIX, SkipReason.TEMPLATE, SkipReason.CONTEXT, SkipReason.DEBUG})
"""The client writes the prompt itself, so nothing may be added to it."""


class FixedSamplingModels:
    """Models whose upstream rejects changed sampling."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()

    def add(self, request: ChatRequest) -> None:
        self._known[request.kind.protocol.value, request.model] = None
        if len(self._known) > STUBBORN:
            self._known.popitem(last=False)

    def __contains__(self, request: ChatRequest) -> bool:
        return (request.kind.protocol.value, request.model) in self._known


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopGuardDeps:
    """Dependencies shared by the guarded requests of one proxy."""

    loops: LoopRegistry
    clock: Clock
    new_id: NewId
    emit: Recount
    modelfile: FindModelfile
    stubborn: FixedSamplingModels


class GuardedRequest:
    """One request under watch."""

    def __init__(
        self,
        parsed: ParsedRequest,
        key: LoopKey,
        *,
        before: LoopState,
        judged: LoopJudgment,
        post: LoopGuardDeps,
        settings: ProxySettings,
    ) -> None:
        self._understood = parsed
        self._key = key
        self._before = before
        self._judged = judged
        self._post = post
        self._settings = settings
        self._did: tuple[str, ...] = ()
        self._name = str(session_name(key.session))

    @property
    def is_stopped(self) -> bool:
        return self._judged.passage is LoopBreakerDecision.STOPPED

    @property
    def told(self) -> LoopStatus:
        found = self._cause if self.is_stopped else self._judged.repeat
        if found is None:
            return LoopStatus()
        return LoopStatus(level=found.level, rule=found.rule.value, count=found.count, did=self._did)

    @property
    def _cause(self) -> LoopRepetition | None:
        return self._judged.loop.breaker.cause

    def stop(self) -> tuple[LocalResponse, str]:
        """The response in the model's place, and its text."""
        assert self._cause is not None
        self._did = ("breaker",)
        self._emit(self._of_request())
        if self._settings.loop.breaker == "error":
            return self._refusal(self._cause), ""
        request = self._understood.request
        explain = format_json_stop_message if _writes_json_calls(request) else format_stop_message
        text = explain(self._cause, self._settings.loop)
        now = self._post.clock()
        own = build_synthetic_response(
            request, text, finish=SyntheticFinish.STOP, answer_id=f"festinger-{self._post.new_id()}", at=now
        )
        length = sum(map(len, own.chunks))
        framed = (b"content-length", b"%d" % length) if own.content_type == JSON else NOT_BUFFERED
        reply = LocalResponse(status=OK, headers=((b"content-type", own.content_type), framed), chunks=own.chunks)
        return reply, text

    def _refusal(self, cause: LoopRepetition) -> LocalResponse:
        left = retry_after_seconds(
            self._judged.loop.breaker, now=self._post.clock().timestamp(), settings=self._settings.loop
        )
        authorized = self._understood.authorized
        said = build_error_response(
            TOO_MANY,
            format_stop_message(cause, self._settings.loop),
            code="loop_stopped",
            protocol=authorized.route.protocol,
            request_id=authorized.request_id,
            more=((b"x-should-retry", b"false"), (b"retry-after", b"%d" % max(1, ceil(left)))),
        )
        length = (b"content-length", b"%d" % len(said.body))
        return LocalResponse(status=said.status, headers=(*said.headers, length), chunks=(said.body,))

    def mitigate(self, body: bytes) -> bytes:
        """Apply countermeasures to the request; `body` is what would be forwarded without them."""
        found = MitigationResult(body=body)
        with fail_open(PART):
            found = self._mitigated(body)
        self._did = found.did
        return found.body

    def _mitigated(self, body: bytes) -> MitigationResult:
        loop, settings = self._judged.loop, self._settings.loop
        is_quiet = self._judged.repeat is None and not loop.cuts and not loop.limited
        may_write = self._understood.authorized.route.treatment is RouteTreatment.EDITED
        if is_quiet or not may_write or not settings.enabled:
            return MitigationResult(body=body)
        request = self._as_it_goes(body)
        if request is None:
            return MitigationResult(body=body)
        own = parse_steps(request.messages, self._post.loops.keys(self._key))[loop.pardoned :]
        case = MitigationInput(
            repeat=self._judged.repeat,
            items=own,
            cut=frozenset(loop.cuts),
            limited=loop.limited,
            temperature=self._temperature(request) if self._judged.repeat else None,
            boosts=request not in self._post.stubborn,
            speaks=find_skip_reason(request) not in UNWRITTEN,
        )
        return mitigate_loop(request, case, settings)

    def _temperature(self, request: ChatRequest) -> float | None:
        """The Modelfile's temperature, looked up from the first level on because the second one needs it."""
        found = self._post.modelfile(request.model, request.kind.protocol, self._settings)
        return found.temperature if found else None

    def _as_it_goes(self, body: bytes) -> ChatRequest | None:
        """Parse the request in this body: injected notes have moved positions."""
        request = self._understood.request
        if body is request.body:
            return request
        rules = build_cleaning_rules(self._understood.mark, self._settings.volatile_markers)
        found = parse_request(body, request.kind, rules=rules, limit=len(body))
        return None if isinstance(found, SkipReason) else found

    def overhear(self, ear: ReplyParser) -> ReplyMonitor:
        """Create a monitor for the reply."""
        return ReplyMonitor(self._understood.request, ear, settings=self._settings.loop, clock=self._post.clock)

    def over(self, overheard: ReplyMonitor, text: str) -> tuple[NewEvent, ...]:
        """Handle a finished reply with this text: update the loop state and return the events."""
        found, cut = overheard.found(), overheard.cut
        self._change(
            lambda loop: update_after_reply(loop, noticed=bool(found), cut=text_digest(text.strip()) if cut else None)
        )
        if cut is not None:
            PROXY_STREAM_CUTS.labels(cut.finding.rule.value).inc()
        return (*self._of_request(), *self._of_reply(found, cut))

    def refused(self) -> LoopStatus:
        if "temperature" in self._did:
            self._post.stubborn.add(self._understood.request)
        self._did = ()
        return self.told

    def came(self, status: int | None) -> None:
        if status is None or status >= FAILED:
            now = self._post.clock()
            kept = self._post.loops.find(self._key, now=now)
            self._post.loops.keep(self._key, replace(kept, failed=(hash(self._understood.request.body), now)))
        if status != OK:
            # This response will not be read to its end.
            self._emit(self._of_request())

    def _change(self, change: Callable[[LoopState], LoopState]) -> None:
        now: datetime = self._post.clock()
        kept = self._post.loops.find(self._key, now=now)
        self._post.loops.keep(self._key, replace(kept, at=now, loop=change(kept.loop)))

    def _of_request(self) -> tuple[NewEvent, ...]:
        told = build_request_events(self._name, self._before, self._judged, did=self._did)
        return self._traced([*told])

    def _of_reply(self, found: Sequence[ChannelFinding], cut: ChannelFinding | None) -> tuple[NewEvent, ...]:
        told = [*build_reply_events(self._name, found, cut)]
        for happening in told:
            if happening.name == "loop_detected":
                PROXY_LOOPS.labels(happening.payload["rule"], 0).inc()
        return self._traced(told)

    def _traced(self, happenings: Sequence[NewEvent]) -> tuple[NewEvent, ...]:
        authorized = self._understood.authorized
        return tuple(
            replace(
                each,
                agent=authorized.agent,
                session=session_name(self._key.session),
                trace=TraceId(authorized.request_id),
            )
            for each in happenings
        )

    def _emit(self, happenings: Sequence[NewEvent]) -> None:
        self._post.emit(self._understood.authorized.space, happenings)


def _writes_json_calls(request: ChatRequest) -> bool:
    """Whether the agent writes its calls as JSON text."""
    said = (message for message in reversed(request.messages) if message.role is ChatRole.ASSISTANT)
    latest = next(said, None)
    return latest is not None and not latest.calls and parse_text_call(latest.text) is not None


RETRIES = b"x-stainless-retry-count"


class LoopGuard:
    """Watches the sessions of one proxy."""

    def __init__(
        self,
        *,
        clock: Clock,
        new_id: NewId,
        settings: ProxySettings,
        emit: Recount = discard_events,
        modelfile: FindModelfile = find_no_modelfile,
    ) -> None:
        idle = timedelta(seconds=settings.session_idle)
        self._loops = LoopRegistry(most=settings.sessions_max, idle=idle)
        self._clock = clock
        self._emit = emit
        self._post = LoopGuardDeps(
            loops=self._loops,
            clock=clock,
            new_id=new_id,
            emit=emit,
            modelfile=modelfile,
            stubborn=FixedSamplingModels(),
        )

    def look(self, parsed: ParsedRequest, headers: RawHeaders, *, settings: ProxySettings) -> GuardedRequest | None:
        """Examine a request; `None` if loop detection is off or fails."""
        if not parsed.authorized.wishes.watch_loops:
            return None
        with fail_open(PART):
            return self._look(parsed, headers, settings)
        return None

    def _look(self, parsed: ParsedRequest, headers: RawHeaders, settings: ProxySettings) -> GuardedRequest:
        session = parsed.session
        key = LoopKey(caller=session.caller, agent=parsed.authorized.agent, session=session.id)
        now = self._clock()
        kept = self._loops.find(key, now=now)
        history = parsed.request.messages
        found = judge_request(
            kept.loop,
            history,
            _build_arrival(parsed, headers, kept, length=len(history), at=now.timestamp()),
            keys=self._loops.keys(key),
            now=now.timestamp(),
            settings=settings.loop,
        )
        self._loops.keep(key, replace(kept, at=now, loop=found.loop))
        self._count(kept.loop, found)
        return GuardedRequest(parsed, key, before=kept.loop, judged=found, post=self._post, settings=settings)

    def _count(self, before: LoopState, after: LoopJudgment) -> None:
        standing = after.loop.standing
        if standing is not None and after.rose_from(before):
            PROXY_LOOPS.labels(standing.rule.value, standing.level).inc()
        if before.breaker.opened != after.loop.breaker.opened:
            self._count_breakers()

    def _count_breakers(self) -> None:
        stopped = self._loops.those(lambda _, loop: loop.breaker.opened is not None, now=self._clock())
        PROXY_BREAKERS_OPEN.set(sum(1 for _ in stopped))

    def live(self, space: SpaceId) -> Sequence[LiveLoop]:
        """The loops of a space, newest first."""
        found = self._loops.those(lambda key, loop: _is_live(key, loop, space), now=self._clock())
        return [_to_live_loop(key, kept) for key, kept in found]

    def reset(self, space: SpaceId, session: str, *, by: str) -> bool:
        """Let the sessions of this name continue."""
        found = [
            *self._loops.those(
                lambda key, loop: _is_live(key, loop, space) and session in _session_names(key), now=self._clock()
            )
        ]
        for key, kept in found:
            self._loops.keep(key, replace(kept, loop=reset_loop(kept.loop)))
            told = build_reset_events(session_name(key.session), kept.loop, by=by)
            self._emit(space, [replace(each, agent=key.agent, session=session_name(key.session)) for each in told])
        self._count_breakers()
        return bool(found)


def _build_arrival(
    parsed: ParsedRequest, headers: RawHeaders, kept: LoopRecord, *, length: int, at: float
) -> RequestArrival:
    retry = first_header(headers, RETRIES) or b"0"
    failed = None
    if kept.failed is not None and kept.failed[0] == hash(parsed.request.body):
        failed = at - kept.failed[1].timestamp()
    return RequestArrival(
        length=length, retry=int(retry) if retry.isdigit() else 0, failed_before=failed, waited=at - kept.at.timestamp()
    )


def _is_live(key: LoopKey, loop: LoopState, space: SpaceId) -> bool:
    return key.caller.space == space and (loop.standing is not None or loop.breaker.opened is not None)


def _session_names(key: LoopKey) -> tuple[str, str]:
    return key.session, session_name(key.session)


def _to_live_loop(key: LoopKey, kept: LoopRecord) -> LiveLoop:
    loop = kept.loop
    repeat = loop.breaker.cause or loop.standing
    assert repeat is not None  # only loops with a repetition are live
    return LiveLoop(
        session=key.session,
        agent=key.agent,
        rule=repeat.rule.value,
        level=repeat.level,
        count=repeat.count,
        what=_describe_repetition(repeat),
        is_stopped=loop.breaker.opened is not None,
        at=kept.at,
    )


def _describe_repetition(repeat: LoopRepetition) -> tuple[str, ...]:
    return tuple(remove_secrets(_format_item(item)) for item in repeat.block)


def _format_item(item: Item) -> str:
    return f"{item.tool} {item.arguments}" if isinstance(item, ToolStep) else item.opening
