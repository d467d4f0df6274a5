"""Has this been said before, in the same words or almost?

The two cheapest steps of learning: equal words, then equal gist with no guard against it. What is found here needs
no vector and no judge.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from festinger.ids import AgentId, MemoryId, SpaceId
from festinger.judge.model import NOTHING_KNOWN, Judgement, Pair, Relation
from festinger.memory.comparing import statement_of
from festinger.memory.desk import Desk
from festinger.memory.given import Said
from festinger.memory.kinds import Kind, comparable
from festinger.memory.memory import Memory, memory_of
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
    return _first_same(desk, said, map(memory_of, rows))


async def find_twins(
    desk: Desk, transaction: Transaction, space: SpaceId, said: Sequence[Said]
) -> list[Twin | None]:
    """The same for many, in their order."""
    groups: dict[tuple[AgentId | None, tuple[Kind, ...]], list[int]] = {}
    for number, each in enumerate(said):
        groups.setdefault((each.owner, tuple(comparable(each.kind))), []).append(number)
    found: dict[int, list[Memory]] = {}
    for (owner, kinds), numbers in groups.items():
        asked = [said[number] for number in numbers]
        rows = await transaction.all(
            Q["twins_of_each"],
            space=space,
            owner=owner,
            kinds=list(kinds),
            numbers=numbers,
            folds=[each.fold for each in asked],
            gists=[each.gist for each in asked],
            days=[each.given.event_time.date() if each.given.event_time else None for each in asked],
            limit=MOST_TWINS,
        )
        for row in rows:
            found.setdefault(row["number"], []).append(memory_of(row))
    return [_first_same(desk, each, found.get(number, ())) for number, each in enumerate(said)]


def _first_same(desk: Desk, said: Said, memories: Iterable[Memory]) -> Twin | None:
    for memory in memories:
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
