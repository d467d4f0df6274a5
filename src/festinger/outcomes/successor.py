"""What if whoever contradicts a memory names what stands in its place?

That is a judgement of the reporter, no more: it goes the way of every judgement, so trust decides whether the old
memory is replaced or both wait for a person. A label alone never retires a memory.
"""

from collections.abc import Mapping
from uuid import UUID

from festinger.ids import MemoryId, Origin
from festinger.judge.model import PERSON, Current, Judgement, Opinion, Relation
from festinger.memory.holding import hold_owners
from festinger.memory.late import compared_with, follow
from festinger.memory.memory import Memory
from festinger.memory.pairs import pair_between
from festinger.memory.states import find_all
from festinger.outcomes.desk import Desk, Reporter
from festinger.outcomes.observed import Report, memory_id
from festinger.store.pool import Transaction
from festinger.world.corroboration import Outcome

SURE = {True: 0.9, False: 0.6}
"""How sure a reporter is: a person, and anything else."""


def pairs_of(report: Report) -> dict[MemoryId, MemoryId]:
    """Contradicted memories with what is said to stand in their place."""
    found = {
        memory_id(old): memory_id(new)
        for old, new in report.superseded_by.items()
        if report.outcome_of(old) is Outcome.CONTRADICTED and old in report.memories
    }
    return {old: new for old, new in found.items() if old is not None and new is not None and old != new}


async def hold_successors(transaction: Transaction, reporter: Reporter, report: Report) -> None:
    """Wait for whoever writes new memories, before any row is locked: replacing takes the same locks."""
    new = await find_all(transaction, reporter.place.space, set(pairs_of(report).values()))
    await hold_owners(transaction, reporter.place.space, [memory.agent_id for memory in new.values()])


async def succeed(
    desk: Desk,
    transaction: Transaction,
    reporter: Reporter,
    report: Report,
    *,
    held: Mapping[MemoryId, Memory],
) -> None:
    """Let what a reporter names stand in the place of what it contradicts, as far as it is trusted."""
    for old, new in sorted(pairs_of(report).items()):
        if old not in held:
            continue
        found = await find_all(transaction, reporter.place.space, [UUID(int=old.int), UUID(int=new.int)])
        newer = found.get(new)
        if newer is None or newer.agent_id not in (None, reporter.place.agent) or old not in found:
            continue
        said = judgement_of(reporter)
        opinion = Opinion(pair=pair_between(found[old], newer), judgement=said)
        await follow(desk.memory, transaction, newer, [compared_with(found[old], opinion)], by=reporter.name)


def judgement_of(reporter: Reporter) -> Judgement:
    """What it amounts to that a reporter names a successor."""
    is_person = reporter.origin is Origin.PERSON
    return Judgement(
        relation=Relation.UPDATE,
        current=Current.NEW,
        confidence=SURE[is_person],
        judge=f"{reporter.origin.value}:{reporter.name.removeprefix(PERSON)}"[:100],
        reasoning="Named as what stands in the place of what was contradicted.",
    )
