"""Which proposals are put before a person now?

One run: what waits is read, the gate says of each whether it is ripe, and the best of those are promoted, as many as a
run and the inbox allow; the others are counted by what they lack. A full inbox pauses promotion, and says so. Nothing
outside of this room changes: what a proposal asks for happens when a person says yes, and not before.

What did a run of the gate find, and how is that kept?

Every run leaves a row with its numbers, the bars that were in force, and what was missing to the first proposals; a
trial leaves one too, and changes nothing else.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog

from festinger.clock import iso
from festinger.ids import SpaceId
from festinger.observability.metrics import PROPOSALS_PROMOTED
from festinger.proposals.deps import Desk, Key
from festinger.proposals.gate import Candidate, Fate, Fullness, Read, Seen, quiet_since, select
from festinger.proposals.model import Held, Proposal, ProposalId, family_of, proposal_of
from festinger.proposals.sightings.intake import COMPARE
from festinger.proposals.sightings.recount import limits_for, recount, subject_of, votes_since
from festinger.settings.proposals import ProposalsSettings
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.proposals")

MOST_READINGS = 200
"""Readings that are kept with a run and shown; the numbers count all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """One run: how many proposals there were of each fate, and what the gate read of the first of them."""

    id: UUID
    at: datetime
    dry_run: bool
    considered: int
    promoted: int
    too_few: int
    too_new: int
    held: int
    over_cap: int
    excluded: int
    paused_because: str | None
    warning: str | None
    bars: Mapping[str, Any] = field(hash=False)
    readings: tuple[Mapping[str, Any], ...] = field(hash=False)

    def as_json(self) -> dict[str, Any]:
        return {
            "run": str(self.id),
            "at": iso(self.at),
            "dry_run": self.dry_run,
            **self.counts,
            "paused_because": self.paused_because,
            "warning": self.warning,
            "bars": dict(self.bars),
            "readings": [dict(each) for each in self.readings],
        }

    @property
    def counts(self) -> dict[str, int]:
        return {
            "considered": self.considered,
            "promoted": self.promoted,
            "too_few": self.too_few,
            "too_new": self.too_new,
            "held": self.held,
            "over_cap": self.over_cap,
            "excluded": self.excluded,
        }


def run_of(
    reads: Sequence[Read],
    settings: ProposalsSettings,
    *,
    id_: UUID,
    at: datetime,
    inbox: Fullness,
    dry_run: bool,
    texts: Mapping[UUID, str],
) -> Promoted:
    """The run that found this."""
    number = {fate: sum(each.fate is fate for each in reads) for fate in Fate}
    return Promoted(
        id=id_,
        at=at,
        dry_run=dry_run,
        considered=len(reads),
        promoted=number[Fate.PROMOTED],
        too_few=number[Fate.TOO_FEW],
        too_new=number[Fate.TOO_NEW],
        held=number[Fate.HELD],
        over_cap=number[Fate.OVER_CAP],
        excluded=number[Fate.EXCLUDED],
        paused_because=inbox.paused_because,
        warning=inbox.warning,
        bars=_bars(settings),
        readings=tuple(_reading(each, texts) for each in reads[:MOST_READINGS]),
    )


async def keep_run(desk: Desk, transaction: Transaction, space: SpaceId, run: Promoted) -> None:
    """Write a run down; one that was no trial is told of."""
    await transaction.run(
        Q["write_run"],
        space=space,
        id=run.id,
        at=run.at,
        dry_run=run.dry_run,
        **run.counts,
        paused_because=run.paused_because,
        bars=json.dumps(dict(run.bars)),
        # The words stay where they can be forgotten.
        readings=json.dumps([{**each, "what": ""} for each in run.readings]),
    )
    if not run.dry_run:
        told = {name: run.counts[name] for name in ("considered", "promoted", "too_few", "too_new")}
        await desk.outbox.emit(
            transaction,
            "promotion_run_finished",
            space=space,
            subject="promotion",
            payload={"run": str(run.id), **told, "paused_because": run.paused_because},
        )


def _bars(settings: ProposalsSettings) -> dict[str, Any]:
    return {
        "min_seen_count": settings.min_seen_count,
        "min_age_days": settings.min_age_days,
        "min_days_seen": settings.min_days_seen,
        "scopes": list(settings.scopes),
    }


def _reading(each: Read, texts: Mapping[UUID, str]) -> dict[str, Any]:
    return {
        "proposal": str(each.candidate.id),
        "what": texts.get(each.candidate.id, ""),
        "fate": each.fate.value,
        "missing": each.missing,
        "seen_count": each.candidate.seen.causes,
        "age_days": each.age_days,
        "rank": each.rank,
    }


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
