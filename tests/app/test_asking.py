"""What a program does with proposals through the library."""

from pathlib import Path

import pytest
from tests.app.house import given

import festinger
from festinger.errors import BadInput, NotAuthorised
from festinger.proposals.reviewers import add_reviewer

WHAT = "Retry the failed query"
AT_ONCE = {"min_seen_count": 1, "min_age_days": 0}


async def test_a_program_proposes_and_a_reviewer_whom_it_names_decides(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path, proposals=AT_ONCE), database=database_url) as memory:
        made = await memory.propose(WHAT, category="reliability", scope="tools")
        await memory._app.inbox.promote(memory.space)
        (open_one,) = await memory.inbox()
        with pytest.raises(NotAuthorised):
            await memory.decide(made.id, "approve", by="Ada")
        await add_reviewer(memory._app.inbox.desk, memory.space, "Ada")
        done = await memory.decide(str(made.id)[:18], "approve", by="Ada", ref="one")
        again = await memory.decide(made.id, "approve", by="Ada", ref="one")

        assert (made.state, made.producer) == ("waiting", "api")
        assert (open_one.id, open_one.what) == (made.id, WHAT)
        assert (done.proposal.state, done.verdict.author, done.verdict.channel) == (
            "applied",
            "Ada",
            "library",
        )
        assert again.again
        assert again.verdict == done.verdict
        assert [each.id for each in await memory.inbox(state="applied")] == [made.id]


async def test_what_cannot_be_proposed_or_said_is_refused(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path, proposals=AT_ONCE), database=database_url) as memory:
        made = await memory.propose(WHAT, category="reliability", scope="tools")

        with pytest.raises(BadInput):
            await memory.propose(WHAT, category="reliability", scope="tools", type="wish")
        with pytest.raises(BadInput):
            await memory.inbox(state="odd")
        with pytest.raises(BadInput):
            await memory.decide(made.id, "hurrah", by="Ada")
