"""Has this been said before, in the same words or almost?

The two cheapest steps of learning: equal words, then equal gist with no guard against it. What is found here needs
no vector and no judge. A model or a tool that repeats what was just brought to mind adds nothing at all.
"""

from collections.abc import Collection
from dataclasses import dataclass

from festinger.ids import MemoryId, Origin, SpaceId
from festinger.judge.judgement import Judgement, Relation
from festinger.judge.pair import Pair
from festinger.judge.statement import NOTHING_KNOWN
from festinger.memory.comparing import statement_of
from festinger.memory.desk import Desk
from festinger.memory.given import Said
from festinger.memory.kinds import comparable
from festinger.memory.memory import Memory, Place, memory_of
from festinger.memory.prepared import REPEATERS
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.memory")

MOST_TWINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    memory: Memory
    judgement: Judgement


async def find_twin(
    desk: Desk, transaction: Transaction, space: SpaceId, said: Said, *, other_than: MemoryId | None = None
) -> Twin | None:
    """The memory that says the same in the same words or of the same gist."""
    rows = await transaction.all(
        Q["twins"],
        **{"except": other_than},
        space=space,
        owner=said.owner,
        kinds=list(comparable(said.kind)),
        fold=said.fold,
        gist=said.gist,
        day=said.given.event_time.date() if said.given.event_time else None,
        limit=MOST_TWINS,
    )
    for memory in map(memory_of, rows):
        judgement = _judged(desk, said, memory)
        if judgement.relation is Relation.SAME:
            return Twin(memory=memory, judgement=judgement)
    return None


def _judged(desk: Desk, said: Said, memory: Memory) -> Judgement:
    if memory.fold == said.fold:
        return Judgement(
            relation=Relation.SAME, confidence=1.0, judge="rules", reasoning="Both are the same words."
        )
    pair = Pair(
        old_ref=memory.id,
        new_ref=memory.id,
        old=statement_of(memory),
        new=said.statement,
        features=NOTHING_KNOWN,
    )
    return desk.panel.by_rules(pair)


async def brought_to_mind(desk: Desk, place: Place, origin: Origin) -> Collection[MemoryId]:
    """What this speaker may be repeating after us. Not within a transaction."""
    if origin not in REPEATERS or not place.session:
        return ()
    return await desk.surfaced(place, desk.terms(place.space).memory.echo_turns)
