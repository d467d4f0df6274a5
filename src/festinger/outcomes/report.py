"""What happens when somebody tells what became of memories?

One transaction: the memories are locked in the order of their ids, everything is read, decided and written, or
nothing is. Asked again with the same key, the first answer is given again. What waits for the same rows in a ring is
tried again.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from festinger.errors import Replayed, StoreDown
from festinger.ids import MemoryId, SpaceId
from festinger.memory.belief import hold_known
from festinger.memory.memory import Memory
from festinger.observability.metrics import OUTCOMES, OUTCOMES_SKIPPED
from festinger.outcomes.deciding import decide, effects_by_id
from festinger.outcomes.desk import Desk, Reporter
from festinger.outcomes.edges import EdgeNote, edge_of, moving, observe_edges
from festinger.outcomes.gathering import gather
from festinger.outcomes.keeping import keep
from festinger.outcomes.observed import Observed, Report, memory_id, observed_of
from festinger.outcomes.successor import hold_successors, succeed
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.world.writing import hold

Q = queries_of("festinger.outcomes")

TRIES = 4
"""The first, and three more if others changed the same rows at the same moment."""
KEPT_FOR = timedelta(hours=24)

UNKNOWN = "unknown"
FOREIGN = "foreign"
TOLD_ALREADY = "told_explicitly"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What the ids of a report name."""

    memories: Mapping[str, MemoryId]
    edges: Mapping[str, EdgeNote]
    skipped: Mapping[str, str]


async def observe(desk: Desk, reporter: Reporter, report: Report) -> Observed:
    """Apply a report, all of it or nothing."""
    for left in range(TRIES - 1, -1, -1):
        try:
            async with desk.store.transaction() as transaction:
                observed = await observe_in(desk, transaction, reporter, report)
        except StoreDown as error:
            if error.details.get("kind") != "busy" or not left:
                raise
            continue
        if observed.edges:
            await desk.world.follow(reporter.place.space)
        return observed
    raise AssertionError("the last try returns or raises")


async def observe_in(desk: Desk, transaction: Transaction, reporter: Reporter, report: Report) -> Observed:
    """The same within a transaction of the caller's, who tries again."""
    key = _key(reporter, report)
    if key is not None and (done := await _done(desk, transaction, reporter, report, key)) is not None:
        return done
    named = named_by(report)
    if moving(report, named.edges):
        # Before any memory is held: who decides or repairs takes both in this order.
        await hold(transaction, reporter.place.space)
    await hold_successors(transaction, reporter, report)
    held = await hold_known(transaction, reporter.place.space, named.memories.values())
    desk.step("held")
    # The time is taken once all rows are locked: the log is in the order in which rows changed.
    now, batch = desk.clock(), desk.new_id()
    cause = reporter.cause(now)
    skipped = {**named.skipped, **_unreached(reporter, named, held)}
    reached = {id_: memory for id_, memory in held.items() if str(id_) not in skipped}
    known = await gather(desk, transaction, reporter, report, memories=reached, cause=cause, now=now)
    desk.step("gathered")
    if reporter.how.is_passive:
        skipped |= {str(id_): TOLD_ALREADY for id_, each in known.items() if each.told}
        known = {id_: each for id_, each in known.items() if not each.told}
    terms = desk.terms(reporter.place.space)
    # What was told outright of an edge counts whole; what was only read is shared with the memories beside it.
    beside = named.edges if reporter.how.is_passive else ()
    decided, credit = decide(reporter, report, known, terms=terms, at=now, beside=beside)
    await keep(desk, transaction, reporter, report, decided=decided, cause=cause, batch=batch, at=now)
    await succeed(desk, transaction, reporter, report, held=reached)
    moved = await observe_edges(
        desk, transaction, reporter, report, edges=named.edges, cause=cause, credit=credit
    )
    observed = Observed(effects=effects_by_id(decided), skipped=skipped, edges=tuple(moved))
    if key is not None:
        await _remember(desk, transaction, reporter, report, key, observed, batch)
    for each in decided:
        OUTCOMES.labels(each.outcome, reporter.how).inc()
    for why in skipped.values():
        OUTCOMES_SKIPPED.labels(why).inc()
    desk.step("done")
    return observed


def named_by(report: Report) -> Named:
    """The memories and the edges that a report names; what is neither is skipped."""
    memories = {id_: found for id_ in report.memories if (found := memory_id(id_)) is not None}
    edges = {
        id_: edge for id_ in report.memories if id_ not in memories and (edge := edge_of(id_)) is not None
    }
    neither = {id_: UNKNOWN for id_ in report.memories if id_ not in memories and id_ not in edges}
    return Named(memories=memories, edges=edges, skipped=neither)


def _unreached(reporter: Reporter, named: Named, held: Mapping[MemoryId, Memory]) -> dict[str, str]:
    """Ids of memories that are not there, or that are another agent's own."""
    unreached = {id_: UNKNOWN for id_, memory in named.memories.items() if memory not in held}
    foreign = {
        str(id_): FOREIGN
        for id_, memory in held.items()
        if memory.agent_id not in (None, reporter.place.agent)
    }
    return unreached | foreign


def _key(reporter: Reporter, report: Report) -> str | None:
    """Under which key a report is known again; doors that know the turn need not give one."""
    if report.key is not None:
        return f"{reporter.place.agent}/{report.key}"
    if report.turn is not None and reporter.place.session and not reporter.how.is_passive:
        return f"{reporter.place.agent}/{reporter.place.session}/{report.turn}"
    return None


async def _done(
    desk: Desk, transaction: Transaction, reporter: Reporter, report: Report, key: str
) -> Observed | None:
    """What an earlier report with this key did."""
    space = reporter.place.space
    await transaction.run(Q["lock_batch"], space=space, key=key)
    row = await transaction.maybe(Q["find_batch"], space=space, key=key, since=desk.clock() - KEPT_FOR)
    if row is None:
        return None
    if bytes(row["body_hash"]) != report.body_hash:
        raise Replayed(f"The key `{(report.key or key)[:40]}` was used for another report.")
    return observed_of(row["result"])


async def _remember(
    desk: Desk,
    transaction: Transaction,
    reporter: Reporter,
    report: Report,
    key: str,
    observed: Observed,
    batch: UUID,
) -> None:
    await transaction.run(
        Q["keep_batch"],
        space=reporter.place.space,
        id=batch,
        key=key,
        body_hash=report.body_hash,
        result=json.dumps(observed.as_json()),
        at=desk.clock(),
    )


async def prune_batches(desk: Desk, space: SpaceId) -> int:
    """Let go of keys that are too old to mean anything."""
    return await desk.store.run(Q["prune_batches"], space=space, before=desk.clock() - KEPT_FOR)
