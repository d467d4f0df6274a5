"""What will be known of a request once it is over?

Gathers while the request is under way what its line in the log needs: session, notes, loop, how its answer ended and
how long we took. No word of the request is among it unless that was set. A request whose client left before there was
an answer is remembered here too, because what it said was said all the same.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from festinger.events.event import Happening
from festinger.ids import SessionId, TraceId
from festinger.proxy.capture.exchange import MOST_CALLS, SHOWN_CHARS, Exchange, session_name
from festinger.proxy.context.block import Line
from festinger.proxy.context.place import Noted
from festinger.proxy.headers import MemoryResult
from festinger.proxy.hooks import Passed
from festinger.proxy.parsed_request import Understood
from festinger.proxy.protocols.replies import Heard
from festinger.proxy.transport.streams import Ended
from festinger.store.repositories.request_log import LoggedRequest

OPEN = 10_000
"""Requests under way whose details are kept."""
DEGRADED = (MemoryResult.LATE, MemoryResult.FAILED, MemoryResult.NOT_READY)
TOLD_AGAIN = timedelta(minutes=1)
MOST_REASONS = 100


@dataclass(slots=True, kw_only=True)
class Underway:
    """What is known of a request so far."""

    understood: Understood | None = None
    note: Noted | None = None
    session: SessionId | None = None
    model: str = ""
    ended: str | None = None
    details: dict[str, Any] = field(default_factory=dict)


class Afterwards:
    """The requests under way of one door."""

    def __init__(self) -> None:
        self._underway: OrderedDict[str, Underway] = OrderedDict()
        self._told_at: OrderedDict[tuple[str, str], datetime] = OrderedDict()

    def begin(self, understood: Understood, note: Noted) -> None:
        """A request goes on with these notes."""
        bounded(self._underway, understood.visit.request_id, _begun(understood, note), most=OPEN)

    def end(self, exchange: Exchange, words: Sequence[str] = ()) -> None:
        """Its answer is over."""
        found = self._underway.get(exchange.understood.visit.request_id)
        if found is not None:
            found.ended = exchange.ended.value
            found.details |= _heard(exchange)
            if words:
                found.details["words"] = list(words)

    def unanswered(self, request: Passed) -> Exchange | None:
        """What was said, if the client left before there was an answer."""
        found = self._underway.get(request.visit.request_id)
        if request.status is not None or found is None or found.ended is not None:
            return None
        if found.understood is None or found.note is None:
            return None
        return Exchange(
            understood=found.understood,
            told=found.note.told,
            fresh=found.note.fresh,
            anchor=found.note.anchor,
            heard=Heard(),
            ended=Ended.CLIENT,
        )

    def line(self, request: Passed, *, at: datetime) -> LoggedRequest:
        """Its line in the log; it is no longer under way."""
        visit = request.visit
        found = self._underway.pop(visit.request_id, None) or Underway()
        return LoggedRequest(
            id=visit.request_id,
            at=at,
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

    def degraded(self, request: Passed, *, at: datetime) -> Happening | None:
        """What is told where memory was not there; once a minute for each way of not being there."""
        key = (request.memory, request.reason)
        if request.memory not in DEGRADED or at - self._told_at.get(key, at - TOLD_AGAIN) < TOLD_AGAIN:
            return None
        bounded(self._told_at, key, at, most=MOST_REASONS)
        return Happening(
            name="memory_degraded",
            subject="memory",
            payload={
                "result": request.memory,
                "reason": request.reason,
                "ms": round(1000 * request.before, 3),
            },
            agent=request.visit.agent,
            trace=TraceId(request.visit.request_id),
        )


def _begun(understood: Understood, note: Noted) -> Underway:
    session = understood.session
    lines = note.fresh.lines if note.fresh is not None else ()
    details: dict[str, Any] = {
        "how": understood.how.value,
        "parent_session": session_name(session.parent) if session.parent else None,
        "recollection": note.told.recollection or None,
        "notes": [told | {"why": line.why.value} for line in lines for told in _notes(line)],
        "cut": [told for line in note.cut for told in _notes(line)],
        "late": list(note.late),
        "recall": note.recall or None,
        "tokens": note.told.tokens,
        "blocks": len(note.session.blocks),
    }
    if note.moved is not None:
        details["moved"] = note.moved.value
    return Underway(
        understood=understood,
        note=note,
        session=session_name(session.id),
        model=_shown(understood.request.model),
        details=details,
    )


def _notes(line: Line) -> list[dict[str, Any]]:
    return [{"kind": each.kind, "id": _shown(each.id), "version": each.version} for each in line.notes]


def _heard(exchange: Exchange) -> dict[str, Any]:
    heard = exchange.heard
    return {
        "tokens_read": heard.tokens_read,
        "tokens_written": heard.tokens_written,
        "finish": _shown(heard.finish),
        "tool_calls": [_shown(call.name) for call in heard.calls[:MOST_CALLS]],
        "happened": [{"name": each.name, **each.payload} for each in exchange.happenings],
    }


def _shown(text: str) -> str:
    """The beginning of a text that others wrote, without what no database takes."""
    return text[:SHOWN_CHARS].replace("\x00", "")


Key = TypeVar("Key")
Value = TypeVar("Value")


def bounded(kept: OrderedDict[Key, Value], key: Key, value: Value, *, most: int) -> None:
    """Keep a value as the newest; the oldest go."""
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > most:
        kept.popitem(last=False)
