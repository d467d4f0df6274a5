"""What is left when the process dies while a verdict is carried out?"""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from tests.proposals.hearing import Court

from festinger.ids import MAIN_SPACE
from festinger.proposals.model import ProposalState, ProposalType
from festinger.proposals.verdicts.decide import decide
from festinger.store.pool import Store

ROOT = Path(__file__).parents[2]

DYING = """
import asyncio, os, sys
from datetime import timedelta
from uuid import UUID

from tests.jobs.deps import Hands
from tests.proposals.hearing import Court
from festinger.ids import MAIN_SPACE
from festinger.proposals.verdicts.decide import decide
from festinger.settings.tree import StoreSettings
from festinger.store.pool import open_store


async def die(*_given):
    os._exit(9)


class Doomed(Court):
    async def give(self, proposal, when):
        setattr(self.trial, "_afterwards", die)
        if when == "before":
            real = self.trial.apply
            async def apply(deed):
                await real(deed)
                await die()
            self.trial.apply = apply
        found = await self.proposal(UUID(proposal))
        await decide(self.office, MAIN_SPACE, self.said(found, ref="the verdict"))


async def main(url, proposal, when):
    later = Hands()
    later.forward(timedelta(minutes=1))
    async with open_store(url, StoreSettings(), door="doomed") as store:
        await Doomed(store, hands=later).give(proposal, when)


asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.requirement("H-48", "H-55")
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_process_killed_between_effect_and_answer_leaves_the_whole_effect_or_none(
    store: Store, database_url: str, when: str
):
    court = Court(store)
    proposal = await court.promoted(type=ProposalType.MEMORY_CHANGE)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DYING, database_url, str(proposal.id), when, cwd=ROOT
    )
    assert await process.wait() == 9

    left = await court.proposal(proposal.id)
    made = [len(await court.table(table)) for table in ("task", "proposal_effect")]
    assert (left.state, made) == (
        (ProposalState.PROMOTED, [0, 0]) if when == "before" else (ProposalState.APPLIED, [1, 1])
    )
    court.forward(timedelta(minutes=2))
    answer = await decide(court.office, MAIN_SPACE, court.said(proposal, ref="the verdict"))

    assert (answer.result, answer.again) == ("applied", when == "after")
    assert len(await court.table("task")) == 1
    assert len(await court.table("verdict")) == 1
