"""How does a statement become a memory, or part of one?

The one way in for everything that is ever remembered, in twelve steps. Whatever happens, the caller is told, and
nothing that was acknowledged is lost: what is written is written in one transaction, and what costs time (vectors,
judges) happens before it and outside.
"""

import asyncio
from dataclasses import replace

from festinger.errors import FestingerError, StoreDown
from festinger.memory.candidates import Found, look
from festinger.memory.comparing import compare
from festinger.memory.decision import Action
from festinger.memory.desk import Desk
from festinger.memory.given import Given, Said
from festinger.memory.intake import Refusal, refuse
from festinger.memory.keys import once
from festinger.memory.learned import Learned
from festinger.memory.memory import Place
from festinger.memory.pairs import judge_pairs, settle_within
from festinger.memory.prepared import Prepared
from festinger.memory.recognising import Repeated, Unfit, recognise_all, reminded
from festinger.memory.sizing import keep_sized
from festinger.memory.states import lock
from festinger.memory.telling import told
from festinger.memory.twins import Twin
from festinger.memory.vectors import Embedded, Words, embed_one
from festinger.memory.writing import say_again, write
from festinger.observability.metrics import MEMORY_LEARNT
from festinger.store.pool import Transaction

TRIES = 3
"""How often a statement is written when others change the same rows at the same moment."""


async def learn(desk: Desk, place: Place, given: Given) -> Learned:
    """Learn one statement. Raises `BadInput`, `TooLarge`, `NotFound`, `Replayed`, `StoreDown`."""
    known = await recognise(desk, place, given)  # (1) to (6)
    if isinstance(known, Learned):
        return counted(known)
    vectors = await embed_one(desk, words_of(known.said))  # (7)
    desk.step("embedded")
    await keep_sized(desk.store, desk.sizing)
    found = await candidates(desk, place, known.said, vectors)  # (8)
    desk.step("candidates")
    compared = await compare(
        desk, place.space, known.said, found.candidates, ref=known.ref, vectors=vectors
    )  # (9)
    desk.step("judged")
    prepared = replace(known, seen=found.seen, compared=tuple(compared), vectors=vectors)
    learned = await settle_within(desk, place, await written(desk, prepared))  # (10) to (12)
    return counted(await waited(desk, place, learned, seconds=given.wait))


async def recognise(desk: Desk, place: Place, given: Given) -> Prepared | Learned:
    """The steps that need neither vector nor judge: what is left to be learnt, or what was learnt already."""
    surfaced = await reminded(desk, place, [given])
    async with desk.store.transaction() as transaction:
        [known] = await recognise_all(desk, transaction, place, [given], surfaced=surfaced)
        if isinstance(known, FestingerError):
            raise known
        return await carry_out(desk, transaction, place, known)


async def carry_out(
    desk: Desk, transaction: Transaction, place: Place, known: Prepared | Repeated | Unfit | Learned
) -> Prepared | Learned:
    """What follows from a refusal or a repeat; whatever else goes on as it is."""
    if isinstance(known, Unfit):
        return await _refused(desk, transaction, place, given=known.given, refusal=known.refusal)
    if isinstance(known, Repeated):
        return await _repeated(desk, transaction, known.prepared, known.twin)
    return known


async def candidates(desk: Desk, place: Place, said: Said, vectors: Embedded | None) -> Found:
    async with desk.store.transaction() as transaction:
        return await look(desk, transaction, place.space, said, vectors)


async def written(desk: Desk, prepared: Prepared) -> Learned:
    """Write it in one transaction, again if others were in the way."""
    for left in range(TRIES - 1, -1, -1):
        try:
            async with desk.store.transaction() as transaction:
                learned = await write_once(desk, transaction, prepared)
            desk.step("committed")
            return learned
        except StoreDown as error:
            if not left or error.details.get("kind") != "busy":
                raise
    raise AssertionError("the last try returns or raises")


async def write_once(
    desk: Desk, transaction: Transaction, prepared: Prepared, *, locked: bool = False
) -> Learned:
    """Write it unless a call with the same key did; within a transaction of the caller's."""

    async def deed() -> Learned:
        learned = await write(desk, transaction, prepared, locked=locked)
        desk.step("written")
        return learned

    given, place = prepared.said.given, prepared.place
    return await once(desk, transaction, place, given=given, write=deed)


async def waited(desk: Desk, place: Place, learned: Learned, *, seconds: float) -> Learned:
    """Ask the model of what waits, if the caller has the time."""
    if not learned.pending or seconds <= 0 or learned.memory is None:
        return learned
    try:
        async with asyncio.timeout(seconds):
            await judge_pairs(desk, place.space, learned.memory.id)
    except TimeoutError:
        return learned
    return await learned.settled(0.0)


def words_of(said: Said) -> Words:
    return Words(text=said.text, kind=said.kind)


def counted(learned: Learned) -> Learned:
    MEMORY_LEARNT.labels(learned.action.value).inc()
    return learned


async def _refused(
    desk: Desk, transaction: Transaction, place: Place, *, given: Given, refusal: Refusal
) -> Learned:
    async def deed() -> Learned:
        return await refuse(desk, transaction, place, given, refusal, at=desk.clock())

    return await once(desk, transaction, place, given=given, write=deed)


async def _repeated(
    desk: Desk, transaction: Transaction, prepared: Prepared, twin: Twin
) -> Learned | Prepared:
    """A sighting of what was said before. If that has changed since, the statement goes the long way."""
    if twin.memory.id in prepared.surfaced:
        return told(Action.ECHOED, prepared, twin.memory, judgement=twin.judgement)
    present = (await lock(transaction, prepared.place.space, [twin.memory.id]))[twin.memory.id]
    if not present.is_live or present.fold != twin.memory.fold:
        return prepared

    async def deed() -> Learned:
        learned = await say_again(desk, transaction, prepared, present, judgement=twin.judgement)
        desk.step("written")
        return learned

    given, place = prepared.said.given, prepared.place
    return await once(desk, transaction, place, given=given, write=deed)
