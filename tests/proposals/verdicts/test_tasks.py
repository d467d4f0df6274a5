"""What is there to do about advice that was approved?"""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from tests.proposals.hearing import ADA, AGENT, Court

from festinger.errors import AlreadyDecided, NotAuthorised
from festinger.ids import MAIN_SPACE
from festinger.proposals.model import ProposalId
from festinger.proposals.verdicts.tasks import Task, TaskState, close_task, list_tasks, match_tasks
from festinger.settings.proposals import ProposalsSettings
from festinger.store.pool import Store


@pytest.mark.requirement("H-58")
async def test_a_task_is_closed_by_a_reviewer_once(store: Store):
    court = Court(store)
    await court.decide(await court.promoted())
    (task,) = await list_tasks(court.deps, MAIN_SPACE)

    with pytest.raises(NotAuthorised):
        await close_task(court.deps, MAIN_SPACE, task.id, author=AGENT)
    closed = await close_task(court.deps, MAIN_SPACE, task.id, author=ADA)
    with pytest.raises(AlreadyDecided):
        await close_task(court.deps, MAIN_SPACE, task.id, author=ADA, state=TaskState.DROPPED)

    assert (closed.state, closed.closed_by) == (TaskState.DONE, "Ada")
    assert await list_tasks(court.deps, MAIN_SPACE) == []
    assert await list_tasks(court.deps, MAIN_SPACE, state=None) == [closed]


@pytest.mark.requirement("H-57")
async def test_undoing_advice_whose_task_is_done_leaves_it_done(store: Store):
    court = Court(store)
    proposal = await court.promoted()
    await court.decide(proposal)
    (task,) = await list_tasks(court.deps, MAIN_SPACE)
    done = await close_task(court.deps, MAIN_SPACE, task.id, author=ADA)

    await court.undo(proposal)

    assert await list_tasks(court.deps, MAIN_SPACE, state=None) == [done]


def test_an_agent_does_not_read_tasks_unless_somebody_says_so():
    assert ProposalsSettings().tasks_visible_to_agent is False


def _task(number: int, title: str) -> Task:
    return Task(
        id=UUID(int=number),
        proposal_id=ProposalId(UUID(int=number)),
        title=title,
        body="",
        state=TaskState.OPEN,
        at=datetime(2026, 1, 5, tzinfo=UTC),
        closed_at=None,
        closed_by=None,
    )


@pytest.mark.parametrize(
    ("cue", "found"),
    [
        ("What of the failed query?", [1, 2]),
        ("not retry", [1]),
        ("progress of the bar", [3]),
        ("Where is the harbour?", []),
        ("to the of", []),
    ],
)
def test_a_task_fits_a_cue_that_shares_half_of_the_shorter_ones_words(cue: str, found: list[int]):
    tasks = [
        _task(3, "Show a progress bar"),
        _task(2, "Log each failed query at once"),
        _task(1, "Retry the failed query"),
        _task(4, ""),
    ]

    assert [task.id.int for task, _ in match_tasks(tasks, cue)] == found
