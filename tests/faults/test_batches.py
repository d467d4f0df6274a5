"""Batches of which one item fails, and calls of which one batch fails."""

from pathlib import Path

import pytest
from tests.consolidation.sleeper import Sleeper
from tests.faults.bench import bench_for
from tests.faults.operations import Act
from tests.faults.wire import Fault, nth
from tests.memory.remembering import texts

from festinger.errors import Refused, StoreDown
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, Origin, Scope, SessionId
from festinger.memory.learn import pipeline
from festinger.memory.learn.pipeline import learn_many
from festinger.memory.learn.result import Learned
from festinger.memory.learn.statement import LearnRequest

BEES, MILL, FERRY = "Ann keeps bees", "The mill grinds on Tuesdays", "The ferry leaves before noon"
SCOPE = Scope(space=MAIN_SPACE, agent=DEFAULT_AGENT, session=SessionId("s1"))
REFUSING = """
create function refuse() returns trigger language plpgsql as $$
begin raise exception 'planted' using errcode = '23505'; end $$;
create trigger refusing before insert on memory_sighting for each row when (new.wording like '%mill%')
    execute function refuse()
"""
"""The store takes everything of a statement but its sighting."""


async def learn_all(at: Sleeper, *wanted: str, keys: bool = True) -> list[Learned]:
    requests = [LearnRequest(text=text, origin=Origin.PERSON, key=text if keys else None) for text in wanted]
    return await learn_many(at.app.memory.deps, SCOPE, requests)


async def all_three(at: Sleeper) -> Act:
    return lambda: learn_all(at, BEES, MILL, FERRY)


@pytest.mark.requirement("M-30")
@pytest.mark.parametrize("keys", [True, False], ids=["each by itself", "together"])
async def test_an_item_that_the_store_refuses_leaves_nothing_and_takes_no_other_with_it(
    database_url: str, tmp_path: Path, keys: bool
):
    async def the_others(at: Sleeper) -> Act:
        return lambda: learn_all(at, BEES, FERRY, keys=keys)

    async with bench_for(the_others, database_url, tmp_path) as bench:
        bench.tables.connection.execute(REFUSING)

        done = await learn_all(bench.at, BEES, MILL, FERRY, keys=keys)

        assert [type(each.error) for each in done] == [type(None), Refused, type(None)]
        assert bench.is_complete()


@pytest.mark.requirement("M-30")
async def test_batches_that_are_finished_stay_and_the_next_call_learns_the_rest(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pipeline, "BATCH", 1)
    left = set()
    async with bench_for(all_three, database_url, tmp_path) as bench:
        for number in range(1, len(bench.statements) + 1):
            error = await bench.fail(nth(number), Fault.DISK_FULL)

            assert isinstance(error, StoreDown)
            kept = await texts(bench.at.app.store)
            left.add(len(kept))
            assert kept == [BEES, MILL, FERRY][: len(kept)]
            await bench.act()
            assert bench.is_complete()
            bench.tables.put_back()
    assert left == {0, 1, 2}
