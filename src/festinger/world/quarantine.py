"""Quarantines statements that nobody vouches for, and admits them with enough votes.

Enough are distinct causes in more than one session, from more than one text and on more than one day: one
page read a hundred times has one vote, and so has tool output in which only numbers change. A person may also
state it or admit it by hand. Until then it is never shown, opens no conflict and marks nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from festinger.errors import AlreadyDecided, NoSuchCue
from festinger.ids import Cause, Origin, SpaceId, cause_columns
from festinger.store.pool import Store, Transaction
from festinger.store.queries import load_queries
from festinger.world.edge_statements import StatementResult, apply_statement_in_change
from festinger.world.model import ADMITTED, EdgeSource, WorldDeps, WorldStatement
from festinger.world.write import WorldChange, open_change

Q = load_queries("festinger.world")

SESSIONS_NEEDED = 2
TEXTS_NEEDED = 2
DAYS_NEEDED = 2
"""A burst of sessions within seconds is one client, whatever it calls them."""
EXPIRES_AFTER = timedelta(days=30)

WAITING = "waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineEntry:
    id: UUID
    concept: str
    parent: str
    dim: str
    is_isa: bool
    pattern: str
    origin: str
    status: str
    first_seen: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineVoteCounts:
    causes: int
    sessions: int
    texts: int
    days: int


NOBODY = QuarantineVoteCounts(causes=0, sessions=0, texts=0, days=0)


def has_enough_votes(votes: QuarantineVoteCounts, *, min_causes: int) -> bool:
    return (
        votes.causes >= min_causes
        and votes.sessions >= SESSIONS_NEEDED
        and votes.texts >= TEXTS_NEEDED
        and votes.days >= DAYS_NEEDED
    )


async def quarantine_or_admit_claim(
    change: WorldChange, statement: WorldStatement, *, pattern: str, text_hash: str
) -> StatementResult | None:
    """Quarantine a claim, or admit it if it has enough votes by now."""
    row = await change.one(
        "put_quarantine",
        id=change.deps.new_id(),
        concept=statement.concept,
        parent=statement.parent,
        dim=statement.dimension,
        is_isa=statement.is_isa,
        pattern=pattern,
        origin=statement.origin.value,
    )
    is_new = row.pop("is_new")
    held = QuarantineEntry(**row)
    await change.run(
        "add_quarantine_cause",
        id=held.id,
        **cause_columns(statement.cause),
        text_hash=text_hash,
        message=statement.message,
    )
    votes = await _load_vote_counts_of(change, held)
    if is_new:
        await _tell(change, "cue_quarantined", held, votes)
    if held.status == WAITING and has_enough_votes(votes, min_causes=change.terms.quarantine_min_causes):
        return await _admit(change, held, votes=votes, because=statement.cause, message=statement.message)
    return None


async def _load_vote_counts_of(change: WorldChange, held: QuarantineEntry) -> QuarantineVoteCounts:
    return (await load_vote_counts(change.transaction, change.space, [held]))[held.id]


async def _admit(
    change: WorldChange, held: QuarantineEntry, *, votes: QuarantineVoteCounts, because: Cause, message: str | None
) -> StatementResult:
    statement = WorldStatement(
        concept=held.concept,
        parent=held.parent,
        dimension=held.dim,
        is_isa=held.is_isa,
        confidence=ADMITTED,
        source=EdgeSource.INFERRED,
        cause=because,
        message=message,
        from_quarantine=because.origin is not Origin.PERSON,
    )
    stated = await apply_statement_in_change(change, statement)
    await _decide(change, held, "admitted")
    await _tell(change, "cue_admitted", held, votes)
    return stated


async def mark_claim_admitted(change: WorldChange, claim: WorldStatement) -> None:
    """Release a quarantined claim because a person states it."""
    row = await change.maybe(
        "waiting_quarantine", concept=claim.concept, parent=claim.parent, dim=claim.dimension, is_isa=claim.is_isa
    )
    if row is not None:
        held = QuarantineEntry(**row)
        await _decide(change, held, "admitted")
        await _tell(change, "cue_admitted", held, await _load_vote_counts_of(change, held))


async def admit_entry(deps: WorldDeps, space: SpaceId, quarantined: UUID, *, because: Cause) -> StatementResult:
    async with open_change(deps, space, by=because.origin.value, cause=because) as change:
        held = await _require_undecided_entry(change, quarantined)
        votes = await _load_vote_counts_of(change, held)
        row = await change.transaction.maybe(Q["last_quarantine_cause"], space=space, id=quarantined)
        message = row["message_id"] if row else None
        return await _admit(change, held, votes=votes, because=because, message=message)


async def reject_entry(deps: WorldDeps, space: SpaceId, quarantined: UUID, *, by: str) -> QuarantineEntry:
    """Reject a statement for good, unless somebody admits it later."""
    async with open_change(deps, space, by=by) as change:
        held = await _require_undecided_entry(change, quarantined)
        rejected = await _decide(change, held, "rejected")
        await _tell(change, "cue_rejected", held, await _load_vote_counts_of(change, held))
        return rejected


async def reopen_entry(deps: WorldDeps, space: SpaceId, quarantined: UUID, *, by: str) -> QuarantineEntry:
    """Put a decided statement back into quarantine."""
    async with open_change(deps, space, by=by) as change:
        held = await _decide(change, await _find_entry(change.transaction, space, quarantined), WAITING)
        await _tell(change, "cue_quarantined", held, await _load_vote_counts_of(change, held))
        return held


async def load_quarantine(
    deps: WorldDeps,
    space: SpaceId,
    *,
    statuses: Sequence[str] | None = (WAITING,),
    concept: str | None = None,
    after: QuarantineEntry | None = None,
    limit: int = 100,
) -> list[QuarantineEntry]:
    """Load quarantined statements, newest first."""
    rows = await deps.store.all(
        Q["quarantine"],
        space=space,
        statuses=list(statuses) if statuses is not None else None,
        concept=concept,
        before=after.first_seen if after else None,
        after=after.id if after else None,
        limit=limit,
    )
    return [QuarantineEntry(**row) for row in rows]


async def find_quarantine_entry(deps: WorldDeps, space: SpaceId, quarantined: UUID) -> QuarantineEntry:
    async with deps.store.transaction() as transaction:
        return await _find_entry(transaction, space, quarantined)


async def load_vote_counts(
    store: Store | Transaction, space: SpaceId, held: Sequence[QuarantineEntry]
) -> dict[UUID, QuarantineVoteCounts]:
    rows = await store.all(Q["votes_of"], space=space, ids=[each.id for each in held])
    counted = {row.pop("id"): QuarantineVoteCounts(**row) for row in rows}
    return {each.id: counted.get(each.id, NOBODY) for each in held}


async def expire_quarantine(deps: WorldDeps, spaces: Sequence[SpaceId]) -> int:
    """Expire what has waited too long; it is kept and can be admitted by hand."""
    now = deps.clock()
    return await deps.store.run(Q["expire_quarantine"], spaces=list(spaces), now=now, before=now - EXPIRES_AFTER)


async def _find_entry(transaction: Transaction, space: SpaceId, quarantined: UUID) -> QuarantineEntry:
    missing = NoSuchCue(f"Nothing in quarantine has the id `{quarantined}`.")
    return QuarantineEntry(**await transaction.one(Q["find_quarantine"], missing, space=space, id=quarantined))


async def _require_undecided_entry(change: WorldChange, quarantined: UUID) -> QuarantineEntry:
    held = await _find_entry(change.transaction, change.space, quarantined)
    if held.status in ("admitted", "rejected"):
        raise AlreadyDecided(f"It is already {held.status}.")
    return held


async def _decide(change: WorldChange, held: QuarantineEntry, status: str) -> QuarantineEntry:
    row = await change.one("decide_quarantine", id=held.id, status=status)
    return QuarantineEntry(**row)


async def _tell(change: WorldChange, name: str, held: QuarantineEntry, votes: QuarantineVoteCounts) -> None:
    await change.tell(
        name,
        f"cue:{held.id}",
        quarantine_id=str(held.id),
        concept=held.concept,
        parent=held.parent,
        dim=held.dim,
        is_isa=held.is_isa,
        origin=held.origin,
        causes=votes.causes,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedSession:
    """A session quarantined as a whole because it contradicted too much established knowledge."""

    session_id: str
    collisions: int
    since: datetime


async def list_quarantined_sessions(deps: WorldDeps, space: SpaceId) -> list[QuarantinedSession]:
    """List held sessions, latest first."""
    return [QuarantinedSession(**row) for row in await deps.store.all(Q["held_sessions"], space=space)]
