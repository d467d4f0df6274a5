"""What does a decision do to the world, and how is it taken back?"""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.jobs.deps import rows
from tests.world.worldly import Bench, events, kept, queue, table

from festinger.errors import AlreadyDecided, BadDecision, NoSuchConflict, Refused, Stale, UndoBlocked
from festinger.ids import MAIN_SPACE, MemoryId, Origin, SpaceId
from festinger.store.pool import Store, Transaction
from festinger.world.conflicts import Conflict, count_pending, edge_conflict_json, load_conflicts, open_memory_conflict
from festinger.world.decisions import ConflictJudge, ConflictVerdict, decide_conflict, undo_conflict_decision
from festinger.world.edge_statements import apply_statement
from festinger.world.model import CollisionType, EdgeSource, StatementEffect, collision_type


def verdict(decision: str, judge: ConflictJudge = ConflictJudge.PERSON, **more: Any) -> ConflictVerdict:
    return ConflictVerdict(decision=decision, judge=judge, by="reviewer", **more)


async def disputed(
    bench: Bench, existing: str = "gnommoweb repo", incoming: str = "gnommoweb container", **more: Any
) -> UUID:
    """A conflict between two statements; its id."""
    await apply_statement(bench.deps, MAIN_SPACE, bench.say(existing, **more))
    stated = await apply_statement(bench.deps, MAIN_SPACE, bench.say(incoming, session="s2", **more))
    assert stated.conflict is not None
    return stated.conflict


async def status(store: Store) -> list[str]:
    return [item["status"] for item in await queue(store)]


@pytest.mark.requirement("W-65")
@pytest.mark.parametrize(
    ("existing", "incoming", "expected"),
    [
        (True, True, CollisionType.ISA_ISA),
        (False, False, CollisionType.ISPART_ISPART),
        (True, False, CollisionType.MISCLASSIFICATION),
        (False, True, CollisionType.MISCLASSIFICATION),
    ],
)
def test_the_flavours_say_what_kind_of_collision_it_is(existing: bool, incoming: bool, expected: CollisionType):
    assert collision_type(existing_is_isa=existing, incoming_is_isa=incoming) is expected


@pytest.mark.requirement("W-76")
async def test_update_puts_the_new_edge_in_and_the_old_one_into_history(store: Store):
    bench = await Bench(store).open()
    item = await disputed(bench)

    decided = await decide_conflict(bench.deps, MAIN_SPACE, item, verdict("update", reasoning="it moved"))

    assert await table(store) == kept(bench) == {("gnommoweb", "container", "type", True, 0.65)}
    assert (decided.status, decided.decided_by) == ("resolved", "reviewer")
    assert decided.resolution is not None
    assert decided.resolution["before"][0]["edge"]["confidence"] == 0.65
    gone = await rows(store, "select reason, conflict_id, by from urd_history where op = 'replace'")
    assert gone == [{"reason": "update", "conflict_id": item, "by": "reviewer"}]
    (row,) = await rows(store, "select source, origin from urd where id <> parent_id")
    assert row == {"source": "festinger", "origin": "person"}


@pytest.mark.requirement("W-76")
async def test_reclassify_lets_both_stand(store: Store):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo membership"))
    stated = await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb ramanujan membership", is_isa=False))
    assert stated.conflict is not None

    await decide_conflict(bench.deps, MAIN_SPACE, stated.conflict, verdict("reclassify", dimension="Runs-On"))

    assert (
        await table(store)
        == kept(bench)
        == {("gnommoweb", "repo", "membership", True, 0.65), ("gnommoweb", "ramanujan", "runs-on", False, 0.65)}
    )


@pytest.mark.requirement("W-70")
async def test_same_gives_a_second_name_that_can_be_taken_back(store: Store):
    bench = await Bench(store).open()
    item = await disputed(bench, incoming="gnommoweb repository")

    await decide_conflict(bench.deps, MAIN_SPACE, item, verdict("same"))
    again = await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repository", session="s3"))
    assert again.did is StatementEffect.CORROBORATED
    assert bench.world().row("repository") == bench.world().row("repo")

    await undo_conflict_decision(bench.deps, MAIN_SPACE, item, by="reviewer")

    assert bench.world().row("repository") != bench.world().row("repo")
    assert await status(store) == ["pending"]


@pytest.mark.requirement("W-76")
async def test_an_update_of_a_circle_takes_the_edge_out_that_closes_it(store: Store):
    bench = await Bench(store).open()
    for triple in ("xa xb", "xb xc"):
        await apply_statement(bench.deps, MAIN_SPACE, bench.say(triple))
    stated = await apply_statement(bench.deps, MAIN_SPACE, bench.say("xc xa"))
    assert stated.conflict is not None

    await decide_conflict(bench.deps, MAIN_SPACE, stated.conflict, verdict("update"))

    assert {edge[:2] for edge in await table(store)} == {("xa", "xb"), ("xc", "xa")}
    await undo_conflict_decision(bench.deps, MAIN_SPACE, stated.conflict, by="reviewer")
    assert {edge[:2] for edge in await table(store)} == {("xa", "xb"), ("xb", "xc")}


@pytest.mark.requirement("W-16", "W-76")
async def test_an_update_of_a_retraction_takes_the_edge_out(store: Store):
    bench = await Bench(store).open()
    await bench.hear("gnommoweb is a repo")
    await bench.hear("gnommoweb is no longer a repo")
    (item,) = await queue(store)

    await decide_conflict(bench.deps, MAIN_SPACE, item["id"], verdict("update"))

    assert await table(store) == kept(bench) == set()
    await undo_conflict_decision(bench.deps, MAIN_SPACE, item["id"], by="reviewer")
    assert (await bench.hear("gnommoweb")).lines == ("gnommoweb: [type?] repo — conflict pending",)


@pytest.mark.parametrize(
    "wrong",
    [
        verdict("nonsense"),
        verdict("decompose"),
        verdict("decompose", existing_dimension="one", new_dimension="One"),
        verdict("reclassify", dimension="type"),
        verdict("reclassify", dimension="gnommoweb"),
        verdict("reclassify", dimension="…"),
    ],
)
async def test_a_decision_that_cannot_be_carried_out_changes_nothing(store: Store, wrong: ConflictVerdict):
    bench = await Bench(store).open()
    item = await disputed(bench)
    before = await table(store)

    with pytest.raises(BadDecision):
        await decide_conflict(bench.deps, MAIN_SPACE, item, wrong)

    assert await table(store) == kept(bench) == before
    assert await status(store) == ["pending"]


async def test_a_person_overrules_what_was_decided_and_nobody_else_does(store: Store):
    bench = await Bench(store).open()
    item = await disputed(bench)
    await decide_conflict(bench.deps, MAIN_SPACE, item, verdict("update", ConflictJudge.MODEL))

    with pytest.raises(AlreadyDecided):
        await decide_conflict(bench.deps, MAIN_SPACE, item, verdict("dismiss", ConflictJudge.RULE))
    await decide_conflict(bench.deps, MAIN_SPACE, item, verdict("dismiss"))

    assert await table(store) == {("gnommoweb", "repo", "type", True, 0.65)}
    assert await status(store) == ["dismissed"]


async def test_an_undo_is_blocked_by_what_came_later_and_can_be_decided_again(store: Store):
    bench = await Bench(store).open()
    item = await disputed(bench)
    with pytest.raises(Refused):
        await undo_conflict_decision(bench.deps, MAIN_SPACE, item, by="reviewer")
    await decide_conflict(bench.deps, MAIN_SPACE, item, verdict("update"))
    later = await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb service", session="s3"))
    assert later.conflict is not None
    await decide_conflict(bench.deps, MAIN_SPACE, later.conflict, verdict("update"))

    with pytest.raises(UndoBlocked) as blocked:
        await undo_conflict_decision(bench.deps, MAIN_SPACE, item, by="reviewer")
    await undo_conflict_decision(bench.deps, MAIN_SPACE, later.conflict, by="reviewer")
    await undo_conflict_decision(bench.deps, MAIN_SPACE, item, by="reviewer")
    assert ("gnommoweb", "repo", "type", True, 0.65) in await table(store)
    await decide_conflict(bench.deps, MAIN_SPACE, item, verdict("update"))

    assert blocked.value.details["present"]["parent_id"]
    assert await table(store) == {("gnommoweb", "container", "type", True, 0.65)}
    assert len(await events(store, "conflict_undone")) == 2


@pytest.mark.requirement("W-69")
async def test_when_the_edge_changes_what_waits_is_set_against_the_new_one_or_closes(store: Store):
    bench = await Bench(store).open()
    first = await disputed(bench)
    second = (await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb service", session="s3"))).conflict
    third = (await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb service", session="s4"))).conflict
    world = bench.world()

    await decide_conflict(bench.deps, MAIN_SPACE, first, verdict("update"))

    assert second is not None
    assert second == third
    rebased = {item["id"]: item for item in await queue(store)}[second]
    assert rebased["existing_parent_id"] == world.soas_by_token["container"].id
    assert rebased["sightings"] == 2
    assert world.pending_conflicts == {world.soas_by_token["gnommoweb"].id}


@pytest.mark.requirement("W-69")
async def test_a_conflict_closes_by_itself_when_what_it_asked_for_stands(store: Store):
    bench = await Bench(store).open()
    first = await disputed(bench)
    second = (await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb service", session="s3"))).conflict
    assert second is not None
    await decide_conflict(bench.deps, MAIN_SPACE, first, verdict("update"))
    await decide_conflict(bench.deps, MAIN_SPACE, second, verdict("update"))
    await undo_conflict_decision(bench.deps, MAIN_SPACE, second, by="reviewer")
    again = (await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb service", session="s4"))).conflict

    assert again == second
    assert {item["id"]: item["status"] for item in await queue(store)} == {first: "resolved", second: "pending"}


@pytest.mark.requirement("W-69")
async def test_a_verdict_on_an_outdated_view_is_stale(store: Store):
    bench = await Bench(store).open()
    item = await disputed(bench)

    with pytest.raises(Stale) as refused:
        await decide_conflict(bench.deps, MAIN_SPACE, item, verdict("update", against=999_999))

    assert refused.value.details["existing"]["confidence"] == 0.65
    assert await status(store) == ["pending"]


@pytest.mark.requirement("W-68")
async def test_the_same_statement_again_is_a_sighting_and_another_parent_its_own_item(store: Store):
    bench = await Bench(store).open()
    first = await disputed(bench)
    again = await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb container", session="s3"))
    other = await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb service", session="s3"))

    assert again.conflict == first != other.conflict
    assert [item["sightings"] for item in await queue(store)] == [2, 1]


@pytest.mark.requirement("W-68")
async def test_a_dismissed_statement_comes_back_by_three_new_causes_on_purpose_or_after_thirty_days(store: Store):
    bench = await Bench(store).open()
    item = await disputed(bench)
    await decide_conflict(bench.deps, MAIN_SPACE, item, verdict("dismiss"))
    said = []
    for day in range(3):
        bench.hands.forward(timedelta(days=1))
        said.append(
            (await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb container", session=f"n{day}"))).did
        )

    assert said == [StatementEffect.SETTLED, StatementEffect.SETTLED, StatementEffect.CONFLICT]
    (again,) = [row["id"] for row in await queue(store) if row["status"] == "pending"]
    await decide_conflict(bench.deps, MAIN_SPACE, again, verdict("dismiss"))
    stated = bench.say("gnommoweb container", session="n2", source=EdgeSource.GUTASK, confidence=1.0)
    on_purpose = await apply_statement(bench.deps, MAIN_SPACE, stated)
    assert on_purpose.did is StatementEffect.CONFLICT
    assert on_purpose.conflict is not None
    await decide_conflict(bench.deps, MAIN_SPACE, on_purpose.conflict, verdict("dismiss"))
    bench.hands.forward(timedelta(days=31))
    assert (
        await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb container"))
    ).did is StatementEffect.CONFLICT


@pytest.mark.requirement("W-67")
async def test_the_queue_shows_both_sides_with_who_said_them_in_pages(store: Store):
    bench = await Bench(store).open()
    for name in ("dobby", "winky", "kreacher"):
        await disputed(bench, f"{name} elf", f"{name} wizard")
        bench.hands.forward(timedelta(minutes=1))

    first = await load_conflicts(bench.deps, MAIN_SPACE, limit=2)
    rest = await load_conflicts(bench.deps, MAIN_SPACE, limit=2, after=first[-1])
    shown = await edge_conflict_json(bench.deps, MAIN_SPACE, first[0])

    assert [item.concept for item in (*first, *rest)] == ["dobby", "winky", "kreacher"]
    assert await count_pending(bench.deps, MAIN_SPACE) == 3
    assert (shown["concept"], shown["dimension"], shown["collision_type"]) == ("dobby", "type", "isa_isa")
    assert (shown["existing"]["parent"], shown["incoming"]["parent"]) == ("elf", "wizard")
    assert [cause["session"] for cause in shown["incoming"]["causes"]] == ["s2"]
    assert shown["existing"]["confidence"] == 0.65


async def test_decided_items_are_shown_for_a_week(store: Store):
    bench = await Bench(store).open()
    item = await disputed(bench)
    await decide_conflict(bench.deps, MAIN_SPACE, item, verdict("dismiss"))
    bench.hands.forward(timedelta(days=6))
    within = await load_conflicts(bench.deps, MAIN_SPACE)
    bench.hands.forward(timedelta(days=2))

    assert len(within) == 1
    assert await load_conflicts(bench.deps, MAIN_SPACE) == []
    assert len(await load_conflicts(bench.deps, MAIN_SPACE, statuses=("dismissed",))) == 1


async def test_an_unknown_conflict_is_not_found(store: Store):
    bench = await Bench(store).open()

    with pytest.raises(NoSuchConflict):
        await decide_conflict(bench.deps, MAIN_SPACE, UUID(int=7), verdict("dismiss"))


@pytest.mark.requirement("W-67")
async def test_memories_that_contradict_each_other_wait_in_the_same_queue(store: Store):
    bench = await Bench(store).open()
    old, new = MemoryId(UUID(int=1)), MemoryId(UUID(int=2))
    settled: list[str] = []

    async def settle(
        _transaction: Transaction, _space: SpaceId, item: Conflict, said: ConflictVerdict
    ) -> dict[str, Any]:
        settled.append(said.decision)
        return {"kept": str(item.new_memory)}

    async with store.transaction() as transaction:
        pair = [
            await open_memory_conflict(bench.deps, transaction, MAIN_SPACE, old=old, new=new, judgement=None)
            for _ in range(2)
        ]
    with pytest.raises(BadDecision):
        await decide_conflict(bench.deps, MAIN_SPACE, pair[0], verdict("both"))
    decided = await decide_conflict(bench.deps, MAIN_SPACE, pair[0], verdict("both"), settle_memory=settle)

    assert pair[0] == pair[1]
    assert (decided.about, decided.status, decided.sightings) == ("memory", "resolved", 2)
    assert decided.resolution is not None
    assert decided.resolution["kept"] == str(new)
    assert settled == ["both"]


@pytest.mark.requirement("W-77")
async def test_a_person_dismisses_what_an_agent_says_against_them_and_one_undo_brings_it_back(store: Store):
    bench = await Bench(store).open()
    await bench.hear("gnommoweb runs on docker")
    await bench.hear("gnommoweb runs on ramanujan", origin=Origin.MODEL)
    marked = await bench.hear("gnommoweb")
    (item,) = await queue(store)

    await decide_conflict(bench.deps, MAIN_SPACE, item["id"], verdict("dismiss"))
    clean = await bench.hear("gnommoweb again")
    await undo_conflict_decision(bench.deps, MAIN_SPACE, item["id"], by="reviewer")

    assert marked.lines == ("gnommoweb: [runs-on?] docker — conflict pending",)
    assert clean.lines == ("gnommoweb: [runs-on] docker",)
    assert (await bench.hear("gnommoweb once more")).lines == marked.lines
