"""How does a run resolve the conflicts of a space?"""

import pytest
from tests.jobs.deps import rows
from tests.world.worldly import Bench, events, kept, number_from, queue, table

from festinger.consolidation.resolution import (
    ArbiterAnswer,
    ResolutionReport,
    begin_run,
    find_resolution_run,
    last_resolution_run,
    run_conflict_resolution,
)
from festinger.errors import AlreadyRunning, NoSuchRun, ProviderDown
from festinger.ids import MAIN_SPACE, Origin, SpaceId
from festinger.llm.model import Model
from festinger.llm.providers.scripted import FailStep, build_scripted_model
from festinger.store.pool import Store
from festinger.world.decisions import undo_conflict_decision
from festinger.world.edge_statements import apply_statement
from festinger.world.model import EdgeSource


async def run(bench: Bench, model: Model | None = None, *, dry_run: bool = False) -> ResolutionReport:
    async with bench.store.transaction() as transaction:
        begun = await begin_run(bench.deps, transaction, MAIN_SPACE, dry_run=dry_run)

    async def model_for(_space: SpaceId) -> Model | None:
        return model

    tally = await run_conflict_resolution(bench.deps, MAIN_SPACE, begun, model_for=model_for)
    assert tally is not None
    return tally


async def contradicted(bench: Bench, *concepts: str) -> None:
    for concept in concepts:
        await apply_statement(bench.deps, MAIN_SPACE, bench.say(f"{concept} repo", confidence=0.9, origin=Origin.MODEL))
        await apply_statement(bench.deps, MAIN_SPACE, bench.say(f"{concept} container"))


SPLIT = ArbiterAnswer(
    reasoning="one names what it is made as, the other how it runs",
    decision="decompose",
    existing_dimension="artifact-type",
    new_dimension="deployment-type",
    confidence=0.9,
)


@pytest.mark.requirement("W-72", "W-75", "W-76")
async def test_two_kinds_of_one_thing_end_in_two_clean_dimensions(store: Store):
    bench = await Bench(store).open()
    await contradicted(bench, "gnommoweb")
    await number_from(store, 401)
    model, _ = build_scripted_model(SPLIT)

    tally = await run(bench, model)

    assert (tally.seen, tally.resolved, tally.dismissed, tally.waiting, tally.failed) == (1, 1, 0, 0, 0)
    assert (await bench.hear("open gnommoweb")).lines == (
        "gnommoweb: [artifact-type] repo [deployment-type] container",
    )
    (item,) = await queue(store)
    kept_with = item["resolution"]
    assert kept_with["judge"] == "model"
    assert kept_with["model"] == "scripted:script"
    assert kept_with["prompt_hash"]
    assert kept_with["reasoning"].startswith("one names")
    assert kept_with["run_id"]
    (told,) = await events(store, "conflict_decided")
    assert (told["payload"]["status"], told["payload"]["decision"]) == ("resolved", "decompose")

    await undo_conflict_decision(bench.deps, MAIN_SPACE, item["id"], by="reviewer")
    assert (await bench.hear("again gnommoweb")).lines == ("gnommoweb: [type?] repo — conflict pending",)


@pytest.mark.requirement("W-76")
async def test_a_dismissed_contradiction_changes_neither_edges_nor_history(store: Store):
    bench = await Bench(store).open()
    await bench.hear("gnommoweb runs on docker")
    await bench.hear("gnommoweb runs on ramanujan")
    before = await table(store), await rows(store, "select * from urd_history")
    model, _ = build_scripted_model(ArbiterAnswer(reasoning="said once", decision="dismiss", confidence=0.9))

    tally = await run(bench, model)

    assert tally.dismissed == 1
    assert (await table(store), await rows(store, "select * from urd_history")) == before
    assert (await bench.hear("open gnommoweb")).lines == ("gnommoweb: [runs-on] docker",)


@pytest.mark.requirement("W-74", "W-77")
async def test_without_a_model_rules_decide_what_they_can_and_the_rest_waits(store: Store):
    bench = await Bench(store).open()
    await contradicted(bench, "gnommoweb")
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("puma cat", origin=Origin.MODEL))
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("cat animal", origin=Origin.MODEL))
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("puma animal"))

    tally = await run(bench)

    assert (tally.seen, tally.dismissed, tally.waiting) == (2, 1, 1)
    waiting = [item for item in await queue(store) if item["status"] == "pending"]
    assert [(item["attempts"], item["reason"]) for item in waiting] == [(0, "no rule fits, and no model is configured")]


@pytest.mark.requirement("W-74")
async def test_a_stated_fact_takes_the_place_of_what_nobody_stated(store: Store):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo", confidence=0.8, origin=Origin.MODEL))
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb app", confidence=1.0, source=EdgeSource.GUTASK))

    await run(bench)

    assert await table(store) == kept(bench) == {("gnommoweb", "app", "type", True, 1.0)}
    (row,) = await rows(store, "select source, origin, person_stated from urd where id <> parent_id")
    assert row == {"source": "festinger", "origin": "person", "person_stated": True}


@pytest.mark.requirement("W-77")
async def test_a_model_never_overrules_a_person_whatever_its_confidence(store: Store):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb earth runs-on", is_isa=False))
    await apply_statement(
        bench.deps, MAIN_SPACE, bench.say("gnommoweb mars runs-on", is_isa=False, origin=Origin.MODEL)
    )
    sure = ArbiterAnswer(reasoning="it said so", decision="update", confidence=1.0)
    model, script = build_scripted_model(*[sure] * 5)

    for _ in range(5):
        await run(bench, model)

    (item,) = await queue(store)
    assert (item["status"], item["attempts"]) == ("pending", 3)
    assert len(script.asked) == 3
    assert await table(store) == {("gnommoweb", "earth", "runs-on", False, 0.65)}


@pytest.mark.requirement("W-77")
async def test_a_decision_into_a_taken_slot_is_not_applied(store: Store):
    bench = await Bench(store).open()
    await contradicted(bench, "gnommoweb")
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb pod deployment-type"))
    model, _ = build_scripted_model(SPLIT)

    tally = await run(bench, model)

    assert tally.waiting == 1
    (item,) = await queue(store)
    assert (item["status"], item["attempts"]) == ("pending", 1)
    assert ("gnommoweb", "repo", "type", True, 0.9) in await table(store)


@pytest.mark.requirement("W-78")
async def test_one_bad_item_stops_no_other(store: Store):
    bench = await Bench(store).open()
    await contradicted(bench, "gnommoweb", "dobby", "winky")
    model, _ = build_scripted_model(
        FailStep(error=ProviderDown()), "rubbish", "more rubbish", ArbiterAnswer(reasoning="no", decision="dismiss")
    )

    tally = await run(bench, model)

    assert (tally.seen, tally.failed, tally.dismissed) == (3, 2, 1)
    assert sorted(item["status"] for item in await queue(store)) == ["dismissed", "pending", "pending"]


@pytest.mark.requirement("W-78")
async def test_a_run_looks_at_so_many_and_reports_what_is_left(store: Store):
    bench = await Bench(store, resolution_max_items=2).open()
    await contradicted(bench, "gnommoweb", "dobby", "winky")

    tally = await run(bench)

    assert (tally.seen, tally.waiting, tally.left_over) == (2, 2, 1)


@pytest.mark.requirement("W-67")
async def test_what_was_stated_on_purpose_goes_first_then_the_oldest(store: Store):
    bench = await Bench(store, resolution_max_items=1).open()
    await contradicted(bench, "gnommoweb")
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("dobby elf"))
    stated = bench.say("dobby agent", source=EdgeSource.GUTASK, confidence=1.0)
    await apply_statement(bench.deps, MAIN_SPACE, stated)

    await run(bench)

    looked_at = [item for item in await queue(store) if item["reason"]]
    assert [item["priority"] for item in looked_at] == [10]


async def test_a_dry_run_decides_and_changes_nothing(store: Store):
    bench = await Bench(store).open()
    await contradicted(bench, "gnommoweb")
    before = await table(store), await queue(store)
    model, _ = build_scripted_model(SPLIT)

    tally = await run(bench, model, dry_run=True)

    assert tally.resolved == 1
    assert (await table(store), await queue(store)) == before


async def test_one_run_at_a_time_and_each_is_kept(store: Store):
    bench = await Bench(store).open()
    await contradicted(bench, "gnommoweb")
    async with store.transaction() as transaction:
        begun = await begin_run(bench.deps, transaction, MAIN_SPACE)
    with pytest.raises(AlreadyRunning) as refused:
        async with store.transaction() as transaction:
            await begin_run(bench.deps, transaction, MAIN_SPACE)
    waiting = await find_resolution_run(bench.deps, MAIN_SPACE, begun)

    async def nobody(_space: SpaceId) -> None:
        return None

    await run_conflict_resolution(bench.deps, MAIN_SPACE, begun, model_for=nobody)

    assert refused.value.details["run_id"] == str(begun)
    assert (waiting.state, waiting.pending) == ("waiting", 1)
    last = await last_resolution_run(bench.deps, MAIN_SPACE)
    assert last is not None
    assert (last.id, last.state, last.waiting) == (begun, "done", 1)
    assert [event["payload"]["run_id"] for event in await events(store, "resolution_finished")] == [str(begun)]
    assert await run_conflict_resolution(bench.deps, MAIN_SPACE, begun, model_for=nobody) is None
    with pytest.raises(NoSuchRun):
        await find_resolution_run(bench.deps, MAIN_SPACE, bench.deps.new_id())


@pytest.mark.requirement("W-74", "W-76")
@pytest.mark.parametrize(
    ("standing", "incoming", "after"),
    [
        (("acme", "type", False), ("repo", "type", True), {"type": "repo", "membership": "acme"}),
        (("repo", "runs-on", True), ("docker", "runs-on", False), {"runs-on": "docker", "type": "repo"}),
        (("repo", "type", True), ("acme", "type", False), {"type": "repo", "membership": "acme"}),
        (("repo", "acme", True), ("docker", "acme", False), {"acme": "repo", "membership": "docker"}),
    ],
    ids=["part in type", "kind in runs-on", "incoming is misplaced", "any dimension"],
)
async def test_the_side_that_fits_its_dimension_stays_and_the_other_moves(
    standing: tuple[str, str, bool], incoming: tuple[str, str, bool], after: dict[str, str], store: Store
):
    bench = await Bench(store).open()
    for parent, dimension, is_isa in (standing, incoming):
        said = bench.say(f"gnommoweb {parent} {dimension}", is_isa=is_isa, session=parent)
        await apply_statement(bench.deps, MAIN_SPACE, said)
    before = await table(store)

    tally = await run(bench)

    assert tally.resolved == 1
    assert {dim: parent for _, parent, dim, *_ in await table(store)} == after
    assert kept(bench) == await table(store)
    (item,) = await queue(store)
    await undo_conflict_decision(bench.deps, MAIN_SPACE, item["id"], by="reviewer")
    assert kept(bench) == await table(store) == before
