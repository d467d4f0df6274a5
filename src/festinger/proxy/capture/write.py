"""Write captured entries to the store.

Many entries at once, one transaction a space: sessions, lines of the log, exchanges with their words, what the words
assert, and the events that tell of all this. What is there already is not written again, told again or counted
again. Counting comes after the commit; it lives in memory until the world writes it. Long texts are read in slices
between which requests are served, and only their beginning and end: what somebody states stands there, and the middle
is pasted.

What is on its way to the store, and how does it read as a line of the spool?

Exchanges, states of sessions and lines of the request log, each of one space. What is written as a record reads back
as the same value, also by a later version: unknown fields are a fault, and faulty records are set aside by whoever
reads them.

Leave out of captured exchanges what people asked to forget since it was said.

An exchange waits in the spool, for a moment or as long as the store is away, and what was said in it may be forgotten
meanwhile. Before it is written its sentences are compared with the marks of what was forgotten after it was said.

How does work beside the requests let them go first?

After each piece it looks how long the loop took to come back. An idle loop comes back at once, and the work goes on;
a busy one has requests to serve, and the work rests for a few times as long as it worked. So it takes what is left,
and a small share where nothing is.
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
from festinger.events.event import Happening
from festinger.ids import Origin, SpaceId
from festinger.memory.erasure.erase import has_bans_since, without_forgotten
from festinger.proxy.capture.exchange import Capture, Injected, happenings, subject_of
from festinger.runtime.app import App
from festinger.runtime.erasure import ledger_of
from festinger.store.pool import Transaction
from festinger.store.repositories.exchanges import (
    StoredBlock,
    StoredExchange,
    StoredSession,
    Words,
    Written,
    keep_sessions,
    known_sessions,
    write_exchanges,
)
from festinger.store.repositories.request_log import LoggedRequest, log_requests
from festinger.text.tokens import token_texts
from festinger.world.learn import Spoken, keep_claims
from festinger.world.recall import Place, Said


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The state of a session."""

    space: SpaceId
    session: StoredSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """A line of the request log."""

    space: SpaceId
    request: LoggedRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """What happened apart from any exchange."""

    space: SpaceId
    happenings: tuple[Happening, ...]


Entry = Capture | Kept | Logged | Happened

KINDS: Mapping[str, type[Entry]] = {
    "exchange": Capture,
    "session": Kept,
    "request": Logged,
    "events": Happened,
}


def record_of(entry: Entry) -> bytes:
    """The entry as one line."""
    kind = next(name for name, known in KINDS.items() if isinstance(entry, known))
    return orjson.dumps({"kind": kind, "entry": entry}, default=_spelt)


def entry_in(record: bytes) -> Entry:
    """The entry of a record; `BadInput` if it holds none."""
    try:
        read = orjson.loads(record)
        return _READ[read["kind"]](read["entry"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInput(f"A record of the spool cannot be read: {type(error).__name__}.") from error


def _spelt(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError(type(value).__name__)


def _capture(given: dict[str, Any]) -> Capture:
    exchange, injected = given["exchange"], given["injected"]
    return Capture(
        space=given["space"],
        exchange=_exchange(exchange),
        how=given["how"],
        parent=given["parent"],
        injected=Injected(**{**injected, "recollection": UUID(injected["recollection"])})
        if injected
        else None,
        happenings=tuple(Happening(**happening) for happening in given["happenings"]),
    )


def _exchange(given: dict[str, Any]) -> StoredExchange:
    return StoredExchange(
        **{
            **given,
            "id": UUID(given["id"]),
            "at": datetime.fromisoformat(given["at"]),
            "said": tuple(_words(words) for words in given["said"]),
            "reply": _words(given["reply"]) if given["reply"] else None,
            "recollection": UUID(given["recollection"]) if given["recollection"] else None,
        }
    )


def _words(given: dict[str, Any]) -> Words:
    return Words(**{**given, "id": UUID(given["id"]), "origin": Origin(given["origin"])})


def _kept(given: dict[str, Any]) -> Kept:
    session = given["session"]
    blocks = tuple(
        StoredBlock(**{**block, "anchor": bytes.fromhex(block["anchor"]), "id": UUID(block["id"])})
        for block in session["blocks"]
    )
    return Kept(
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


def _logged(given: dict[str, Any]) -> Logged:
    request = given["request"]
    return Logged(
        space=given["space"],
        request=LoggedRequest(**{**request, "at": datetime.fromisoformat(request["at"])}),
    )


def _happened(given: dict[str, Any]) -> Happened:
    told = tuple(Happening(**happening) for happening in given["happenings"])
    return Happened(space=given["space"], happenings=told)


_READ: Mapping[str, Callable[[dict[str, Any]], Entry]] = {
    "exchange": _capture,
    "session": _kept,
    "request": _logged,
    "events": _happened,
}


BUSY_SECONDS = 0.0005
"""A loop that comes back later than this had something else to do."""
REST = 4
"""So many times as long as it worked does the work rest where others wait."""
LONGEST_REST = 0.1


class Pace:
    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch = stopwatch
        self._since = stopwatch()

    async def breathe(self) -> None:
        """Call it between pieces of work."""
        stopped = self._stopwatch()
        worked = stopped - self._since
        await asyncio.sleep(0)
        if self._stopwatch() - stopped > BUSY_SECONDS:
            await asyncio.sleep(min(REST * worked, LONGEST_REST))
        self._since = self._stopwatch()


log = structlog.get_logger(room="proxy")

UNTRUSTED = (Origin.TOOL, Origin.DOCUMENT)

READ_CHARS = 64_000
"""What the world reads of one text, half of it from each end."""
SLICE_CHARS = 8_192
"""Read at once; about three milliseconds."""

Kind = TypeVar("Kind", Capture, Kept, Logged, Happened)


async def write(app: App, entries: Sequence[Entry], *, pace: Pace) -> None:
    """Write entries of any spaces. Those of a space that is gone are gone with it."""
    by_space: defaultdict[SpaceId, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_space[entry.space].append(entry)
    for space in sorted(by_space.keys() & set(app.directory.ids())):
        await _write(app, space, by_space[space], pace=pace)


async def _write(app: App, space: SpaceId, entries: Sequence[Entry], *, pace: Pace) -> None:
    captures = _of(entries, Capture)
    spoken = await _spoken(app, space, captures, pace=pace) if captures else {}
    async with app.store.transaction() as transaction:
        if sessions := [entry.session for entry in _of(entries, Kept)]:
            await keep_sessions(transaction, space, sessions)
        if requests := [entry.request for entry in _of(entries, Logged)]:
            await log_requests(transaction, space, requests)
        # In the order in which it happened: what is told of a session last is taken for how it stands.
        told = [entry for entry in entries if isinstance(entry, Capture | Happened)]
        written = await _write_told(app, transaction, space, entries=told) if told else Written()
        for message in sorted(written.messages & spoken.keys()):
            if await keep_claims(app.world.desk, transaction, space, spoken[message]):
                await app.world.desk.ask_to_learn(transaction, space, str(message))
    await _count(app, captures, new=written.messages, pace=pace)


async def _write_told(
    app: App, transaction: Transaction, space: SpaceId, *, entries: Sequence[Capture | Happened]
) -> Written:
    captures = _of(entries, Capture)
    sessions = {capture.exchange.session for capture in captures}
    # Whoever writes of a session writes alone, so that its first exchange is the first for everybody.
    await app.outbox.hold(transaction, [subject_of(session) for session in sessions], space=space)
    known = set(await known_sessions(transaction, space, sessions))
    written = await write_exchanges(transaction, space, [capture.exchange for capture in captures])
    told: list[Happening] = []
    left = set(written.exchanges)
    for entry in entries:
        if isinstance(entry, Happened):
            told += entry.happenings
            continue
        exchange = entry.exchange
        if exchange.id in left:
            left.discard(exchange.id)
            told += happenings(entry, new_messages=written.messages, is_first=exchange.session not in known)
            known.add(exchange.session)
    await app.outbox.emit_all(transaction, told, space=space)
    return written


async def _spoken(
    app: App, space: SpaceId, captures: Sequence[Capture], *, pace: Pace
) -> Mapping[UUID, Spoken]:
    """What the words assert, by message; read before the transaction begins, because reading takes its time."""
    await app.world.need(space)
    found: dict[UUID, Spoken] = {}
    for capture in captures:
        words = capture.exchange.words
        unvouched: set[str] = set()
        for each in words:
            for part in slices(each.text) if each.origin in UNTRUSTED else ():
                unvouched.update(token_texts(part))
                await pace.breathe()
        for each in words:
            for part in slices(each.text):
                said = Said(text=part, origin=each.origin, message=str(each.id))
                spoken = app.world.recollector.spoken(_place(capture), said, unvouched=unvouched)
                if spoken is not None:
                    found[each.id] = _joined(found.get(each.id), spoken)
                await pace.breathe()
    return found


def _joined(first: Spoken | None, second: Spoken) -> Spoken:
    """What two slices of one message assert. The message is known by the hash of the first that asserts anything."""
    return second if first is None else replace(first, claims=[*first.claims, *second.claims])


def slices(text: str) -> Iterator[str]:
    """The part of a text that is read, cut into slices at ends of lines or between words."""
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


async def _count(app: App, captures: Sequence[Capture], *, new: frozenset[UUID], pace: Pace) -> None:
    left = set(new)
    for capture in captures:
        for words in capture.exchange.words:
            if words.id in left:
                left.discard(words.id)
                read = "".join(slices(words.text))
                said = Said(text=read, origin=words.origin, message=str(words.id))
                await app.world.recollector.count(_place(capture), said)
                await pace.breathe()


def _place(capture: Capture) -> Place:
    exchange = capture.exchange
    return Place(space=capture.space, agent=exchange.agent, session=exchange.session)


def _of(entries: Sequence[Entry], kind: type[Kind]) -> list[Kind]:
    return [entry for entry in entries if isinstance(entry, kind)]


async def as_remembered(app: App, entries: Sequence[Entry]) -> list[Entry]:
    """The entries without what was forgotten after it was said; only exchanges hold words."""
    oldest: dict[SpaceId, datetime] = {}
    for entry in entries:
        if isinstance(entry, Capture):
            oldest[entry.space] = min(oldest.get(entry.space, entry.exchange.at), entry.exchange.at)
    banned = {space for space, at in oldest.items() if await has_bans_since(app.store, space, at)}
    return [
        await _as_remembered(app, entry) if isinstance(entry, Capture) and entry.space in banned else entry
        for entry in entries
    ]


async def _as_remembered(app: App, entry: Capture) -> Capture:
    exchange = entry.exchange
    words = [*exchange.said, *([exchange.reply] if exchange.reply else [])]
    async with app.store.transaction() as transaction:
        left = await without_forgotten(
            transaction, ledger_of(app), entry.space, [each.text for each in words], since=exchange.at
        )
    clean = [_with(each, text) for each, text in zip(words, left, strict=True)]
    said = tuple(clean[: len(exchange.said)])
    return replace(entry, exchange=replace(exchange, said=said, reply=clean[-1] if exchange.reply else None))


def _with(words: Words, text: str) -> Words:
    return words if words.text == text else replace(words, text=text)
