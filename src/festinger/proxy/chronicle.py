"""What is written down of what passes through, and what is read back?

The port through which the door leaves its traces. Everything but `recall` returns at once. `recall` is asked only
where this process may not know a session as well as the store does: it never met the session, or the history holds
more answers than it gave. It waits for the store no longer than memory may take, and without an answer the request
goes on with what is known here.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar
from uuid import UUID

import structlog

from festinger.app.wiring import App
from festinger.clock import Clock
from festinger.errors import Unavailable
from festinger.events.event import Happening
from festinger.ids import SessionId, SpaceId, TraceId
from festinger.proxy.capture import captured, session_name, writable
from festinger.proxy.drafting import Moved, Noted
from festinger.proxy.ending import Ended
from festinger.proxy.entries import Happened, Kept, Logged
from festinger.proxy.exchange import Exchange
from festinger.proxy.guard import Visit
from festinger.proxy.injection.block import Block
from festinger.proxy.loops.message import Role
from festinger.proxy.passed import Passed
from festinger.proxy.remembering import restored, stored
from festinger.proxy.replies.heard import Heard
from festinger.proxy.sessions.keeping import ALIKE
from festinger.proxy.sessions.recognising import How
from festinger.proxy.sessions.session import Caller, Session
from festinger.proxy.telling import MemoryResult, MemoryTold
from festinger.proxy.understanding import Understood
from festinger.proxy.writer import Writer
from festinger.seeing.metrics import DEGRADED, PROXY_BLOCK_TOKENS, PROXY_NOTES
from festinger.settings.tree import ProxySettings
from festinger.store.conversations import find_sessions
from festinger.store.requests import LoggedRequest

log = structlog.get_logger(room="proxy")

SEEN = 10_000
"""Sessions and exchanges of which is known how far they were kept."""
OPEN = 10_000
"""Requests under way whose details are kept for the log."""
DEGRADED_RESULTS = (MemoryResult.LATE, MemoryResult.FAILED, MemoryResult.NOT_READY)
TOLD_AGAIN = timedelta(minutes=1)


class Chronicle(Protocol):
    async def recall(self, understood: Understood, *, settings: ProxySettings) -> Sequence[Session]:
        """Sessions that the store knows better than this process; none if it does not."""

    def keep(self, understood: Understood, note: Noted, session: Session) -> None:
        """A request goes on, with these notes, and leaves its session so."""

    def take(self, exchange: Exchange) -> bool:
        """An answer is over. Whether what happened to it is told with it."""

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

    def take(self, exchange: Exchange) -> bool:
        return False

    def happened(self, space: SpaceId, happenings: Sequence[Happening]) -> None:
        pass

    def passed(self, request: Passed) -> None:
        pass


@dataclass(slots=True, kw_only=True)
class _Open:
    """What is known of a request under way."""

    understood: Understood | None = None
    told: MemoryTold | None = None
    fresh: Block | None = None
    anchor: bytes | None = None
    session: SessionId | None = None
    model: str = ""
    ended: str | None = None
    details: dict[str, Any] = field(default_factory=dict)


class StoredChronicle:
    """Writes down what passes, through the writer; reads back from the open house."""

    def __init__(
        self,
        app: Callable[[], App | None],
        writer: Writer,
        *,
        clock: Clock,
        settings: Callable[[], ProxySettings],
    ) -> None:
        self._app = app
        self._writer = writer
        self._clock = clock
        self._settings = settings
        self._seen: OrderedDict[tuple[Caller, SessionId], tuple[int, bytes]] = OrderedDict()
        self._done: OrderedDict[UUID, None] = OrderedDict()
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._shared: OrderedDict[tuple[Caller, SessionId], None] = OrderedDict()
        self._told_at: OrderedDict[tuple[str, str], datetime] = OrderedDict()

    async def recall(self, understood: Understood, *, settings: ProxySettings) -> Sequence[Session]:
        app, session = self._app(), understood.session
        key = (session.caller, session.id)
        if app is None or self._writer.is_away or not (key in self._shared or may_be_behind(understood)):
            return ()
        name = None if understood.how is How.NEW else session.id
        try:
            async with asyncio.timeout(settings.memory_deadline_ms / 1000):
                found = await find_sessions(
                    app.store,
                    session.caller.space,
                    caller=session.caller.name,
                    session=session_name(name) if name else None,
                    head=understood.chain.head,
                    since=self._clock() - timedelta(seconds=settings.session_idle),
                    limit=ALIKE,
                )
        except (Unavailable, TimeoutError) as error:
            DEGRADED.labels("session recall").inc()
            log.warning("sessions not recalled", error=type(error).__name__)
            return ()
        if session.links and any(each.at > session.at for each in found):
            # Somebody else serves this session too, and may do so at any time.
            _bounded(self._shared, key, None, most=SEEN)
        return [restored(each, session.caller, name=name) for each in found]

    def keep(self, understood: Understood, note: Noted, session: Session) -> None:
        if not self._is_captured(understood):
            self._note_seen(understood)
        if note.fresh is not None:
            PROXY_NOTES.inc(note.told.notes)
            PROXY_BLOCK_TOKENS.observe(note.told.tokens)
        state = stored(
            session,
            fresh=note.fresh,
            anchor=note.anchor,
            recollection=note.told.recollection,
            rewritten=note.moved is Moved.FORGOTTEN,
        )
        self._writer.put(Kept(space=session.caller.space, session=state))
        self._remember(understood.visit, _opened(understood, note))

    def take(self, exchange: Exchange) -> bool:
        understood, settings = exchange.understood, self._settings()
        if found := self._open.get(understood.visit.request_id):
            found.ended = exchange.ended.value
            found.details |= _heard(exchange)
        if not self._is_captured(understood):
            return False
        seen = self._how_much_seen(understood)
        capture = captured(exchange, seen=seen, at=self._clock(), settings=settings)
        if settings.log_text and found:
            found.details["words"] = [writable(words.text) for words in capture.exchange.words]
        if capture.exchange.id in self._done and not capture.exchange.said:
            return False
        if not self._writer.put(capture):
            return False
        self._note_seen(understood)
        _bounded(self._done, capture.exchange.id, None, most=SEEN)
        return True

    def happened(self, space: SpaceId, happenings: Sequence[Happening]) -> None:
        if happenings:
            self._writer.put(Happened(space=space, happenings=tuple(happenings)))

    def passed(self, request: Passed) -> None:
        visit = request.visit
        found = self._open.get(visit.request_id) or _Open()
        if request.status is None and found.ended is None:
            self._take_unanswered(found)
        self._open.pop(visit.request_id, None)
        line = LoggedRequest(
            id=visit.request_id,
            at=self._clock(),
            agent=visit.agent,
            session=found.session,
            route=visit.route.label,
            model=found.model,
            status=request.status,
            memory=request.memory,
            reason=request.reason,
            ended=found.ended,
            before_ms=round(1000 * request.before, 3),
            after_ms=round(1000 * request.after, 3),
            details=found.details | ({"loop": request.loop} if request.loop else {}),
        )
        self._writer.put(Logged(space=visit.space, request=line))
        self._tell_of_degraded(request)

    def _tell_of_degraded(self, request: Passed) -> None:
        """Say that memory was not there for a request; once a minute for each way of not being there."""
        if request.memory not in DEGRADED_RESULTS:
            return
        now, key = self._clock(), (request.memory, request.reason)
        if key in self._told_at and now - self._told_at[key] < TOLD_AGAIN:
            return
        _bounded(self._told_at, key, now, most=SEEN)
        payload = {"result": request.memory, "reason": request.reason, "ms": round(1000 * request.before, 3)}
        told = Happening(
            name="memory_degraded",
            subject="memory",
            payload=payload,
            agent=request.visit.agent,
            trace=TraceId(request.visit.request_id),
        )
        self.happened(request.visit.space, [told])

    def _take_unanswered(self, found: _Open) -> None:
        """The client left before there was an answer: what it said was said all the same."""
        if found.understood is not None and found.told is not None:
            self.take(
                Exchange(
                    understood=found.understood,
                    told=found.told,
                    fresh=found.fresh,
                    anchor=found.anchor,
                    heard=Heard(),
                    ended=Ended.CLIENT,
                )
            )

    def _is_captured(self, understood: Understood) -> bool:
        return understood.is_learnt and self._settings().capture == "on"

    def _how_much_seen(self, understood: Understood) -> int:
        """How many turns of the history were kept before; none if it is another history."""
        count, link = self._seen.get((understood.session.caller, understood.session.id), (0, b""))
        links = understood.chain.links
        return count if 0 < count <= len(links) and links[count - 1] == link else 0

    def _note_seen(self, understood: Understood) -> None:
        links = understood.chain.links
        if links:
            key = (understood.session.caller, understood.session.id)
            _bounded(self._seen, key, (len(links), links[-1]), most=SEEN)

    def _remember(self, visit: Visit, opened: _Open) -> None:
        _bounded(self._open, visit.request_id, opened, most=OPEN)


def may_be_behind(understood: Understood) -> bool:
    """Whether another process may have served this session: it is unknown here, or has answers that are not ours."""
    known = understood.session.links
    if not known:
        return True
    links, turns = understood.chain.links, understood.request.turns
    from_here = len(known) if known[-1] in links[len(known) - 1 : len(known)] else len(links)
    answers = sum(turn.role is Role.ASSISTANT for turn in turns[from_here:])
    return answers > 1


def _opened(understood: Understood, note: Noted) -> _Open:
    session, fresh = understood.session, note.fresh
    shown = fresh.notes if fresh is not None else ()
    details: dict[str, Any] = {
        "how": understood.how.value,
        "parent_session": session_name(session.parent) if session.parent else None,
        "recollection": note.told.recollection or None,
        "notes": [{"kind": each.kind, "id": each.id, "version": each.version} for each in shown],
        "tokens": note.told.tokens,
        "blocks": len(note.session.blocks),
    }
    if note.moved is not None:
        details["moved"] = note.moved.value
    return _Open(
        understood=understood,
        told=note.told,
        fresh=fresh,
        anchor=note.anchor,
        session=session_name(session.id),
        model=understood.request.model,
        details=details,
    )


def _heard(exchange: Exchange) -> dict[str, Any]:
    heard = exchange.heard
    return {
        "tokens_read": heard.tokens_read,
        "tokens_written": heard.tokens_written,
        "finish": heard.finish,
        "tool_calls": [call.name for call in heard.calls],
        "happened": [{"name": each.name, **each.payload} for each in exchange.happenings],
    }


Key = TypeVar("Key")
Value = TypeVar("Value")


def _bounded(kept: OrderedDict[Key, Value], key: Key, value: Value, *, most: int) -> None:
    """Keep a value as the newest; the oldest go."""
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > most:
        kept.popitem(last=False)
