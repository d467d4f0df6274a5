"""How is a proposal brought up to date with what it would touch?"""

import pytest
from tests.proposals.hearing import Court

from festinger.errors import AlreadyDecided, Outdated
from festinger.ids import MAIN_SPACE
from festinger.proposals.deps import EffectPreview
from festinger.proposals.model import ProposalType, VerdictKind
from festinger.proposals.verdicts.propose import preview_effect, rebuild_proposal
from festinger.store.pool import Store


@pytest.mark.requirement("H-49")
async def test_a_stale_proposal_is_built_anew_shown_again_and_then_approved(store: Store):
    court = Court(store)
    proposal = await court.promoted(
        type=ProposalType.SETTINGS_CHANGE, payload={"key": "a", "from": "1", "to": "3"}, target={"setting:a": "1"}
    )
    court.trial.found = EffectPreview(versions={"setting:a": "2"}, payload={"from": "2"}, says="Sets `a`.")
    with pytest.raises(Outdated):
        await court.decide(proposal)

    fresh = await rebuild_proposal(court.office, MAIN_SPACE, proposal.id, by="Ada")

    assert fresh.payload == {"key": "a", "from": "2", "to": "3"}
    assert (fresh.target, fresh.version) == ({"setting:a": "2"}, proposal.version + 1)
    assert (await preview_effect(court.office, MAIN_SPACE, fresh)).says == "Sets `a`."
    with pytest.raises(Outdated.__base__, match="version"):  # type: ignore[arg-type]
        await court.decide(proposal, version=proposal.version)
    assert (await court.decide(fresh, version=fresh.version)).result == "applied"


@pytest.mark.requirement("H-49")
async def test_what_is_gone_or_decided_is_not_built_anew(store: Store):
    court = Court(store)
    proposal = await court.promoted(type=ProposalType.CENSOR_ESCALATION)
    court.trial.found = EffectPreview(gone=("censor:a",))

    with pytest.raises(Outdated):
        await rebuild_proposal(court.office, MAIN_SPACE, proposal.id, by="Ada")
    await court.decide(proposal, VerdictKind.REJECT)
    with pytest.raises(AlreadyDecided):
        await rebuild_proposal(court.office, MAIN_SPACE, proposal.id, by="Ada")
