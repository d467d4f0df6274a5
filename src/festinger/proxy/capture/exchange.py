"""Builds what is captured of an exchange.

Captured are the new texts, the reply, the tool calls and how it ended, with
content-derived ids: retries, identical regenerations and replayed histories yield the same ids, so nothing is
stored twice. Our own notes are never captured, and secrets are removed before anything is written.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any
from uuid import UUID

from festinger.events.catalogue import NewEvent
from festinger.ids import Origin, SessionId, SpaceId, TraceId
from festinger.proxy.loops.keys import ChatMessage, ChatRole, ToolCall
from festinger.proxy.protocols.messages import descriptions_hash, short_sha256
from festinger.proxy.request import RequestContext
from festinger.proxy.sessions.match import SessionMatchKind
from festinger.proxy.sessions.session import START, reply_content_hash, shorten_session_id
from festinger.records import field_values
from festinger.settings.tree import ProxySettings
from festinger.store.repositories.exchanges import ExchangeMessage, StoredExchange
from festinger.text.blocks import strip_blocks
from festinger.text.secrets import Redact, redact

TOOL_CHARS = 2000
"""Characters kept of a tool's output and of its arguments."""
TEXT_CHARS = 1_000_000
"""Characters kept of any other text; a turn of an episode holds no more."""
CUT_MARK = "\n[cut here: the text was longer]\n"
SPARE_CHARS = 10_000
"""Characters cleaned beyond each cut, so that a secret across it is still recognized."""
MOST_CALLS = 100
SHOWN_CHARS = 200
"""Characters of a text that an event may contain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectedBlock:
    """The block that was new in a request."""

    recollection: UUID
    position: str
    anchor: str | None
    notes: Sequence[Mapping[str, Any]]
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """An exchange on its way to the store."""

    space: SpaceId
    exchange: StoredExchange
    how: str
    parent: SessionId | None
    injected: InjectedBlock | None = None
    happenings: tuple[NewEvent, ...] = ()


def build_capture(ctx: RequestContext, *, seen: int, at: datetime, settings: ProxySettings, tools: str = "") -> Capture:
    """Build the capture, with secrets still in it. Skip the first `seen` turns, which were captured before;
    `tools` are its tool descriptions, unless captured before."""
    assert ctx.ended is not None
    reply, recollection = ctx.reply, ctx.memory_status.recollection if ctx.memory_status else ""
    session = shorten_session_id(ctx.session.id)
    own = strip_blocks(reply.text, ctx.mark)
    link = reply_chain_hash(ctx, own, reply.calls)
    message = ExchangeMessage(
        id=derive_part_id(session, link.hex(), 0), role=ChatRole.ASSISTANT.value, origin=Origin.MODEL, text=own
    )
    return Capture(
        space=ctx.space,
        exchange=StoredExchange(
            id=derive_part_id(session, link.hex(), "exchange"),
            session=session,
            agent=ctx.agent,
            request=ctx.request_id,
            at=at,
            said=(*_tool_description_messages(session, tools), *_new_messages(ctx, session, seen=seen)),
            reply=message if own.strip() else None,
            tool_calls=[
                {"id": call.id[:SHOWN_CHARS], "name": call.name[:SHOWN_CHARS], "arguments": call.arguments[:TOOL_CHARS]}
                for call in reply.calls[:MOST_CALLS]
            ],
            thinking=reply.thinking or None if settings.capture_thinking else None,
            ended=ctx.ended.value,
            model=reply.model or ctx.chat.model,
            tokens_read=reply.tokens_read,
            tokens_written=reply.tokens_written,
            recollection=UUID(recollection) if recollection else None,
        ),
        how=ctx.match.value,
        parent=ctx.session.parent,
        injected=_build_injected_block(ctx, settings),
        happenings=ctx.events,
    )


def redact_capture(capture: Capture, *, redact: Redact = redact) -> Capture:
    """Remove secrets, so that the capture may be written."""

    def clean(words: ExchangeMessage) -> ExchangeMessage:
        return replace(words, text=redact_and_truncate(words.text, redact=redact))

    exchange = capture.exchange
    return replace(
        capture,
        exchange=replace(
            exchange,
            said=tuple(clean(words) for words in exchange.said),
            reply=clean(exchange.reply) if exchange.reply else None,
            tool_calls=[
                {**call, **{name: redact_and_truncate(call[name], redact=redact) for name in ("name", "arguments")}}
                for call in exchange.tool_calls
            ],
            thinking=redact_and_truncate(exchange.thinking, redact=redact) if exchange.thinking else None,
            model=redact_and_truncate(exchange.model, redact=redact),
        ),
    )


def redact_and_truncate(text: str, *, redact: Redact = redact) -> str:
    """Remove secrets and characters that databases reject. Too long a text loses its middle."""
    if len(text) <= TEXT_CHARS:
        clean = redact(text).text[:TEXT_CHARS]
    else:
        half = (TEXT_CHARS - len(CUT_MARK)) // 2
        # Questions are at the ends, and pasted text is in the middle.
        first, last = redact(text[: half + SPARE_CHARS]).text, redact(text[-half - SPARE_CHARS :]).text
        clean = f"{first[:half]}{CUT_MARK}{last[-half:]}"
    if "\x00" in clean:
        clean = clean.replace("\x00", "")
    return clean if clean.isascii() else clean.encode("utf-8", "replace").decode()


def reply_chain_hash(ctx: RequestContext, text: str, calls: tuple[ToolCall, ...]) -> bytes:
    """The hash that the reply will have when it comes back in a history."""
    content = reply_content_hash(ChatMessage(role=ChatRole.ASSISTANT, text=text, calls=calls))
    links = ctx.chain.links
    return short_sha256((links[-1] if links else START) + content)


def build_exchange_events(capture: Capture, *, new_messages: frozenset[UUID], is_first: bool) -> Iterator[NewEvent]:
    """Yield the events of a new exchange, in order; `is_first` if it is the first of its session."""
    exchange, injected = capture.exchange, capture.injected
    about: dict[str, Any] = {
        "subject": session_event_subject(exchange.session),
        "agent": exchange.agent,
        "session": exchange.session,
        "trace": TraceId(exchange.request),
    }
    if is_first:
        parent = shorten_session_id(capture.parent) if capture.parent else None
        begun = {"session": exchange.session, "agent": exchange.agent, "how": capture.how, "parent_session": parent}
        yield NewEvent(name="session_started", payload=begun, **about)
    if injected is not None:
        shown = {**field_values(injected), "recollection": str(injected.recollection), "notes": list(injected.notes)}
        yield NewEvent(name="recollection_injected", payload={**shown, "session": exchange.session}, **about)
    yield NewEvent(name="exchange_captured", payload=_exchange_payload(exchange, new_messages), **about)
    for happening in capture.happenings:
        yield replace(happening, **about)


def _exchange_payload(exchange: StoredExchange, new: frozenset[UUID]) -> dict[str, Any]:
    tokens = {"read": exchange.tokens_read, "written": exchange.tokens_written}
    return {
        "session": exchange.session,
        "messages": [
            {"id": str(words.id), "role": words.role, "origin": words.origin.value}
            for words in exchange.said
            if words.id in new
        ],
        "reply": str(exchange.reply.id) if exchange.reply else None,
        "tool_calls": [{"name": call["name"][:SHOWN_CHARS]} for call in exchange.tool_calls],
        "ended": exchange.ended,
        "model": exchange.model[:SHOWN_CHARS],
        "tokens": {name: count for name, count in tokens.items() if count is not None},
        "recollection": str(exchange.recollection) if exchange.recollection else None,
    }


def session_event_subject(session: SessionId) -> str:
    return f"session:{session}"


def _tool_description_messages(session: SessionId, tools: str) -> Iterator[ExchangeMessage]:
    """Tool descriptions as a system text, which is what they are to the model."""
    if tools:
        made_of = derive_part_id(session, descriptions_hash(tools).hex(), "tools")
        yield ExchangeMessage(id=made_of, role=ChatRole.SYSTEM.value, origin=Origin.SYSTEM, text=tools)


def _new_messages(ctx: RequestContext, session: SessionId, *, seen: int) -> Iterator[ExchangeMessage]:
    """Messages of this session that were not captured before, oldest first."""
    for at in _new_turns(ctx, seen):
        turn, link = ctx.chat.turns[at], ctx.chain.links[at]
        for number, saying in enumerate(() if turn.transient else turn.sayings):
            if saying.text.strip():
                yield ExchangeMessage(
                    id=derive_part_id(session, link.hex(), number),
                    role=turn.role.value,
                    origin=saying.origin,
                    text=saying.text[:TOOL_CHARS] if saying.origin is Origin.TOOL else saying.text,
                )


def _new_turns(ctx: RequestContext, seen: int) -> Iterator[int]:
    contents, session = ctx.chain.contents, ctx.session
    replies = {reply.content for reply in session.replies}
    if ctx.match is SessionMatchKind.REPLY:
        # The history was rewritten: nothing before the last known message is new.
        known = replies | session.recent
        seen = max(seen, 1 + max((at for at, content in enumerate(contents) if content in known), default=-1))
    return (at for at in range(seen, len(contents)) if contents[at] not in replies)


def _build_injected_block(ctx: RequestContext, settings: ProxySettings) -> InjectedBlock | None:
    status = ctx.memory_status
    if ctx.block is None or status is None or not status.recollection:
        return None
    return InjectedBlock(
        recollection=UUID(status.recollection),
        position=settings.injection_position if ctx.anchor is None else "turn",
        anchor=ctx.anchor.hex() if ctx.anchor is not None else None,
        notes=[{"kind": note.kind, "id": note.id[:SHOWN_CHARS], "version": note.version} for note in ctx.block.notes],
        tokens=status.tokens,
    )


def derive_part_id(session: SessionId, link: str, what: int | str) -> UUID:
    """Id of a part of an exchange: the same for the same words in the same place."""
    return UUID(bytes=blake2b(f"{session}:{link}:{what}".encode(), digest_size=16).digest())
