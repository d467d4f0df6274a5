"""Answers the hooks of coding agents and captures what is said there, as the proxy captures its own exchanges.

A session begins with a brief, which may come with its first prompt. Each prompt gets the notes that the session has not seen; when the agent stops, the
prompt and its last reply become a captured exchange. Our own blocks are cut from both, and what was shown is stored
with the session, so that neither is learned. State is kept in memory: after a restart notes may be shown again.
"""

from dataclasses import dataclass, field, replace

from cachetools import LRUCache

from festinger.clock import Clock
from festinger.ids import NewId, Origin, Scope, SpaceId
from festinger.memory.episodes.store import close_session_episode
from festinger.proxy.capture.exchange import Capture, derive_part_id
from festinger.proxy.capture.queue import CaptureWriter
from festinger.proxy.capture.write import SessionEntry
from festinger.proxy.context.edit import build_block_marker
from festinger.proxy.loops.keys import ChatRole
from festinger.proxy.protocols.messages import short_sha256
from festinger.proxy.sessions.match import SessionMatchKind
from festinger.proxy.sessions.session import START, shorten_session_id
from festinger.proxy.transport.streams import StreamEndReason
from festinger.runtime.app import App
from festinger.runtime.supervisor import HookEvent, IsGone
from festinger.services.brief import brief
from festinger.services.recollect import recollect
from festinger.store.repositories.exchanges import ExchangeMessage, StoredExchange, StoredNoteBlock, StoredSession
from festinger.text.blocks import strip_blocks

SESSIONS = 1_000
CALLER = "hook"


@dataclass(slots=True)
class HookSession:
    shown: set[str] = field(default_factory=set)
    """Ids of the notes in the tool's context."""
    prompt: str = ""
    reply: str = ""
    link: bytes = START
    """Hash of what was captured so far."""


class HookResponder:
    def __init__(self, writer: CaptureWriter, *, clock: Clock, new_id: NewId) -> None:
        self._writer = writer
        self._clock = clock
        self._new_id = new_id
        self._sessions: LRUCache[tuple[SpaceId, str], HookSession] = LRUCache(SESSIONS)

    async def handle(self, app: App, event: HookEvent, is_gone: IsGone) -> str:
        scope = replace(event.scope, session=shorten_session_id(event.scope.session))
        session = self._sessions.setdefault((scope.space, scope.session), HookSession())
        settings = app.settings.for_space(scope.space).proxy
        said = strip_blocks(event.text, build_block_marker(settings.label))
        texts, ids = [], set[str]()
        if event.kind == "start":
            session.shown.clear()
            found = await brief(app, scope)
            texts, ids = [found.text], {note.id for note in found.notes}
        if event.kind == "prompt" or (event.kind == "start" and said):
            session.prompt, session.reply = said, ""
            if event.wants_notes:
                notes = await recollect(app, scope, said, exclude=session.shown | ids, door="hook")
                texts.append(notes.text)
                ids.update(notes.ids)
        elif event.kind == "reply":
            session.reply = said
        elif event.kind == "stop":
            if settings.capture == "on":
                self._capture(scope, session, said or session.reply, model=event.model)
        elif event.kind == "close":
            await close_session_episode(app.memory.deps, scope)
        text = "\n".join(filter(None, texts))
        if text and not await is_gone():
            session.shown |= ids
            self._keep_block(scope, text)
        return text

    def _capture(self, scope: Scope, session: HookSession, reply: str, *, model: str) -> None:
        """Capture what is new since the last stop; a tool may report the same stop again."""
        asked, session.prompt = session.prompt, ""
        link = short_sha256(session.link + f"{asked}\0{reply}".encode("utf-8", "replace"))
        if not asked.strip() and reply == session.reply:
            return

        def message(role: ChatRole, origin: Origin, text: str, number: int) -> ExchangeMessage:
            id_ = derive_part_id(scope.session, link.hex(), number)
            return ExchangeMessage(id=id_, role=role.value, origin=origin, text=text)

        exchange = StoredExchange(
            id=derive_part_id(scope.session, link.hex(), "exchange"),
            session=scope.session,
            agent=scope.agent,
            request=str(self._new_id()),
            at=self._clock(),
            said=(message(ChatRole.USER, Origin.PERSON, asked, 1),) if asked.strip() else (),
            reply=message(ChatRole.ASSISTANT, Origin.MODEL, reply, 0) if reply.strip() else None,
            tool_calls=[],
            thinking=None,
            ended=StreamEndReason.WHOLE.value,
            model=model,
            tokens_read=None,
            tokens_written=None,
            recollection=None,
        )
        self._writer.put(Capture(space=scope.space, exchange=exchange, how=SessionMatchKind.HEADER.value, parent=None))
        session.link, session.reply = link, reply

    def _keep_block(self, scope: Scope, text: str) -> None:
        """Store what was shown, so that it is not learned when a person or a model repeats it."""
        block = StoredNoteBlock(anchor=short_sha256(text.encode()), id=self._new_id(), text=text, notes=[])
        state = StoredSession(
            caller=CALLER,
            session=scope.session,
            head=None,
            links=b"",
            recent=b"",
            parent=None,
            at=self._clock(),
            blocks=(block,),
        )
        self._writer.put(SessionEntry(space=scope.space, session=state))
