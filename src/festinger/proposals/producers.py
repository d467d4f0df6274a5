"""Computes the value of each producer's proposals and the promotion rate of a space.

Every decision says what a proposal was worth to the person asked. Summed by producer and category, this
affects the ranking and mutes producers that were mostly wrong: their new proposals are held for a while.
Values are not stored but computed from decisions within a window. The promotion rate tells whether thresholds
are loose (jitter gets through) or tight (nothing is learned); few proposals say nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from festinger.clock import iso
from festinger.ids import SpaceId
from festinger.proposals.deps import Key, ProposalDeps
from festinger.proposals.model import Proposal, ProposalState
from festinger.proposals.sightings.recount import PERSON, event_subject
from festinger.settings.proposals import ProposalsSettings
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.proposals")

SHIPPED, REJECTED, NOISE = 1.0, -1.0, -0.5
"""Weight of a decision: in force and not undone; rejected by a person; asked for nothing."""

DOUBT = 2
"""Neutral decisions added to the divisor: few decisions say little."""

SETTLED_AFTER = timedelta(days=14)
"""Time after an approval before checking whether it helped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalOutcome:
    """What became of one proposal, as far as its value is concerned."""

    key: Key
    state: ProposalState
    decided_at: datetime
    is_silenced: bool = True
    """Whether a rejection suppresses it; not so if it was closed because its target was forgotten."""
    of_state: ProposalState | None = None
    """The state of the proposal that it duplicates."""
    seen_after: int = 0
    bar: int = 2
    """Causes that make a pattern in its scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerValue:
    """The value of the proposals of one producer and category."""

    key: Key
    value: float
    decided: int
    muted_until: datetime | None = None

    def as_json(self) -> dict[str, Any]:
        producer, category = self.key
        until = iso(self.muted_until) if self.muted_until else None
        return {
            "producer": producer,
            "category": category,
            "value": round(self.value, 3),
            "decided": self.decided,
            "muted_until": until,
        }


def is_still_recurring(*, seen_after: int, decided_at: datetime | None, bar: int, now: datetime) -> bool:
    """Whether an approved change keeps being requested, so that it did not help."""
    return decided_at is not None and now - decided_at >= SETTLED_AFTER and seen_after >= bar


def decision_weight(decision: ProposalOutcome, now: datetime) -> float | None:
    """Return the weight of a decision; None if it says nothing."""
    match decision.state:
        case ProposalState.APPLIED:
            seen = is_still_recurring(
                seen_after=decision.seen_after, decided_at=decision.decided_at, bar=decision.bar, now=now
            )
            return NOISE if seen else SHIPPED
        case ProposalState.REJECTED:
            return REJECTED if decision.is_silenced else NOISE
        case ProposalState.UNDONE:
            return NOISE
        case ProposalState.DUPLICATE:
            return NOISE if decision.of_state is ProposalState.REJECTED else None
    return None


def compute_producer_value(
    key: Key,
    decisions: Iterable[ProposalOutcome],
    terms: ProposalsSettings,
    *,
    now: datetime,
    lifted_at: datetime | None = None,
) -> ProducerValue:
    """Sum up decisions. Those before a person unmuted the producer do not mute it again."""
    since = now - timedelta(days=terms.value_window_days)
    counted = [
        (each, found)
        for each in decisions
        if each.decided_at >= since and (found := decision_weight(each, now)) is not None
    ]
    value = sum(found for _, found in counted) / (len(counted) + DOUBT)
    fresh = [(each, found) for each, found in counted if lifted_at is None or each.decided_at > lifted_at]
    return ProducerValue(
        key=key, value=value, decided=len(counted), muted_until=_compute_muted_until(key, fresh, terms, now=now)
    )


def _compute_muted_until(
    key: Key, counted: Sequence[tuple[ProposalOutcome, float]], terms: ProposalsSettings, *, now: datetime
) -> datetime | None:
    """Return the end of a mute, counted from the last negative decision. A person is never muted."""
    if key[0] == PERSON or len(counted) < terms.value_min_decided:
        return None
    value = sum(found for _, found in counted) / (len(counted) + DOUBT)
    if value > terms.value_mute_at:
        return None
    last = max(each.decided_at for each, found in counted if found < 0)
    until = last + timedelta(days=terms.value_mute_days)
    return until if now <= until else None


async def load_producer_values(
    deps: ProposalDeps, transaction: Transaction, space: SpaceId, *, key: Key | None = None
) -> dict[Key, ProducerValue]:
    """Compute the value of each producer and category with decisions in the window."""
    terms, now = deps.terms(space), deps.clock()
    only: dict[str, Any] = {"producer": key[0] if key else None, "category": key[1] if key else None}
    since = now - timedelta(days=terms.value_window_days)
    rows = await transaction.all(Q["decisions_since"], space=space, since=since, **only)
    if not rows:
        return {}
    lifts = {
        (row["producer"], row["category"]): row["at"]
        for row in await transaction.all(Q["lifted_producers"], space=space)
    }
    grouped: defaultdict[Key, list[ProposalOutcome]] = defaultdict(list)
    for row in rows:
        decision = _outcome_from_row(row, terms)
        grouped[decision.key].append(decision)
    return {
        each: compute_producer_value(each, decisions, terms, now=now, lifted_at=lifts.get(each))
        for each, decisions in grouped.items()
    }


async def load_producer_scores(deps: ProposalDeps, transaction: Transaction, space: SpaceId) -> Mapping[Key, float]:
    """Return the values by which the gate ranks."""
    return {key: each.value for key, each in (await load_producer_values(deps, transaction, space)).items()}


async def load_muted_until(deps: ProposalDeps, transaction: Transaction, space: SpaceId, key: Key) -> datetime | None:
    """Return until when new proposals of a producer and category are held."""
    found = (await load_producer_values(deps, transaction, space, key=key)).get(key)
    return found.muted_until if found else None


async def emit_if_producer_muted(
    deps: ProposalDeps, transaction: Transaction, *, before: Proposal, after: Proposal
) -> None:
    """Emit an event if this decision mutes the producer."""
    if before.state is after.state:
        return
    key, space = (after.producer, after.category), after.space_id
    found = (await load_producer_values(deps, transaction, space, key=key)).get(key)
    if found is None or found.muted_until is None or not _is_new_mute(deps, found, space):
        return
    await deps.outbox.emit(
        transaction,
        "producer_muted",
        space=space,
        subject=event_subject(after.id),
        payload={
            "producer": after.producer,
            "category": after.category,
            "value": round(found.value, 4),
            "until": iso(found.muted_until),
        },
    )


def _is_new_mute(deps: ProposalDeps, found: ProducerValue, space: SpaceId) -> bool:
    """Whether the decision just made started or extended the mute."""
    return found.muted_until == deps.clock() + timedelta(days=deps.terms(space).value_mute_days)


def _outcome_from_row(row: Mapping[str, Any], terms: ProposalsSettings) -> ProposalOutcome:
    return ProposalOutcome(
        key=(row["producer"], row["category"]),
        state=ProposalState(row["state"]),
        decided_at=row["decided_at"],
        is_silenced=row["is_silenced"],
        of_state=ProposalState(row["of_state"]) if row["of_state"] else None,
        seen_after=row["seen_after"],
        bar=terms.min_seen_count,
    )


TOO_LITTLE = "too little to say"
LOOSE = "loose: thresholds let jitter through"
TIGHT = "tight: nothing is learned"
HEALTHY = "healthy"

KNOBS = {
    LOOSE: "raise `proposals.min_seen_count` or `proposals.min_age_days`",
    TIGHT: "lower `proposals.min_seen_count` or `proposals.min_age_days`",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePassRate:
    promoted: int
    considered: int
    window_days: int
    reading: str

    @property
    def rate(self) -> float | None:
        return self.promoted / self.considered if self.considered else None

    def as_json(self) -> dict[str, Any]:
        return {
            "rate": None if self.rate is None else round(self.rate, 4),
            "promoted": self.promoted,
            "considered": self.considered,
            "window_days": self.window_days,
            "reading": self.reading,
            "knob": KNOBS.get(self.reading, ""),
        }


def interpret_rate(promoted: int, considered: int, settings: ProposalsSettings) -> str:
    if considered < settings.rate_min_considered:
        return TOO_LITTLE
    share = promoted / considered
    if share > settings.rate_high:
        return LOOSE
    return TIGHT if share < settings.rate_low else HEALTHY


async def load_promotion_rate(deps: ProposalDeps, space: SpaceId) -> GatePassRate:
    terms = deps.terms(space)
    since = deps.clock() - timedelta(days=terms.rate_window_days)
    row = await deps.store.one(Q["rate"], space=space, since=since)
    return GatePassRate(
        promoted=row["promoted"],
        considered=row["considered"],
        window_days=terms.rate_window_days,
        reading=interpret_rate(row["promoted"], row["considered"], terms),
    )
