"""How does a statement become a memory, or part of one?

The one way in for everything that is ever remembered, in twelve steps. Whatever happens, the caller is told, and
nothing that was acknowledged is lost: what is written is written in one transaction, and what costs time (vectors,
judges) happens before it and outside.

What is left to be learnt of some statements, and what is known already?

The first six steps of learning, which need neither vector nor judge: what was done before with the same key, what
cannot be learnt or is not worth it, what was said before in the same words or almost, and what people asked to forget.
However many statements there are, each step asks the store once. Nothing is written here but bans that a person
lifts; what follows from a repeat or a refusal is carried out by `learn` and `batch`.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from festinger.errors import FestingerError, StoreDown
from festinger.ids import MemoryId, Origin
from festinger.memory.changes import find_all, lock
from festinger.memory.deps import Desk, keep_sized
from festinger.memory.late_judgements import judge_pairs, settle_within
from festinger.memory.learn.candidates import Found, known_as, look
from festinger.memory.learn.compare import REPEATERS, Prepared, Twin, compare, find_twins
from festinger.memory.learn.decision import Action
from festinger.memory.learn.intake import FORGOTTEN, Refusal, earlier_all, once, refuse, take_in
from festinger.memory.learn.result import Learned, told
from festinger.memory.learn.statement import Given, Said
from festinger.memory.learn.write import say_again, write
from festinger.memory.model import Place
from festinger.memory.vectors import Embedded, Words, embed_one
from festinger.observability.metrics import MEMORY_LEARNT
from festinger.store.pool import Transaction
from festinger.text.overlap import all_shingles, is_composed


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """A statement that says what a memory says."""

    prepared: Prepared
    twin: Twin


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfit:
    """A statement that is not learnt."""

    given: Given
    refusal: Refusal


Known = Prepared | Repeated | Unfit | Learned | FestingerError
"""What goes the long way, what is said again, what is refused, what was done before, and what was wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminded:
    """What was brought to mind in a session: which memories, and the shingles of what they say."""

    memories: Collection[MemoryId] = ()
    shingles: frozenset[tuple[str, ...]] = frozenset()


async def reminded(desk: Desk, place: Place, items: Sequence[Given]) -> Reminded:
    """What those who speak may be repeating after us. Not within a transaction."""
    composed = any(isinstance(each.text, str) and is_composed(each.text) for each in items)
    if not place.session or not (composed or any(each.origin in REPEATERS for each in items)):
        return Reminded()
    surfaced = await desk.surfaced(place, desk.terms(place.space).memory.echo_turns)
    if not surfaced or not composed:
        return Reminded(memories=surfaced)
    async with desk.store.transaction() as transaction:
        found = await find_all(transaction, place.space, surfaced)
    return Reminded(memories=surfaced, shingles=all_shingles(memory.content for memory in found.values()))


async def recognise_all(
    desk: Desk, transaction: Transaction, place: Place, items: Sequence[Given], *, surfaced: Reminded
) -> list[Known]:
    """What each statement is so far, in their order."""
    done = await earlier_all(desk, transaction, place, items)
    known: list[Known | Said] = [
        done.get(item.key or "") or await _taken_in(desk, transaction, place, item, shown=surfaced.shingles)
        for item in items
    ]
    places = [at for at, each in enumerate(known) if isinstance(each, Said)]
    said = await _named(transaction, place, [each for each in known if isinstance(each, Said)])
    desk.step("taken in")
    twins = await find_twins(desk, transaction, place.space, said)
    desk.step("twins")
    found = [
        _recognised(desk, place, each, twin=twin, surfaced=surfaced.memories)
        for each, twin in zip(said, twins, strict=True)
    ]
    for at, each in zip(places, await _unless_forgotten(desk, transaction, place, found), strict=True):
        known[at] = each
    desk.step("not forgotten")
    return [each for each in known if not isinstance(each, Said)]


async def _taken_in(
    desk: Desk, transaction: Transaction, place: Place, given: Given, *, shown: frozenset[tuple[str, ...]]
) -> Said | Unfit | FestingerError:
    """(1) bad input, (2) cleaning, (3) hygiene. What is wrong with one statement is no other's matter."""
    try:
        # A job words what others said, and may well say again what was brought to mind.
        repeats = frozenset() if given.origin is Origin.JOB else shown
        taken = await take_in(desk, transaction, place, given, shown=repeats)
    except StoreDown:
        raise
    except FestingerError as error:
        return error
    return Unfit(given=given, refusal=taken) if isinstance(taken, Refusal) else taken


async def _named(transaction: Transaction, place: Place, said: Sequence[Said]) -> list[Said]:
    """The statements with their subjects as the vocabulary names them."""
    keys = await known_as(transaction, place.space, [each.subject_key for each in said])
    return [replace(each, subject_key=key) for each, key in zip(said, keys, strict=True)]


def _recognised(
    desk: Desk, place: Place, said: Said, *, twin: Twin | None, surfaced: Collection[MemoryId]
) -> Prepared | Repeated:
    """(4) equal words, (5) equal gist. What is suspicious is no repeat, whatever it repeats."""
    heard = surfaced if said.origin in REPEATERS else ()
    prepared = Prepared(place=place, said=said, ref=desk.new_memory_id(), surfaced=heard)
    if twin is None or said.suspicions:
        return prepared
    return Repeated(prepared=prepared, twin=twin)


async def _unless_forgotten(
    desk: Desk, transaction: Transaction, place: Place, found: Sequence[Prepared | Repeated]
) -> list[Prepared | Repeated | Unfit]:
    """(6) what people asked to forget. What stands as a memory was said anew since."""
    new = [each for each in found if isinstance(each, Prepared)]
    bans = iter(await desk.is_forgotten(transaction, place.space, [each.said for each in new]) if new else ())
    return [
        Unfit(given=each.said.given, refusal=Refusal(reason=FORGOTTEN))
        if isinstance(each, Prepared) and next(bans)
        else each
        for each in found
    ]


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
