"""Runs the gate over waiting proposals and promotes the best ripe ones to the inbox.

As many are promoted as the run and the inbox allow; a full inbox pauses promotion. Every run stores its
counts, the thresholds in force and what the first proposals lacked; a dry run stores that too and changes
nothing else. Promotion never applies a proposal: that takes a person's approval.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog

from festinger.ids import SpaceId
from festinger.observability.metrics import PROPOSALS_PROMOTED
from festinger.proposals.deps import Key, ProposalDeps
from festinger.proposals.gate import (
    GateDecision,
    GateInput,
    GateResult,
    InboxCapacity,
    PromotionCandidate,
    evaluate_candidates,
    quiet_cutoff,
)
from festinger.proposals.model import HoldReason, Proposal, ProposalId, load_ids_with_duplicates, proposal_of
from festinger.proposals.sightings.intake import COMPARE
from festinger.proposals.sightings.recount import count_votes_since, emit_proposal_event, recount, vote_limits_for
from festinger.records import record_json, row_mapper
from festinger.settings.proposals import ProposalsSettings
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.proposals")

MOST_READINGS = 200
"""Readings stored and shown with a run; the counts cover all."""

COUNTS = {fate: fate.value.replace(" ", "_") for fate in GateDecision}
"""The field of a report that counts each decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionReport:
    """One run: the number of proposals per decision, and the readings of the first ones."""

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
        return record_json(self, id="run")

    @property
    def counts(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in ("considered", *COUNTS.values())}


def build_promotion_report(
    reads: Sequence[GateResult],
    settings: ProposalsSettings,
    *,
    id_: UUID,
    at: datetime,
    inbox: InboxCapacity,
    dry_run: bool,
    texts: Mapping[UUID, str],
) -> PromotionReport:
    return PromotionReport(
        id=id_,
        at=at,
        dry_run=dry_run,
        considered=len(reads),
        **{name: sum(each.fate is fate for each in reads) for fate, name in COUNTS.items()},
        paused_because=inbox.paused_because,
        warning=inbox.warning,
        bars={
            "min_seen_count": settings.min_seen_count,
            "min_age_days": settings.min_age_days,
            "min_days_seen": settings.min_days_seen,
        },
        readings=tuple(_result_to_json(each, texts) for each in reads[:MOST_READINGS]),
    )


async def save_promotion_run(
    deps: ProposalDeps, transaction: Transaction, space: SpaceId, run: PromotionReport
) -> None:
    """Save a run; emit an event unless it was a dry run."""
    await transaction.run(
        Q["write_run"],
        space=space,
        id=run.id,
        at=run.at,
        dry_run=run.dry_run,
        **run.counts,
        paused_because=run.paused_because,
        bars=json.dumps(dict(run.bars)),
        # The text stays only where it can be forgotten.
        readings=json.dumps([{**each, "what": ""} for each in run.readings]),
    )
    if not run.dry_run:
        counts = {name: run.counts[name] for name in ("considered", "promoted", "too_few", "too_new")}
        await deps.outbox.emit(
            transaction,
            "promotion_run_finished",
            space=space,
            subject="promotion",
            payload={"run": str(run.id), **counts, "paused_because": run.paused_because},
        )


def _result_to_json(each: GateResult, texts: Mapping[UUID, str]) -> dict[str, Any]:
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


async def promote(deps: ProposalDeps, space: SpaceId, *, dry_run: bool = False) -> PromotionReport:
    """Run the gate once. A dry run decides the same and changes nothing."""
    async with deps.store.transaction(patient=True) as transaction:
        await transaction.run(Q["lock_gate"], space=space)
        now = deps.clock()
        inbox = await load_inbox_capacity(deps, transaction, space, now=now)
        reads = await _evaluate_waiting(deps, transaction, space, inbox=inbox, now=now)
        if not dry_run:
            await _promote_selected(deps, transaction, space, reads, now=now)
        shown = [each.candidate.id for each in reads[:MOST_READINGS]]
        rows = await transaction.all(Q["named_proposals"], space=space, ids=shown)
        texts = {row["id"]: row["what"] for row in rows}
        run = build_promotion_report(
            reads, deps.terms(space), id_=deps.new_id(), at=now, inbox=inbox, dry_run=dry_run, texts=texts
        )
        await save_promotion_run(deps, transaction, space, run)
        if not dry_run and deps.terms(space).suggest_merges:
            await deps.ask(transaction, COMPARE, space=space)
    if run.paused_because or run.warning:
        log.warning("inbox", space=space, why=run.paused_because or run.warning)
    return run


async def load_inbox_capacity(
    deps: ProposalDeps, transaction: Transaction, space: SpaceId, *, now: datetime
) -> InboxCapacity:
    """Return how full the inbox is."""
    terms = deps.terms(space)
    waiting = await transaction.value(
        Q["count_open"], space=space, now=now, quiet_since=quiet_cutoff(now, terms.quiet_days)
    )
    return InboxCapacity(open=waiting, limit=terms.inbox_limit)


async def _evaluate_waiting(
    deps: ProposalDeps, transaction: Transaction, space: SpaceId, *, inbox: InboxCapacity, now: datetime
) -> list[GateResult]:
    """Evaluate each candidate; those to be promoted are recounted under the present limits."""
    rows = await transaction.all(Q["waiting_proposals"], space=space)
    candidates = {row["id"]: _candidate(row) for row in rows}
    values: Mapping[Key, float] = await deps.values(transaction, space)
    counted: set[ProposalId] = set()
    while True:
        reads = evaluate_candidates(candidates.values(), deps.terms(space), values=values, inbox=inbox, now=now)
        unsure = [
            each.candidate for each in reads if each.fate is GateDecision.PROMOTED and each.candidate.id not in counted
        ]
        if not unsure:
            return reads
        for each in unsure:
            candidates[each.id] = await _recount_candidate(deps, transaction, space, each)
            counted.add(each.id)


async def _recount_candidate(
    deps: ProposalDeps, transaction: Transaction, space: SpaceId, candidate: PromotionCandidate
) -> PromotionCandidate:
    row = await transaction.one(Q["hold_proposal"], space=space, id=candidate.id)
    found = await count_votes_since(
        transaction,
        space,
        await load_ids_with_duplicates(transaction, space, candidate.id),
        since=row["counted_since"],
        limits=vote_limits_for(deps.terms(space)),
    )
    seen = replace(candidate.seen, causes=found.seen_count, days=found.days_seen, first_seen=found.first_seen)
    return replace(candidate, seen=seen)


async def _promote_selected(
    deps: ProposalDeps, transaction: Transaction, space: SpaceId, reads: Sequence[GateResult], *, now: datetime
) -> None:
    with_age = [each.candidate.id for each in reads if each.fate in (GateDecision.TOO_NEW, GateDecision.OVER_CAP)]
    await transaction.run(Q["note_ages"], space=space, ids=with_age, at=now)
    for each in reads:
        if each.fate is GateDecision.PROMOTED:
            row = await transaction.one(Q["promote_proposal"], space=space, id=each.candidate.id, at=now)
            counted = await recount(deps, transaction, space, proposal_of(row))
            await emit_promoted(deps, transaction, counted, age_days=each.age_days)
            PROPOSALS_PROMOTED.inc()


async def emit_promoted(deps: ProposalDeps, transaction: Transaction, proposal: Proposal, *, age_days: int) -> None:
    await emit_proposal_event(
        deps,
        transaction,
        "proposal_promoted",
        proposal,
        fingerprint=proposal.fingerprint,
        seen_count=proposal.seen_count,
        age_days=age_days,
        priority=proposal.priority,
    )


gate_input_of = row_mapper(GateInput, causes="seen_count", days="days_seen")


def _candidate(row: Mapping[str, Any]) -> PromotionCandidate:
    return PromotionCandidate(
        id=row["id"],
        category=row["category"],
        scope=row["scope"],
        producer=row["producer"],
        held=HoldReason(row["held"]) if row["held"] else None,
        held_until=row["suppressed_until"],
        seen=gate_input_of(row),
    )
