"""Records what was put before a model, and expires it if no outcome comes.

Surfacing changes nothing about a memory: it only makes a report possible. What nobody reports in time
expires, which counts as deferred and discards its staged reads. Forgetting memories removes surfacings,
reads, rhythms, predictions and the text that outcomes were inferred from; totals still count them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from festinger.errors import BadInput, NotFound
from festinger.events.catalogue import NewEvent
from festinger.ids import AgentId, MemoryId, Scope, SessionId, SpaceId
from festinger.observability.metrics import OUTCOMES, OUTCOMES_SKIPPED
from festinger.outcomes.model import OutcomeDeps, Reporter, ReportSource
from festinger.records import record_json, row_mapper
from festinger.store.pool import Store, Transaction
from festinger.store.queries import load_queries
from festinger.world.model import NoteOutcome

Q = load_queries("festinger.outcomes")

REASONS = ("recall", "recollection", "identity", "proactive")
MOST_EXPIRED = 1000
"""Maximum number of surfacings expired by one pass."""
MOST_LISTED = 10_000
TOLD = 50
"""Memories named by one event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surfacing:
    id: UUID
    memory_id: MemoryId
    partition: str
    agent_id: AgentId
    session_id: SessionId
    turn_id: UUID | None
    recall_id: UUID | None
    door: str
    reason: str
    position: int
    times: int
    first_surfaced_at: datetime
    surfaced_at: datetime
    outcome: NoteOutcome | None
    how: ReportSource | None
    resolved_at: datetime | None

    def as_json(self) -> dict[str, Any]:
        return record_json(
            self, memory_id="memory", agent_id="agent", session_id="session", turn_id="turn", recall_id="recall"
        )


surfacing_of = row_mapper(Surfacing)


async def record_surfacings(
    deps: OutcomeDeps,
    transaction: Transaction,
    reporter: Reporter,
    memories: Sequence[UUID],
    *,
    reason: str = "proactive",
    partition: str | None = None,
    turn: UUID | None = None,
    recall: UUID | None = None,
) -> list[Surfacing]:
    """Record that memories were put before a model, in this order. Unknown ones are skipped and counted."""
    if reason not in REASONS:
        raise BadInput(f"`{reason[:40]}` is no reason to surface.", hint=f"They are {', '.join(REASONS)}.")
    wanted = list(dict.fromkeys(memories))
    if not wanted:
        return []
    where = partition or reporter.partition
    rows = await transaction.all(
        Q["surface"],
        space=reporter.scope.space,
        ids=[deps.new_id() for _ in wanted],
        memories=wanted,
        positions=list(range(len(wanted))),
        partition=where,
        agent=reporter.scope.agent,
        session=reporter.scope.session,
        turn=turn,
        recall=recall,
        door=reporter.door,
        reason=reason,
        at=deps.clock(),
    )
    found = sorted(map(surfacing_of, rows), key=lambda each: each.position)
    if len(found) < len(wanted):
        OUTCOMES_SKIPPED.labels("unknown").inc(len(wanted) - len(found))
    await deps.outbox.emit_all(
        transaction, _surfaced_events(reporter, found, where, reason=reason, recall=recall), space=reporter.scope.space
    )
    return found


def _surfaced_events(
    reporter: Reporter, found: Sequence[Surfacing], partition: str, *, reason: str, recall: UUID | None
) -> list[NewEvent]:
    return [
        NewEvent(
            name="memory_surfaced",
            subject=f"surfaced:{partition}",
            payload={
                "recall": str(recall) if recall else None,
                "memories": [str(each.memory_id) for each in found[first : first + TOLD]],
                "partition": partition,
                "reason": reason,
            },
            agent=reporter.scope.agent,
            session=reporter.scope.session or None,
        )
        for first in range(0, len(found), TOLD)
    ]


async def surfacings_of_memory(deps: OutcomeDeps, space: SpaceId, memory: UUID, *, limit: int = 20) -> list[Surfacing]:
    """List when and where a memory was put before a model, newest first."""
    rows = await deps.store.all(Q["surfacings_of_memory"], space=space, memory=memory, limit=limit)
    return [surfacing_of(row) for row in rows]


async def list_pending_surfacings(
    deps: OutcomeDeps, space: SpaceId, partition: str, *, limit: int = MOST_LISTED
) -> list[Surfacing]:
    """List what awaits an outcome, oldest first."""
    rows = await deps.store.all(Q["pending_surfacings"], space=space, partition=partition, limit=limit)
    return [surfacing_of(row) for row in rows]


async def list_surfacings(
    deps: OutcomeDeps, space: SpaceId, *, partition: str | None = None, after: UUID | None = None, limit: int = 50
) -> list[Surfacing]:
    """List surfacings, newest first."""
    last = await deps.store.maybe(Q["find_surfacing"], space=space, id=after) if after else None
    rows = await deps.store.all(
        Q["surfacings"],
        space=space,
        partition=partition,
        at=last["surfaced_at"] if last else None,
        after=after if last else None,
        limit=limit,
    )
    return [surfacing_of(row) for row in rows]


async def require_surfacings_of_recall(transaction: Transaction, space: SpaceId, recall: UUID) -> list[Surfacing]:
    """Return what a recall surfaced. Raises `NotFound` if it is unknown."""
    found = await surfacings_of_recall(transaction, space, recall)
    if not found:
        raise NotFound(f"There is no recall `{recall}` that surfaced anything.")
    return found


async def surfacings_of_recall(store: Store | Transaction, space: SpaceId, recall: UUID) -> list[Surfacing]:
    """Return what a recall, or the block of a request, surfaced; nothing if it is unknown."""
    rows = await store.all(Q["surfaced_by"], space=space, recall=recall)
    return [surfacing_of(row) for row in rows]


async def load_recently_surfaced(deps: OutcomeDeps, scope: Scope, turns: int) -> frozenset[MemoryId]:
    """Return what the last turns of a session surfaced. Turns that surfaced nothing are not counted."""
    if not scope.session:
        return frozenset()
    rows = await deps.store.all(Q["surfaced_in_session"], space=scope.space, session=scope.session, turns=turns)
    return frozenset(row["memory_id"] for row in rows)


async def expire_surfacings(deps: OutcomeDeps, space: SpaceId, *, ttl: timedelta | None = None) -> list[Surfacing]:
    """Expire what nobody reported in time, at most a thousand at once, and discard its staged reads."""
    after = timedelta(seconds=deps.terms(space).proposal_ttl_s) if ttl is None else ttl
    async with deps.store.transaction() as transaction:
        now = deps.clock()
        rows = await transaction.all(
            Q["expire_surfacings"], space=space, before=now - after, at=now, limit=MOST_EXPIRED
        )
        found = [surfacing_of(row) for row in sorted(rows, key=lambda row: (row["surfaced_at"], row["id"]))]
        if not found:
            return []
        await transaction.run(
            Q["unstage"],
            space=space,
            memories=[each.memory_id for each in found],
            partitions=[each.partition for each in found],
        )
        await deps.outbox.emit_all(transaction, [_expired_event(each) for each in found], space=space)
    OUTCOMES.labels(NoteOutcome.DEFERRED, ReportSource.EXPIRED).inc(len(found))
    return found


def _expired_event(each: Surfacing) -> NewEvent:
    return NewEvent(
        name="surfacing_expired",
        subject=f"memory:{each.memory_id}",
        payload={"memory": str(each.memory_id), "partition": each.partition},
        agent=each.agent_id,
        session=each.session_id or None,
    )


_ERASING = (
    "forget_waiting",
    "forget_surfacings",
    "forget_reads",
    "forget_cycles",
    "forget_rhythms",
    "forget_predictions",
    "forget_evidence",
)


async def forget(transaction: Transaction, space: SpaceId, memories: Sequence[UUID]) -> int:
    """Erase what outcomes know of memories, in the transaction that forgets them; return the row count."""
    return sum([await transaction.run(Q[name], space=space, memories=list(memories)) for name in _ERASING])
