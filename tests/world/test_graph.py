"""Which worlds does a process keep, and are they still true?"""

import asyncio
import gc
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.jobs.deps import rows, run_sql
from tests.world.worldly import Bench, kept, queue, table

from festinger.errors import StoreDown
from festinger.ids import MAIN_SPACE, Origin, SpaceId
from festinger.observability.checks import CheckSeverity
from festinger.settings.tree import StoreSettings
from festinger.store.cache_invalidation import BoundedCache, CacheListener
from festinger.store.pool import Store, open_store
from festinger.world.decisions import ConflictJudge, ConflictVerdict, decide_conflict
from festinger.world.edge_statements import apply_statement
from festinger.world.erase import prune_world_data
from festinger.world.graph import ROOM, World, check_world_cache, estimate_world_bytes, load_world
from festinger.world.model import SoasRow, UrdEdge
from festinger.world.recall import SourceText
from festinger.world.write import bootstrap_dimensions

WORK = SpaceId("work")


@asynccontextmanager
async def listening(bench: Bench) -> AsyncIterator[CacheListener]:
    listener = CacheListener(bench.store, compare_every=0.05, poll_every=0.05)
    listener.on_change(ROOM, bench.worlds.changed)
    task = asyncio.create_task(listener.run())
    try:
        yield listener
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def caught_up(bench: Bench) -> None:
    """Wait until this process has followed everything."""
    async with asyncio.timeout(60):
        while True:
            (row,) = await rows(bench.store, "select version from world_version where space_id = 'main'")
            if bench.world().version >= row["version"]:
                return
            await asyncio.sleep(0)


@pytest.mark.requirement("W-40")
def test_a_world_can_be_built_from_its_five_structures_alone():
    edge = UrdEdge(id=101, parent_id=201, dim_id=1, is_isa=True)

    world = World(
        soas_by_token={"gnommoweb": SoasRow(id=101, token="gnommoweb")},
        soas_by_id={101: "gnommoweb", 201: "repo", 1: "type"},
        urd_by_concept={101: [edge]},
        urd_by_concept_dim={(101, 1): edge},
        pending_conflicts={101},
    )

    assert world.urd_by_concept_dim[101, 1] == edge
    assert dict(world.urd_by_concept_dim) == {(101, 1): edge}
    assert world.urd_by_concept[101] == (edge,)
    assert world.pending_slots == {(101, 1)}
    assert world.pending_conflicts == {101}
    with pytest.raises(KeyError):
        world.urd_by_concept_dim[101, 2]


@pytest.mark.requirement("W-41")
async def test_reading_touches_no_store(store: Store):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo"))

    class Raising:
        def __getattr__(self, name: str):
            raise AssertionError(f"the store was asked for `{name}`")

    bench.recollector.deps = replace(bench.deps, store=Raising())  # type: ignore[arg-type]
    bench.worlds._store = Raising()  # type: ignore[assignment]
    said = SourceText(text="gnommoweb is a container of Glitch University", origin=Origin.PERSON, message="m1")
    found = bench.recollector.recollect(bench.place(), [said])
    await bench.recollector.count(bench.place(), said)
    spoken = bench.recollector.spoken(bench.place(), said)

    assert found is not None
    assert found.lines == ("gnommoweb: [type] repo",)
    assert spoken is not None
    assert bench.world().would_cycle(1, 2, 3) is False


@pytest.mark.requirement("W-44")
async def test_a_change_in_one_process_is_seen_by_another(store: Store, database_url: str):
    one = await Bench(store, seed=1).open()
    async with open_store(database_url, StoreSettings(), door="other") as second:
        other = await Bench(second, seed=2).open()
        async with listening(other):
            await apply_statement(one.deps, MAIN_SPACE, one.say("gnommoweb repo"))
            await apply_statement(one.deps, MAIN_SPACE, one.say("gnommoweb container"))
            await caught_up(other)

        assert kept(other) == kept(one) == await table(store)
        assert other.world().pending_slots == one.world().pending_slots != set()
        assert other.world().soas_by_token["gnommoweb"].novelty == 1.0


@pytest.mark.requirement("W-44")
async def test_each_change_takes_the_next_number_and_says_so(store: Store):
    bench = await Bench(store).open()
    async with store.apart() as connection:
        await connection.execute("listen festinger_world")
        await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo"))
        heard = [one async for one in connection.notifies(timeout=5, stop_after=1)]

    (version,) = await rows(store, "select version from world_version where space_id = 'main'")
    assert [json.loads(one.payload) for one in heard] == [
        {"space": "main", "version": version["version"], "room": "world"}
    ]
    logged = await rows(store, "select distinct version from world_log order by version")
    assert [row["version"] for row in logged] == list(range(1, version["version"] + 1))


@pytest.mark.requirement("W-31", "W-35", "W-42", "W-68")
async def test_two_processes_that_claim_one_slot_leave_one_edge_and_one_conflict(store: Store, database_url: str):
    one = await Bench(store, seed=1, conflict_max_per_cause=100).open()
    async with open_store(database_url, StoreSettings(), door="other") as second:
        other = await Bench(second, seed=2, conflict_max_per_cause=100).open()
        for number in range(40):
            await asyncio.gather(
                apply_statement(one.deps, MAIN_SPACE, one.say(f"name{number} repo")),
                apply_statement(other.deps, MAIN_SPACE, other.say(f"name{number} container")),
            )
        await one.worlds.follow(MAIN_SPACE)
        await other.worlds.follow(MAIN_SPACE)

        assert kept(one) == kept(other) == await table(store)
        assert len(await table(store)) == len(await queue(store)) == 40
        assert one.world().pending_slots == other.world().pending_slots


@pytest.mark.requirement("W-35")
async def test_two_processes_cannot_close_a_circle_together(store: Store, database_url: str):
    one = await Bench(store, seed=1).open()
    async with open_store(database_url, StoreSettings(), door="other") as second:
        other = await Bench(second, seed=2).open()
        for number in range(20):
            await asyncio.gather(
                apply_statement(one.deps, MAIN_SPACE, one.say(f"left{number} right{number}")),
                apply_statement(other.deps, MAIN_SPACE, other.say(f"right{number} left{number}")),
            )

    assert len(await table(store)) == 20
    assert [row["collision_type"] for row in await queue(store)] == ["cycle"] * 20


@pytest.mark.requirement("W-45")
async def test_no_change_is_missed_when_the_listening_connection_is_killed(store: Store, database_url: str):
    one = await Bench(store, seed=1).open()
    async with open_store(database_url, StoreSettings(), door="other") as second:
        other = await Bench(second, seed=2).open()
        async with listening(other):
            for number in range(120):
                await apply_statement(one.deps, MAIN_SPACE, one.say(f"name{number} repo"))
                if number % 30 == 10:
                    await run_sql(
                        store,
                        "select pg_terminate_backend(pid) from pg_stat_activity"
                        " where datname = current_database() and query ilike '%%listen festinger%%'"
                        " and pid <> pg_backend_pid()",
                    )
            await caught_up(other)

        assert kept(other) == await table(store)
        assert len(kept(other)) == 120


@pytest.mark.requirement("W-45")
async def test_a_gap_in_the_log_or_too_much_of_it_loads_the_space_anew(store: Store, monkeypatch: pytest.MonkeyPatch):
    one, other = await Bench(store, seed=1).open(), await Bench(store, seed=2).open()
    third = await Bench(store, seed=3).open()
    for number in range(3):
        one.hands.forward(timedelta(days=8))
        await apply_statement(one.deps, MAIN_SPACE, one.say(f"name{number} repo"))
    await prune_world_data(one.deps, MAIN_SPACE)
    before = other.world()

    await other.worlds.follow(MAIN_SPACE)
    monkeypatch.setattr("festinger.world.graph.MOST_DUE", 0)
    await apply_statement(one.deps, MAIN_SPACE, one.say("name9 repo"))
    third.worlds._kept.find(MAIN_SPACE).version = other.world().version  # type: ignore[union-attr]
    await third.worlds.follow(MAIN_SPACE)

    assert other.world() is not before
    assert len(kept(other)) == 3
    assert len(kept(third)) == 4


@pytest.mark.requirement("W-45")
async def test_with_the_store_away_the_old_state_is_served_and_doctor_says_since_when(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo"))

    async def away(*_: object, **__: object):
        raise StoreDown

    with monkeypatch.context() as patch:
        patch.setattr(Store, "all", away)
        await bench.worlds.follow(MAIN_SPACE)
        while_away = lines_now(bench)
        said = check_world_cache(bench.worlds)
    await bench.worlds.follow(MAIN_SPACE)

    assert while_away == ("gnommoweb: [type] repo",)
    assert said.severity is CheckSeverity.WARN
    assert "stale since 2026-01-05" in said.message
    assert check_world_cache(bench.worlds).severity is CheckSeverity.OK


def lines_now(bench: Bench) -> tuple[str, ...]:
    found = bench.recollector.recollect(bench.place(), [SourceText(text="open gnommoweb", origin=Origin.PERSON)])
    assert found is not None
    return found.lines


async def test_a_reload_brings_what_outside_tools_wrote_and_a_failing_one_changes_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo"))
    await run_sql(store, "update urd set confidence = 0.99 where id <> parent_id")
    await run_sql(store, "insert into soas (space_id, token) values ('main', 'smuggled')")
    old = bench.world()

    async def away(*_: object, **__: object):
        raise StoreDown

    with monkeypatch.context() as patch:
        patch.setattr(Store, "all", away)
        with pytest.raises(StoreDown):
            await bench.worlds.reload(MAIN_SPACE)
    unchanged = bench.world() is old
    told = await bench.worlds.reload(MAIN_SPACE)

    assert unchanged
    assert (told.edges, told.pending, told.concepts) == (1, 0, 9)
    assert kept(bench) == {("gnommoweb", "repo", "type", True, 0.99)}
    assert "smuggled" in bench.world().soas_by_token


@pytest.mark.requirement("W-47")
async def test_a_space_is_not_ready_until_it_is_loaded_and_the_longest_unused_gives_way(store: Store):
    bench = Bench(store, world_spaces_in_memory=1)
    await run_sql(store, "insert into space (id, name) values ('work', 'work')")
    for space in (MAIN_SPACE, WORK):
        await bootstrap_dimensions(bench.deps, space)

    before = bench.recollector.recollect(bench.place(), [SourceText(text="gnommoweb", origin=Origin.PERSON)])
    await bench.worlds.need(MAIN_SPACE)
    ready = bench.recollector.recollect(bench.place(), [SourceText(text="gnommoweb", origin=Origin.PERSON)])
    await bench.worlds.need(WORK)

    assert before is None
    assert ready is not None
    assert not ready
    assert bench.worlds.held() == [WORK]


@pytest.mark.requirement("W-47")
async def test_a_space_beyond_the_limit_is_asked_for_piece_by_piece(store: Store, monkeypatch: pytest.MonkeyPatch):
    bench = Bench(store)
    await bootstrap_dimensions(bench.deps, MAIN_SPACE)
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo"))
    bench.worlds._kept = BoundedCache(ROOM, limit=10, weigh=estimate_world_bytes)
    await bench.worlds.need(MAIN_SPACE)

    found = await bench.recollector.recollect_from_database(
        bench.place(), [SourceText(text="open gnommoweb", origin=Origin.PERSON)]
    )

    assert bench.worlds.is_too_large(MAIN_SPACE)
    assert bench.worlds.find(MAIN_SPACE) is None
    assert found.lines == ("gnommoweb: [type] repo",)


@pytest.mark.requirement("W-48")
async def test_what_is_loaded_is_kept_out_of_the_collectors_walks(store: Store):
    bench = await Bench(store).open()
    await run_sql(
        store,
        "with words as (insert into soas (space_id, token) select 'main', 'name' || n from generate_series(1, 3000) n"
        " returning id) insert into urd (space_id, id, parent_id, dim_id, is_isa, confidence, source, origin, created_at,"
        " version) select 'main', w.id, d.id, d.id, true, 0.9, 'gutask', 'person', now(), 0"
        " from words w, soas d where d.token = 'type'",
    )
    gc.unfreeze()
    gc.collect()

    await bench.worlds.reload(MAIN_SPACE)
    walked = sum(isinstance(each, UrdEdge | SoasRow) for each in gc.get_objects())
    gc.unfreeze()
    frozen = sum(isinstance(each, UrdEdge | SoasRow) for each in gc.get_objects())
    gc.freeze()

    assert walked == 0
    assert frozen >= 6000


@pytest.mark.requirement("W-43")
async def test_a_decision_is_in_memory_when_it_returns(store: Store):
    bench = await Bench(store).open()
    for parent in ("repo", "container"):
        await apply_statement(bench.deps, MAIN_SPACE, bench.say(f"gnommoweb {parent}"))
    (item,) = await queue(store)

    await decide_conflict(
        bench.deps,
        MAIN_SPACE,
        item["id"],
        ConflictVerdict(decision="update", judge=ConflictJudge.PERSON, by="reviewer"),
    )

    assert kept(bench) == await table(store) == {("gnommoweb", "container", "type", True, 0.65)}


async def test_edges_are_loaded_page_by_page_with_every_value_as_it_is_stored(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    bench = await Bench(store).open()
    for said in ("gnommoweb repo", "gnommo tool", "tooling repo", "repo place", "place thing"):
        await apply_statement(bench.deps, MAIN_SPACE, bench.say(said))
    await run_sql(store, "update urd set last_confirmed = null, unconfirmed = true where id % 2 = 0")
    await run_sql(store, "update urd set source = 'inferred', origin = 'job', confidence = 0.3 where id % 3 = 0")
    monkeypatch.setattr("festinger.world.graph.FETCHED", 3)
    monkeypatch.setattr("festinger.world.graph.PAGE", 2)

    world = await load_world(store, MAIN_SPACE, now=bench.hands.now)

    stored = [UrdEdge(**row) for row in await rows(store, f"select {', '.join(UrdEdge._fields)} from urd")]
    assert {edge.slot: edge for edge in stored if not edge.is_root} == dict(world.urd_by_concept_dim)
    assert {edge.dim_id for edge in stored} == world.dimensions
    assert {edge.last_confirmed is None for edge in stored} == {True, False}
