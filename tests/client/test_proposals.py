"""What a program does with proposals through the library."""

from pathlib import Path

import pytest
from tests.jobs.deps import rows
from tests.runtime.server import given

import festinger
from festinger.errors import BadInput, NotAuthorised, NotFound
from festinger.proposals.pairs import list_suggested_pairs
from festinger.proposals.promotion import promote
from festinger.proposals.sightings.similarity import suggest_similar_pairs
from festinger.proposals.verdicts.reviewers import add_reviewer

WHAT = "Retry the failed query"
AT_ONCE = {"min_seen_count": 1, "min_age_days": 0}


async def test_a_program_proposes_and_a_reviewer_whom_it_names_decides(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path, proposals=AT_ONCE), database=database_url) as memory:
        made = await memory.propose(WHAT, category="reliability", scope="tools")
        await promote(memory._app.inbox.deps, memory.space)
        (open_one,) = await memory.inbox()
        with pytest.raises(NotAuthorised):
            await memory.decide(made.id, "approve", by="Ada")
        await add_reviewer(memory._app.inbox.deps, memory.space, "Ada")
        done = await memory.decide(str(made.id)[:18], "approve", by="Ada", ref="one")
        again = await memory.decide(made.id, "approve", by="Ada", ref="one")

        assert (made.state, made.producer) == ("waiting", "api")
        assert (open_one.id, open_one.what) == (made.id, WHAT)
        assert (done.proposal.state, done.verdict.author, done.verdict.channel) == ("applied", "Ada", "library")
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


@pytest.mark.requirement("H-45")
async def test_what_was_put_off_is_back_in_the_inbox_when_its_time_has_come(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path, proposals=AT_ONCE), database=database_url) as memory:
        made = await memory.propose(WHAT, category="reliability", scope="tools")
        await promote(memory._app.inbox.deps, memory.space)
        await add_reviewer(memory._app.inbox.deps, memory.space, "Ada")
        await memory.decide(made.id, "defer", by="Ada")
        away = (await memory.inbox(), [each.id for each in await memory.inbox(state="deferred")])
        await rows(memory._app.store, "update proposal set deferred_until = now() - interval '1 s' returning id")
        back = ([each.id for each in await memory.inbox()], await memory.inbox(state="deferred"))

        assert (away, back) == (([], [made.id]), ([made.id], []))


@pytest.mark.requirement("H-20", "H-21")
async def test_requests_of_one_meaning_are_suggested_as_a_pair_and_others_are_not(database_url: str, tmp_path: Path):
    asked = (
        "Give the browser tool a longer timeout",
        "Increase the timeout of the browser tool",
        "Translate error texts into German",
        "Shorten error texts",
    )
    async with festinger.open(given(tmp_path, model="onnx:all-minilm-l6-v2"), database=database_url) as memory:
        for what in asked:
            await memory.propose(what, category="reliability", scope="tools")
        await suggest_similar_pairs(memory._app.inbox.deps, memory.space)
        found = await list_suggested_pairs(memory._app.inbox.deps, memory.space)

        assert [{each["a_what"], each["b_what"], each["relation"]} for each in found] == [{*asked[:2], "same"}]


@pytest.mark.requirement("M-80")
async def test_an_agent_asks_that_what_it_sees_be_forgotten_and_a_person_does_it(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path, proposals=AT_ONCE), database=database_url) as memory:
        shared = (await memory.learn("The spare key is under the third pot")).memory
        ada, bo = memory.for_agent("ada"), memory.for_agent("bo")
        private = (await ada.learn("Ada dislikes the night shift")).memory
        assert shared is not None
        assert private is not None

        asked = await bo.request_forget(str(shared.id)[:18], reason="It is a secret.")
        again = await bo.request_forget(shared.id, reason="It is a secret.")
        with pytest.raises(NotFound):
            await bo.request_forget(private.id, reason="I am curious.")
        with pytest.raises(BadInput):
            await bo.request_forget(shared.id, reason=" ")
        own = await ada.request_forget(private.id, reason="It was a joke.")
        still = await memory.get(shared.id)
        await promote(memory._app.inbox.deps, memory.space)
        await add_reviewer(memory._app.inbox.deps, memory.space, "Ada")
        await memory.decide(asked.id, "approve", by="Ada", word="forget")

        assert (asked.type, asked.payload["memory_ids"]) == ("forget_request", [str(shared.id)])
        assert "pot" not in asked.what
        assert again.id == asked.id != own.id
        assert still.content == shared.content
        with pytest.raises(NotFound):
            await memory.get(shared.id)
