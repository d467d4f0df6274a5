"""How is a yes taken back?"""

from dataclasses import replace

import pytest
from tests.proposals.hearing import AGENT, Court

from festinger.errors import NotAuthorised, Refused, UndoBlocked
from festinger.proposals.model import ProposalState, ProposalType, VerdictKind
from festinger.proposals.verdicts.apply import with_blockers_newest_first
from festinger.store.pool import Store


@pytest.mark.requirement("H-57")
async def test_undoing_approved_advice_drops_its_task_and_says_who(store: Store):
    court = Court(store)
    proposal = await court.promoted()
    await court.decide(proposal)

    undone = await court.undo(proposal)

    (task,) = await court.table("task")
    assert (task["state"], task["closed_by"]) == ("dropped", "Ada")
    assert (undone.proposal.state, undone.effect.undone_by) == (ProposalState.UNDONE, "Ada")
    assert [each["by"] for each in await court.events("proposal_undone")] == ["Ada"]


@pytest.mark.requirement("H-57")
async def test_undoing_twice_is_undoing_once(store: Store):
    court = Court(store)
    proposal = await court.promoted(type=ProposalType.MEMORY_CHANGE)
    await court.decide(proposal)

    first, second = await court.undo(proposal), await court.undo(proposal)

    assert second == replace(first, again=True)
    assert court.trial.after == 2, "once after the effect, once after it was undone"
    assert len(await court.events("proposal_undone")) == 1


@pytest.mark.requirement("H-57")
async def test_what_later_changes_stand_on_stays_applied(store: Store):
    court = Court(store)
    proposal = await court.promoted(type=ProposalType.MEMORY_CHANGE)
    applied = (await court.decide(proposal)).proposal
    court.trial.refuses_undo = UndoBlocked(changes=["b"])

    with pytest.raises(UndoBlocked):
        await court.undo(proposal)

    assert await court.proposal(proposal.id) == applied
    assert [row["undone_at"] for row in await court.table("proposal_effect")] == [None]


@pytest.mark.requirement("H-57")
def test_what_stands_in_the_way_is_named_newest_first():
    assert with_blockers_newest_first(UndoBlocked("No.", changes=["old", "new"])).details == {"changes": ["new", "old"]}


async def test_only_a_reviewer_undoes_and_only_what_was_applied(store: Store):
    court = Court(store)
    proposal = await court.promoted()

    with pytest.raises(Refused):
        await court.undo(proposal)
    await court.decide(proposal)
    with pytest.raises(NotAuthorised):
        await court.undo(proposal, AGENT)

    assert (await court.proposal(proposal.id)).state is ProposalState.APPLIED


async def test_what_was_undone_can_be_reopened_approved_and_undone_anew(store: Store):
    court = Court(store)
    proposal = await court.promoted()
    await court.decide(proposal)
    await court.undo(proposal)

    await court.decide(proposal, VerdictKind.REOPEN)
    again = await court.decide(proposal)
    undone = await court.undo(proposal)

    assert again.effect is not None
    assert undone.effect.id == again.effect.id
    assert [row["state"] for row in await court.table("task")] == ["dropped", "dropped"]
