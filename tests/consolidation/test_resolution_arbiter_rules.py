"""Which conflicts decide themselves?"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.consolidation.cases import CAUSE, EDGE, case

from festinger.consolidation.resolution import decide_by_rules
from festinger.world.conflicts import ConflictCase
from festinger.world.decisions import ConflictDecision
from festinger.world.model import CollisionType

STATED: dict[str, Any] = {"incoming_source": "gutask", "incoming_origin": "person"}
PERSONS = EDGE._replace(person_stated=True)


@pytest.mark.requirement("W-74")
@pytest.mark.parametrize(
    ("given_case", "decision"),
    [
        (case(facts={"incoming_causes": ()}), ConflictDecision.DISMISS),
        (case(facts={"above_existing": (202,)}), ConflictDecision.DISMISS),
        (case(facts={"above_incoming": (201,)}), ConflictDecision.UPDATE),
        (case(collision_type="misclassification", facts={"free_dimension": "membership"}), ConflictDecision.RECLASSIFY),
        (case(collision_type="misclassification"), None),
        (case(facts={"free_dimension": "membership"}), None),
        (case(**STATED), ConflictDecision.UPDATE),
        (case(existing=PERSONS, **STATED), None),
        (case(incoming_source="gutask", incoming_origin="model"), None),
        (case(incoming_source="inferred", incoming_origin="person"), None),
        (case(collision_type="retraction", **STATED), None),
        (case(existing=None, collision_type="cycle", **STATED), None),
        (case(), None),
    ],
)
def test_the_first_fitting_rule_decides(given_case: ConflictCase, decision: ConflictDecision | None):
    ruled = decide_by_rules(given_case)

    assert (ruled.decision if ruled else None) == decision


@pytest.mark.requirement("W-74")
def test_an_earlier_rule_goes_before_a_later_one():
    implied = case(facts={"above_existing": (202,)}, **STATED)

    ruled = decide_by_rules(implied)

    assert ruled is not None
    assert ruled.decision is ConflictDecision.DISMISS


@pytest.mark.requirement("W-74", "W-75")
@given(
    kind=st.sampled_from(CollisionType),
    causes=st.sampled_from([(), (CAUSE,)]),
    above_existing=st.sampled_from([(), (202,), (201,)]),
    above_incoming=st.sampled_from([(), (201,)]),
    free=st.sampled_from([None, "membership"]),
    source=st.sampled_from(["gutask", "inferred"]),
    is_persons=st.booleans(),
)
def test_a_rule_never_decides_what_needs_an_understanding_of_words(
    kind: CollisionType,
    causes: tuple[dict[str, object], ...],
    above_existing: tuple[int, ...],
    above_incoming: tuple[int, ...],
    free: str | None,
    source: str,
    is_persons: bool,
):
    given_case = case(
        existing=EDGE._replace(person_stated=is_persons),
        collision_type=kind.value,
        incoming_source=source,
        facts={
            "incoming_causes": causes,
            "above_existing": above_existing,
            "above_incoming": above_incoming,
            "free_dimension": free,
        },
    )

    ruled = decide_by_rules(given_case)

    assert ruled is None or ruled.decision not in (ConflictDecision.DECOMPOSE, ConflictDecision.SAME)
