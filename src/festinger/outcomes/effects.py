"""Computes what an outcome does to a memory, and the strength of a memory at a moment.

`compute_delta` turns an outcome into numbers under the settings in force, which are logged; `apply_delta`
applies them to a state and runs again when the log is replayed, so that a memory can be recomputed, bit for
bit, without an outcome that no longer counts. Order as in the matrix: decay clock, cycles, pressure,
confidence, prediction, discharge, weight. Strength is the sum of decay since last acted on, cycles, and
pressure that grows while left alone; it is computed from the clock, and nothing is written because time
passed. Notes that are edges (`concept [dimension] parent`) go to the world within the same transaction, which
logs them itself.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from festinger.ids import Origin
from festinger.memory.confidence import Belief, apply_passive_signal, apply_signal, reinforce_weight, weaken_weight
from festinger.outcomes.model import OutcomeReport, ReportContext, ReportSource
from festinger.settings.memory_sections import OutcomesSettings
from festinger.text.vocabulary import is_common
from festinger.world.graph import World
from festinger.world.learn import MOVING, apply_outcome_to_edge
from festinger.world.model import NoteOutcome, is_spelling_variant
from festinger.world.recollection import Claim, ShownEdge, find_claims, tokenize_text
from festinger.world.write import lock_and_begin_change

DAY = 86_400.0
PERIODS = {"day": 86_400.0, "week": 604_800.0, "month": 2_592_000.0, "quarter": 7_776_000.0, "year": 31_536_000.0}

SHORTEST_DAYS = 0.01
"""Minimum age: without it the power law would be unbounded at zero."""
HIGHEST_AMPLITUDE = 100.0
FAINTEST_AMPLITUDE = 0.01
"""Below this a cycle is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """How a memory's strength moves with time. `last_touched` is its creation until it is acted on."""

    last_touched: datetime
    decay_rate: float = 0.1
    base_score: float = 1.0
    pressure_rate: float = 0.0
    pressure_declared_at: datetime | None = None
    pressure_resolved_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """A periodic component, in seconds; strongest at its phase."""

    period_s: float
    amplitude: float
    phase_s: float = 0.0
    declared_amplitude: float = 0.0
    declared_at: datetime | None = None


def decay_score(rhythm: Rhythm, *, now: datetime, confidence: float = 0.5, modulation: float = 0.5) -> float:
    """Return the decayed score; a memory with high confidence fades more slowly."""
    days = max(_days(rhythm.last_touched, now), SHORTEST_DAYS)
    rate = rhythm.decay_rate
    fading: float = rhythm.base_score * days**-rate
    slowed = rate * 2.0 ** (2.0 * modulation * (0.5 - confidence))
    return float(fading * max(days, 1.0) ** -(slowed - rate))


def cycle_score(cycles: Sequence[Cycle], now: datetime) -> float:
    """Return what the cycles add at a moment."""
    seconds = now.timestamp()
    return sum(
        cycle.amplitude * math.cos(2.0 * math.pi * (seconds - cycle.phase_s) / cycle.period_s) for cycle in cycles
    )


def pressure_score(rhythm: Rhythm, now: datetime) -> float:
    if rhythm.pressure_resolved_at is None:
        return 0.0
    return rhythm.pressure_rate * max(_days(rhythm.pressure_resolved_at, now), 0.0)


def compute_strength(
    rhythm: Rhythm, cycles: Sequence[Cycle] = (), *, now: datetime, confidence: float = 0.5, modulation: float = 0.5
) -> float:
    """Return the total strength. A stored time in the future counts as now."""
    fading = decay_score(rhythm, now=now, confidence=confidence, modulation=modulation)
    return fading + cycle_score(cycles, now) + pressure_score(rhythm, now)


def scale_cycles(cycles: Sequence[Cycle], factor: float) -> tuple[Cycle, ...]:
    """Scale the cycles within their bounds; one that becomes too faint is over."""
    return tuple(replace(cycle, amplitude=_clamp_amplitude(cycle.amplitude * factor)) for cycle in cycles)


def _clamp_amplitude(amplitude: float) -> float:
    held = min(max(amplitude, 0.0), HIGHEST_AMPLITUDE)
    return 0.0 if held < FAINTEST_AMPLITUDE else held


def _days(since: datetime, now: datetime) -> float:
    return (now - since) / timedelta(seconds=DAY)


DISCHARGE_MARGIN = 1e-9
DISCHARGED_BELOW = 0.2
DISCHARGED_AFTER = 5
"""Contradictions that discharge a memory in the effective mode, with confidence below the bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeState:
    """Everything of one memory that outcomes move, except the times of its reads."""

    belief: Belief = field(default_factory=Belief)
    rhythm: Rhythm
    cycles: tuple[Cycle, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeDelta:
    """What one outcome amounts to, in numbers that no longer depend on settings."""

    outcome: NoteOutcome
    how: ReportSource = ReportSource.EXPLICIT
    w: float = 1.0
    credit: float = 1.0
    signal: float | None = None
    second_signal: float | None = None
    alpha_gain: float = 0.0
    beta_gain: float = 0.0
    cycle_factor: float = 1.0
    prediction_error: float | None = None
    evidence_cap: int = 20
    passive_span: float = 0.10

    @property
    def is_explicit(self) -> bool:
        return not self.how.is_passive


def outcome_weight(how: ReportSource, q: float, terms: OutcomesSettings) -> float:
    if how is ReportSource.SELF:
        return min(q, terms.self_weight)
    return min(q, terms.inferred_weight) if how is ReportSource.INFERRED else 1.0


def compute_delta(
    outcome: NoteOutcome,
    terms: OutcomesSettings,
    *,
    how: ReportSource = ReportSource.EXPLICIT,
    w: float = 1.0,
    credit: float = 1.0,
    predicts: bool = False,
) -> OutcomeDelta:
    """Compute what an outcome amounts to; `predicts` says that its memory has an open prediction."""
    error = _implied_error(outcome, terms) if predicts else None
    is_far_off = error is not None and error > terms.pl_confidence_error_threshold
    return OutcomeDelta(
        outcome=outcome,
        how=how,
        w=w,
        credit=credit,
        signal={
            NoteOutcome.ACTED: terms.acted_confidence_signal,
            NoteOutcome.CONTRADICTED: terms.contradicted_confidence_signal,
        }.get(outcome),
        second_signal=terms.pl_confidence_low_signal if is_far_off and not how.is_passive else None,
        alpha_gain=terms.weight_acted * credit * w if outcome is NoteOutcome.ACTED else 0.0,
        beta_gain=terms.weight_contradicted * w if outcome is NoteOutcome.CONTRADICTED else 0.0,
        cycle_factor=_cycle_factor(outcome, terms) ** w,
        prediction_error=error,
        evidence_cap=terms.confidence_evidence_cap,
        passive_span=terms.passive_span,
    )


def _cycle_factor(outcome: NoteOutcome, terms: OutcomesSettings) -> float:
    factors = {
        NoteOutcome.ACTED: terms.acted_cycle_strengthen_factor,
        NoteOutcome.DISMISSED: terms.dismissed_cycle_weaken_factor,
        NoteOutcome.CONTRADICTED: terms.contradicted_cycle_weaken_factor,
    }
    return factors.get(outcome, 1.0)


def _implied_error(outcome: NoteOutcome, terms: OutcomesSettings) -> float | None:
    errors = {
        NoteOutcome.ACTED: terms.pl_auto_resolve_acted,
        NoteOutcome.USED: terms.pl_auto_resolve_used,
        NoteOutcome.DISMISSED: terms.pl_auto_resolve_dismissed,
        NoteOutcome.CONTRADICTED: terms.pl_auto_resolve_contradicted,
    }
    return errors.get(outcome)


def apply_delta(state: OutcomeState, what: OutcomeDelta, *, at: datetime, terms: OutcomesSettings) -> OutcomeState:
    """Return the state after an outcome. An immutable belief is never moved."""
    if state.belief.immutable:
        return state
    rhythm = state.rhythm
    if what.outcome is NoteOutcome.ACTED:
        rhythm = reset_pressure(replace(rhythm, last_touched=at), at)
    # Scaling by one would still cut off cycles that became too faint by another rule.
    cycles = scale_cycles(state.cycles, what.cycle_factor) if what.cycle_factor != 1.0 else state.cycles
    belief = update_belief(state.belief, what)
    if what.outcome is NoteOutcome.CONTRADICTED and is_pressure_discharged(belief, terms):
        rhythm = reset_pressure(rhythm, at)
    return OutcomeState(belief=belief, rhythm=rhythm, cycles=cycles)


def update_belief(belief: Belief, what: OutcomeDelta) -> Belief:
    """Update confidence and weight, and their ceilings."""
    if what.is_explicit and what.outcome is NoteOutcome.ACTED:
        belief = replace(belief, confidence_ceiling=None, weight_ceiling=None)
    belief = _apply_signal(belief, what)
    if what.second_signal is not None:
        belief = apply_signal(belief, what.second_signal, most=what.evidence_cap)
    weight = belief.weight
    if what.alpha_gain:
        weight = reinforce_weight(weight, what.alpha_gain, immutable=belief.immutable, ceiling=belief.weight_ceiling)
    if what.beta_gain:
        weight = weaken_weight(weight, what.beta_gain, immutable=belief.immutable)
    belief = replace(belief, weight=weight)
    if what.is_explicit and what.outcome is NoteOutcome.CONTRADICTED:
        belief = replace(belief, confidence_ceiling=belief.confidence, weight_ceiling=weight.center)
    return belief


def _apply_signal(belief: Belief, what: OutcomeDelta) -> Belief:
    if what.signal is None:
        return belief
    if what.is_explicit:
        return apply_signal(belief, what.signal, most=what.evidence_cap)
    return apply_passive_signal(
        belief, what.signal, strength=what.w * what.credit, span=what.passive_span, most=what.evidence_cap
    )


def is_pressure_discharged(belief: Belief, terms: OutcomesSettings) -> bool:
    """Whether a contradicted memory has no urgency left.

    Signals as high as the threshold never push confidence below it, so the effective mode counts
    contradictions.
    """
    if belief.confidence < terms.auto_discharge_confidence_threshold - DISCHARGE_MARGIN:
        return True
    is_effective = terms.discharge == "effective"
    return is_effective and belief.confidence < DISCHARGED_BELOW and belief.contradictions >= DISCHARGED_AFTER


def reset_pressure(rhythm: Rhythm, at: datetime) -> Rhythm:
    """Reset the pressure of a rhythm; one without pressure is unchanged."""
    return replace(rhythm, pressure_resolved_at=at) if rhythm.pressure_rate > 0 else rhythm


COMMON_ZIPF = 4.0
"""Zipf frequency from which a word is no name that could be claimed about."""

_EDGE = re.compile(r"(?P<concept>[^\[\]]+) \[(?P<dimension>[^\[\]]+)\] (?P<parent>[^\[\]]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeNote(ShownEdge):
    """An edge as a report names it, in whatever state."""

    version: int = 0

    @property
    def sentence(self) -> str:
        return f"{self.concept.replace('_', ' ')} is {self.parent.replace('_', ' ')}"

    def is_denied_by(self, claims: Iterable[Claim]) -> bool:
        """Whether a claim puts another parent in its place, or retracts this one."""
        return any(
            claim.is_retraction == (claim.parent == self.parent or is_spelling_variant(claim.parent, self.parent))
            for claim in claims
            if (claim.concept, claim.dimension) == (self.concept, self.dimension)
        )


def parse_edge_id(id_: str) -> EdgeNote | None:
    """Parse the edge that an id names; None if it names none."""
    found = _EDGE.fullmatch(id_)
    return EdgeNote(concept=found[1], dimension=found[2], parent=found[3]) if found else None


def extract_claims(text: str) -> Sequence[Claim]:
    """Return what a text claims about names, whatever the world knows of them."""
    nowhere = World()
    found = tokenize_text(text, Origin.MODEL, nowhere)
    return find_claims(found, nowhere, is_common=lambda word: is_common(word, COMMON_ZIPF))


def affected_edges(report: OutcomeReport, edges: Mapping[str, EdgeNote]) -> dict[str, EdgeNote]:
    return {id_: edge for id_, edge in edges.items() if report.outcome_of(id_) in MOVING}


async def apply_edge_outcomes(
    context: ReportContext, edges: Mapping[str, EdgeNote], *, credit: Mapping[str, float]
) -> list[str]:
    """Apply outcomes of edges to the world; return the moved ids. `credit` holds the share of each."""
    report, how, cause = context.report, context.reporter.how, context.cause
    affected = affected_edges(report, edges)
    if not affected:
        return []
    change = await lock_and_begin_change(
        context.deps.world, context.transaction, context.space, by="outcome", cause=cause
    )
    moved = []
    for id_ in sorted(affected):
        found = await apply_outcome_to_edge(
            change,
            affected[id_],
            report.outcome_of(id_),
            cause=cause,
            weight=outcome_weight(how, report.q.get(id_, 1.0), context.terms) * credit.get(id_, 1.0),
            is_explicit=not how.is_passive,
        )
        if found is not None:
            moved.append(id_)
    await change.finish()
    return moved


class PredictionResolution(StrEnum):
    EXPLICIT = "explicit"
    """Somebody reported the actual result."""
    OBSERVED = "observed"
    """An outcome of its memory stood in for the actual result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    predicted: Mapping[str, Any]
    recorded_at: datetime
    actual: Mapping[str, Any] | None = None
    resolved: bool = False
    resolution_mode: PredictionResolution | None = None
    prediction_error: float | None = None
    resolved_at: datetime | None = None


def prediction_error(predicted: Mapping[str, Any], actual: Mapping[str, Any]) -> float:
    """Return the mean error over every key of either side: 0 as expected, 1 entirely wrong."""
    keys = sorted({*predicted, *actual})
    if not keys:
        return 0.0
    return sum(_key_error(key, predicted, actual) for key in keys) / len(keys)


def _key_error(key: str, predicted: Mapping[str, Any], actual: Mapping[str, Any]) -> float:
    if key not in predicted or key not in actual:
        return 1.0
    expected, came = predicted[key], actual[key]
    # Booleans are the numbers 1 and 0, so that a probability can be predicted of what comes out as yes or no.
    if isinstance(expected, int | float) and isinstance(came, int | float):
        return float(abs(expected - came) / max(abs(expected), abs(came), 1))
    return 0.0 if expected == came else 1.0
