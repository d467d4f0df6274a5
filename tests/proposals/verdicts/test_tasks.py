"""What is there to do about advice that was approved?"""

import pytest
from tests.proposals.hearing import ADA, AGENT, Court

from festinger.errors import AlreadyDecided, NotAuthorised
from festinger.ids import MAIN_SPACE
from festinger.proposals.verdicts.tasks import TaskState, close_task, list_tasks
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
