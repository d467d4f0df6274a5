"""How are many statements learnt at once?

A hundred at a time: embedded in one call, looked up in one transaction, written in another, each item in a savepoint
of its own. Twins within a batch are found like any others, because what was written before in the same transaction
is seen. One bad item gives its own error and stops no other; batches that are done stay.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from festinger.clock import Stopwatch
from festinger.errors import FestingerError, StoreDown, TooLarge
from festinger.memory.candidates import look
from festinger.memory.comparing import compare
from festinger.memory.decision import Action
from festinger.memory.desk import Desk
from festinger.memory.given import Given
from festinger.memory.learn import counted, recognise, words_of, write_once, written
from festinger.memory.learned import Learned
from festinger.memory.memory import Place
from festinger.memory.pairs import settle_within
from festinger.memory.prepared import Prepared
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
    known = [await _recognised(desk, place, item) for item in items]
    prepared = await _prepared(desk, place, [each for each in known if isinstance(each, Prepared)])
    learned = iter(await _written(desk, prepared))
    found = [each if isinstance(each, Learned) else next(learned) for each in known]
    return [counted(await settle_within(desk, place, each)) for each in found]


async def _recognised(desk: Desk, place: Place, item: Given) -> Prepared | Learned:
    try:
        return await recognise(desk, place, item)
    except StoreDown:
        raise
    except FestingerError as error:
        return failed(error)


async def _prepared(desk: Desk, place: Place, known: Sequence[Prepared]) -> list[Prepared]:
    vectors = await embed(desk, [words_of(each.said) for each in known])
    async with desk.store.transaction() as transaction:
        found = [
            await look(desk, transaction, place.space, each.said, vector)
            for each, vector in zip(known, vectors, strict=True)
        ]
    ready = []
    for each, vector, seen in zip(known, vectors, found, strict=True):
        compared = await compare(desk, place.space, each.said, seen.candidates, ref=each.ref, vectors=vector)
        ready.append(replace(each, vectors=vector, seen=seen.seen, compared=tuple(compared)))
    return ready


async def _written(desk: Desk, prepared: Sequence[Prepared]) -> list[Learned]:
    """All of them in one transaction; if others were in its way, one by one."""
    if not prepared:
        return []
    try:
        async with desk.store.transaction() as transaction:
            return [await _write_item(desk, transaction, each) for each in prepared]
    except StoreDown as error:
        if error.details.get("kind") != "busy":
            raise
    return [await written(desk, each) for each in prepared]


async def _write_item(desk: Desk, transaction: Transaction, prepared: Prepared) -> Learned:
    try:
        async with transaction.savepoint():
            return await write_once(desk, transaction, prepared)
    except StoreDown:
        raise
    except FestingerError as error:
        return failed(error)


def failed(error: FestingerError) -> Learned:
    """An item that could not be learnt, with its own error."""
    return Learned(memory=None, action=Action.REFUSED, reasons=(error.name,), said=error.message, error=error)
