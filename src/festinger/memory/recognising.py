"""What is left to be learnt of some statements, and what is known already?

The first six steps of learning, which need neither vector nor judge: what was done before with the same key, what
cannot be learnt or is not worth it, what was said before in the same words or almost, and what people asked to forget.
However many statements there are, each step asks the store once. Nothing is written here but bans that a person
lifts; what follows from a repeat or a refusal is carried out by `learn` and `batch`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from festinger.errors import FestingerError, StoreDown
from festinger.ids import MemoryId, Origin
from festinger.memory.candidates import known_as
from festinger.memory.desk import Desk
from festinger.memory.given import Given, Said
from festinger.memory.intake import FORGOTTEN, Refusal, take_in
from festinger.memory.keys import earlier_all
from festinger.memory.learned import Learned
from festinger.memory.memory import Place
from festinger.memory.prepared import REPEATERS, Prepared
from festinger.memory.states import find_all
from festinger.memory.twins import Twin, find_twins
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
