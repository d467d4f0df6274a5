"""Processes a request before it is forwarded, and its reply afterwards.

Order: parse, check for loops, fetch and inject context, start learning, update the session, mitigate the
loop; when the response ends, keep the reply for the session and record the exchange. Unparsable requests pass
unchanged. `AdmissionQueue` admits one request per event-loop iteration, in order, so that bursts do not
starve running streams. `ExchangeRecorder` is the port to `capture.recorder`; everything but `recall` returns
at once.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Protocol

from festinger.clock import Clock
from festinger.events.event import NewEvent
from festinger.ids import SpaceId
from festinger.observability.metrics import PROXY_SESSIONS
from festinger.proxy.auth import AuthorizedRequest
from festinger.proxy.capture.exchange import ExchangeListener, ProxyExchange
from festinger.proxy.context.build import ContextBuilder
from festinger.proxy.context.edit import FindModelfile, find_no_modelfile
from festinger.proxy.context.fetch import ContextFetcher, WorldReader
from festinger.proxy.context.place import InjectionResult
from festinger.proxy.headers import LoopStatus, MemoryReason, MemoryResult, MemoryStatus, RawHeaders, SessionStatus
from festinger.proxy.hooks import FinishedRequest, PipelineResult, Recount, discard_events
from festinger.proxy.loops.guard import GuardedRequest, LoopGuard
from festinger.proxy.loops.keys import ChatMessage, ChatRole
from festinger.proxy.parsed_request import NewId, ParsedRequest, RequestParser
from festinger.proxy.protocols.messages import SkipReason
from festinger.proxy.sessions.persistence import merge_sessions
from festinger.proxy.sessions.registry import SessionRegistry
from festinger.proxy.sessions.session import (
    ProxySession,
    SessionReply,
    advance_session,
    reply_content_hash,
    trim_replies,
)
from festinger.proxy.statements import NullLearner, TurnLearner
from festinger.proxy.transport.streams import Stored, StreamEndReason, StreamFrame
from festinger.settings.tree import ProxySettings
from festinger.text.blocks import strip_blocks


class ExchangeRecorder(Protocol):
    async def recall(self, parsed: ParsedRequest, *, settings: ProxySettings) -> Sequence[ProxySession]:
        """Sessions that the store knows better than this process; empty if it does not."""

    def keep(self, parsed: ParsedRequest, note: InjectionResult, session: ProxySession) -> None:
        """Record a forwarded request with its notes and the state of its session."""

    def take(self, exchange: ProxyExchange) -> Stored | None:
        """Capture a finished exchange; the future is done once it is on disk. `None` if not captured."""

    def happened(self, space: SpaceId, happenings: Sequence[NewEvent]) -> None:
        """Record events that belong to no exchange."""

    def passed(self, request: FinishedRequest) -> None:
        """Record a finished request, however it ended."""


class NullRecorder:
    """Records nothing."""

    async def recall(self, parsed: ParsedRequest, *, settings: ProxySettings) -> Sequence[ProxySession]:
        return ()

    def keep(self, parsed: ParsedRequest, note: InjectionResult, session: ProxySession) -> None:
        pass

    def take(self, exchange: ProxyExchange) -> Stored | None:
        return None

    def happened(self, space: SpaceId, happenings: Sequence[NewEvent]) -> None:
        pass

    def passed(self, request: FinishedRequest) -> None:
        pass


class AdmissionQueue:
    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_taken = False

    async def passed(self) -> None:
        """Wait for this request's turn."""
        loop = asyncio.get_running_loop()
        if not self._is_taken:
            self._is_taken = True
            loop.call_soon(self._turn, loop)
            return
        mine: asyncio.Future[None] = loop.create_future()
        self._waiting.append(mine)
        await mine

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        """Admit the next waiting request; skip canceled ones."""
        while self._waiting:
            if not (waiter := self._waiting.popleft()).done():
                waiter.set_result(None)
                loop.call_soon(self._turn, loop)
                return
        self._is_taken = False


class RequestPipeline:
    """Owns the sessions of this proxy and processes their requests."""

    def __init__(
        self,
        mind: WorldReader,
        *,
        clock: Clock,
        new_id: NewId,
        settings: ProxySettings,
        context_builder: ContextBuilder | None = None,
        emit: Recount = discard_events,
        modelfile: FindModelfile = find_no_modelfile,
        recorder: ExchangeRecorder | None = None,
        learner: TurnLearner | None = None,
    ) -> None:
        self._clock = clock
        self._emit = emit
        self._recorder = recorder or NullRecorder()
        self._learner = learner or NullLearner()
        self.guard = LoopGuard(clock=clock, new_id=new_id, settings=settings, emit=emit, modelfile=modelfile)
        self._context_builder = context_builder or ContextBuilder(ContextFetcher(mind), new_id=new_id)
        self._sessions = SessionRegistry(most=settings.sessions_max, idle=timedelta(seconds=settings.session_idle))
        self._parser = RequestParser(self._sessions, clock=clock, new_id=new_id)
        self._admission = AdmissionQueue()

    async def process(
        self, authorized: AuthorizedRequest, headers: RawHeaders, body: bytes, *, settings: ProxySettings
    ) -> PipelineResult:
        """Add context to the request; keep the original bytes where nothing is added."""
        await self._admission.passed()
        parsed = await self._understood(authorized, headers, body, settings=settings)
        if isinstance(parsed, SkipReason):
            return PipelineResult(body=body, told=MemoryStatus(result=MemoryResult.OFF, reason=parsed))
        sighting = self.guard.look(parsed, headers, settings=settings)
        if sighting is not None and sighting.is_stopped:
            return self._stopped(parsed, sighting)
        note = await self._context_builder.note(parsed, settings=settings)
        learning = self._learner.start(parsed, settings=settings)
        self._keep(parsed, note)
        # A request that was only read goes on as it came, compressed if it was.
        plain = body if note.body is parsed.request.body else note.body
        goes_on = sighting.mitigate(note.body) if sighting else note.body
        is_changed = goes_on is not note.body
        return PipelineResult(
            body=goes_on if is_changed else plain,
            told=note.told,
            listener=ExchangeListener(
                parsed, self._take, told=note.told, fresh=note.fresh, watcher=sighting, anchor=note.anchor
            ),
            session=_build_session_status(parsed),
            loop=sighting.told if sighting else _unwatched_status(parsed),
            instead=plain if is_changed else None,
            regard=sighting,
            learning=learning,
        )

    def take_early(
        self,
        authorized: AuthorizedRequest,
        headers: RawHeaders,
        body: bytes,
        *,
        frames: Iterable[StreamFrame],
        ended: StreamEndReason,
        settings: ProxySettings,
    ) -> Stored | None:
        """Capture a request that passed untouched before memory was loaded, with its response frames."""
        parsed = self._parser.understand(authorized, headers, body, settings=settings)
        if isinstance(parsed, SkipReason):
            return None
        told = MemoryStatus(result=MemoryResult.NOT_READY, reason=MemoryReason.STORE)
        self._keep(parsed, InjectionResult(body=body, told=told, session=parsed.session))
        listening = ExchangeListener(parsed, self._take, told=told)
        for frame in frames:
            listening.hear(frame)
        return listening.ended(ended, unreadable=0)

    async def _understood(
        self, authorized: AuthorizedRequest, headers: RawHeaders, body: bytes, *, settings: ProxySettings
    ) -> ParsedRequest | SkipReason:
        """Parse the request; if another process served its session too, merge the stored session first."""
        parsed = self._parser.understand(authorized, headers, body, settings=settings)
        if isinstance(parsed, SkipReason):
            return parsed
        recalled = await self._recorder.recall(parsed, settings=settings)
        if not recalled:
            return parsed
        for session in recalled:
            known = self._sessions.find(session.caller, session.id, now=self._clock())
            self._sessions.keep(merge_sessions(known, session))
        again = self._parser.understand(authorized, headers, body, settings=settings)
        return again if isinstance(again, SkipReason) else replace(again, began=parsed.began)

    def _stopped(self, parsed: ParsedRequest, sighting: GuardedRequest) -> PipelineResult:
        """The breaker is open: forward nothing, and remember the reply given in the model's place."""
        own, said = sighting.stop()
        if said:
            self._keep_reply(parsed, said)
        return PipelineResult(
            body=None,
            told=MemoryStatus(result=MemoryResult.OFF, reason=SkipReason.BREAKER),
            session=_build_session_status(parsed),
            loop=sighting.told,
            own=own,
        )

    def _keep(self, parsed: ParsedRequest, note: InjectionResult) -> None:
        now, turns = self._clock(), parsed.request.turns
        beside = self._sessions.find(note.session.caller, note.session.id, now=now)
        kept = self._sessions.keep(advance_session(note.session, beside, turns=turns, chain=parsed.chain, at=now))
        PROXY_SESSIONS.set(len(self._sessions))
        self._recorder.keep(parsed, note, kept)

    def _take(self, exchange: ProxyExchange) -> Stored | None:
        """Handle a finished response: record the exchange and keep the reply for the session."""
        parsed = exchange.parsed
        if (stored := self._recorder.take(exchange)) is None:
            self._emit(parsed.authorized.space, exchange.happenings)
        if exchange.ended is StreamEndReason.ERROR:
            return stored
        self._keep_reply(parsed, strip_blocks(exchange.heard.text, parsed.mark))
        if exchange.heard.id:
            self._sessions.remember_response(parsed.session.caller, exchange.heard.id, parsed.session.id)
        return stored

    def _keep_reply(self, parsed: ParsedRequest, text: str) -> SessionReply:
        """Keep the reply, so that the session recognizes it when it comes back in a history."""
        now = self._clock()
        reply = SessionReply(
            text=text, content=reply_content_hash(ChatMessage(role=ChatRole.ASSISTANT, text=text)), at=now
        )
        session = parsed.session
        kept = self._sessions.find(session.caller, session.id, now=now) or session
        self._sessions.keep(replace(kept, at=now, replies=trim_replies((*kept.replies, reply))))
        return reply


def _build_session_status(parsed: ParsedRequest) -> SessionStatus:
    return SessionStatus(id=parsed.session.id, how=parsed.how)


def _unwatched_status(parsed: ParsedRequest) -> LoopStatus | None:
    return None if parsed.authorized.wishes.watch_loops else LoopStatus(off=True)
