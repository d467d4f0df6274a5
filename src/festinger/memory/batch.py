"""How are many statements learnt at once?

A hundred at a time: recognised in one transaction that asks for all of them at once, embedded in one call, looked up
in one transaction, judged together, and written in another transaction, each item in a savepoint of its own. Twins
within a batch are found like any others, because what was written before in the same transaction is seen. One bad item
gives its own error and stops no other; batches that are done stay.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from festinger.clock import Stopwatch
from festinger.errors import FestingerError, StoreDown, TooLarge
from festinger.ids import MemoryId
from festinger.memory.candidates import look_all
from festinger.memory.comparing import Question, compare_all
from festinger.memory.decision import Action
from festinger.memory.desk import Desk
from festinger.memory.given import Given
from festinger.memory.holding import hold_owners
from festinger.memory.learn import carry_out, counted, learn, words_of, write_once, written
from festinger.memory.learned import Learned
from festinger.memory.memory import Place
from festinger.memory.pairs import settle_within
from festinger.memory.prepared import Prepared
from festinger.memory.recognising import Known, Repeated, recognise_all, reminded
from festinger.memory.sizing import keep_sized
from festinger.memory.together import Gathering, gather
from festinger.memory.vectors import embed
from festinger.store.pool import Transaction

BATCH = 100
MOST_ITEMS = 10_000
REPORT_SECONDS = 0.5

Progress = Callable[[int, int, Mapping[str, int]], None]


async def learn_many(
    desk: Desk, place: Place, items: Sequence[Given], *, progress: Progress | None = None
) -> list[Learned]:
    """Learn statements in their order; one result each. Called again with keys, it goes on where it stopped."""
    if len(items) > MOST_ITEMS:
        raise TooLarge(f"A batch has at most {MOST_ITEMS:,} items; this one has {len(items):,}.")
    done: list[Learned] = []
    report = _Reporter(progress, desk.stopwatch, total=len(items))
    for start in range(0, len(items), BATCH):
        done += await _learn_batch(desk, place, items[start : start + BATCH])
        report.tell(done)
    return done


class _Reporter:
    """Tells of progress, at most twice a second and at the end."""

    def __init__(self, progress: Progress | None, stopwatch: Stopwatch, *, total: int) -> None:
        self._progress = progress
        self._stopwatch = stopwatch
        self._total = total
        self._told: float | None = None

    def tell(self, done: Sequence[Learned]) -> None:
        now = self._stopwatch()
        is_due = self._told is None or now - self._told >= REPORT_SECONDS or len(done) == self._total
        if self._progress is not None and is_due:
            self._told = now
            self._progress(len(done), self._total, Counter(each.action.value for each in done))


async def _learn_batch(desk: Desk, place: Place, items: Sequence[Given]) -> list[Learned]:
    surfaced = await reminded(desk, place, items)
    async with desk.store.transaction() as transaction:
        known = await recognise_all(desk, transaction, place, items, surfaced=surfaced)
    ready = await _prepared(desk, place, known)
    return [
        await _learnt_alone(desk, place, item)
        if each is None
        else counted(await settle_within(desk, place, each))
        for each, item in zip(await _written(desk, place, ready), items, strict=True)
    ]


async def _prepared(desk: Desk, place: Place, known: Sequence[Known]) -> list[Known]:
    """What goes the long way, with its vectors and with what was said of it and its candidates."""
    new = [each for each in known if isinstance(each, Prepared)]
    vectors = await embed(desk, [words_of(each.said) for each in new])
    await keep_sized(desk.store, desk.sizing, more=len(new))
    statements = [(each.said, vector) for each, vector in zip(new, vectors, strict=True)]
    async with desk.store.transaction() as transaction:
        found = await look_all(desk, transaction, place.space, statements)
    asked = [
        Question(said=each.said, candidates=seen.candidates, ref=each.ref, vectors=vector)
        for each, seen, vector in zip(new, found, vectors, strict=True)
    ]
    ready = iter(
        replace(each, vectors=vector, seen=seen.seen, compared=tuple(compared))
        for each, vector, seen, compared in zip(
            new, vectors, found, await compare_all(desk, place.space, asked), strict=True
        )
    )
    return [next(ready) if isinstance(each, Prepared) else each for each in known]


async def _written(desk: Desk, place: Place, ready: Sequence[Known]) -> list[Learned | None]:
    """All of them in one transaction; if others were in its way, one by one."""
    try:
        async with desk.store.transaction() as transaction:
            await hold_owners(
                transaction, place.space, [each.said.owner for each in map(_to_write, ready) if each]
            )
            return await _write_all(desk, transaction, place, ready)
    except StoreDown as error:
        if error.details.get("kind") != "busy":
            raise
    return [await written(desk, each) if isinstance(each, Prepared) else None for each in ready]


def _to_write(known: Known) -> Prepared | None:
    return known.prepared if isinstance(known, Repeated) else known if isinstance(known, Prepared) else None


async def _write_all(
    desk: Desk, transaction: Transaction, place: Place, ready: Sequence[Known]
) -> list[Learned | None]:
    """In their order: what is simply new together, whatever does more by itself."""
    new = [each for each in ready if isinstance(each, Prepared)]
    gathering = await gather(desk, transaction, place.space, new)
    alone: dict[int, Learned | None] = {}
    together: dict[MemoryId, Learned] = {}
    for number, each in enumerate(ready):
        if isinstance(each, Prepared) and gathering.takes(each):
            continue
        together |= await _write_gathered(desk, transaction, place, gathering)
        learned = alone[number] = await _write_item(desk, transaction, place, each)
        if learned is not None:
            gathering.note(learned, each if isinstance(each, Prepared) else None)
    together |= await _write_gathered(desk, transaction, place, gathering)
    return [
        together[each.ref] if isinstance(each, Prepared) and each.ref in together else alone[number]
        for number, each in enumerate(ready)
    ]


async def _write_gathered(
    desk: Desk, transaction: Transaction, place: Place, gathering: Gathering
) -> dict[MemoryId, Learned]:
    """What became of those that were gathered. If the store takes not all of them, each is written by itself."""
    arrivals = list(gathering.arrivals)
    if not arrivals:
        return {}
    try:
        async with transaction.savepoint():
            return await gathering.write(transaction)
    except StoreDown:
        raise
    except FestingerError:
        written = [await _write_item(desk, transaction, place, each.prepared) for each in arrivals]
    return {each.prepared.ref: learned for each, learned in zip(arrivals, written, strict=True) if learned}


async def _write_item(desk: Desk, transaction: Transaction, place: Place, known: Known) -> Learned | None:
    """What became of one item; none if it must be learnt by itself, because what it repeats has changed since."""
    if isinstance(known, FestingerError):
        return failed(known)
    if isinstance(known, Learned):
        return known
    try:
        async with transaction.savepoint():
            if isinstance(known, Prepared):
                return await write_once(desk, transaction, known, locked=True)
            done = await carry_out(desk, transaction, place, known)
            return done if isinstance(done, Learned) else None
    except StoreDown:
        raise
    except FestingerError as error:
        return failed(error)


async def _learnt_alone(desk: Desk, place: Place, item: Given) -> Learned:
    try:
        return await learn(desk, place, item)
    except StoreDown:
        raise
    except FestingerError as error:
        return failed(error)


def failed(error: FestingerError) -> Learned:
    """An item that could not be learnt, with its own error."""
    return Learned(memory=None, action=Action.REFUSED, reasons=(error.name,), said=error.message, error=error)
