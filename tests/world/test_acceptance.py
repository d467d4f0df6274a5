"""The room's acceptance: a name is met, a fact is contradicted, a conflict is decided and undone."""

from datetime import timedelta

import pytest
from tests.jobs.deps import rows, run_sql
from tests.world.worldly import Bench, kept, number_from, queue, table

from festinger.ids import MAIN_SPACE, Origin
from festinger.store.pool import Store
from festinger.world.decisions import (
    ConflictDecision,
    ConflictJudge,
    ConflictVerdict,
    decide_conflict,
    undo_conflict_decision,
)
from festinger.world.edge_statements import apply_statement
from festinger.world.model import EdgeSource

DECOMPOSE = ConflictVerdict(
    decision=ConflictDecision.DECOMPOSE,
    judge=ConflictJudge.MODEL,
    by="model",
    existing_dimension="artifact-type",
    new_dimension="deployment-type",
)


@pytest.mark.requirement("W-20", "W-21", "W-26", "W-28")
async def test_a_first_mention_is_counted_and_says_nothing(store: Store):
    bench = await Bench(store).open()
    await number_from(store, 101)

    found = await bench.hear("Please update gnommoweb to use FastAPI instead")
    before = bench.world().soas_by_token.keys() & {"gnommoweb", "fastapi"}
    await bench.flush()

    world = bench.world()
    assert not found
    assert before == set()
    assert {world.soas_by_id[number] for number in (101, 102)} == {"gnommoweb", "fastapi"}
    assert {world.soas_by_token[token].saliency for token in ("gnommoweb", "fastapi")} == {0.0}
    counted = await rows(store, "select token from soas where encounter_count > 0 order by token")
    assert [row["token"] for row in counted] == ["fastapi", "gnommoweb"]
    assert await queue(store) == []
    assert world.pending_conflicts == set()


@pytest.mark.requirement("W-92")
async def test_a_salient_name_that_nobody_explained_gives_a_note_if_that_is_wished(store: Store):
    await run_sql(
        store, "insert into soas (space_id, token, encounter_count, saliency) values ('main', 'gnommoweb', 50, 0.9)"
    )
    wished = await Bench(store, zero_hit_notes=True).open()
    quiet = await Bench(store).open()

    noted = await wished.hear("open gnommoweb")

    assert noted.zero_hit_lines[0].startswith("? gnommoweb: no recollection")
    assert len(noted.zero_hit_lines) == 3
    assert wished.world().pending_conflicts == set()
    assert not (await wished.hear("and gnommoweb again")).zero_hit_lines
    assert not await quiet.hear("open gnommoweb")


async def contradicted(bench: Bench) -> None:
    """gnommoweb is a repo, and a person says that it is a container."""
    await number_from(bench.store, 101)
    await apply_statement(
        bench.deps,
        MAIN_SPACE,
        bench.say("gnommoweb repo", origin=Origin.MODEL, confidence=0.9, source=EdgeSource.CLOUD_LLM),
    )
    found = await bench.hear("gnommoweb is a container deployed on Docker")
    assert found.lines == ("gnommoweb: [type?] repo — conflict pending",)


@pytest.mark.requirement("W-40", "W-50", "W-51", "W-66", "W-67")
async def test_a_contradiction_is_marked_in_the_same_prompt_and_queued_once(store: Store):
    bench = await Bench(store).open()

    await contradicted(bench)

    world = bench.world()
    gnommoweb, repo, container, kind = (
        world.soas_by_token[token].id for token in ("gnommoweb", "repo", "container", "type")
    )
    (item,) = await queue(store)
    assert (item["concept_id"], item["existing_parent_id"], item["incoming_parent_id"], item["dim_id"]) == (
        gnommoweb, repo, container, kind,
    )  # fmt: skip
    assert (item["collision_type"], item["status"], item["priority"]) == ("isa_isa", "pending", 0)
    assert world.pending_conflicts == {gnommoweb}
    assert world.urd_by_concept_dim[gnommoweb, kind].parent_id == repo
    assert (await bench.hear("open gnommoweb")).lines == ("gnommoweb: [type?] repo — conflict pending",)


@pytest.mark.requirement("W-76", "W-38")
async def test_a_decomposed_conflict_leaves_two_clean_dimensions_and_can_be_undone(store: Store):
    bench = await Bench(store).open()
    await contradicted(bench)
    await number_from(store, 401)
    (item,) = await queue(store)

    await decide_conflict(bench.deps, MAIN_SPACE, item["id"], DECOMPOSE)

    world = bench.world()
    gnommoweb, kind = world.soas_by_token["gnommoweb"].id, world.soas_by_token["type"].id
    assert (world.soas_by_id[401], world.soas_by_id[402]) == ("artifact-type", "deployment-type")
    roots = await rows(store, "select id from urd where id = parent_id and id = dim_id and id > 400 order by id")
    assert [row["id"] for row in roots] == [401, 402]
    assert {(gnommoweb, 401), (gnommoweb, 402)} <= world.urd_by_concept_dim.keys()
    assert (gnommoweb, kind) not in world.urd_by_concept_dim
    assert world.pending_conflicts == set()
    moved = await rows(store, "select op from urd_history where op = 'move' and dim_id = %(dim)s", dim=kind)
    assert len(moved) == 1
    (decided,) = await queue(store)
    assert decided["status"] == "resolved"
    assert decided["resolution"]["decision"] == "decompose"
    line = (await bench.hear("open gnommoweb")).lines
    assert line == ("gnommoweb: [artifact-type] repo [deployment-type] container",)

    await undo_conflict_decision(bench.deps, MAIN_SPACE, item["id"], by="reviewer")

    assert (await bench.hear("open gnommoweb now")).lines == ("gnommoweb: [type?] repo — conflict pending",)
    assert await table(store) == kept(bench) == {("gnommoweb", "repo", "type", True, 0.9)}


@pytest.mark.requirement("W-50", "W-51", "W-33")
async def test_what_a_person_says_in_passing_is_known_in_the_next_prompt(store: Store):
    bench = await Bench(store).open()

    first = await bench.hear("gnommoweb is a repo of Glitch University")
    second = await bench.hear("open gnommoweb")

    assert not first
    assert second.lines == ("gnommoweb: [glitch_university] repo",)
    assert await table(store) == {("gnommoweb", "repo", "glitch_university", True, 0.65)}
    root = await rows(store, "select 1 from urd u join soas s on s.id = u.id where s.token = 'glitch_university'")
    assert len(root) == 1


@pytest.mark.requirement("W-26", "W-90")
async def test_a_stated_compound_is_found_and_counted_in_the_middle_of_a_sentence(store: Store):
    bench = await Bench(store).open()
    await apply_statement(
        bench.deps, MAIN_SPACE, bench.say("glitch_university school", source=EdgeSource.GUTASK, confidence=1.0)
    )

    found = await bench.hear("we visited Glitch University and then Glitch University again")
    await bench.flush()

    assert found.lines == ("glitch_university: [type] school",)
    assert bench.world().soas_by_token["glitch_university"].encounter_count == 1


@pytest.mark.requirement("W-68", "W-76")
async def test_a_dismissed_contradiction_stays_away(store: Store):
    bench = await Bench(store).open()
    await bench.hear("gnommoweb runs on docker")
    await bench.hear("gnommoweb runs on ramanujan")
    (item,) = await queue(store)
    assert item["collision_type"] == "ispart_ispart"
    before = await table(store), await rows(store, "select * from urd_history")

    await decide_conflict(
        bench.deps, MAIN_SPACE, item["id"], ConflictVerdict(decision="dismiss", judge=ConflictJudge.MODEL, by="model")
    )
    after = await table(store), await rows(store, "select * from urd_history")
    bench.hands.forward(timedelta(days=1))
    again = await bench.hear("gnommoweb runs on ramanujan", session="s2")
    later = await bench.hear("open gnommoweb", session="s2")

    assert before == after
    assert [row["status"] for row in await queue(store)] == ["dismissed"]
    assert again.lines == later.lines
    assert later.lines == ("gnommoweb: [runs-on] docker",)
