"""Records requests and exchanges in the store, and reads sessions back from it.

Writes go through the `CaptureWriter` and return at once. `recall` asks the store only if this process may
know less about a session: it is new here, has more replies than this process gave, or others serve it too. It
waits no longer than the memory deadline; without an answer, the request goes on with local state. A line of the
request log has the session, notes, loop status, how the response ended and the overhead; texts only if a setting
says so.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from cachetools import LRUCache

from festinger.clock import Clock
from festinger.errors import Unavailable
from festinger.events.catalogue import NewEvent
from festinger.ids import SessionId, SpaceId, TraceId
from festinger.observability.metrics import DEGRADED, PROXY_BLOCK_TOKENS, PROXY_NOTES
from festinger.proxy.capture.exchange import MOST_CALLS, SHOWN_CHARS, build_capture, redact_and_truncate
from festinger.proxy.capture.queue import CaptureWriter
from festinger.proxy.capture.write import RequestLogEntry, SessionEntry, StandaloneEventsEntry
from festinger.proxy.context.build import QueryLimiter
from festinger.proxy.context.place import PrefixChange
from festinger.proxy.headers import MemoryResult, MemoryStatus
from festinger.proxy.loops.keys import ChatRole
from festinger.proxy.protocols.messages import descriptions_hash, join_tool_descriptions
from festinger.proxy.protocols.replies import ReplyContent
from festinger.proxy.request import RequestContext
from festinger.proxy.sessions.match import SessionMatchKind
from festinger.proxy.sessions.session import (
    ALIKE,
    ProxyCaller,
    ProxySession,
    from_stored_session,
    shorten_session_id,
    to_stored_session,
)
from festinger.proxy.transport.streams import Stored, StreamEndReason
from festinger.runtime.app import App
from festinger.services.block import ContextLine
from festinger.settings.tree import ProxySettings
from festinger.store.repositories.exchanges import StoredSession, find_sessions
from festinger.store.repositories.request_log import LoggedRequest

log = structlog.get_logger(room="proxy")

TRACKED = 10_000
"""Maximum sessions and exchanges whose capture progress is tracked."""
DEGRADED_RESULTS = (MemoryResult.LATE, MemoryResult.FAILED, MemoryResult.NOT_READY)
TOLD_AGAIN = timedelta(minutes=1)
MOST_REASONS = 100

SessionKey = tuple[ProxyCaller, SessionId]


class NullExchangeRecorder:
    """Records nothing: for a proxy without a store. All methods but `recall` return at once."""

    async def recall(self, ctx: RequestContext) -> Sequence[ProxySession]:
        """Sessions that the store knows better than this process; empty if it does not."""
        return ()

    def record_session(self, ctx: RequestContext, session: ProxySession) -> None:
        """Record a forwarded request with its notes and the state of its session."""

    def capture(self, ctx: RequestContext) -> Stored | None:
        """Capture a finished exchange; the future is done once it is on disk. `None` if not captured."""
        return None

    def emit(self, space: SpaceId, events: Sequence[NewEvent]) -> None:
        """Record events that belong to no exchange."""

    def log(self, ctx: RequestContext) -> None:
        """Record a finished request, however it ended."""


class StoreRecorder(NullExchangeRecorder):
    """Records through the writer and reads back from the open app."""

    def __init__(
        self,
        app: Callable[[], App | None],
        writer: CaptureWriter,
        *,
        clock: Clock,
        settings: Callable[[], ProxySettings],
    ) -> None:
        self._app = app
        self._writer = writer
        self._clock = clock
        self._settings = settings
        self._seen: LRUCache[SessionKey, tuple[int, bytes]] = LRUCache(TRACKED)
        self._tools: LRUCache[SessionKey, bytes] = LRUCache(TRACKED)
        self._captured: LRUCache[UUID, bool] = LRUCache(TRACKED)
        self._shared: LRUCache[SessionKey, bool] = LRUCache(TRACKED)
        self._degraded_at: LRUCache[tuple[str, str], datetime] = LRUCache(MOST_REASONS)
        self._queries = QueryLimiter()

    async def recall(self, ctx: RequestContext) -> Sequence[ProxySession]:
        app, session = self._app(), ctx.session
        if (
            app is None
            or self._writer.is_database_down
            or not (_session_key(ctx) in self._shared or session_may_be_stale(ctx))
        ):
            return ()
        name = None if ctx.match is SessionMatchKind.NEW else session.id
        try:
            found = await self._find_sessions(app, ctx, name)
        except (Unavailable, TimeoutError) as error:
            DEGRADED.labels("session recall").inc()
            log.warning("sessions not recalled", error=type(error).__name__)
            return ()
        if session.links and any(each.at > session.at for each in found):
            # Another process serves this session too, and may do so at any time.
            self._shared[_session_key(ctx)] = True
        return [from_stored_session(each, session.caller, name=name) for each in found]

    async def _find_sessions(self, app: App, ctx: RequestContext, name: SessionId | None) -> Sequence[StoredSession]:
        """Query the store within the deadline. A late query is not canceled: that would wait too."""
        caller, settings = ctx.session.caller, ctx.settings.proxy
        query = find_sessions(
            app.store,
            caller.space,
            caller=caller.name,
            session=shorten_session_id(name) if name else None,
            head=ctx.chain.head,
            since=self._clock() - timedelta(seconds=settings.session_idle),
            limit=ALIKE,
        )
        task = self._queries.ask(query, background=app.background)
        if task is None:
            raise TimeoutError
        await asyncio.wait({task}, timeout=settings.memory_deadline_ms / 1000)
        if not task.done():
            raise TimeoutError
        return task.result()

    def record_session(self, ctx: RequestContext, session: ProxySession) -> None:
        status = ctx.memory_status
        if not self._is_captured(ctx):
            self._note_seen(ctx)
        if ctx.block is not None and status is not None:
            PROXY_NOTES.inc(status.notes)
            PROXY_BLOCK_TOKENS.observe(status.tokens)
        state = to_stored_session(
            session,
            fresh=ctx.block,
            anchor=ctx.anchor,
            recollection=status.recollection if status else "",
            rewritten=ctx.prefix_change is PrefixChange.FORGOTTEN,
        )
        self._writer.put(SessionEntry(space=session.caller.space, session=state))
        add_request_log_details(ctx)

    def capture(self, ctx: RequestContext) -> Stored | None:
        settings = self._settings()
        if not self._is_captured(ctx):
            add_reply_log_details(ctx)
            return None
        tools = self._changed_tool_descriptions(ctx)
        capture = build_capture(ctx, seen=self._count_seen(ctx), at=self._clock(), settings=settings, tools=tools)
        texts = capture.exchange.words if settings.log_text else ()
        redact = self._writer.redact(capture.space)
        add_reply_log_details(ctx, [redact_and_truncate(words.text, redact=redact) for words in texts])
        if capture.exchange.id in self._captured and not capture.exchange.said:
            return None
        if (stored := self._writer.put(capture)) is None:
            return None
        self._note_seen(ctx)
        if tools:
            self._tools[_session_key(ctx)] = descriptions_hash(tools)
        self._captured[capture.exchange.id] = True
        return stored

    def emit(self, space: SpaceId, events: Sequence[NewEvent]) -> None:
        if events:
            self._writer.put(StandaloneEventsEntry(space=space, happenings=tuple(events)))

    def log(self, ctx: RequestContext) -> None:
        if ctx.status is None and ctx.log_details and ctx.ended is None:
            # The client left before a response; what it said still counts.
            ctx.reply, ctx.ended = ReplyContent(), StreamEndReason.CLIENT
            self.capture(ctx)
        now = self._clock()
        self._writer.put(RequestLogEntry(space=ctx.space, request=build_log_line(ctx, at=now)))
        if ctx.memory_status is not None and ctx.memory_status.result in DEGRADED_RESULTS:
            self._emit_degraded(ctx, ctx.memory_status, now)

    def _emit_degraded(self, ctx: RequestContext, status: MemoryStatus, now: datetime) -> None:
        """Emit an event for a request without memory; once a minute for each result and reason."""
        key = (status.result, status.reason)
        if now - self._degraded_at.get(key, now - TOLD_AGAIN) < TOLD_AGAIN:
            return
        self._degraded_at[key] = now
        event = NewEvent(
            name="memory_degraded",
            subject="memory",
            payload={"result": status.result, "reason": status.reason, "ms": round(1000 * ctx.before, 3)},
            agent=ctx.agent,
            trace=TraceId(ctx.request_id),
        )
        self.emit(ctx.space, [event])

    def _is_captured(self, ctx: RequestContext) -> bool:
        return ctx.may_be_learned and self._settings().capture == "on"

    def _count_seen(self, ctx: RequestContext) -> int:
        """How many turns of this history were captured before; 0 if the history differs."""
        count, link = self._seen.get(_session_key(ctx), (0, b""))
        links = ctx.chain.links
        return count if 0 < count <= len(links) and links[count - 1] == link else 0

    def _changed_tool_descriptions(self, ctx: RequestContext) -> str:
        """The request's tool descriptions, unless the previous request of the session had the same."""
        tools = join_tool_descriptions(ctx.chat.tree)
        return "" if tools and self._tools.get(_session_key(ctx)) == descriptions_hash(tools) else tools

    def _note_seen(self, ctx: RequestContext) -> None:
        links = ctx.chain.links
        if links:
            self._seen[_session_key(ctx)] = (len(links), links[-1])


def _session_key(ctx: RequestContext) -> SessionKey:
    return ctx.session.caller, ctx.session.id


def session_may_be_stale(ctx: RequestContext) -> bool:
    """Whether another process may have served this session: its name is unknown here, or it has replies that
    are not ours. A conversation without replies is new to everybody."""
    known = ctx.session.links
    links, turns = ctx.chain.links, ctx.chat.turns
    if not known:
        return ctx.match is SessionMatchKind.HEADER or any(turn.role is ChatRole.ASSISTANT for turn in turns)
    from_here = len(known) if known[-1] in links[len(known) - 1 : len(known)] else len(links)
    answers = sum(turn.role is ChatRole.ASSISTANT for turn in turns[from_here:])
    return answers > 1


def add_request_log_details(ctx: RequestContext) -> None:
    """Note the details of a request that is forwarded."""
    session, status = ctx.session, ctx.memory_status
    lines = ctx.block.lines if ctx.block is not None else ()
    ctx.log_details = {
        "how": ctx.match.value,
        "parent_session": shorten_session_id(session.parent) if session.parent else None,
        "recollection": status.recollection or None if status else None,
        "notes": [note | {"why": line.why.value} for line in lines for note in _note_payloads(line)],
        "cut": [note for line in ctx.dropped_lines for note in _note_payloads(line)],
        "late": list(ctx.late),
        "recall": ctx.recall or None,
        "tokens": status.tokens if status else 0,
        "blocks": len(session.blocks),
    }
    if ctx.prefix_change is not None:
        ctx.log_details["moved"] = ctx.prefix_change.value


def add_reply_log_details(ctx: RequestContext, texts: Sequence[str] = ()) -> None:
    """Note the details of the response."""
    if not ctx.log_details:
        return
    ctx.log_details |= {
        "tokens_read": ctx.reply.tokens_read,
        "tokens_written": ctx.reply.tokens_written,
        "finish": _clip_and_drop_nul(ctx.reply.finish),
        "tool_calls": [_clip_and_drop_nul(call.name) for call in ctx.reply.calls[:MOST_CALLS]],
        "happened": [{"name": each.name, **each.payload} for each in ctx.events],
    }
    if texts:
        ctx.log_details["words"] = list(texts)


def build_log_line(ctx: RequestContext, *, at: datetime) -> LoggedRequest:
    is_forwarded = bool(ctx.log_details)
    return LoggedRequest(
        id=ctx.request_id,
        at=at,
        agent=ctx.agent,
        session=shorten_session_id(ctx.session.id) if is_forwarded else None,
        route=ctx.route.label,
        model=_clip_and_drop_nul(ctx.chat.model) if is_forwarded else "",
        status=ctx.status,
        memory=ctx.memory_status.result if ctx.memory_status else "",
        reason=ctx.memory_status.reason if ctx.memory_status else "",
        ended=ctx.ended.value if ctx.ended else None,
        before_ms=round(1000 * ctx.before, 3),
        after_ms=round(1000 * ctx.after, 3),
        details=ctx.log_details | ({"loop": str(ctx.loop_status)} if ctx.loop_status else {}),
    )


def _note_payloads(line: ContextLine) -> list[dict[str, Any]]:
    return [{"kind": each.kind, "id": _clip_and_drop_nul(each.id), "version": each.version} for each in line.notes]


def _clip_and_drop_nul(text: str) -> str:
    """Truncate a text from outside and drop characters that databases reject."""
    return text[:SHOWN_CHARS].replace("\x00", "")
