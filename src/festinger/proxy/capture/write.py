"""Writes captured entries to the store.

Entries are written in batches, one transaction per space; what exists already is not written, reported or
counted again. Words are counted after the commit, in memory. Long texts are read in slices between which
requests are served, and only at both ends: statements are there, and the middle is pasted. Spool records
decode to the same values; unknown fields are an error, and such records are set aside. Sentences that people
asked to forget after they were said are removed first, because an exchange may have waited in the spool.
`WorkPacer` yields to requests: if the event loop is slow to come back, it rests a few times as long as it
worked.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import orjson
import structlog

from festinger.clock import Stopwatch
from festinger.errors import BadInput
from festinger.events.event import NewEvent
from festinger.ids import Origin, Scope, SpaceId
from festinger.memory.erasure.erase import has_bans_since, strip_forgotten_sentences
from festinger.proxy.capture.exchange import Capture, InjectedBlock, build_exchange_events, session_subject
from festinger.runtime.app import App
from festinger.runtime.erasure import ledger_of
from festinger.store.pool import Transaction
from festinger.store.repositories.exchanges import (
    ExchangeMessage,
    ExchangeWriteResult,
    StoredBlock,
    StoredExchange,
    StoredSession,
    known_sessions,
    save_sessions,
    write_exchanges,
)
from festinger.store.repositories.request_log import LoggedRequest, log_requests
from festinger.text.tokens import token_texts
from festinger.world.learn import MessageClaims, save_claims
from festinger.world.recall import SourceText


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEntry:
    """The state of a session."""

    space: SpaceId
    session: StoredSession


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLogEntry:
    """A line of the request log."""

    space: SpaceId
    request: LoggedRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsEntry:
    """Events that belong to no exchange."""

    space: SpaceId
    happenings: tuple[NewEvent, ...]


Entry = Capture | SessionEntry | RequestLogEntry | EventsEntry

KINDS: Mapping[str, type[Entry]] = {
    "exchange": Capture,
    "session": SessionEntry,
    "request": RequestLogEntry,
    "events": EventsEntry,
}


def encode_entry(entry: Entry) -> bytes:
    """Encode the entry as one line."""
    kind = next(name for name, known in KINDS.items() if isinstance(entry, known))
    return orjson.dumps({"kind": kind, "entry": entry}, default=_encode_bytes)


def decode_entry(record: bytes) -> Entry:
    """Decode a record. Raises `BadInput`."""
    try:
        read = orjson.loads(record)
        return _READ[read["kind"]](read["entry"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInput(f"A record of the spool cannot be read: {type(error).__name__}.") from error


def _encode_bytes(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError(type(value).__name__)


def _parse_capture(given: dict[str, Any]) -> Capture:
    exchange, injected = given["exchange"], given["injected"]
    return Capture(
        space=given["space"],
        exchange=_parse_exchange(exchange),
        how=given["how"],
        parent=given["parent"],
        injected=InjectedBlock(**{**injected, "recollection": UUID(injected["recollection"])}) if injected else None,
        happenings=tuple(NewEvent(**happening) for happening in given["happenings"]),
    )


def _parse_exchange(given: dict[str, Any]) -> StoredExchange:
    return StoredExchange(
        **{
            **given,
            "id": UUID(given["id"]),
            "at": datetime.fromisoformat(given["at"]),
            "said": tuple(_parse_words(words) for words in given["said"]),
            "reply": _parse_words(given["reply"]) if given["reply"] else None,
            "recollection": UUID(given["recollection"]) if given["recollection"] else None,
        }
    )


def _parse_words(given: dict[str, Any]) -> ExchangeMessage:
    return ExchangeMessage(**{**given, "id": UUID(given["id"]), "origin": Origin(given["origin"])})


def _parse_session_entry(given: dict[str, Any]) -> SessionEntry:
    session = given["session"]
    blocks = tuple(
        StoredBlock(**{**block, "anchor": bytes.fromhex(block["anchor"]), "id": UUID(block["id"])})
        for block in session["blocks"]
    )
    return SessionEntry(
        space=given["space"],
        session=StoredSession(
            **{
                **session,
                "head": bytes.fromhex(session["head"]) if session["head"] is not None else None,
                "links": bytes.fromhex(session["links"]),
                "recent": bytes.fromhex(session["recent"]),
                "at": datetime.fromisoformat(session["at"]),
                "blocks": blocks,
            }
        ),
    )


def _parse_request_log_entry(given: dict[str, Any]) -> RequestLogEntry:
    request = given["request"]
    return RequestLogEntry(
        space=given["space"], request=LoggedRequest(**{**request, "at": datetime.fromisoformat(request["at"])})
    )


def _parse_events_entry(given: dict[str, Any]) -> EventsEntry:
    told = tuple(NewEvent(**happening) for happening in given["happenings"])
    return EventsEntry(space=given["space"], happenings=told)


_READ: Mapping[str, Callable[[dict[str, Any]], Entry]] = {
    "exchange": _parse_capture,
    "session": _parse_session_entry,
    "request": _parse_request_log_entry,
    "events": _parse_events_entry,
}


BUSY_SECONDS = 0.0005
"""An event loop that comes back later than this was busy."""
REST = 4
"""How many times the working time to rest while the loop is busy."""
LONGEST_REST = 0.1


class WorkPacer:
    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch = stopwatch
        self._since = stopwatch()

    async def breathe(self) -> None:
        """Call between pieces of work."""
        stopped = self._stopwatch()
        worked = stopped - self._since
        await asyncio.sleep(0)
        if self._stopwatch() - stopped > BUSY_SECONDS:
            await asyncio.sleep(min(REST * worked, LONGEST_REST))
        self._since = self._stopwatch()


log = structlog.get_logger(room="proxy")

UNTRUSTED = (Origin.TOOL, Origin.DOCUMENT)

READ_CHARS = 64_000
"""Characters of a text that the world reads, half from each end."""
SLICE_CHARS = 8_192
"""Characters read at once; takes about three milliseconds."""

Kind = TypeVar("Kind", Capture, SessionEntry, RequestLogEntry, EventsEntry)


async def write_entries(app: App, entries: Sequence[Entry], *, pace: WorkPacer) -> None:
    """Write entries of any spaces. Entries of a deleted space are dropped."""
    by_space: defaultdict[SpaceId, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_space[entry.space].append(entry)
    for space in sorted(by_space.keys() & set(app.directory.ids())):
        await _write_space(app, space, by_space[space], pace=pace)


async def _write_space(app: App, space: SpaceId, entries: Sequence[Entry], *, pace: WorkPacer) -> None:
    captures = _select_kind(entries, Capture)
    spoken = await _extract_claims(app, space, captures, pace=pace) if captures else {}
    async with app.store.transaction() as transaction:
        if sessions := [entry.session for entry in _select_kind(entries, SessionEntry)]:
            await save_sessions(transaction, space, sessions)
        if requests := [entry.request for entry in _select_kind(entries, RequestLogEntry)]:
            await log_requests(transaction, space, requests)
        # In order of occurrence: the last event of a session is taken as its present state.
        told = [entry for entry in entries if isinstance(entry, Capture | EventsEntry)]
        written = await _write_exchanges(app, transaction, space, entries=told) if told else ExchangeWriteResult()
        for message in sorted(written.messages & spoken.keys()):
            if await save_claims(app.world.deps, transaction, space, spoken[message]):
                await app.world.deps.ask_to_learn(transaction, space, str(message))
    await _count_words(app, captures, new=written.messages, pace=pace)


async def _write_exchanges(
    app: App, transaction: Transaction, space: SpaceId, *, entries: Sequence[Capture | EventsEntry]
) -> ExchangeWriteResult:
    captures = _select_kind(entries, Capture)
    sessions = {capture.exchange.session for capture in captures}
    # Lock each session while writing, so that its first exchange is first for everybody.
    await app.outbox.hold(transaction, [session_subject(session) for session in sessions], space=space)
    known = set(await known_sessions(transaction, space, sessions))
    written = await write_exchanges(transaction, space, [capture.exchange for capture in captures])
    told: list[NewEvent] = []
    left = set(written.exchanges)
    for entry in entries:
        if isinstance(entry, EventsEntry):
            told += entry.happenings
            continue
        exchange = entry.exchange
        if exchange.id in left:
            left.discard(exchange.id)
            told += build_exchange_events(entry, new_messages=written.messages, is_first=exchange.session not in known)
            known.add(exchange.session)
    await app.outbox.emit_all(transaction, told, space=space)
    return written


async def _extract_claims(
    app: App, space: SpaceId, captures: Sequence[Capture], *, pace: WorkPacer
) -> Mapping[UUID, MessageClaims]:
    """Extract claims by message, before the transaction begins because it takes time."""
    await app.world.need(space)
    found: dict[UUID, MessageClaims] = {}
    for capture in captures:
        words = capture.exchange.words
        unvouched: set[str] = set()
        for each in words:
            for part in iter_slices(each.text) if each.origin in UNTRUSTED else ():
                unvouched.update(token_texts(part))
                await pace.breathe()
        for each in words:
            for part in iter_slices(each.text):
                said = SourceText(text=part, origin=each.origin, message=str(each.id))
                spoken = app.world.recollector.spoken(_build_scope(capture), said, unvouched=unvouched)
                if spoken is not None:
                    found[each.id] = _merge_claims(found.get(each.id), spoken)
                await pace.breathe()
    return found


def _merge_claims(first: MessageClaims | None, second: MessageClaims) -> MessageClaims:
    """Join the claims of two slices. The message keeps the hash of the first slice with claims."""
    return second if first is None else replace(first, claims=[*first.claims, *second.claims])


def iter_slices(text: str) -> Iterator[str]:
    """Split the part of a text that is read at line ends or between words."""
    if len(text) > READ_CHARS:
        text = f"{text[: READ_CHARS // 2]}\n{text[-READ_CHARS // 2 :]}"
    start = 0
    while start < len(text):
        end = min(start + SLICE_CHARS, len(text))
        if end < len(text):
            middle = start + SLICE_CHARS // 2
            cuts = (text.rfind(mark, middle, end) for mark in ("\n", ". ", " "))
            end = next((cut + 1 for cut in cuts if cut >= 0), end)
        yield text[start:end]
        start = end


async def _count_words(app: App, captures: Sequence[Capture], *, new: frozenset[UUID], pace: WorkPacer) -> None:
    left = set(new)
    for capture in captures:
        for words in capture.exchange.words:
            if words.id in left:
                left.discard(words.id)
                read = "".join(iter_slices(words.text))
                said = SourceText(text=read, origin=words.origin, message=str(words.id))
                await app.world.recollector.count(_build_scope(capture), said)
                await pace.breathe()


def _build_scope(capture: Capture) -> Scope:
    exchange = capture.exchange
    return Scope(space=capture.space, agent=exchange.agent, session=exchange.session)


def _select_kind(entries: Sequence[Entry], kind: type[Kind]) -> list[Kind]:
    return [entry for entry in entries if isinstance(entry, kind)]


async def drop_forgotten(app: App, entries: Sequence[Entry]) -> list[Entry]:
    """Remove what was forgotten after it was said; only exchanges contain texts."""
    oldest: dict[SpaceId, datetime] = {}
    for entry in entries:
        if isinstance(entry, Capture):
            oldest[entry.space] = min(oldest.get(entry.space, entry.exchange.at), entry.exchange.at)
    banned = {space for space, at in oldest.items() if await has_bans_since(app.store, space, at)}
    return [
        await _drop_forgotten_words(app, entry) if isinstance(entry, Capture) and entry.space in banned else entry
        for entry in entries
    ]


async def _drop_forgotten_words(app: App, entry: Capture) -> Capture:
    exchange = entry.exchange
    words = [*exchange.said, *([exchange.reply] if exchange.reply else [])]
    async with app.store.transaction() as transaction:
        left = await strip_forgotten_sentences(
            transaction, ledger_of(app), entry.space, [each.text for each in words], since=exchange.at
        )
    clean = [_with_text(each, text) for each, text in zip(words, left, strict=True)]
    said = tuple(clean[: len(exchange.said)])
    return replace(entry, exchange=replace(exchange, said=said, reply=clean[-1] if exchange.reply else None))


def _with_text(words: ExchangeMessage, text: str) -> ExchangeMessage:
    return words if words.text == text else replace(words, text=text)
