"""What is proposed of a memory that would become part of who the agent is."""

from uuid import UUID

from tests.proposals.detectors.finding import MONDAY

from festinger.proposals.detectors.patterns import build_identity_promotion, finding_to_suggestion
from festinger.proposals.model import ProposalType


def test_what_is_proposed_names_the_memory_and_the_gain_for_each_of_its_causes():
    said = {"id": UUID(int=2), "agent_id": "a", "session_id": "s1", "at": MONDAY}
    found = build_identity_promotion(UUID(int=1), gain=2.0, causes=12, cause=said)

    assert (found.category, found.scope, found.type) == ("knowledge", "identity", ProposalType.IDENTITY_PROMOTION)
    assert found.payload == {"memory_id": str(UUID(int=1)), "gain": 2.0}
    assert found.evidence == {"memories": [str(UUID(int=1))]}
    assert found.why.startswith("12 causes")
    cause = finding_to_suggestion(found).cause
    assert (cause.agent, cause.session, cause.day) == ("a", "s1", MONDAY.date())
