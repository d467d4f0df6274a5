"""How are the new statements of a batch written together?

Most of what a batch brings is simply new: it becomes a memory of its own, waits for a judge at most, and does nothing
to what stands. Such statements are decided one after the other, each also against what those before it are about to
become, and written in a handful of statements however many they are. Whatever does more is left to the caller, who
writes it by itself in its turn and says what became of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from festinger.errors import StoreDown
from festinger.ids import MemoryId, SpaceId
from festinger.memory.candidates import DIGITS, Candidate, how_far, look_again
from festinger.memory.comparing import MOST_ASKED, Compared, compare_by_rules, newcomer
from festinger.memory.decision import Decided, decide
from festinger.memory.desk import Desk
from festinger.memory.given import Said
from festinger.memory.kinds import comparable
from festinger.memory.learned import Learned
from festinger.memory.memory import Memory
from festinger.memory.prepared import Prepared, echo_of
from festinger.memory.quarantine import LITTLE_TRUST
from festinger.memory.states import lock_all
from festinger.memory.storing import put_all, unborn
from festinger.memory.telling import learned_happening, told
from festinger.memory.vectors import Embedded
from festinger.memory.writing import as_they_are, deciding, is_kept, is_touched, keep_opinions, with_newer
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
