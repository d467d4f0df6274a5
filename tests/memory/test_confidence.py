"""How likely a memory is, after one more signal; and what it is worth when somebody says it again."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.ids import Origin
from festinger.memory.confidence import (
    Belief,
    CauseCounts,
    SightingUncountedReason,
    apply_passive_signal,
    apply_signal,
    corroborate_belief,
    find_uncounted_reason,
)

SIGNALS = st.floats(0, 1)


@pytest.mark.requirement("O-11")
@given(st.lists(SIGNALS, min_size=1, max_size=19))
def test_up_to_the_twentieth_signal_confidence_is_the_mean_in_any_order(signals: list[float]):
    belief, backwards = Belief(), Belief()
    for signal in signals:
        belief = apply_signal(belief, signal)
    for signal in reversed(signals):
        backwards = apply_signal(backwards, signal)

    assert belief.confidence == pytest.approx((0.5 + sum(signals)) / (len(signals) + 1))
    assert belief.confidence == pytest.approx(backwards.confidence)
    assert belief.corroborations == sum(signal >= 0.5 for signal in signals)
    assert belief.evidence_count == belief.corroborations + belief.contradictions == len(signals)


@pytest.mark.requirement("O-11")
def test_from_the_twentieth_signal_on_each_moves_it_by_a_twenty_first():
    belief = Belief(confidence=0.5, evidence_count=500)

    assert apply_signal(belief, 1.0).confidence == pytest.approx(0.5 + 0.5 / 21)


@pytest.mark.requirement("O-11")
@pytest.mark.parametrize("wrong", [1.01, -0.01, float("nan")], ids=str)
def test_a_signal_beyond_its_bounds_is_refused(wrong: float):
    with pytest.raises(ValueError, match="signal"):
        apply_signal(Belief(), wrong)


@pytest.mark.requirement("O-11")
@pytest.mark.parametrize("wrong", ["1", None, True], ids=repr)
def test_a_signal_that_is_no_number_is_refused(wrong: object):
    with pytest.raises(TypeError):
        apply_signal(Belief(), wrong)  # type: ignore[arg-type]


@pytest.mark.requirement("O-38")
def test_passive_signals_move_less_and_stop_at_their_span():
    belief, seen = Belief(), []
    for _ in range(5):
        belief = apply_passive_signal(belief, 0.9, strength=0.25)
        seen.append(belief.confidence)

    assert seen == pytest.approx([0.55, 0.5791666666666667, 0.59921875, 0.6, 0.6])
    assert (belief.evidence_count, belief.passive_count) == (0, 5)


@pytest.mark.requirement("M-27")
@pytest.mark.parametrize(("trust", "origin", "confidence"), [(1.0, Origin.PERSON, 0.7), (0.4, Origin.DOCUMENT, 0.58)])
def test_a_new_cause_speaks_by_how_far_it_is_trusted(trust: float, origin: Origin, confidence: float):
    belief = corroborate_belief(Belief(), trust=trust, origin=origin, cap=0.6)

    assert belief.confidence == pytest.approx(confidence)
    assert belief.weight.alpha > 1.0
    assert belief.confidence_anchor == belief.confidence


@pytest.mark.requirement("M-27")
@given(start=SIGNALS, trust=st.floats(0, 0.5499), causes=st.integers(1, 30))
def test_little_trusted_causes_never_lift_above_the_cap(start: float, trust: float, causes: int):
    belief = Belief(confidence=start)
    for _ in range(causes):
        belief = corroborate_belief(belief, trust=trust, origin=Origin.DOCUMENT, cap=0.6)

    assert belief.confidence <= max(start, 0.6) + 1e-12


def test_a_ceiling_holds_until_a_person_says_it_anew():
    capped = Belief(confidence=0.3, confidence_ceiling=0.3, weight_ceiling=0.2)

    by_model = corroborate_belief(capped, trust=0.6, origin=Origin.MODEL, cap=0.6)
    by_person = corroborate_belief(capped, trust=1.0, origin=Origin.PERSON, cap=0.6)

    assert (by_model.confidence, by_model.weight) == (0.3, capped.weight)
    assert by_person.confidence > 0.3
    assert (by_person.confidence_ceiling, by_person.weight_ceiling) == (None, None)


def test_what_is_held_for_good_keeps_its_weight_when_it_is_confirmed():
    belief = replace(Belief(), immutable=True)

    assert corroborate_belief(belief, trust=1.0, origin=Origin.PERSON, cap=0.6).weight == belief.weight


@pytest.mark.requirement("M-27")
@pytest.mark.parametrize(
    ("counts", "own", "because"),
    [
        (CauseCounts(), False, None),
        (CauseCounts(of_agent_today=2), False, None),
        (CauseCounts(of_cause=1, of_agent_today=1), False, SightingUncountedReason.SAME_CAUSE),
        (CauseCounts(of_agent_today=3), False, SightingUncountedReason.ENOUGH_TODAY),
        (CauseCounts(), True, SightingUncountedReason.OWN_DERIVATION),
    ],
    ids=["first", "third of the day", "same cause", "fourth of the day", "own derivation"],
)
def test_a_cause_counts_once_and_three_a_day(counts: CauseCounts, own: bool, because: SightingUncountedReason | None):
    assert find_uncounted_reason(counts, is_own_derivation=own) is because
