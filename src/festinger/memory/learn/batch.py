"""How are many statements learnt at once?

A hundred at a time: recognised in one transaction that asks for all of them at once, embedded in one call, looked up
in one transaction, judged together, and written in another transaction, each item in a savepoint of its own. Twins
within a batch are found like any others, because what was written before in the same transaction is seen. One bad item
gives its own error and stops no other; batches that are done stay.

How are the new statements of a batch written together?

Most of what a batch brings is simply new: it becomes a memory of its own, waits for a judge at most, and does nothing
to what stands. Such statements are decided one after the other, each also against what those before it are about to
become, and written in a handful of statements however many they are. Whatever does more is left to the caller, who
writes it by itself in its turn and says what became of it.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from festinger.clock import Stopwatch
from festinger.errors import FestingerError, StoreDown, TooLarge
from festinger.ids import MemoryId, SpaceId
from festinger.memory.changes import lock_all
from festinger.memory.deps import Desk, keep_sized
from festinger.memory.late_judgements import settle_within
from festinger.memory.learn.candidates import DIGITS, Candidate, how_far, look_again, look_all
from festinger.memory.learn.compare import (
    LITTLE_TRUST,
    MOST_ASKED,
    Compared,
    Prepared,
    Question,
    compare_all,
    compare_by_rules,
    echo_of,
    newcomer,
)
from festinger.memory.learn.decision import Action, Decided, decide
from festinger.memory.learn.pipeline import (
    Known,
    Repeated,
    carry_out,
    counted,
    learn,
    recognise_all,
    reminded,
    words_of,
    write_once,
    written,
)
from festinger.memory.learn.result import Learned, learned_happening, told
from festinger.memory.learn.statement import Given, Said
from festinger.memory.learn.store import put_all, unborn
from festinger.memory.learn.write import (
    as_they_are,
    deciding,
    hold_owners,
    is_kept,
    is_touched,
    keep_opinions,
    with_newer,
)
from festinger.memory.model import Memory, Place, comparable
from festinger.memory.vectors import Embedded, embed
from festinger.store.pool import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A statement that is simply new."""

    prepared: Prepared
    compared: Sequence[Compared]
    decided: Decided

    @property
    def waits_for(self) -> tuple[MemoryId, ...]:
        return tuple(map(MemoryId, self.decided.waits_for[:MOST_ASKED]))

    def become(self, memory: Memory) -> Learned:
        """What the caller learns of the memory that it became."""
        by_id = {each.memory.id: each for each in self.compared}
        learned = told(
            self.decided.action,
            self.prepared,
            memory,
            compared=self.compared,
            judgement=deciding(self.decided, by_id),
        )
        return replace(learned, pending=bool(self.waits_for))


@dataclass(slots=True)
class Company:
    """What a batch has stored so far, or is about to."""

    memories: list[Memory] = field(default_factory=list)
    _directions: list[NDArray[np.float32]] = field(default_factory=list)

    def add(self, memory: Memory, vectors: Embedded) -> None:
        self.memories.append(memory)
        self._directions.append(_direction(vectors))

    def seen_by(self, said: Said, vectors: Embedded) -> list[Candidate]:
        """What of it whoever says this can see, with its cosine."""
        if not self.memories:
            return []
        kinds = comparable(said.kind)
        cosines = np.stack(self._directions) @ _direction(vectors)
        return [
            Candidate(memory=memory, similarity=round(float(cosine), DIGITS))
            for memory, cosine in zip(self.memories, cosines, strict=True)
            if memory.kind in kinds and memory.agent_id in (None, said.owner)
        ]


def _direction(vectors: Embedded) -> NDArray[np.float32]:
    values: NDArray[np.float32] = vectors.compare.vector.to_numpy().astype(np.float32)
    return values / max(float(np.linalg.norm(values)), 1e-12)


class Gathering:
    """The statements of one batch that are written together. Their owners are locked."""

    def __init__(
        self,
        desk: Desk,
        space: SpaceId,
        *,
        judged: Mapping[MemoryId, Sequence[Compared]],
        present: Mapping[MemoryId, Memory],
    ) -> None:
        self._desk, self._space = desk, space
        self._judged, self._present = judged, present
        self._company = Company()
        self._changed: set[MemoryId] = set()
        self.arrivals: list[Arrival] = []

    def takes(self, prepared: Prepared) -> bool:
        """Take a statement in if it is simply new."""
        judged, vectors = self._judged.get(prepared.ref), prepared.vectors
        if judged is None or vectors is None:
            return False
        company = compare_by_rules(
            self._desk,
            prepared.said,
            self._company.seen_by(prepared.said, vectors),
            ref=prepared.ref,
            vectors=vectors,
        )
        # What this transaction stores itself is as it was judged: nobody else can see it.
        compared = [*as_they_are(self._desk, prepared, judged, self._present), *company]
        if echo_of(prepared, compared) or any(each.memory.id in self._changed for each in compared):
            return False
        limits = self._desk.terms(self._space).limits
        decided = decide(newcomer(prepared.said), [each.judged for each in compared], limits)
        if not decided.is_simply_new:
            return False
        arrival = Arrival(prepared=prepared, compared=compared, decided=decided)
        self.arrivals.append(arrival)
        self._company.add(unborn(self._desk, prepared, pending=bool(arrival.waits_for)), vectors)
        return True

    def note(self, learned: Learned, prepared: Prepared | None) -> None:
        """Know what became of a statement that was written by itself: those that follow meet it."""
        self._changed.update(learned.superseded)
        if learned.memory is None:
            return
        if prepared is not None and prepared.vectors is not None and learned.memory.id == prepared.ref:
            self._company.add(learned.memory, prepared.vectors)
        else:
            self._changed.add(learned.memory.id)

    async def write(self, transaction: Transaction) -> dict[MemoryId, Learned]:
        """Write those that were taken since the last time; what each became, by the id that it got."""
        arrivals, self.arrivals = self.arrivals, []
        found = await put_all(
            self._desk, transaction, [(each.prepared, bool(each.waits_for)) for each in arrivals]
        )
        memories = [memory for memory in found if memory is not None]
        if len(memories) < len(arrivals):
            # The last guard: somebody stored the same words whom no lock kept out. One by one they are confirmed.
            raise StoreDown("The same statement is being learnt by another.", hint="Try again.", kind="busy")
        opinions = [
            compared.opinion
            for each in arrivals
            for compared in each.compared
            if is_kept(compared, each.waits_for)
        ]
        await keep_opinions(self._desk, transaction, self._space, opinions)
        told_of = [
            learned_happening(each.prepared, memory, each.decided.action)
            for each, memory in zip(arrivals, memories, strict=True)
        ]
        await self._desk.outbox.emit_all(transaction, told_of, space=self._space)
        return {memory.id: each.become(memory) for each, memory in zip(arrivals, memories, strict=True)}


async def gather(
    desk: Desk, transaction: Transaction, space: SpaceId, prepared: Sequence[Prepared]
) -> Gathering:
    """Look again at what came since these were judged, and keep what they touch from changing. Owners are locked."""
    fit = [each for each in prepared if may_be_simply_new(desk, each)]
    far = {
        owner: await how_far(transaction, space, owner) for owner in {each.said.owner: None for each in fit}
    }
    judged = {}
    for each in fit:
        came = far[each.said.owner] != each.seen
        newer = (
            await look_again(transaction, space, each.said, seen=each.seen, vectors=each.vectors)
            if came
            else []
        )
        judged[each.ref] = with_newer(desk, each, newer)
    touched = [each.memory.id for many in judged.values() for each in many if is_touched(each)]
    return Gathering(desk, space, judged=judged, present=await lock_all(transaction, space, touched))


def may_be_simply_new(desk: Desk, prepared: Prepared) -> bool:
    """Whether nothing but what it is held against can make more of a statement: no key under which it may have come
    before, no source that it is tied to, no doubt about who says it, and a vector to find it by."""
    said, given = prepared.said, prepared.said.given
    is_free = said.trust >= LITTLE_TRUST or given.imported
    is_trusted = is_free or not desk.terms(prepared.place.space).memory.quarantine
    is_tied = given.key is not None or bool(given.derived_from or given.turns)
    return prepared.vectors is not None and is_trusted and not is_tied and not said.suspicions


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
