"""What happens when a person decides?"""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.proposals.hearing import ADA, AGENT, WHAT, Court

from festinger.errors import (
    AlreadyDecided,
    BadInput,
    EffectFailed,
    NotAuthorised,
    NotFound,
    OneByOne,
    Outdated,
    Refused,
    Replayed,
    StoreDown,
    TooDeep,
)
from festinger.ids import MAIN_SPACE
from festinger.proposals.deps import EffectPreview
from festinger.proposals.gate import InboxStatus, inbox_status
from festinger.proposals.model import ProposalId, ProposalState, ProposalType, ReviewChannel, VerdictKind
from festinger.proposals.sightings.recount import SightingStatus
from festinger.proposals.verdicts.decide import (
    LEFT_ALONE,
    apply_pending_verdicts,
    decide,
    decide_many,
    record_verdict,
    resume_pending_verdicts,
)
from festinger.store.pool import Store

OTHER = "Show a progress bar"
NOBODY = ProposalId(UUID(int=5))


@pytest.mark.requirement("H-45")
async def test_approved_advice_becomes_a_task_and_nothing_else(store: Store):
    court = Court(store)
    proposal = await court.promoted(why="It fails on Mondays", how="Three times, then give up")

    decided = await court.decide(proposal)

    assert (decided.result, decided.proposal.state) == ("applied", ProposalState.APPLIED)
    (task,) = await court.table("task")
    assert (task["title"], task["body"]) == (WHAT, "It fails on Mondays\n\nThree times, then give up")
    assert decided.effect is not None
    assert decided.effect.after["task"] == str(task["id"])
    assert decided.effect.applied_by == "Ada"
    assert [each["verdict"] for each in await court.events("proposal_decided")] == ["approve"]
    assert [each["type"] for each in await court.events("proposal_applied")] == ["advice"]


@pytest.mark.requirement("H-45")
async def test_a_rejected_idea_stays_silent_for_thirty_days_then_ninety(store: Store):
    court = Court(store)
    proposal = await court.promoted()
    first = await court.decide(proposal, VerdictKind.REJECT, note="Not worth it")
    assert first.proposal.suppressed_until == court.hands.now + timedelta(days=30)

    assert (await court.sight(session="s9")).result is SightingStatus.SUPPRESSED
    court.forward(timedelta(days=31))
    await court.sight(session="s10")
    court.forward(timedelta(days=8))
    await court.sight(session="s11")
    await court.promote()
    second = await court.decide(proposal, VerdictKind.REJECT)

    assert second.proposal.suppressed_until == court.hands.now + timedelta(days=90)
    assert second.proposal.rejections == 2
    assert [row["note"] for row in await court.table("verdict")] == ["Not worth it", ""]


@pytest.mark.requirement("H-45")
async def test_what_is_deferred_leaves_the_inbox_and_comes_back_by_itself(store: Store):
    court = Court(store)
    proposal = await court.promoted()

    deferred = (await court.decide(proposal, VerdictKind.DEFER)).proposal

    def now() -> InboxStatus:
        return inbox_status(deferred, now=court.hands.now, quiet_days=90)

    assert now() is InboxStatus.PUT_OFF
    assert deferred.suppressed_until is None
    assert (await court.sight(session="s9")).counted
    court.forward(timedelta(days=14))
    assert now() is InboxStatus.OPEN
    assert (await court.decide(proposal)).result == "applied"


@pytest.mark.requirement("H-45")
async def test_a_duplicate_hands_its_causes_to_the_other_and_inherits_its_silence(store: Store):
    court = Court(store)
    one, other = await court.promoted(), await court.promoted(OTHER, agent="b")

    done = await court.decide(other, VerdictKind.DUPLICATE, of=one.id)
    united = await court.proposal(one.id)
    await court.decide(one, VerdictKind.REJECT)
    again = await court.sight(OTHER, session="s9")

    assert (done.proposal.state, done.proposal.duplicate_of) == (ProposalState.DUPLICATE, one.id)
    assert done.proposal.suppressed_until is None
    assert (one.seen_count, united.seen_count) == (2, 4)
    assert again.result is SightingStatus.SUPPRESSED


async def test_a_duplicate_of_its_own_duplicate_is_refused(store: Store):
    court = Court(store)
    one, other = await court.promoted(), await court.promoted(OTHER)
    await court.decide(other, VerdictKind.DUPLICATE, of=one.id)

    with pytest.raises(BadInput, match="duplicate of this one"):
        await court.decide(one, VerdictKind.DUPLICATE, of=other.id)

    assert (await court.proposal(one.id)).state is ProposalState.PROMOTED


@pytest.mark.requirement("H-48")
async def test_what_was_joined_or_rejected_is_taken_up_again_when_a_reviewer_says_so(store: Store):
    court = Court(store)
    one, other = await court.promoted(), await court.promoted(OTHER, agent="b")
    await court.decide(other, VerdictKind.DUPLICATE, of=one.id)
    await court.decide(one, VerdictKind.REJECT)

    back = await court.decide(one, VerdictKind.REOPEN)
    apart = await court.decide(other, VerdictKind.REOPEN)

    assert (back.proposal.state, back.proposal.suppressed_until) == (ProposalState.PROMOTED, None)
    assert (apart.proposal.state, apart.proposal.duplicate_of) == (ProposalState.PROMOTED, None)
    assert ((await court.proposal(one.id)).seen_count, apart.proposal.seen_count) == (2, 2)
    assert [each["verdict"] for each in await court.events("proposal_decided")][-2:] == ["reopen", "reopen"]


@pytest.mark.requirement("H-45")
async def test_an_approval_with_edits_applies_the_persons_words_and_keeps_the_first(store: Store):
    court = Court(store)
    proposal = await court.promoted(type=ProposalType.MEMORY_CHANGE, payload={"op": "archive", "ids": ["a"]})
    edits = {"what": "Retry it twice", "payload": {"ids": ["b"]}}

    done = await court.decide(proposal, edits=edits)

    assert court.trial.seen == [{"what": "Retry it twice", "by": "Ada", "op": "archive", "ids": ["b"]}]
    assert (done.proposal.what, done.proposal.payload["ids"]) == (WHAT, ["a"])
    assert done.verdict.fields["edits"] == edits


@pytest.mark.parametrize("channel", [ReviewChannel.API, ReviewChannel.LIBRARY, ReviewChannel.WEBHOOK], ids=str)
async def test_a_verdict_of_nobody_known_is_kept_and_never_acted_on(store: Store, channel: ReviewChannel):
    court = Court(store)
    proposal = await court.promoted()

    with pytest.raises(NotAuthorised):
        await court.decide(proposal, author=AGENT, channel=channel)

    (row,) = await court.table("verdict")
    assert (row["verified"], row["result"], row["channel"]) == (False, "unverified", channel)
    assert await court.proposal(proposal.id) == proposal
    assert [each["verified"] for each in await court.events("verdict_received")] == [False]
    assert await court.table("task") == []


async def test_an_unverified_message_that_comes_again_is_refused_again_and_kept_once(store: Store):
    court = Court(store)
    proposal = await court.promoted()
    said = court.said(proposal, author=AGENT)

    for _ in range(2):
        with pytest.raises(NotAuthorised):
            await decide(court.office, MAIN_SPACE, said)

    assert len(await court.table("verdict")) == 1


@pytest.mark.requirement("H-48")
async def test_the_same_message_again_gives_the_same_answer_and_no_second_effect(store: Store):
    court = Court(store)
    proposal = await court.promoted()
    said = court.said(proposal)

    first = await decide(court.office, MAIN_SPACE, said)
    second = await decide(court.office, MAIN_SPACE, said)

    assert second == replace(first, again=True)
    assert len(await court.table("task")) == 1
    assert len(await court.events("proposal_applied")) == 1


@pytest.mark.requirement("H-48")
async def test_a_refusal_is_the_answer_to_its_message_for_good(store: Store):
    court = Court(store)
    proposal = await court.promoted(type=ProposalType.MEMORY_CHANGE)
    court.trial.found = EffectPreview(gone=("memory:a",))
    said = court.said(proposal)

    answers = []
    for _ in range(2):
        with pytest.raises(Outdated) as caught:
            await decide(court.office, MAIN_SPACE, said)
        answers.append((caught.value.message, caught.value.details))
        court.trial.found = EffectPreview()

    assert answers[0] == answers[1]
    assert (await court.decide(proposal)).result == "applied"


async def test_the_same_reference_with_another_verdict_is_refused(store: Store):
    court = Court(store)
    proposal = await court.promoted()
    said = court.said(proposal, VerdictKind.DEFER)
    await decide(court.office, MAIN_SPACE, said)

    with pytest.raises(Replayed):
        await decide(court.office, MAIN_SPACE, replace(said, kind=VerdictKind.APPROVE))
    with pytest.raises(Replayed):
        await decide(court.office, MAIN_SPACE, replace(said, until=court.hands.now + timedelta(days=3)))

    assert (await court.proposal(proposal.id)).state is ProposalState.DEFERRED


@pytest.mark.requirement("H-48")
async def test_of_verdicts_that_wait_together_the_most_careful_is_carried_out(store: Store):
    court = Court(store)
    proposal = await court.promoted()
    for kind in (VerdictKind.DEFER, VerdictKind.APPROVE, VerdictKind.REJECT, VerdictKind.DEEPEN):
        await record_verdict(court.office, MAIN_SPACE, court.said(proposal, kind))

    await apply_pending_verdicts(court.office, MAIN_SPACE, proposal.id)

    results = {row["kind"]: row["result"] for row in await court.table("verdict")}
    assert results == {"reject": "rejected", "approve": "overtaken", "deepen": "overtaken", "defer": "overtaken"}
    assert await court.table("task") == []


async def test_what_cannot_be_carried_out_makes_room_for_the_next_that_waits(store: Store):
    court = Court(store)
    proposal = await court.promoted(type=ProposalType.MEMORY_CHANGE)
    court.trial.found = EffectPreview(is_done=True)
    for kind in (VerdictKind.DEFER, VerdictKind.APPROVE):
        await record_verdict(court.office, MAIN_SPACE, court.said(proposal, kind))

    await apply_pending_verdicts(court.office, MAIN_SPACE, proposal.id)

    results = {row["kind"]: row["result"] for row in await court.table("verdict")}
    assert results == {"approve": "stale", "defer": "deferred"}


@pytest.mark.requirement("H-48")
async def test_a_decided_proposal_answers_with_its_decision(store: Store):
    court = Court(store)
    proposal = await court.promoted()
    await court.decide(proposal, VerdictKind.REJECT)

    with pytest.raises(AlreadyDecided) as caught:
        await court.decide(proposal)

    assert (caught.value.http, caught.value.details) == (409, {"state": "rejected"})


@pytest.mark.requirement("H-48")
async def test_a_verdict_that_nobody_finished_is_taken_up_later_and_once(store: Store):
    court = Court(store)
    proposal = await court.promoted(type=ProposalType.MEMORY_CHANGE)
    court.trial.fails = StoreDown("The database went away.")
    with pytest.raises(StoreDown):
        await court.decide(proposal)
    (row,) = await court.table("verdict")
    assert (row["processed_at"], (await court.proposal(proposal.id)).state) == (None, ProposalState.PROMOTED)

    court.trial.fails = None
    assert await resume_pending_verdicts(court.office, MAIN_SPACE) == 0
    court.forward(LEFT_ALONE + timedelta(seconds=1))
    taken = [await resume_pending_verdicts(court.office, MAIN_SPACE) for _ in range(2)]

    assert taken == [1, 0]
    assert (await court.proposal(proposal.id)).state is ProposalState.APPLIED
    assert len(await court.table("task")) == 1


@pytest.mark.requirement("H-49")
async def test_what_has_changed_since_is_not_approved_and_stays_where_it_is(store: Store):
    court = Court(store)
    proposal = await court.promoted(type=ProposalType.CENSOR_ESCALATION, target={"censor:a": 1})
    court.trial.found = EffectPreview(versions={"censor:a": 2})

    with pytest.raises(Outdated) as caught:
        await court.decide(proposal)

    assert caught.value.details["changed"] == ["censor:a"]
    assert await court.proposal(proposal.id) == proposal
    assert await court.table("proposal_effect") == []
    assert [row["result"] for row in await court.table("verdict")] == ["stale"]


@pytest.mark.requirement("H-49")
async def test_a_forgotten_target_closes_the_proposal_without_silencing_it(store: Store):
    court = Court(store)
    proposal = await court.promoted(type=ProposalType.MEMORY_CHANGE)
    court.trial.found = EffectPreview(gone=("memory:a",), is_forgotten=True)

    done = await court.decide(proposal)

    assert (done.result, done.proposal.state) == ("target forgotten", ProposalState.REJECTED)
    assert (done.proposal.suppressed_until, done.proposal.rejections) == (None, 0)
    assert (await court.sight(session="s9")).result is SightingStatus.REOPENED


@pytest.mark.requirement("H-56")
async def test_an_effect_that_fails_leaves_no_trace_but_its_reason(store: Store):
    court = Court(store)
    proposal = await court.promoted(type=ProposalType.MEMORY_CHANGE)
    court.trial.fails = Refused("It is held for good.")

    with pytest.raises(EffectFailed, match="held for good"):
        await court.decide(proposal)

    assert await court.proposal(proposal.id) == proposal
    assert await court.table("task") == await court.table("proposal_effect") == []
    assert court.trial.after == 0
    (row,) = await court.table("verdict")
    assert row["result"] == "failed"
    assert "held for good" in row["fields"]["refusal"]["message"]
    assert [each["reason"] for each in await court.events("proposal_apply_failed")] == [
        "This could not be carried out: It is held for good."
    ]
    assert await court.events("proposal_decided") == []


@pytest.mark.requirement("H-55")
async def test_what_is_held_in_memory_is_brought_up_to_date_after_the_effect(store: Store):
    court = Court(store)
    proposal = await court.promoted(type=ProposalType.MEMORY_CHANGE)

    done = await court.decide(proposal)

    assert court.trial.after == 1
    assert done.effect is not None
    assert done.effect.changes == ("change-1",)


@pytest.mark.requirement("H-50")
async def test_many_are_decided_at_once_and_each_says_what_came_of_it(store: Store):
    court = Court(store)
    good, stale, decided = (
        await court.promoted(),
        await court.promoted(OTHER, type=ProposalType.MEMORY_CHANGE),
        await court.promoted("Lower the summarizer temperature"),
    )
    await court.decide(decided, VerdictKind.REJECT)
    court.trial.found = EffectPreview(is_done=True)
    missing = replace(good, id=NOBODY)

    found = await decide_many(court.office, MAIN_SPACE, [court.said(each) for each in (good, stale, decided, missing)])

    assert [each.result for each in found] == ["applied", "stale", "already", "failed"]
    assert [bool(each.detail) for each in found] == [False, True, True, True]


@pytest.mark.requirement("H-50")
async def test_what_changes_behaviour_is_not_approved_with_others_but_may_be_rejected_so(store: Store):
    court = Court(store)
    one, alone = await court.promoted(), await court.promoted(OTHER, type=ProposalType.CENSOR_ESCALATION)

    with pytest.raises(OneByOne):
        await decide_many(court.office, MAIN_SPACE, [court.said(one), court.said(alone)])
    assert await court.table("verdict") == []
    rejected = [court.said(each, VerdictKind.REJECT) for each in (one, alone)]

    found = await decide_many(court.office, MAIN_SPACE, rejected)

    assert [each.result for each in found] == ["rejected", "rejected"]


@pytest.mark.parametrize("many", [0, 51])
async def test_no_more_than_fifty_are_decided_at_once(store: Store, many: int):
    court = Court(store)
    proposal = await court.promoted()

    with pytest.raises(BadInput, match="1 to 50"):
        await decide_many(court.office, MAIN_SPACE, [court.said(proposal)] * many)


async def test_a_verdict_on_nothing_is_not_found(store: Store):
    court = Court(store)
    proposal = await court.promoted()

    with pytest.raises(NotFound):
        await court.decide(replace(proposal, id=NOBODY))


@pytest.mark.requirement("H-46")
async def test_without_a_model_more_thought_is_the_evidence_and_happens_twice_at_most(store: Store):
    court = Court(store)
    proposal = await court.promoted(evidence={"episodes": ["e1"], "turns": ["t1", "t2"]})

    first = await court.decide(proposal, VerdictKind.DEEPEN)
    second = await court.decide(proposal, VerdictKind.TOO_VAGUE)
    with pytest.raises(TooDeep):
        await court.decide(proposal, VerdictKind.DEEPEN)

    assert (first.result, second.proposal.state) == ("reevaluated", ProposalState.PROMOTED)
    assert second.proposal.reevaluations == 2
    thought: dict[str, Any] = second.proposal.payload["thoughts"][0]
    assert thought["note"] == "no model: evidence only"
    assert (thought["wordings"], thought["episodes"], thought["turns"]) == ([WHAT], ["e1"], ["t1", "t2"])
    assert len(thought["timeline"]) == 2
    assert [each["n"] for each in await court.events("proposal_reevaluated")] == [1, 2]
    assert (await court.decide(proposal)).result == "applied"


async def test_who_speaks_is_the_reviewer_and_not_what_the_message_says(store: Store):
    court = Court(store)
    proposal = await court.promoted()

    done = await court.decide(proposal, VerdictKind.REJECT, note="by: somebody else", author=ADA)

    assert (done.verdict.author, done.verdict.verified) == ("Ada", True)
