"""What becomes of a request before it is forwarded, and of its answer after it?

Understand it, see whether it goes round in circles, ask the mind about what is new in it, put the notes in, keep the
session, do something about the circles; when the answer is over, keep its words for the session and have the exchange
learnt. Each of these stands in a file of its own; here is their order. Whatever was not understood goes on as it came.

What is written down of what passes through, and what is read back?

The port through which the door leaves its traces. Everything but `recall` returns at once; who writes is `recording`.

Who is next when many come at once?

One request in each turn of the loop, in the order in which they came. Whatever else is ready has its turn in between: a
crowd at the door does not stop the answers that are already flowing. Who comes alone passes at once.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Protocol

from festinger.clock import Clock
from festinger.events.event import Happening
from festinger.ids import SpaceId
from festinger.observability.metrics import PROXY_SESSIONS
from festinger.proxy.auth import Visit
from festinger.proxy.capture.exchange import Exchange, Listening
from festinger.proxy.context.build import Noting
from festinger.proxy.context.edit import FindModelfile, none_known
from festinger.proxy.context.fetch import InTime, Mind
from festinger.proxy.context.place import Noted
from festinger.proxy.headers import LoopTold, MemoryResult, MemoryTold, RawHeaders, Reason, SessionTold
from festinger.proxy.hooks import Attended, Passed, Recount, untold
from festinger.proxy.loops.guard import LoopGuard, Sighting
from festinger.proxy.loops.keys import Message, Role
from festinger.proxy.parsed_request import NewId, Understanding, Understood
from festinger.proxy.protocols.messages import Untouched
from festinger.proxy.sessions.persistence import joined
from festinger.proxy.sessions.registry import Sessions
from festinger.proxy.sessions.session import Reply, Session, advanced, content_of_reply, latest
from festinger.proxy.statements import NullLearner, TurnLearner
from festinger.proxy.transport.streams import Ended, Frame, Stored
from festinger.settings.tree import ProxySettings
from festinger.text.blocks import without_blocks


class Chronicle(Protocol):
    async def recall(self, understood: Understood, *, settings: ProxySettings) -> Sequence[Session]:
        """Sessions that the store knows better than this process; none if it does not."""

    def keep(self, understood: Understood, note: Noted, session: Session) -> None:
        """A request goes on, with these notes, and leaves its session so."""

    def take(self, exchange: Exchange) -> Stored | None:
        """Capture an exchange that is over; done once it is on disk. None if it is not captured."""

    def happened(self, space: SpaceId, happenings: Sequence[Happening]) -> None:
        """Something happened that belongs to no exchange."""

    def passed(self, request: Passed) -> None:
        """A request is over, however it ended."""


class NoChronicle:
    """Writes nothing down."""

    async def recall(self, understood: Understood, *, settings: ProxySettings) -> Sequence[Session]:
        return ()

    def keep(self, understood: Understood, note: Noted, session: Session) -> None:
        pass

    def take(self, exchange: Exchange) -> Stored | None:
        return None

    def happened(self, space: SpaceId, happenings: Sequence[Happening]) -> None:
        pass

    def passed(self, request: Passed) -> None:
        pass


class Turnstile:
    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_taken = False

    async def passed(self) -> None:
        """Wait for one's turn."""
        loop = asyncio.get_running_loop()
        if not self._is_taken:
            self._is_taken = True
            loop.call_soon(self._turn, loop)
            return
        mine: asyncio.Future[None] = loop.create_future()
        self._waiting.append(mine)
        await mine

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let the next one in; whoever went away meanwhile is passed over."""
        while self._waiting:
            if not (waiter := self._waiting.popleft()).done():
                waiter.set_result(None)
                loop.call_soon(self._turn, loop)
                return
        self._is_taken = False


class Attendant:
    """Keeps the sessions of this door and attends to their requests."""

    def __init__(
        self,
        mind: Mind,
        *,
        clock: Clock,
        new_id: NewId,
        settings: ProxySettings,
        noting: Noting | None = None,
        recount: Recount = untold,
        modelfile: FindModelfile = none_known,
        chronicle: Chronicle | None = None,
        learner: TurnLearner | None = None,
    ) -> None:
        self._clock = clock
        self._recount = recount
        self._chronicle = chronicle or NoChronicle()
        self._learner = learner or NullLearner()
        self.guard = LoopGuard(
            clock=clock, new_id=new_id, settings=settings, recount=recount, modelfile=modelfile
        )
        self._noting = noting or Noting(InTime(mind), new_id=new_id)
        self._sessions = Sessions(most=settings.sessions_max, idle=timedelta(seconds=settings.session_idle))
        self._understanding = Understanding(self._sessions, clock=clock, new_id=new_id)
        self._turnstile = Turnstile()

    async def attend(
        self, visit: Visit, headers: RawHeaders, body: bytes, *, settings: ProxySettings
    ) -> Attended:
        """The request with what it brings to mind; the original bytes where nothing is to be added."""
        await self._turnstile.passed()
        understood = await self._understood(visit, headers, body, settings=settings)
        if isinstance(understood, Untouched):
            return Attended(body=body, told=MemoryTold(result=MemoryResult.OFF, reason=understood))
        sighting = self.guard.look(understood, headers, settings=settings)
        if sighting is not None and sighting.is_stopped:
            return self._stopped(understood, sighting)
        note = await self._noting.note(understood, settings=settings)
        learning = self._learner.start(understood, settings=settings)
        self._keep(understood, note)
        # What was only read goes on as it came, compressed if it was.
        plain = body if note.body is understood.request.body else note.body
        goes_on = sighting.mitigate(note.body) if sighting else note.body
        is_changed = goes_on is not note.body
        return Attended(
            body=goes_on if is_changed else plain,
            told=note.told,
            listener=Listening(
                understood, self._take, told=note.told, fresh=note.fresh, watcher=sighting, anchor=note.anchor
            ),
            session=_session_told(understood),
            loop=sighting.told if sighting else _unwatched(understood),
            instead=plain if is_changed else None,
            regard=sighting,
            learning=learning,
        )

    def take_early(
        self,
        visit: Visit,
        headers: RawHeaders,
        body: bytes,
        *,
        frames: Iterable[Frame],
        ended: Ended,
        settings: ProxySettings,
    ) -> Stored | None:
        """Capture a request that passed untouched before memory was loaded, with the frames of its response."""
        understood = self._understanding.understand(visit, headers, body, settings=settings)
        if isinstance(understood, Untouched):
            return None
        told = MemoryTold(result=MemoryResult.NOT_READY, reason=Reason.STORE)
        self._keep(understood, Noted(body=body, told=told, session=understood.session))
        listening = Listening(understood, self._take, told=told)
        for frame in frames:
            listening.hear(frame)
        return listening.ended(ended, unreadable=0)

    async def _understood(
        self, visit: Visit, headers: RawHeaders, body: bytes, *, settings: ProxySettings
    ) -> Understood | Untouched:
        """The request in its session, as the store knows it where another process has served it too."""
        understood = self._understanding.understand(visit, headers, body, settings=settings)
        if isinstance(understood, Untouched):
            return understood
        recalled = await self._chronicle.recall(understood, settings=settings)
        if not recalled:
            return understood
        for session in recalled:
            known = self._sessions.find(session.caller, session.id, now=self._clock())
            self._sessions.keep(joined(known, session))
        again = self._understanding.understand(visit, headers, body, settings=settings)
        return again if isinstance(again, Untouched) else replace(again, began=understood.began)

    def _stopped(self, understood: Understood, sighting: Sighting) -> Attended:
        """The breaker is open: the request goes nowhere, and what is said in the model's place is remembered."""
        own, said = sighting.stop()
        if said:
            self._keep_reply(understood, said)
        return Attended(
            body=None,
            told=MemoryTold(result=MemoryResult.OFF, reason=Untouched.BREAKER),
            session=_session_told(understood),
            loop=sighting.told,
            own=own,
        )

    def _keep(self, understood: Understood, note: Noted) -> None:
        now, turns = self._clock(), understood.request.turns
        beside = self._sessions.find(note.session.caller, note.session.id, now=now)
        kept = self._sessions.keep(
            advanced(note.session, beside, turns=turns, chain=understood.chain, at=now)
        )
        PROXY_SESSIONS.set(len(self._sessions))
        self._chronicle.keep(understood, note, kept)

    def _take(self, exchange: Exchange) -> Stored | None:
        """The answer is over: keep what it said for the session, and have both sides learnt."""
        understood = exchange.understood
        if (stored := self._chronicle.take(exchange)) is None:
            self._recount(understood.visit.space, exchange.happenings)
        if exchange.ended is Ended.ERROR:
            return stored
        self._keep_reply(understood, without_blocks(exchange.heard.text, understood.mark))
        if exchange.heard.id:
            self._sessions.remember_response(
                understood.session.caller, exchange.heard.id, understood.session.id
            )
        return stored

    def _keep_reply(self, understood: Understood, text: str) -> Reply:
        """The session knows its reply again where it comes back in a history."""
        now = self._clock()
        reply = Reply(text=text, content=content_of_reply(Message(role=Role.ASSISTANT, text=text)), at=now)
        session = understood.session
        kept = self._sessions.find(session.caller, session.id, now=now) or session
        self._sessions.keep(replace(kept, at=now, replies=latest((*kept.replies, reply))))
        return reply


def _session_told(understood: Understood) -> SessionTold:
    return SessionTold(id=understood.session.id, how=understood.how)


def _unwatched(understood: Understood) -> LoopTold | None:
    return None if understood.visit.wishes.watch_loops else LoopTold(off=True)
