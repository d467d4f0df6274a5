"""What comes of asking for more thought?"""

import pytest
from tests.proposals.hearing import WHAT, Court

from festinger.errors import ProviderDown, ProviderRefused
from festinger.ids import MAIN_SPACE
from festinger.llm.providers.scripted import FailStep, build_scripted_model
from festinger.proposals.model import Proposal, ProposalState, VerdictKind
from festinger.proposals.verdicts.reevaluation import REEVALUATE, DeepenAnswer, SharpenAnswer, reevaluate
from festinger.store.pool import Store

CASES = DeepenAnswer(
    reasoning="Seen twice.",
    stronger_case="It failed on two days.",
    weaker_case="Both days had an outage.",
    smallest_change="Retry once.",
    risks=["It hides an outage."],
)
SHARPER = SharpenAnswer(reasoning="Say how often.", what="Retry the failed query once after 2 seconds", how="Wrap it.")


async def sent_back(court: Court, kind: VerdictKind = VerdictKind.DEEPEN) -> Proposal:
    proposal = await court.promoted(why="It failed")
    return (await court.decide(proposal, kind)).proposal


@pytest.mark.requirement("H-45")
async def test_a_model_gives_both_cases_and_the_proposal_is_before_the_person_again(store: Store):
    court = Court(store)
    court.model, provider = build_scripted_model(CASES)
    proposal = await sent_back(court)
    asked = [ids for job, ids in court.asked if job == REEVALUATE]

    done = await reevaluate(court.office, MAIN_SPACE, proposal.id, kind=VerdictKind.DEEPEN)

    assert proposal.state is ProposalState.DEEPENING
    assert asked == [{"space": MAIN_SPACE, "proposal": str(proposal.id), "kind": "deepen"}]
    assert done is not None
    assert (done.state, done.reevaluations, done.what) == (ProposalState.PROMOTED, 1, WHAT)
    (thought,) = done.payload["thoughts"]
    assert thought["weaker_case"] == "Both days had an outage."
    assert thought["note"].startswith("thought over by ")
    question = provider.asked[0].messages[0].text
    assert WHAT in question
    assert "It failed" in question
    assert [each["kind"] for each in await court.events("proposal_reevaluated")] == ["deepen"]


@pytest.mark.requirement("H-45")
async def test_sharper_words_replace_what_is_shown_and_the_first_stay_the_key(store: Store):
    court = Court(store)
    court.model, _ = build_scripted_model(SHARPER)
    proposal = await sent_back(court, VerdictKind.TOO_VAGUE)

    done = await reevaluate(court.office, MAIN_SPACE, proposal.id, kind=VerdictKind.TOO_VAGUE)

    assert done is not None
    assert (done.what, done.how) == (SHARPER.what, "Wrap it.")
    assert done.fingerprint == proposal.fingerprint
    again = await court.sight(WHAT, session="s9")
    assert (again.proposal, again.seen_count) == (proposal.id, 3)
    assert {each.text for each in await court.sightings()} == {WHAT}


@pytest.mark.requirement("H-46")
async def test_an_answer_that_cannot_be_used_leaves_the_evidence_and_counts(store: Store):
    court = Court(store)
    court.model, _ = build_scripted_model(FailStep(error=ProviderRefused("cut off")))
    proposal = await sent_back(court)

    done = await reevaluate(court.office, MAIN_SPACE, proposal.id, kind=VerdictKind.DEEPEN)

    assert done is not None
    assert (done.state, done.reevaluations) == (ProposalState.PROMOTED, 1)
    assert done.payload["thoughts"][0]["note"] == "the model gave no usable answer: evidence only"
    assert done.payload["thoughts"][0]["wordings"] == [WHAT]


async def test_a_model_that_is_away_leaves_the_proposal_to_the_next_try(store: Store):
    court = Court(store)
    court.model, _ = build_scripted_model(FailStep(error=ProviderDown("away")), CASES)
    proposal = await sent_back(court)

    with pytest.raises(ProviderDown):
        await reevaluate(court.office, MAIN_SPACE, proposal.id, kind=VerdictKind.DEEPEN)
    assert (await court.proposal(proposal.id)).state is ProposalState.DEEPENING

    assert await reevaluate(court.office, MAIN_SPACE, proposal.id, kind=VerdictKind.DEEPEN) is not None


async def test_what_was_decided_meanwhile_is_not_brought_back(store: Store):
    court = Court(store)
    court.model, _ = build_scripted_model(CASES)
    proposal = await sent_back(court)
    await court.decide(proposal, VerdictKind.REJECT)

    assert await reevaluate(court.office, MAIN_SPACE, proposal.id, kind=VerdictKind.DEEPEN) is None
    assert (await court.proposal(proposal.id)).state is ProposalState.REJECTED
