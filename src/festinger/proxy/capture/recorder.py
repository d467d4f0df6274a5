"""Records requests and exchanges in the store, and reads sessions back from it.

Writes go through the `CaptureWriter` and return at once. `recall` asks the store only if this process may
know less about a session: it is new here, has more replies than this process gave, or others serve it too. It
waits no longer than the memory deadline; without an answer, the request goes on with local state.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import timedelta
from uuid import UUID

import structlog

from festinger.clock import Clock
from festinger.errors import Unavailable
from festinger.events.event import NewEvent
from festinger.ids import SessionId, SpaceId
from festinger.observability.metrics import DEGRADED, PROXY_BLOCK_TOKENS, PROXY_NOTES
from festinger.proxy.capture.exchange import ProxyExchange, build_capture, sanitize_text, session_name
from festinger.proxy.capture.queue import CaptureWriter
from festinger.proxy.capture.request_log import RequestTracker, put_bounded
from festinger.proxy.capture.write import EventsEntry, RequestLogEntry, SessionEntry
from festinger.proxy.context.fetch import QueryLimiter
from festinger.proxy.context.place import InjectionResult, PrefixChange
from festinger.proxy.hooks import FinishedRequest
from festinger.proxy.loops.keys import ChatRole
from festinger.proxy.parsed_request import ParsedRequest
from festinger.proxy.protocols.messages import descriptions_hash, tool_descriptions
from festinger.proxy.sessions.match import SessionMatchKind
from festinger.proxy.sessions.persistence import from_stored_session, to_stored_session
from festinger.proxy.sessions.registry import ALIKE
from festinger.proxy.sessions.session import ProxyCaller, ProxySession
from festinger.proxy.transport.streams import Stored
from festinger.runtime.app import App
from festinger.settings.tree import ProxySettings
from festinger.store.repositories.exchanges import StoredSession, find_sessions

log = structlog.get_logger(room="proxy")

SEEN = 10_000
"""Maximum sessions and exchanges whose capture progress is tracked."""


class StoreRecorder:
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
        self._seen: OrderedDict[tuple[ProxyCaller, SessionId], tuple[int, bytes]] = OrderedDict()
        self._tools: OrderedDict[tuple[ProxyCaller, SessionId], bytes] = OrderedDict()
        self._done: OrderedDict[UUID, None] = OrderedDict()
        self._shared: OrderedDict[tuple[ProxyCaller, SessionId], None] = OrderedDict()
        self._afterwards = RequestTracker()
        self._questions = QueryLimiter()

    async def recall(self, parsed: ParsedRequest, *, settings: ProxySettings) -> Sequence[ProxySession]:
        app, session = self._app(), parsed.session
        key = (session.caller, session.id)
        if app is None or self._writer.is_away or not (key in self._shared or may_be_stale(parsed)):
            return ()
        name = None if parsed.how is SessionMatchKind.NEW else session.id
        try:
            found = await self._found(app, parsed, name, settings=settings)
        except (Unavailable, TimeoutError) as error:
            DEGRADED.labels("session recall").inc()
            log.warning("sessions not recalled", error=type(error).__name__)
            return ()
        if session.links and any(each.at > session.at for each in found):
            # Another process serves this session too, and may do so at any time.
            put_bounded(self._shared, key, None, most=SEEN)
        return [from_stored_session(each, session.caller, name=name) for each in found]

    async def _found(
        self, app: App, parsed: ParsedRequest, name: SessionId | None, *, settings: ProxySettings
    ) -> Sequence[StoredSession]:
        """Query the store within the deadline. A late query is not canceled: that would wait too."""
        caller, seconds = parsed.session.caller, settings.memory_deadline_ms / 1000
        question = find_sessions(
            app.store,
            caller.space,
            caller=caller.name,
            session=session_name(name) if name else None,
            head=parsed.chain.head,
            since=self._clock() - timedelta(seconds=settings.session_idle),
            limit=ALIKE,
        )
        asked = self._questions.ask(question, beside=app.background)
        if asked is None:
            raise TimeoutError
        await asyncio.wait({asked}, timeout=seconds)
        if not asked.done():
            raise TimeoutError
        return asked.result()

    def keep(self, parsed: ParsedRequest, note: InjectionResult, session: ProxySession) -> None:
        if not self._is_captured(parsed):
            self._note_seen(parsed)
        if note.fresh is not None:
            PROXY_NOTES.inc(note.told.notes)
            PROXY_BLOCK_TOKENS.observe(note.told.tokens)
        state = to_stored_session(
            session,
            fresh=note.fresh,
            anchor=note.anchor,
            recollection=note.told.recollection,
            rewritten=note.moved is PrefixChange.FORGOTTEN,
        )
        self._writer.put(SessionEntry(space=session.caller.space, session=state))
        self._afterwards.begin(parsed, note)

    def take(self, exchange: ProxyExchange) -> Stored | None:
        parsed, settings = exchange.parsed, self._settings()
        if not self._is_captured(parsed):
            self._afterwards.end(exchange)
            return None
        seen = self._how_much_seen(parsed)
        tools = self._new_tools(parsed)
        capture = build_capture(exchange, seen=seen, at=self._clock(), settings=settings, tools=tools)
        said = capture.exchange.words if settings.log_text else ()
        redact = self._writer.redact(capture.space)
        self._afterwards.end(exchange, [sanitize_text(words.text, redact=redact) for words in said])
        if capture.exchange.id in self._done and not capture.exchange.said:
            return None
        if (stored := self._writer.put(capture)) is None:
            return None
        self._note_seen(parsed)
        if tools:
            key = (parsed.session.caller, parsed.session.id)
            put_bounded(self._tools, key, descriptions_hash(tools), most=SEEN)
        put_bounded(self._done, capture.exchange.id, None, most=SEEN)
        return stored

    def happened(self, space: SpaceId, happenings: Sequence[NewEvent]) -> None:
        if happenings:
            self._writer.put(EventsEntry(space=space, happenings=tuple(happenings)))

    def passed(self, request: FinishedRequest) -> None:
        now, space = self._clock(), request.authorized.space
        if (left := self._afterwards.unanswered(request)) is not None:
            self.take(left)
        self._writer.put(RequestLogEntry(space=space, request=self._afterwards.line(request, at=now)))
        if (degraded := self._afterwards.degraded(request, at=now)) is not None:
            self.happened(space, [degraded])

    def _is_captured(self, parsed: ParsedRequest) -> bool:
        return parsed.is_learnt and self._settings().capture == "on"

    def _how_much_seen(self, parsed: ParsedRequest) -> int:
        """How many turns of this history were captured before; 0 if the history differs."""
        count, link = self._seen.get((parsed.session.caller, parsed.session.id), (0, b""))
        links = parsed.chain.links
        return count if 0 < count <= len(links) and links[count - 1] == link else 0

    def _new_tools(self, parsed: ParsedRequest) -> str:
        """The request's tool descriptions, unless the previous request of the session had the same."""
        told = tool_descriptions(parsed.request.tree)
        known = self._tools.get((parsed.session.caller, parsed.session.id))
        return "" if told and known == descriptions_hash(told) else told

    def _note_seen(self, parsed: ParsedRequest) -> None:
        links = parsed.chain.links
        if links:
            key = (parsed.session.caller, parsed.session.id)
            put_bounded(self._seen, key, (len(links), links[-1]), most=SEEN)


def may_be_stale(parsed: ParsedRequest) -> bool:
    """Whether another process may have served this session: its name is unknown here, or it has replies that
    are not ours. A conversation without replies is new to everybody."""
    known = parsed.session.links
    links, turns = parsed.chain.links, parsed.request.turns
    if not known:
        return parsed.how is SessionMatchKind.HEADER or any(turn.role is ChatRole.ASSISTANT for turn in turns)
    from_here = len(known) if known[-1] in links[len(known) - 1 : len(known)] else len(links)
    answers = sum(turn.role is ChatRole.ASSISTANT for turn in turns[from_here:])
    return answers > 1
