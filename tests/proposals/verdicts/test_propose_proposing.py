"""How does a person propose something?"""

import pytest
from tests.proposals.hearing import ADA, AGENT, WHAT, Court

from festinger.errors import NotAuthorised, ProposalRefused, Refused
from festinger.ids import MAIN_SPACE, Origin
from festinger.proposals.deps import EffectPreview
from festinger.proposals.model import ProposalState, ProposalType, ReviewChannel, VerdictKind
from festinger.proposals.verdicts.propose import ProposeResult, propose
from festinger.store.pool import Store


async def proposed(court: Court, what: str = WHAT, *, approve: bool = False, **more: object) -> ProposeResult:
    said = court.suggestion(what, origin=Origin.PERSON, producer="api", **more)  # type: ignore[arg-type]
    return await propose(court.office, MAIN_SPACE, said, author=ADA, channel=ReviewChannel.CONSOLE, approve=approve)


async def test_what_a_person_proposes_is_before_a_person_at_once_and_still_needs_a_verdict(store: Store):
    court = Court(store)
    court.trial.found = EffectPreview(versions={"memory:a": 4})

    made = await proposed(court, type=ProposalType.MEMORY_CHANGE)

    assert (made.proposal.state, made.proposal.producer) == (ProposalState.PROMOTED, "person")
    assert made.proposal.target == {"memory:a": 4}
    assert made.decided is None
    assert court.trial.seen == []
    assert len(await court.events("proposal_promoted")) == 1


async def test_a_reviewer_may_approve_with_the_same_call(store: Store):
    court = Court(store)

    made = await proposed(court, approve=True)

    assert made.decided is not None
    assert (made.decided.result, made.proposal.state) == ("applied", ProposalState.APPLIED)


async def test_a_persons_word_lifts_what_waits_already_and_leaves_what_is_open_where_it_is(store: Store):
    court = Court(store)
    waiting = await court.sight()

    first, second = await proposed(court), await proposed(court)

    assert first.proposal.id == second.proposal.id == waiting.proposal
    assert first.proposal.producer == "reflection"
    assert len(await court.events("proposal_promoted")) == 1


async def test_who_is_no_reviewer_proposes_nothing_at_once(store: Store):
    court = Court(store)

    with pytest.raises(NotAuthorised):
        await propose(
            court.office, MAIN_SPACE, court.suggestion(), author=AGENT, channel=ReviewChannel.API, approve=True
        )

    assert await court.proposals() == []


async def test_what_was_rejected_is_reopened_and_not_proposed_anew(store: Store):
    court = Court(store)
    await court.decide(await court.promoted(), VerdictKind.REJECT)

    with pytest.raises(Refused, match="said no"):
        await proposed(court)


async def test_words_that_say_nothing_are_refused_and_kept(store: Store):
    court = Court(store)

    with pytest.raises(ProposalRefused):
        await proposed(court, "to the and of")

    assert [each.counted for each in await court.sightings()] == [False]
