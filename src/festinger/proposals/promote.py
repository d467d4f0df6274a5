"""Which proposals are put before a person now?

One run: what waits is read, the gate says of each whether it is ripe, and the best of those are promoted, as many as a
run and the inbox allow; the others are counted by what they lack. A full inbox pauses promotion, and says so. Nothing
outside of this room changes: what a proposal asks for happens when a person says yes, and not before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog

from festinger.ids import SpaceId
from festinger.observability.metrics import PROPOSALS_PROMOTED
from festinger.proposals.desk import Desk, Key
from festinger.proposals.family import family_of
from festinger.proposals.gate import Seen
from festinger.proposals.inbox import Fullness, quiet_since
from festinger.proposals.keeping import limits_for, recount, subject_of, votes_since
from festinger.proposals.proposal import Held, Proposal, ProposalId, proposal_of
from festinger.proposals.runs import MOST_READINGS, Promoted, keep_run, run_of
from festinger.proposals.selection import Candidate, Fate, Read, select
from festinger.proposals.sight import COMPARE
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.proposals")

log = structlog.get_logger(room="proposals")


async def promote(desk: Desk, space: SpaceId, *, dry_run: bool = False) -> Promoted:
    """One run of the gate. A dry run finds the same and changes nothing."""
    async with desk.store.transaction(patient=True) as transaction:
        await transaction.run(Q["lock_gate"], space=space)
        now = desk.clock()
        inbox = await fullness(desk, transaction, space, now=now)
        reads = await _selected(desk, transaction, space, inbox=inbox, now=now)
        if not dry_run:
            await _carry_out(desk, transaction, space, reads, now=now)
        texts = await _texts(transaction, space, reads)
        run = run_of(
            reads,
            desk.terms(space),
            id_=desk.new_id(),
            at=now,
            inbox=inbox,
            dry_run=dry_run,
            texts=texts,
        )
        await keep_run(desk, transaction, space, run)
        if not dry_run and desk.terms(space).suggest_merges:
            await desk.ask(transaction, COMPARE, space=space)
    if run.paused_because or run.warning:
        log.warning("inbox", space=space, why=run.paused_because or run.warning)
    return run


async def fullness(desk: Desk, transaction: Transaction, space: SpaceId, *, now: datetime) -> Fullness:
    """How full the inbox is."""
    terms = desk.terms(space)
    waiting = await transaction.value(
        Q["count_open"], space=space, now=now, quiet_since=quiet_since(now, terms.quiet_days)
    )
    return Fullness(open=waiting, limit=terms.inbox_limit)


async def _selected(
    desk: Desk, transaction: Transaction, space: SpaceId, *, inbox: Fullness, now: datetime
) -> list[Read]:
    """What becomes of each; votes of those that would be promoted are counted by the bars of today."""
    rows = await transaction.all(Q["waiting_proposals"], space=space)
    candidates = {row["id"]: _candidate(row) for row in rows}
    values: Mapping[Key, float] = await desk.values(transaction, space)
    counted: set[ProposalId] = set()
    while True:
        reads = select(candidates.values(), desk.terms(space), values=values, inbox=inbox, now=now)
        unsure = [
            each.candidate
            for each in reads
            if each.fate is Fate.PROMOTED and each.candidate.id not in counted
        ]
        if not unsure:
            return reads
        for each in unsure:
            candidates[each.id] = await _counted_anew(desk, transaction, space, each)
            counted.add(each.id)


async def _counted_anew(
    desk: Desk, transaction: Transaction, space: SpaceId, candidate: Candidate
) -> Candidate:
    row = await transaction.one(Q["hold_proposal"], space=space, id=candidate.id)
    found = await votes_since(
        transaction,
        space,
        await family_of(transaction, space, candidate.id),
        since=row["counted_since"],
        limits=limits_for(desk.terms(space), candidate.scope),
    )
    seen = replace(candidate.seen, causes=found.seen_count, days=found.days_seen, first_seen=found.first_seen)
    return replace(candidate, seen=seen)


async def _carry_out(
    desk: Desk, transaction: Transaction, space: SpaceId, reads: Sequence[Read], *, now: datetime
) -> None:
    with_age = [each.candidate.id for each in reads if each.fate in (Fate.TOO_NEW, Fate.OVER_CAP)]
    await transaction.run(Q["note_ages"], space=space, ids=with_age, at=now)
    for each in reads:
        if each.fate is Fate.PROMOTED:
            row = await transaction.one(Q["promote_proposal"], space=space, id=each.candidate.id, at=now)
            counted = await recount(desk, transaction, space, proposal_of(row))
            await tell_promoted(desk, transaction, counted, age_days=each.age_days)
            PROPOSALS_PROMOTED.inc()


async def tell_promoted(desk: Desk, transaction: Transaction, proposal: Proposal, *, age_days: int) -> None:
    await desk.outbox.emit(
        transaction,
        "proposal_promoted",
        space=proposal.space_id,
        subject=subject_of(proposal.id),
        payload={
            "proposal": str(proposal.id),
            "fingerprint": proposal.fingerprint,
            "seen_count": proposal.seen_count,
            "age_days": age_days,
            "priority": proposal.priority,
        },
    )


async def _texts(transaction: Transaction, space: SpaceId, reads: Sequence[Read]) -> dict[UUID, str]:
    ids = [each.candidate.id for each in reads[:MOST_READINGS]]
    rows = await transaction.all(Q["named_proposals"], space=space, ids=ids)
    return {row["id"]: row["what"] for row in rows}


def _candidate(row: Mapping[str, Any]) -> Candidate:
    return Candidate(
        id=row["id"],
        category=row["category"],
        scope=row["scope"],
        producer=row["producer"],
        held=Held(row["held"]) if row["held"] else None,
        held_until=row["suppressed_until"],
        seen=Seen(
            causes=row["seen_count"],
            days=row["days_seen"],
            first_seen=row["first_seen"],
            evaluated_at=row["evaluated_at"],
        ),
    )
