"""How does what was captured get into the store?

Many entries at once, one transaction a space: sessions, lines of the log, exchanges with their words, what the words
assert, and the events that tell of all this. What is there already is not written again, told again or counted
again. Counting comes after the commit; it lives in memory until the world writes it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeVar
from uuid import UUID

import structlog

from festinger.app.wiring import App
from festinger.events.event import Happening
from festinger.ids import Origin, SpaceId
from festinger.proxy.capture import Capture, happenings, subject_of
from festinger.proxy.entries import Entry, Happened, Kept, Logged
from festinger.proxy.pacing import Pace
from festinger.store.conversations import keep_sessions
from festinger.store.exchanges import Words, Written, known_sessions, write_exchanges
from festinger.store.pool import Transaction
from festinger.store.requests import log_requests
from festinger.text.tokens import tokens
from festinger.world.learning import Spoken, keep_claims
from festinger.world.recollector import Place, Said

log = structlog.get_logger(room="proxy")

UNTRUSTED = (Origin.TOOL, Origin.DOCUMENT)

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
        unvouched = {token.text for each in words if each.origin in UNTRUSTED for token in tokens(each.text)}
        for each in words:
            spoken = app.world.recollector.spoken(_place(capture), _said(each), unvouched=unvouched)
            if spoken is not None:
                found[each.id] = spoken
            await pace.breathe()
    return found


async def _count(app: App, captures: Sequence[Capture], *, new: frozenset[UUID], pace: Pace) -> None:
    left = set(new)
    for capture in captures:
        for words in capture.exchange.words:
            if words.id in left:
                left.discard(words.id)
                await app.world.recollector.count(_place(capture), _said(words))
                await pace.breathe()


def _place(capture: Capture) -> Place:
    exchange = capture.exchange
    return Place(space=capture.space, agent=exchange.agent, session=exchange.session)


def _said(words: Words) -> Said:
    return Said(text=words.text, origin=words.origin, message=str(words.id))


def _of(entries: Sequence[Entry], kind: type[Kind]) -> list[Kind]:
    return [entry for entry in entries if isinstance(entry, kind)]
