"""The life of a request: what is done before it is forwarded, and with its response.

`process` lists the steps before, `finish` those after the response; `app` sends and streams in between, and has
the request logged at the end. Unparsable requests pass unchanged.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from festinger.clock import Clock, system_stopwatch
from festinger.ids import NewId
from festinger.observability.metrics import PROXY_SESSIONS
from festinger.proxy.capture.recorder import NullExchangeRecorder
from festinger.proxy.context.build import ContextBuilder
from festinger.proxy.context.edit import FindModelfile, find_no_modelfile
from festinger.proxy.headers import MemoryReason, MemoryResult, MemoryStatus, SessionStatus
from festinger.proxy.loops.guard import LoopGuard, is_stopped
from festinger.proxy.loops.keys import ChatMessage, ChatRole
from festinger.proxy.loops.stream import ReplyMonitor
from festinger.proxy.parser import RequestParser
from festinger.proxy.protocols.messages import SkipReason
from festinger.proxy.protocols.replies import build_reply_parser
from festinger.proxy.request import RequestContext
from festinger.proxy.sessions.session import (
    SessionRegistry,
    SessionReply,
    advance_session,
    merge_sessions,
    reply_content_hash,
    truncate_last_replies,
)
from festinger.proxy.statements import RequestLearner
from festinger.proxy.transport.streams import Ending, Stored, StreamEndReason, StreamFrame
from festinger.settings.tree import ProxySettings
from festinger.text.blocks import strip_blocks


class RequestPipeline:
    """Owns the sessions of this proxy and processes their requests."""

    def __init__(
        self,
        *,
        clock: Clock,
        new_id: NewId,
        settings: ProxySettings,
        context_builder: ContextBuilder,
        modelfile: FindModelfile = find_no_modelfile,
        recorder: NullExchangeRecorder | None = None,
        learner: RequestLearner | None = None,
    ) -> None:
        self._clock = clock
        self._recorder = recorder or NullExchangeRecorder()
        self._learner = learner
        self.guard = LoopGuard(
            clock=clock, new_id=new_id, settings=settings, emit=self._recorder.emit, modelfile=modelfile
        )
        self._context_builder = context_builder
        self._sessions = SessionRegistry(most=settings.sessions_max, idle=timedelta(seconds=settings.session_idle))
        self._parser = RequestParser(self._sessions, clock=clock, new_id=new_id)
        self._admission = BurstPacer()

    async def process(self, ctx: RequestContext) -> None:
        """Prepare a request, whose bytes stay as they came where nothing is added."""
        await self._admission.wait_for_turn()
        if not await self._parse(ctx):
            return
        self.guard.check(ctx)
        if is_stopped(ctx):
            self._answer_in_place_of_model(ctx)
            return
        await self._context_builder.inject(ctx)
        if self._learner is not None:
            self._learner.start(ctx)
        self._update_session(ctx)
        if ctx.guard is not None:
            ctx.guard.mitigate(ctx)
        ctx.listener = ExchangeListener(ctx, self)

    def finish(self, ctx: RequestContext) -> Stored | None:
        """Handle a finished response, whose content and end are in the context."""
        if (stored := self._recorder.capture(ctx)) is None:
            self._recorder.emit(ctx.space, ctx.events)
        if ctx.ended is not StreamEndReason.ERROR:
            self._keep_reply(ctx, strip_blocks(ctx.reply.text, ctx.mark))
            if ctx.reply.id:
                self._sessions.remember_response(ctx.session.caller, ctx.reply.id, ctx.session.id)
        return stored

    def capture_early(
        self, ctx: RequestContext, *, frames: Iterable[StreamFrame], ended: StreamEndReason
    ) -> Stored | None:
        """Capture a request that passed untouched before memory was loaded, with its response frames."""
        if self._parser.parse(ctx) is not None:
            return None
        ctx.memory_status = MemoryStatus(result=MemoryResult.NOT_READY, reason=MemoryReason.STORE)
        self._update_session(ctx)
        listener = ExchangeListener(ctx, self)
        for frame in frames:
            listener.on_frame(frame)
        return listener.on_end(ended, unreadable=0)

    async def _parse(self, ctx: RequestContext) -> bool:
        """Parse the request; if another process served its session too, merge the stored session first."""
        ctx.parse_began = system_stopwatch()
        skip = self._parser.parse(ctx)
        if skip is None and (recalled := await self._recorder.recall(ctx)):
            for session in recalled:
                known = self._sessions.find(session.caller, session.id, now=self._clock())
                self._sessions.put(merge_sessions(known, session))
            skip = self._parser.parse(ctx)
        if skip is not None:
            ctx.memory_status = MemoryStatus(result=MemoryResult.OFF, reason=skip)
            return False
        ctx.session_status = SessionStatus(id=ctx.session.id, how=ctx.match)
        return True

    def _answer_in_place_of_model(self, ctx: RequestContext) -> None:
        """The breaker is open: forward nothing, and remember the reply given in the model's place."""
        if text := self.guard.stop(ctx):
            self._keep_reply(ctx, text)
        ctx.memory_status = MemoryStatus(result=MemoryResult.OFF, reason=SkipReason.BREAKER)

    def _update_session(self, ctx: RequestContext) -> None:
        now, session = self._clock(), ctx.session
        current = self._sessions.find(session.caller, session.id, now=now)
        after = advance_session(session, current, turns=ctx.chat.turns, chain=ctx.chain, at=now)
        after = self._sessions.put(after)
        PROXY_SESSIONS.set(len(self._sessions))
        self._recorder.record_session(ctx, after)

    def _keep_reply(self, ctx: RequestContext, text: str) -> None:
        """Keep the reply, so that the session recognizes it when it comes back in a history."""
        now = self._clock()
        content = reply_content_hash(ChatMessage(role=ChatRole.ASSISTANT, text=text))
        reply = SessionReply(text=text, content=content, at=now)
        session = self._sessions.find(ctx.session.caller, ctx.session.id, now=now) or ctx.session
        self._sessions.put(replace(session, at=now, replies=truncate_last_replies((*session.replies, reply))))


class ExchangeListener:
    """Listens to the response of one request; the loop guard may end it."""

    def __init__(self, ctx: RequestContext, pipeline: RequestPipeline) -> None:
        self._ctx = ctx
        self._pipeline = pipeline
        self._parser = build_reply_parser(ctx.chat.kind)
        self._monitor: ReplyMonitor | None = None
        if ctx.guard is not None:
            self._monitor = ctx.guard.build_reply_monitor(ctx, self._parser)

    def on_frame(self, frame: StreamFrame) -> Ending | None:
        delta = self._parser.feed(frame)
        return self._monitor.feed(frame, delta) if self._monitor else None

    def on_end(self, how: StreamEndReason, *, unreadable: int) -> Stored | None:
        ctx = self._ctx
        ctx.reply, ctx.ended = self._parser.content(), how
        if ctx.guard is not None and self._monitor is not None:
            ctx.events = ctx.guard.finish_reply(ctx, self._monitor, strip_blocks(ctx.reply.text, ctx.mark))
        return self._pipeline.finish(ctx)


class BurstPacer:
    """Admits one request per event-loop iteration, in order, so that bursts do not starve running streams."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_busy = False

    async def wait_for_turn(self) -> None:
        loop = asyncio.get_running_loop()
        if not self._is_busy:
            self._is_busy = True
            loop.call_soon(self._admit_next, loop)
            return
        mine: asyncio.Future[None] = loop.create_future()
        self._waiting.append(mine)
        await mine

    def _admit_next(self, loop: asyncio.AbstractEventLoop) -> None:
        """Admit the next waiting request; skip canceled ones."""
        while self._waiting:
            if not (waiter := self._waiting.popleft()).done():
                waiter.set_result(None)
                loop.call_soon(self._admit_next, loop)
                return
        self._is_busy = False
