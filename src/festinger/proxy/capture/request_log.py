"""Collects what the request log needs while a request is in progress.

A log line has the session, notes, loop status, how the response ended and the overhead; texts only if a
setting says so. Requests whose client left before a response are tracked too, because what they said still
counts.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from festinger.events.event import NewEvent
from festinger.ids import SessionId, TraceId
from festinger.proxy.capture.exchange import MOST_CALLS, SHOWN_CHARS, ProxyExchange, session_name
from festinger.proxy.context.block import ContextLine
from festinger.proxy.context.place import InjectionResult
from festinger.proxy.headers import MemoryResult
from festinger.proxy.hooks import FinishedRequest
from festinger.proxy.parsed_request import ParsedRequest
from festinger.proxy.protocols.replies import ReplyContent
from festinger.proxy.transport.streams import StreamEndReason
from festinger.store.repositories.request_log import LoggedRequest

OPEN = 10_000
"""Maximum open requests whose details are kept."""
DEGRADED = (MemoryResult.LATE, MemoryResult.FAILED, MemoryResult.NOT_READY)
TOLD_AGAIN = timedelta(minutes=1)
MOST_REASONS = 100


@dataclass(slots=True, kw_only=True)
class TrackedRequest:
    """What is known of a request so far."""

    parsed: ParsedRequest | None = None
    note: InjectionResult | None = None
    session: SessionId | None = None
    model: str = ""
    ended: str | None = None
    details: dict[str, Any] = field(default_factory=dict)


class RequestTracker:
    """The open requests of one proxy."""

    def __init__(self) -> None:
        self._underway: OrderedDict[str, TrackedRequest] = OrderedDict()
        self._told_at: OrderedDict[tuple[str, str], datetime] = OrderedDict()

    def begin(self, parsed: ParsedRequest, note: InjectionResult) -> None:
        """Start tracking a request that is forwarded with these notes."""
        put_bounded(self._underway, parsed.authorized.request_id, _build_tracked_request(parsed, note), most=OPEN)

    def end(self, exchange: ProxyExchange, words: Sequence[str] = ()) -> None:
        """Record the end of its response."""
        found = self._underway.get(exchange.parsed.authorized.request_id)
        if found is not None:
            found.ended = exchange.ended.value
            found.details |= _reply_details(exchange)
            if words:
                found.details["words"] = list(words)

    def unanswered(self, request: FinishedRequest) -> ProxyExchange | None:
        """The exchange to capture if the client left before a response."""
        found = self._underway.get(request.authorized.request_id)
        if request.status is not None or found is None or found.ended is not None:
            return None
        if found.parsed is None or found.note is None:
            return None
        return ProxyExchange(
            parsed=found.parsed,
            told=found.note.told,
            fresh=found.note.fresh,
            anchor=found.note.anchor,
            heard=ReplyContent(),
            ended=StreamEndReason.CLIENT,
        )

    def line(self, request: FinishedRequest, *, at: datetime) -> LoggedRequest:
        """Build the log line and stop tracking the request."""
        authorized = request.authorized
        found = self._underway.pop(authorized.request_id, None) or TrackedRequest()
        return LoggedRequest(
            id=authorized.request_id,
            at=at,
            agent=authorized.agent,
            session=found.session,
            route=authorized.route.label,
            model=found.model,
            status=request.status,
            memory=request.memory,
            reason=request.reason,
            ended=found.ended,
            before_ms=round(1000 * request.before, 3),
            after_ms=round(1000 * request.after, 3),
            details=found.details | ({"loop": request.loop} if request.loop else {}),
        )

    def degraded(self, request: FinishedRequest, *, at: datetime) -> NewEvent | None:
        """Event for a request without memory; once a minute for each result and reason."""
        key = (request.memory, request.reason)
        if request.memory not in DEGRADED or at - self._told_at.get(key, at - TOLD_AGAIN) < TOLD_AGAIN:
            return None
        put_bounded(self._told_at, key, at, most=MOST_REASONS)
        return NewEvent(
            name="memory_degraded",
            subject="memory",
            payload={"result": request.memory, "reason": request.reason, "ms": round(1000 * request.before, 3)},
            agent=request.authorized.agent,
            trace=TraceId(request.authorized.request_id),
        )


def _build_tracked_request(parsed: ParsedRequest, note: InjectionResult) -> TrackedRequest:
    session = parsed.session
    lines = note.fresh.lines if note.fresh is not None else ()
    details: dict[str, Any] = {
        "how": parsed.how.value,
        "parent_session": session_name(session.parent) if session.parent else None,
        "recollection": note.told.recollection or None,
        "notes": [told | {"why": line.why.value} for line in lines for told in _note_payloads(line)],
        "cut": [told for line in note.cut for told in _note_payloads(line)],
        "late": list(note.late),
        "recall": note.recall or None,
        "tokens": note.told.tokens,
        "blocks": len(note.session.blocks),
    }
    if note.moved is not None:
        details["moved"] = note.moved.value
    return TrackedRequest(
        parsed=parsed,
        note=note,
        session=session_name(session.id),
        model=_truncate(parsed.request.model),
        details=details,
    )


def _note_payloads(line: ContextLine) -> list[dict[str, Any]]:
    return [{"kind": each.kind, "id": _truncate(each.id), "version": each.version} for each in line.notes]


def _reply_details(exchange: ProxyExchange) -> dict[str, Any]:
    heard = exchange.heard
    return {
        "tokens_read": heard.tokens_read,
        "tokens_written": heard.tokens_written,
        "finish": _truncate(heard.finish),
        "tool_calls": [_truncate(call.name) for call in heard.calls[:MOST_CALLS]],
        "happened": [{"name": each.name, **each.payload} for each in exchange.happenings],
    }


def _truncate(text: str) -> str:
    """Truncate a text from outside and drop characters that databases reject."""
    return text[:SHOWN_CHARS].replace("\x00", "")


Key = TypeVar("Key")
Value = TypeVar("Value")


def put_bounded(kept: OrderedDict[Key, Value], key: Key, value: Value, *, most: int) -> None:
    """Store a value as the newest; drop the oldest beyond `most`."""
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > most:
        kept.popitem(last=False)
