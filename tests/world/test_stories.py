"""Small histories of one world, from the first mention to the last decision."""

import random
from datetime import timedelta

import pytest
from tests.world.test_two_spaces import assert_whole
from tests.world.worldly import Bench, kept, queue, table

from festinger.consolidation.resolution import begin_run, run_conflict_resolution
from festinger.errors import StoreDown
from festinger.ids import MAIN_SPACE, Origin, SpaceId
from festinger.store.pool import Store
from festinger.world.counts import flush_all_counts
from festinger.world.edge_statements import apply_statement
from festinger.world.erase import prune_world_data
from festinger.world.model import EdgeSource
from festinger.world.recall import SourceText


async def nobody(_space: SpaceId) -> None:
    return None


async def night(bench: Bench) -> None:
    async with bench.store.transaction() as transaction:
        run = await begin_run(bench.deps, transaction, MAIN_SPACE)
    await run_conflict_resolution(bench.deps, MAIN_SPACE, run, model_for=nobody)
    await prune_world_data(bench.deps, MAIN_SPACE)


@pytest.mark.requirement("W-38", "W-74", "W-77")
async def test_a_year_without_a_model_loses_nothing(store: Store):
    """Mixed statements, a clock moved by hand and nightly runs: rules decide what they can, the rest waits."""
    bench = await Bench(store).open()
    chance = random.Random(7)
    names = [f"name{number}" for number in range(12)]
    stated = set()
    for _day in range(20):
        for _ in range(6):
            concept, parent = chance.sample(names, 2)
            origin = chance.choice((Origin.PERSON, Origin.MODEL, Origin.TOOL))
            source = chance.choice((EdgeSource.INFERRED, EdgeSource.GUTASK))
            dim = chance.choice(("type", "membership"))
            said = bench.say(
                f"{concept} {parent} {dim}",
                origin=origin,
                source=source,
                is_isa=chance.random() < 0.7,
                session=f"s{chance.randrange(9)}",
            )
            await apply_statement(bench.deps, MAIN_SPACE, said)
            stated.add((concept, parent, dim))
        await night(bench)
        bench.hands.forward(timedelta(days=18))

    await bench.worlds.reload(MAIN_SPACE)
    await assert_whole(bench, MAIN_SPACE)
    assert {item["status"] for item in await queue(store)} >= {"pending", "dismissed"}
    causes = await causes_in_words(bench)
    assert stated <= causes


async def causes_in_words(bench: Bench) -> set[tuple[str, str, str]]:
    from tests.jobs.deps import rows

    found = await rows(bench.store, "select distinct id, parent_id, dim_id from urd_cause")
    name = {row["id"]: row["token"] for row in await rows(bench.store, "select id, token from soas")}
    return {(name[row["id"]], name[row["parent_id"]], name[row["dim_id"]]) for row in found}


@pytest.mark.requirement("W-35")
async def test_a_circle_of_three_through_three_agents_is_queued(store: Store):
    bench = await Bench(store).open()
    for concept, parent, session in (("xa", "xb", "s1"), ("xb", "xc", "s2"), ("xc", "xa", "s3")):
        await apply_statement(
            bench.deps, MAIN_SPACE, bench.say(f"{concept} {parent}", origin=Origin.MODEL, session=session)
        )

    assert [item["collision_type"] for item in await queue(store)] == ["cycle"]
    await assert_whole(bench, MAIN_SPACE)


@pytest.mark.requirement("W-27", "W-41", "W-45")
async def test_with_postgres_gone_notes_go_on_and_nothing_is_missing_afterwards(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    bench = await Bench(store).open()
    await bench.hear("gnommoweb is a repo")
    await bench.flush()

    def away(*_: object, **__: object):
        raise StoreDown

    with monkeypatch.context() as patch:
        patch.setattr(Store, "transaction", away)
        for turn in range(3):
            said = SourceText(text=f"gnommoweb turn {turn}", origin=Origin.PERSON, message=f"m{turn}")
            found = bench.recollector.recollect(bench.place(), [said])
            assert found is not None
            assert found.lines == ("gnommoweb: [type] repo",)
            await bench.recollector.count(bench.place(), said)
            assert await flush_all_counts(bench.deps, bench.encounters, bench.worlds.find) == 0
    await flush_all_counts(bench.deps, bench.encounters, bench.worlds.find)

    assert bench.world().soas_by_token["gnommoweb"].encounter_count == 4
    assert kept(bench) == await table(store)
