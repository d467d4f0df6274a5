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
from dataclasses import dataclass, is_dataclass, replace
from datetime import datetime
from functools import cache
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints
from uuid import UUID

import orjson

from festinger.clock import Stopwatch
from festinger.errors import BadInput
from festinger.events.catalogue import NewEvent
from festinger.ids import Origin, Scope, SpaceId
from festinger.memory.erasure.erase import has_bans_since, strip_forgotten_sentences
from festinger.proxy.capture.exchange import Capture, build_exchange_events, session_event_subject
from festinger.retrieval.log import RecallRecord, save_recalls
from festinger.runtime.app import App
from festinger.runtime.erasure import open_ledger_of_app
from festinger.store.pool import Transaction
from festinger.store.repositories.exchanges import ExchangeWriteResult, StoredSession, save_sessions, write_exchanges
from festinger.store.repositories.request_log import LoggedRequest, log_requests
from festinger.text.tokens import token_texts
from festinger.world.learn import MessageClaims, save_claims
from festinger.world.recall import SourceText


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEntry:
    space: SpaceId
    session: StoredSession


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLogEntry:
    space: SpaceId
    request: LoggedRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class StandaloneEventsEntry:
    """Events that belong to no exchange."""

    space: SpaceId
    happenings: tuple[NewEvent, ...]


Entry = Capture | SessionEntry | RequestLogEntry | StandaloneEventsEntry | RecallRecord

KINDS: Mapping[str, type[Entry]] = {
    "exchange": Capture,
    "session": SessionEntry,
    "request": RequestLogEntry,
    "events": StandaloneEventsEntry,
    "recall": RecallRecord,
}


def encode_entry(entry: Entry) -> bytes:
    kind = next(name for name, known in KINDS.items() if isinstance(entry, known))
    return orjson.dumps({"kind": kind, "entry": entry}, default=_encode_bytes)


def decode_entry(record: bytes) -> Entry:
    """Decode a record. Raises `BadInput`."""
    try:
        read = orjson.loads(record)
        entry: Entry = _build(KINDS[read["kind"]], read["entry"])
        return entry
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInput(f"A record of the spool cannot be read: {type(error).__name__}.") from error


def _encode_bytes(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError(type(value).__name__)


_CONVERTERS: Mapping[Any, Callable[[Any], Any]] = {
    UUID: UUID,
    datetime: datetime.fromisoformat,
    bytes: bytes.fromhex,
    Origin: Origin,
}


def _build(kind: Any, value: Any) -> Any:
    """Build a value of this type from its JSON form. Raises `KeyError` for unknown fields."""
    if isinstance(kind, type) and is_dataclass(kind):
        types = _field_types(kind)
        fields = {name: None if each is None else _build(types[name], each) for name, each in value.items()}
        return kind(**fields)
    if get_origin(kind) is tuple:
        return tuple(_build(get_args(kind)[0], each) for each in value)
    return _CONVERTERS[kind](value) if kind in _CONVERTERS else value


@cache
def _field_types(kind: Any) -> dict[str, Any]:
    """The types of a dataclass's fields; those of optional fields without `None`."""
    hints = get_type_hints(kind)
    return {
        name: next(each for each in get_args(hint) if each is not NoneType) if NoneType in get_args(hint) else hint
        for name, hint in hints.items()
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

    async def yield_to_requests(self) -> None:
        """Call between pieces of work."""
        stopped = self._stopwatch()
        worked = stopped - self._since
        await asyncio.sleep(0)
        if self._stopwatch() - stopped > BUSY_SECONDS:
            await asyncio.sleep(min(REST * worked, LONGEST_REST))
        self._since = self._stopwatch()


UNTRUSTED = (Origin.TOOL, Origin.DOCUMENT)

READ_CHARS = 64_000
"""Characters of a text that the world reads, half from each end."""
SLICE_CHARS = 8_192
"""Characters read at once; takes about three milliseconds."""

Kind = TypeVar("Kind", Capture, SessionEntry, RequestLogEntry, StandaloneEventsEntry, RecallRecord)


async def write_entries(app: App, entries: Sequence[Entry], *, pace: WorkPacer) -> None:
    """Write entries of any spaces. Entries of a deleted space are dropped."""
    by_space: defaultdict[SpaceId, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_space[entry.space].append(entry)
    for space in sorted(by_space.keys() & set(app.directory.ids())):
        await _write_space_entries(app, space, by_space[space], pace=pace)


async def _write_space_entries(app: App, space: SpaceId, entries: Sequence[Entry], *, pace: WorkPacer) -> None:
    captures = _select_kind(entries, Capture)
    spoken = await _extract_claims(app, space, captures, pace=pace) if captures else {}
    async with app.store.transaction() as transaction:
        if sessions := [entry.session for entry in _select_kind(entries, SessionEntry)]:
            await save_sessions(transaction, space, sessions)
        if requests := [entry.request for entry in _select_kind(entries, RequestLogEntry)]:
            await log_requests(transaction, space, requests)
        # Before the exchanges: outcomes are inferred from what was read.
        recalls = _select_kind(entries, RecallRecord)
        recalled = await save_recalls(app.recall.deps, transaction, space, recalls) if recalls else []
        written = await _write_exchanges(app, transaction, space, entries=entries, recalled=recalled)
        for message in sorted(written.messages & spoken.keys()):
            if await save_claims(app.world.deps, transaction, space, spoken[message]):
                await app.world.deps.ask_to_learn(transaction, space, str(message))
    await _count_words(app, captures, new=written.messages, pace=pace)


async def _write_exchanges(
    app: App, transaction: Transaction, space: SpaceId, *, entries: Sequence[Entry], recalled: Sequence[NewEvent]
) -> ExchangeWriteResult:
    captures = _select_kind(entries, Capture)
    # Lock each session while writing, so that its first exchange is first for everybody.
    held = {session_event_subject(capture.exchange.session) for capture in captures}
    if held:
        await app.outbox.hold(transaction, sorted(held), space=space)
    written = await write_exchanges(transaction, space, [capture.exchange for capture in captures])
    events = [*recalled]
    known = set(written.known_sessions)
    left = set(written.exchanges)
    # In order of occurrence: the last event of a session is taken as its present state.
    for entry in entries:
        if isinstance(entry, StandaloneEventsEntry):
            events += entry.happenings
        elif isinstance(entry, Capture) and entry.exchange.id in left:
            left.discard(entry.exchange.id)
            is_first = entry.exchange.session not in known
            events += build_exchange_events(entry, new_messages=written.messages, is_first=is_first)
            known.add(entry.exchange.session)
    held.update(event.subject for event in recalled)
    await app.outbox.emit_all(transaction, events, space=space, at_once=True, held=held)
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
            for part in iter_readable_slices(each.text) if each.origin in UNTRUSTED else ():
                unvouched.update(token_texts(part))
                await pace.yield_to_requests()
        for each in words:
            for part in iter_readable_slices(each.text):
                said = SourceText(text=part, origin=each.origin, message=str(each.id))
                spoken = app.world.recollector.spoken(_build_scope(capture), said, unvouched=unvouched)
                if spoken is not None:
                    # The message keeps the hash of the first slice with claims.
                    first = found.get(each.id)
                    found[each.id] = replace(first, claims=[*first.claims, *spoken.claims]) if first else spoken
                await pace.yield_to_requests()
    return found


def iter_readable_slices(text: str) -> Iterator[str]:
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
                read = "".join(iter_readable_slices(words.text))
                said = SourceText(text=read, origin=words.origin, message=str(words.id))
                await app.world.recollector.count(_build_scope(capture), said)
                await pace.yield_to_requests()


def _build_scope(capture: Capture) -> Scope:
    exchange = capture.exchange
    return Scope(space=capture.space, agent=exchange.agent, session=exchange.session)


def _select_kind(entries: Sequence[Entry], kind: type[Kind]) -> list[Kind]:
    return [entry for entry in entries if isinstance(entry, kind)]


async def remove_forgotten_sentences(app: App, entries: Sequence[Entry]) -> list[Entry]:
    """Remove what was forgotten after it was said, and all recalls that may have brought it."""
    oldest: dict[SpaceId, datetime] = {}
    for entry in entries:
        if isinstance(entry, Capture | RecallRecord):
            at = entry.exchange.at if isinstance(entry, Capture) else entry.at
            oldest[entry.space] = min(oldest.get(entry.space, at), at)
    banned = {space for space, at in oldest.items() if await has_bans_since(app.store, space, at)}
    return [
        await _drop_forgotten_words(app, entry) if isinstance(entry, Capture) and entry.space in banned else entry
        for entry in entries
        if not (isinstance(entry, RecallRecord) and entry.space in banned)
    ]


async def _drop_forgotten_words(app: App, entry: Capture) -> Capture:
    exchange = entry.exchange
    words = [*exchange.said, *([exchange.reply] if exchange.reply else [])]
    async with app.store.transaction() as transaction:
        left = await strip_forgotten_sentences(
            transaction, open_ledger_of_app(app), entry.space, [each.text for each in words], since=exchange.at
        )
    clean = [replace(each, text=text) for each, text in zip(words, left, strict=True)]
    said = tuple(clean[: len(exchange.said)])
    return replace(entry, exchange=replace(exchange, said=said, reply=clean[-1] if exchange.reply else None))
