"""Would a memory become part of who the agent is?"""

from uuid import UUID

import pytest
from tests.proposals.detectors.finding import MONDAY

from festinger.ids import MemoryId
from festinger.memory.confidence import Weight
from festinger.proposals.detectors.patterns import ConsolidationPattern, crosses_bound, identity_finding
from festinger.proposals.model import ProposalType


def pattern(alpha: float, *, gain: float = 5.0) -> ConsolidationPattern:
    return ConsolidationPattern(
        memory=MemoryId(UUID(int=1)),
        weight=Weight(alpha=alpha, beta=4.0),
        gain=gain,
        at=MONDAY,
        run="night",
        episodes=("e1", "e2"),
    )


@pytest.mark.parametrize(("alpha", "passes"), [(22.5, True), (10.0, False), (60.0, False)])
def test_only_a_gain_that_crosses_the_bound_asks_a_person(alpha: float, passes: bool):
    assert crosses_bound(pattern(alpha), bound=0.85) is passes


def test_what_is_proposed_names_the_memory_and_the_gain():
    found = identity_finding(pattern(22.5, gain=2.0))

    assert (found.category, found.scope, found.type) == ("knowledge", "identity", ProposalType.IDENTITY_PROMOTION)
    assert found.payload == {"memory_id": str(UUID(int=1)), "gain": 2.0}
    assert found.evidence["episodes"] == ["e1", "e2"]
