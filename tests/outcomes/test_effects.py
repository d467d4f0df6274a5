"""What an outcome amounts to: the reference vectors, to the last digit, and what holds for any sequence."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.memory.confidence import Belief, Weight, apply_signal
from festinger.outcomes.effects import (
    PERIODS,
    Cycle,
    OutcomeDelta,
    OutcomeState,
    Rhythm,
    apply_delta,
    compute_delta,
    outcome_weight,
    scale_cycles,
)
from festinger.outcomes.model import ReportSource
from festinger.settings.memory_sections import OutcomesSettings
from festinger.world.model import NoteOutcome

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
UPSTREAM = OutcomesSettings(discharge="upstream")
EXACT = pytest.approx

ACTED, USED, DISMISSED, DEFERRED, CONTRADICTED = (
    NoteOutcome.ACTED,
    NoteOutcome.USED,
    NoteOutcome.DISMISSED,
    NoteOutcome.DEFERRED,
    NoteOutcome.CONTRADICTED,
)


def fresh(*, pressure: float = 0.0) -> OutcomeState:
    """A memory as it begins, with one yearly cycle of amplitude 5."""
    year = Cycle(period_s=PERIODS["year"], amplitude=5.0, declared_amplitude=5.0)
    rhythm = Rhythm(last_touched=MONDAY, pressure_rate=pressure, pressure_resolved_at=MONDAY)
    return OutcomeState(rhythm=rhythm, cycles=(year,))


def after_each(
    outcomes: list[NoteOutcome], *, predicts: bool = False, terms: OutcomesSettings = UPSTREAM
) -> list[OutcomeState]:
    state, states = fresh(), []
    for number, outcome in enumerate(outcomes):
        what = compute_delta(outcome, terms, predicts=predicts and number == 0)
        state = apply_delta(state, what, at=MONDAY, terms=terms)
        states.append(state)
    return states


def confidences(states: list[OutcomeState]) -> list[float]:
    return [state.belief.confidence for state in states]


def amplitudes(states: list[OutcomeState]) -> list[float]:
    return [state.cycles[0].amplitude for state in states]


MIXED = [ACTED, CONTRADICTED, DISMISSED, ACTED, USED, DEFERRED]

VECTORS = {
    "acted five times": (
        [ACTED] * 5,
        [0.7, 0.7666666666666666, 0.7999999999999999, 0.82, 0.8333333333333333],
        [6, 7.199999999999999, 8.639999999999999, 10.367999999999999, 12.441599999999998],
    ),
    "contradicted six times": (
        [CONTRADICTED] * 6,
        [0.3, 0.23333333333333334, 0.2, 0.18000000000000002, 0.16666666666666669, 0.15714285714285717],
        [2.5, 1.25, 0.625, 0.3125, 0.15625, 0.078125],
    ),
    "dismissed": ([DISMISSED], [0.5], [4]),
    "used": ([USED], [0.5], [5]),
    "deferred": ([DEFERRED], [0.5], [5]),
    "mixed": (
        MIXED,
        [0.7, 0.5, 0.5, 0.6, 0.6, 0.6],
        [6, 3, 2.4000000000000004, 2.8800000000000003, 2.8800000000000003, 2.8800000000000003],
    ),
}


@pytest.mark.requirement("O-10")
@pytest.mark.requirement("O-11")
@pytest.mark.parametrize("name", VECTORS)
def test_the_reference_vectors_hold_to_the_last_digit(name: str) -> None:
    outcomes, confidence, amplitude = VECTORS[name]

    states = after_each(outcomes)

    assert confidences(states) == EXACT(confidence, abs=1e-12)
    assert amplitudes(states) == EXACT(amplitude, abs=1e-12)


@pytest.mark.requirement("O-10")
def test_a_contradiction_with_an_open_prediction_gives_a_second_signal_once() -> None:
    states = after_each([CONTRADICTED] * 6, predicts=True)

    wanted = [0.26666666666666666, 0.225, 0.2, 0.18333333333333335, 0.17142857142857143, 0.1625]
    assert confidences(states) == EXACT(wanted, abs=1e-12)
    assert states[0].belief.evidence_count == 2


@pytest.mark.requirement("O-10")
@pytest.mark.parametrize(
    ("outcome", "error"), [(ACTED, 0.1), (USED, 0.3), (DISMISSED, 0.5), (CONTRADICTED, 0.9), (DEFERRED, None)]
)
def test_each_outcome_ends_an_open_prediction_with_its_error(outcome: NoteOutcome, error: float | None) -> None:
    assert compute_delta(outcome, UPSTREAM, predicts=True).prediction_error == error
    assert compute_delta(outcome, UPSTREAM, predicts=False).prediction_error is None


@pytest.mark.requirement("O-11")
def test_a_signal_repeated_is_a_mean_up_to_the_twentieth_and_a_fixed_gain_from_then_on() -> None:
    belief, seen = Belief(), []
    for _ in range(30):
        belief = apply_signal(belief, 0.9)
        seen.append(belief.confidence)

    at = {1: 0.7, 2: 0.7666666666666666, 3: 0.7999999999999999, 19: 0.88, 20: 0.8809523809523809}
    at |= {21: 0.8818594104308389, 22: 0.8827232480293704, 30: 0.8883064142182712}
    assert {n: seen[n - 1] for n in at} == EXACT(at, abs=1e-12)


@pytest.mark.requirement("O-11")
@pytest.mark.requirement("O-17")
def test_six_hundred_contradictions_never_reach_the_signal() -> None:
    states = after_each([CONTRADICTED] * 600)

    assert states[-1].belief.confidence == EXACT(0.10000000000000979, abs=1e-12)
    assert min(confidences(states)) >= 0.1


@pytest.mark.requirement("O-11")
def test_a_signal_of_one_half_corroborates() -> None:
    belief = apply_signal(Belief(), 0.5)

    assert (belief.corroborations, belief.contradictions) == (1, 0)


@pytest.mark.requirement("O-17")
def test_the_fifth_contradiction_of_a_fresh_memory_ends_its_urgency() -> None:
    terms, state, resolved = OutcomesSettings(), fresh(pressure=0.1), []
    for number in range(1, 7):
        at = MONDAY + timedelta(hours=number)
        state = apply_delta(state, compute_delta(CONTRADICTED, terms), at=at, terms=terms)
        resolved.append(state.rhythm.pressure_resolved_at)

    fifth, sixth = MONDAY + timedelta(hours=5), MONDAY + timedelta(hours=6)
    assert resolved == [MONDAY] * 4 + [fifth, sixth]


@pytest.mark.requirement("O-17")
def test_the_upstream_rule_alone_never_ends_urgency() -> None:
    state = fresh(pressure=0.1)
    for number in range(50):
        at = MONDAY + timedelta(hours=number + 1)
        state = apply_delta(state, compute_delta(CONTRADICTED, UPSTREAM), at=at, terms=UPSTREAM)

    assert state.rhythm.pressure_resolved_at == MONDAY


@pytest.mark.requirement("O-10")
def test_acting_touches_the_decay_clock_and_resolves_pressure_only_where_there_is_some() -> None:
    later = MONDAY + timedelta(days=3)
    pressing = apply_delta(fresh(pressure=0.1), compute_delta(ACTED, UPSTREAM), at=later, terms=UPSTREAM)
    calm = apply_delta(fresh(), compute_delta(ACTED, UPSTREAM), at=later, terms=UPSTREAM)

    assert (pressing.rhythm.last_touched, pressing.rhythm.pressure_resolved_at) == (later, later)
    assert (calm.rhythm.last_touched, calm.rhythm.pressure_resolved_at) == (later, MONDAY)


@pytest.mark.requirement("O-10")
@pytest.mark.parametrize("outcome", [USED, DISMISSED, DEFERRED, CONTRADICTED])
def test_only_acting_touches_the_decay_clock(outcome: NoteOutcome) -> None:
    later = MONDAY + timedelta(days=3)

    state = apply_delta(fresh(pressure=0.1), compute_delta(outcome, UPSTREAM), at=later, terms=UPSTREAM)

    assert (state.rhythm.last_touched, state.rhythm.pressure_resolved_at) == (MONDAY, MONDAY)


@pytest.mark.requirement("O-06")
@pytest.mark.requirement("O-10")
@pytest.mark.parametrize("outcome", [USED, DEFERRED])
def test_what_was_only_read_or_left_alone_moves_nothing(outcome: NoteOutcome) -> None:
    before = fresh(pressure=0.1)

    assert (
        apply_delta(before, compute_delta(outcome, UPSTREAM), at=MONDAY + timedelta(days=1), terms=UPSTREAM) == before
    )


@pytest.mark.requirement("O-13")
def test_amplitudes_stop_at_a_hundred_and_end_when_they_are_faint() -> None:
    up, rises = fresh().cycles, []
    for _ in range(18):
        up = scale_cycles(up, 1.2)
        rises.append(up[0].amplitude)
    down, falls = up, []
    for _ in range(43):
        down = scale_cycles(down, 0.8)
        falls.append(down[0].amplitude)

    assert rises[15] < 100
    assert rises[16:] == [100.0, 100.0]
    assert falls[40] > 0
    assert falls[41:] == [0.0, 0.0]


@pytest.mark.requirement("O-35")
def test_weights_move_by_the_default_amounts() -> None:
    acted = apply_delta(fresh(), compute_delta(ACTED, UPSTREAM), at=MONDAY, terms=UPSTREAM).belief.weight
    against = apply_delta(fresh(), compute_delta(CONTRADICTED, UPSTREAM), at=MONDAY, terms=UPSTREAM).belief.weight

    assert (acted.alpha, acted.center) == EXACT((1.4306765580733931, 0.2634435217738221), abs=1e-12)
    assert (against.beta, against.center) == EXACT((4.5, 0.18181818181818182), abs=1e-12)


@pytest.mark.requirement("O-37")
def test_what_nobody_told_on_purpose_weighs_less() -> None:
    terms = OutcomesSettings()

    assert [outcome_weight(ReportSource.EXPLICIT, q, terms) for q in (0.1, 1.0)] == [1.0, 1.0]
    assert [outcome_weight(ReportSource.SELF, q, terms) for q in (0.1, 1.0)] == [0.1, 0.5]
    assert [outcome_weight(ReportSource.INFERRED, q, terms) for q in (0.1, 1.0)] == [0.1, 0.25]


def inferred(outcome: NoteOutcome, *, credit: float = 1.0) -> OutcomeDelta:
    return compute_delta(outcome, UPSTREAM, how=ReportSource.INFERRED, w=0.25, credit=credit)


@pytest.mark.requirement("O-38")
def test_passive_movement_ends_at_its_span() -> None:
    state, seen = fresh(), []
    for _ in range(5):
        state = apply_delta(state, inferred(ACTED), at=MONDAY, terms=UPSTREAM)
        seen.append(state.belief.confidence)

    assert seen == EXACT([0.55, 0.5791666666666667, 0.59921875, 0.6, 0.6], abs=1e-12)
    assert (state.belief.evidence_count, state.belief.passive_count) == (0, 5)


@pytest.mark.requirement("O-38")
def test_passive_outcomes_move_cycles_by_a_root_of_the_factor_and_give_no_second_signal() -> None:
    what = compute_delta(CONTRADICTED, UPSTREAM, how=ReportSource.INFERRED, w=0.25, predicts=True)

    state = apply_delta(fresh(), what, at=MONDAY, terms=UPSTREAM)

    assert state.cycles[0].amplitude == EXACT(5 * 0.5**0.25, abs=1e-12)
    assert (what.second_signal, what.prediction_error) == (None, 0.9)
    assert state.belief.evidence_count == 0


def test_nothing_passive_lifts_a_memory_above_where_an_explicit_contradiction_left_it() -> None:
    state = apply_delta(fresh(), compute_delta(CONTRADICTED, UPSTREAM), at=MONDAY, terms=UPSTREAM)
    low, center = state.belief.confidence, state.belief.weight.center
    for _ in range(50):
        state = apply_delta(state, inferred(ACTED), at=MONDAY, terms=UPSTREAM)
        assert state.belief.confidence <= low
        assert state.belief.weight.center <= center

    lifted = apply_delta(state, compute_delta(ACTED, UPSTREAM), at=MONDAY, terms=UPSTREAM).belief

    assert lifted.confidence > low
    assert lifted.weight.center > center
    assert (lifted.confidence_ceiling, lifted.weight_ceiling) == (None, None)


@pytest.mark.requirement("O-20")
def test_what_is_held_for_good_is_moved_by_no_outcome() -> None:
    held = replace(fresh(pressure=0.2), belief=Belief(immutable=True, weight=Weight(alpha=50, beta=1)))

    for outcome in NoteOutcome:
        assert (
            apply_delta(held, compute_delta(outcome, UPSTREAM), at=MONDAY + timedelta(days=1), terms=UPSTREAM) == held
        )


moves = st.builds(
    lambda outcome, how, w, credit: compute_delta(
        outcome, UPSTREAM, how=how, w=1.0 if how is ReportSource.EXPLICIT else w, credit=credit
    ),
    st.sampled_from(list(NoteOutcome)),
    st.sampled_from([ReportSource.EXPLICIT, ReportSource.SELF, ReportSource.INFERRED]),
    st.floats(0, 0.5),
    st.floats(0, 1),
)


@pytest.mark.requirement("O-38")
@given(st.lists(moves, max_size=40))
def test_whatever_comes_confidence_stays_within_its_bounds(sequence: list[OutcomeDelta]) -> None:
    state = fresh()
    for what in sequence:
        before, state = state, apply_delta(state, what, at=MONDAY, terms=UPSTREAM)
        belief, ceiling = state.belief, before.belief.confidence_ceiling
        assert 0.0 <= belief.confidence <= 1.0
        if not what.is_explicit:
            anchor = belief.confidence_anchor if belief.confidence_anchor is not None else belief.confidence
            assert abs(belief.confidence - anchor) <= 0.10 + 1e-12
            if ceiling is not None:
                assert belief.confidence <= max(ceiling, before.belief.confidence)
