"""Write captured entries to the store.

Many entries at once, one transaction a space: sessions, lines of the log, exchanges with their words, what the words
assert, and the events that tell of all this. What is there already is not written again, told again or counted
again. Counting comes after the commit; it lives in memory until the world writes it. Long texts are read in slices
between which requests are served, and only their beginning and end: what somebody states stands there, and the middle
is pasted.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar
from uuid import UUID

import structlog

from festinger.events.event import Happening
from festinger.ids import Origin, SpaceId
from festinger.proxy.capture import Capture, happenings, subject_of
from festinger.proxy.entries import Entry, Happened, Kept, Logged
from festinger.proxy.pacing import Pace
from festinger.runtime.app import App
from festinger.store.pool import Transaction
from festinger.store.repositories.exchanges import Written, keep_sessions, known_sessions, write_exchanges
from festinger.store.repositories.request_log import log_requests
from festinger.text.tokens import token_texts
from festinger.world.learn import Spoken, keep_claims
from festinger.world.recall import Place, Said

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
