"""Does asking pay?

Each decision says what a proposal was worth to the person who was asked. Summed up by who proposed it and in which
category, it moves what is shown first, and it mutes whoever was mostly wrong: new proposals of that kind are held back
for a while. Nothing of it is stored; it is read from what was decided, within a window.

Are the bars too loose, or too tight?

The share of what was sighted lately that was put before a person. Loose bars let jitter through; tight ones let nothing
be learnt; and of few proposals nothing can be said. The reading is pure.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from festinger.clock import iso
from festinger.ids import SpaceId
from festinger.proposals.deps import Desk, Key
from festinger.proposals.gate import bars_for
from festinger.proposals.model import Proposal, State
from festinger.proposals.sightings.model import PERSON
from festinger.proposals.sightings.recount import subject_of
from festinger.settings.proposals import ProposalsSettings
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.proposals")

SHIPPED, REJECTED, NOISE = 1.0, -1.0, -0.5
"""What a decision weighs: in force and not undone; a person's no; asked for nothing."""

DOUBT = 2
"""Decisions that nobody made, in the divisor: few decisions say little."""

SETTLED_AFTER = timedelta(days=14)
"""How long an approval is given before it is asked whether it helped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What became of one proposal, as far as its worth is concerned."""

    key: Key
    state: State
    decided_at: datetime
    is_silenced: bool = True
    """Whether a person's no silences it; what was closed because its target was forgotten is not silenced."""
    of_state: State | None = None
    """The state of what it is a duplicate of."""
    seen_after: int = 0
    bar: int = 2
    """Causes that make a pattern in its scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What the proposals of one producer and category were worth."""

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


def is_still_seen(*, seen_after: int, decided_at: datetime | None, bar: int, now: datetime) -> bool:
    """Whether what was approved keeps being asked for, so that it did not help."""
    return decided_at is not None and now - decided_at >= SETTLED_AFTER and seen_after >= bar


def weight(decision: Decision, now: datetime) -> float | None:
    """What one decision weighs; none if it says nothing."""
    match decision.state:
        case State.APPLIED:
            seen = is_still_seen(
                seen_after=decision.seen_after, decided_at=decision.decided_at, bar=decision.bar, now=now
            )
            return NOISE if seen else SHIPPED
        case State.REJECTED:
            return REJECTED if decision.is_silenced else NOISE
        case State.UNDONE:
            return NOISE
        case State.DUPLICATE:
            return NOISE if decision.of_state is State.REJECTED else None
    return None


def worth(
    key: Key,
    decisions: Iterable[Decision],
    terms: ProposalsSettings,
    *,
    now: datetime,
    lifted_at: datetime | None = None,
) -> Worth:
    """What decisions add up to. What a person lifted is not muted for what was decided before."""
    since = now - timedelta(days=terms.value_window_days)
    counted = [
        (each, found)
        for each in decisions
        if each.decided_at >= since and (found := weight(each, now)) is not None
    ]
    value = sum(found for _, found in counted) / (len(counted) + DOUBT)
    fresh = [(each, found) for each, found in counted if lifted_at is None or each.decided_at > lifted_at]
    return Worth(
        key=key, value=value, decided=len(counted), muted_until=_muted_until(key, fresh, terms, now=now)
    )


def _muted_until(
    key: Key, counted: Sequence[tuple[Decision, float]], terms: ProposalsSettings, *, now: datetime
) -> datetime | None:
    """Until when a producer is muted: a while from the last decision that spoke against it. A person never is."""
    if key[0] == PERSON or len(counted) < terms.value_min_decided:
        return None
    value = sum(found for _, found in counted) / (len(counted) + DOUBT)
    if value > terms.value_mute_at:
        return None
    last = max(each.decided_at for each, found in counted if found < 0)
    until = last + timedelta(days=terms.value_mute_days)
    return until if now <= until else None


async def worths(
    desk: Desk, transaction: Transaction, space: SpaceId, *, key: Key | None = None
) -> dict[Key, Worth]:
    """What asking has paid, for each producer and category that was decided of in the window."""
    terms, now = desk.terms(space), desk.clock()
    only: dict[str, Any] = {"producer": key[0] if key else None, "category": key[1] if key else None}
    since = now - timedelta(days=terms.value_window_days)
    rows = await transaction.all(Q["decisions_since"], space=space, since=since, **only)
    if not rows:
        return {}
    lifts = {
        (row["producer"], row["category"]): row["at"]
        for row in await transaction.all(Q["lifted_producers"], space=space)
    }
    grouped: defaultdict[Key, list[Decision]] = defaultdict(list)
    for row in rows:
        decision = _decision(row, terms)
        grouped[decision.key].append(decision)
    return {
        each: worth(each, decisions, terms, now=now, lifted_at=lifts.get(each))
        for each, decisions in grouped.items()
    }


async def values(desk: Desk, transaction: Transaction, space: SpaceId) -> Mapping[Key, float]:
    """The value of each, as the gate ranks by it."""
    return {key: each.value for key, each in (await worths(desk, transaction, space)).items()}


async def muted_until(desk: Desk, transaction: Transaction, space: SpaceId, key: Key) -> datetime | None:
    """Until when new proposals of a producer and category are kept back."""
    found = (await worths(desk, transaction, space, key=key)).get(key)
    return found.muted_until if found else None


async def tell_if_muted(desk: Desk, transaction: Transaction, *, before: Proposal, after: Proposal) -> None:
    """Tell of a producer whom this decision mutes."""
    if before.state is after.state:
        return
    key, space = (after.producer, after.category), after.space_id
    found = (await worths(desk, transaction, space, key=key)).get(key)
    if found is None or found.muted_until is None or not _is_news(desk, found, space):
        return
    await desk.outbox.emit(
        transaction,
        "producer_muted",
        space=space,
        subject=subject_of(after.id),
        payload={
            "producer": after.producer,
            "category": after.category,
            "value": round(found.value, 4),
            "until": iso(found.muted_until),
        },
    )


def _is_news(desk: Desk, found: Worth, space: SpaceId) -> bool:
    """Whether the muting begins, or lasts longer, by what was decided just now."""
    return found.muted_until == desk.clock() + timedelta(days=desk.terms(space).value_mute_days)


def _decision(row: Mapping[str, Any], terms: ProposalsSettings) -> Decision:
    return Decision(
        key=(row["producer"], row["category"]),
        state=State(row["state"]),
        decided_at=row["decided_at"],
        is_silenced=row["is_silenced"],
        of_state=State(row["of_state"]) if row["of_state"] else None,
        seen_after=row["seen_after"],
        bar=bars_for(terms, row["scope"]).causes,
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
class Rate:
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


def reading(promoted: int, considered: int, settings: ProposalsSettings) -> str:
    """What the rate says."""
    if considered < settings.rate_min_considered:
        return TOO_LITTLE
    share = promoted / considered
    if share > settings.rate_high:
        return LOOSE
    return TIGHT if share < settings.rate_low else HEALTHY


async def rate(desk: Desk, space: SpaceId) -> Rate:
    """The rate of a space over its window."""
    terms = desk.terms(space)
    since = desk.clock() - timedelta(days=terms.rate_window_days)
    row = await desk.store.one(Q["rate"], space=space, since=since)
    return Rate(
        promoted=row["promoted"],
        considered=row["considered"],
        window_days=terms.rate_window_days,
        reading=reading(row["promoted"], row["considered"], terms),
    )
