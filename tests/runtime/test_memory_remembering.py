"""The memory through the library's handle, with real judges, jobs and the bundled wiring."""

from pathlib import Path

import pytest
from tests.jobs.deps import drain, rows
from tests.runtime.server import given

import festinger
from festinger.errors import BadInput, NotFound, Replayed
from festinger.memory.model import LearnAction


async def test_a_program_learns_asks_why_and_takes_back(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path, model="hashed:64"), database=database_url) as memory:
        first = await memory.learn("The server has 16 GB", tags=["hardware"])
        second = await memory.learn("The server has 32 GB")
        assert first.memory is not None
        assert second.memory is not None
        why = await memory.why(second.memory.id)
        told = await memory.history(second.memory.id)
        current = await memory.current(first.memory.id)
        assert second.change is not None
        undone = await memory.undo(str(second.change))

        assert (first.action, second.action) == (LearnAction.STORED, LearnAction.SUPERSEDED)
        assert [each.id for each in why.supersedes] == [first.memory.id]
        assert [each.wording for each in why.said] == ["The server has 32 GB"]
        assert why.trust_line[0].trust == 1.0
        assert [record.judgement.relation for record in why.judgements] == ["update"]
        assert [each.content for each in told.memories] == ["The server has 32 GB", "The server has 16 GB"]
        assert current.id == second.memory.id
        assert {each.content: each.status for each in undone.memories} == {
            "The server has 16 GB": "active",
            "The server has 32 GB": "archived",
        }
        assert (await memory.get(first.memory.id)).tags == ("hardware",)


@pytest.mark.requirement("M-31", "M-35")
async def test_a_handle_refuses_what_it_cannot_take(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path, model="hashed:64"), database=database_url) as memory:
        with pytest.raises(BadInput):
            await memory.learn(" ")
        with pytest.raises(BadInput, match="origin"):
            await memory.learn("x y z", origin="oracle")
        with pytest.raises(NotFound):
            await memory.why("018f3a5e-0000-7000-8000-000000000000")
        await memory.learn("Ann keeps bees", key="k")
        with pytest.raises(Replayed):
            await memory.learn("Ben keeps ants", key="k")
        assert await rows(memory._app.store, "select count(*) as n from memory") == [{"n": 1}]


async def test_a_batch_finds_its_own_twins_and_survives_a_bad_item(database_url: str, tmp_path: Path):
    items = [f"Town number {name} has a bridge" for name in ("ash", "birch", "cedar")]
    seen: list[tuple[int, int]] = []
    async with festinger.open(given(tmp_path, model="hashed:64"), database=database_url) as memory:
        done = await memory.learn_many(
            [*items, items[0], "", *items], progress=lambda count, total, _counts: seen.append((count, total))
        )

        actions = [each.action for each in done]
        assert actions[3] is LearnAction.CONFIRMED
        assert (actions[4], done[4].reasons) == (LearnAction.REFUSED, ("bad_input",))
        assert set(actions[5:]) == {LearnAction.CONFIRMED}
        assert seen[-1] == (8, 8)
        assert len(await rows(memory._app.store, "select 1 from memory")) == 3


@pytest.mark.requirement("M-47")
async def test_a_person_settles_what_two_statements_dispute(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path, model="hashed:64"), database=database_url) as memory:
        await memory.learn("retry failed uploads")
        rival = await memory.learn("do not retry failed uploads")
        assert rival.conflict is not None
        settled = await memory.settle(rival.conflict, decision="update", by="ada")

        assert settled.status == "resolved"
        assert rival.memory is not None
        assert (await memory.get(rival.memory.id)).status == "active"
        await drain(memory._app.jobs)
        failed = "select 1 from procrastinate_jobs where status = 'failed'"
        assert await rows(memory._app.store, failed) == []


async def test_what_an_agent_learns_is_its_own(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path, model="hashed:64"), database=database_url) as memory:
        mine = await memory.for_agent("a").learn("Ann keeps bees")
        ours = await memory.learn("Ben keeps ants")
        shared = await memory.for_agent("a").for_session("s").learn("Carl keeps cats", shared=True)

        assert mine.memory is not None
        assert mine.memory.agent_id == "a"
        for learned in (ours, shared):
            assert learned.memory is not None
            assert learned.memory.agent_id is None
        with pytest.raises(NotFound):
            await memory.for_agent("b").get(mine.memory.id)
