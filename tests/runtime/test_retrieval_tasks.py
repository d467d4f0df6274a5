"""How does an agent read what people have still to do?"""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.runtime.effects.approving import ADA, approving
from tests.runtime.test_retrieval_outcomes import handle

from festinger.ids import MAIN_SPACE
from festinger.proposals.model import ProposalType
from festinger.proposals.verdicts.tasks import close_task, list_tasks
from festinger.runtime.settings import change_setting

CUE = "What about the failed query?"


@pytest.mark.requirement("H-58")
async def test_an_agent_reads_open_tasks_as_insights_only_where_a_person_allows_it(database_url: str, tmp_path: Path):
    async with approving(database_url, tmp_path) as at:
        memory = handle(at.app)
        await at.decide(await at.propose(ProposalType.ADVICE, {}, what="Retry the failed query"))
        await at.decide(await at.propose(ProposalType.ADVICE, {}, what="Show a progress bar"))
        (task,) = [
            each
            for each in await list_tasks(at.app.deciding.office.deps, MAIN_SPACE)
            if each.title == "Retry the failed query"
        ]

        unseen = await memory.recall(CUE)
        await change_setting(at.app, "proposals.tasks_visible_to_agent", "true", by="ada")
        seen = await memory.recall(CUE, limit=3)
        wanted = await memory.recall(CUE, kinds=["insight"])
        others = [
            await memory.recall(CUE, kinds=["fact"]),
            await memory.recall(CUE, subject="query"),
            await memory.recall(CUE, since=at.hands.now - timedelta(days=1)),
            await memory.recall(CUE, exclude=[task.id]),
        ]
        await close_task(at.app.deciding.office.deps, MAIN_SPACE, task.id, author=ADA)
        closed = await memory.recall(CUE)

        assert (unseen.items, closed.items) == ((), ())
        for found in (seen, wanted):
            assert [(item.id, item.type, item.kind) for item in found.items] == [(task.id, "task", "insight")]
        assert seen.items[0].text == "Open task for a person, not for you: Retry the failed query"
        assert [each.items for each in others] == [()] * 4
