"""What does an outcome do to a memory?

Two decisions. `move` says what an outcome amounts to under the settings in force; `moved` carries it out on a state.
They are apart because the first is written into the log and the second is done again whenever the log is replayed:
so a memory can be computed anew, bit for bit, without an outcome that should not have been. Order as in the
matrix: decay clock, cycles, pressure, confidence, prediction, discharge, weight. Reads, surfacings and rows are
left to the deeds.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime

from festinger.memory.confidence import Belief, signalled, signalled_passively
from festinger.memory.weight import reinforced, weakened
from festinger.outcomes.outcome import How
from festinger.outcomes.rhythm import Cycle, Rhythm, scaled
from festinger.settings.outcomes import OutcomesSettings
from festinger.world.corroboration import Outcome

DISCHARGE_MARGIN = 1e-9
DISCHARGED_BELOW = 0.2
DISCHARGED_AFTER = 5
"""Contradictions that end the urgency of a memory in the effective mode, with a confidence below the bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Everything of one memory that outcomes move, but for the times at which it was read."""

    belief: Belief = field(default_factory=Belief)
    rhythm: Rhythm
    cycles: tuple[Cycle, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What one outcome amounts to, in numbers that do not depend on settings any more."""

    outcome: Outcome
    how: How = How.EXPLICIT
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


def weight_of(how: How, q: float, terms: OutcomesSettings) -> float:
    """What an outcome weighs, by how it became known."""
    if how is How.SELF:
        return min(q, terms.self_weight)
    return min(q, terms.inferred_weight) if how is How.INFERRED else 1.0


def move(
    outcome: Outcome,
    terms: OutcomesSettings,
    *,
    how: How = How.EXPLICIT,
    w: float = 1.0,
    credit: float = 1.0,
    predicts: bool = False,
) -> Move:
    """What an outcome amounts to; `predicts` says that a prediction of its memory is open."""
    error = _error(outcome, terms) if predicts else None
    is_far_off = error is not None and error > terms.pl_confidence_error_threshold
    return Move(
        outcome=outcome,
        how=how,
        w=w,
        credit=credit,
        signal=_signal(outcome, terms),
        second_signal=terms.pl_confidence_low_signal if is_far_off and not how.is_passive else None,
        alpha_gain=terms.weight_acted * credit * w if outcome is Outcome.ACTED else 0.0,
        beta_gain=terms.weight_contradicted * w if outcome is Outcome.CONTRADICTED else 0.0,
        cycle_factor=_cycle_factor(outcome, terms) ** w,
        prediction_error=error,
        evidence_cap=terms.confidence_evidence_cap,
        passive_span=terms.passive_span,
    )


def _signal(outcome: Outcome, terms: OutcomesSettings) -> float | None:
    signals = {
        Outcome.ACTED: terms.acted_confidence_signal,
        Outcome.CONTRADICTED: terms.contradicted_confidence_signal,
    }
    return signals.get(outcome)


def _cycle_factor(outcome: Outcome, terms: OutcomesSettings) -> float:
    factors = {
        Outcome.ACTED: terms.acted_cycle_strengthen_factor,
        Outcome.DISMISSED: terms.dismissed_cycle_weaken_factor,
        Outcome.CONTRADICTED: terms.contradicted_cycle_weaken_factor,
    }
    return factors.get(outcome, 1.0)


def _error(outcome: Outcome, terms: OutcomesSettings) -> float | None:
    errors = {
        Outcome.ACTED: terms.pl_auto_resolve_acted,
        Outcome.USED: terms.pl_auto_resolve_used,
        Outcome.DISMISSED: terms.pl_auto_resolve_dismissed,
        Outcome.CONTRADICTED: terms.pl_auto_resolve_contradicted,
    }
    return errors.get(outcome)


def moved(state: State, what: Move, *, at: datetime, terms: OutcomesSettings) -> State:
    """The state after an outcome. What is held for good is moved by none."""
    if state.belief.immutable:
        return state
    rhythm = state.rhythm
    if what.outcome is Outcome.ACTED:
        rhythm = replace(rhythm, last_touched=at)
        rhythm = relieved(rhythm, at)
    # Multiplying by one would still cut what became too faint by another rule.
    cycles = scaled(state.cycles, what.cycle_factor) if what.cycle_factor != 1.0 else state.cycles
    belief = believed(state.belief, what)
    if what.outcome is Outcome.CONTRADICTED and is_discharged(belief, terms):
        rhythm = relieved(rhythm, at)
    return State(belief=belief, rhythm=rhythm, cycles=cycles)


def believed(belief: Belief, what: Move) -> Belief:
    """Confidence and weight after an outcome, and how high they may be lifted from now on."""
    if what.is_explicit and what.outcome is Outcome.ACTED:
        belief = replace(belief, confidence_ceiling=None, weight_ceiling=None)
    belief = _signalled(belief, what)
    if what.second_signal is not None:
        belief = signalled(belief, what.second_signal, most=what.evidence_cap)
    weight = belief.weight
    if what.alpha_gain:
        weight = reinforced(
            weight, what.alpha_gain, immutable=belief.immutable, ceiling=belief.weight_ceiling
        )
    if what.beta_gain:
        weight = weakened(weight, what.beta_gain, immutable=belief.immutable)
    belief = replace(belief, weight=weight)
    if what.is_explicit and what.outcome is Outcome.CONTRADICTED:
        belief = replace(belief, confidence_ceiling=belief.confidence, weight_ceiling=weight.center)
    return belief


def _signalled(belief: Belief, what: Move) -> Belief:
    if what.signal is None:
        return belief
    if what.is_explicit:
        return signalled(belief, what.signal, most=what.evidence_cap)
    return signalled_passively(
        belief,
        what.signal,
        strength=what.w * what.credit,
        span=what.passive_span,
        most=what.evidence_cap,
    )


def is_discharged(belief: Belief, terms: OutcomesSettings) -> bool:
    """Whether a contradicted memory has no urgency left.

    The threshold alone cannot be reached by signals of its own height, so the effective mode counts contradictions.
    """
    if belief.confidence < terms.auto_discharge_confidence_threshold - DISCHARGE_MARGIN:
        return True
    is_effective = terms.discharge == "effective"
    return is_effective and belief.confidence < DISCHARGED_BELOW and belief.contradictions >= DISCHARGED_AFTER


def relieved(rhythm: Rhythm, at: datetime) -> Rhythm:
    """The rhythm after its pressure was resolved; what does not press stays as it is."""
    return replace(rhythm, pressure_resolved_at=at) if rhythm.pressure_rate > 0 else rhythm
