"""The third hook: one batch, all or nothing, once."""

import asyncio
from uuid import UUID, uuid4

import pytest
from tests.jobs.deps import run_sql
from tests.memory.remembering import DAY, events, known
from tests.memory.test_conflicts import disputed, said
from tests.outcomes.watching import Watched
from tests.world.worldly import Bench, table

from festinger.errors import BadInput, FestingerError, Replayed, UnknownOutcome
from festinger.ids import MAIN_SPACE, Origin
from festinger.memory.erasure.selector import ErasureSelector
from festinger.memory.learn.result import Learned
from festinger.outcomes.model import ReportSource
from festinger.outcomes.replay import check_replay, compare_memories_with_logs, withdraw_outcomes
from festinger.store.pool import Store
from festinger.world.decisions import ConflictJudge, ConflictVerdict, decide_conflict, undo_conflict_decision
from festinger.world.edge_statements import apply_statement
from festinger.world.model import NoteOutcome


@pytest.mark.requirement("O-04")
@pytest.mark.requirement("O-05")
async def test_each_memory_gets_its_outcome_and_what_is_not_named_is_deferred(store: Store) -> None:
    watched = Watched(store)
    one, two, three, four = await watched.memories(4)
    await watched.hooks().on_surfaced([one, two, three, four])

    seen = await watched.hooks().on_context_used(
        [one, two, three, four], {str(one): "acted", str(two): NoteOutcome.USED, str(three): "dismissed"}
    )

    assert [seen.effects[str(each)].outcome for each in (one, two, three, four)] == [
        "acted",
        "used",
        "dismissed",
        "deferred",
    ]
    assert seen.effects[str(one)].confidence == (0.5, 0.7)
    assert seen.effects[str(one)].weight == pytest.approx((0.2, 0.2634435217738221), abs=1e-12)
    assert await watched.hooks().proposals.get_pending() == []


@pytest.mark.requirement("O-06")
async def test_used_confirms_reads_and_ends_the_prediction_where_deferred_does_neither(store: Store) -> None:
    watched = Watched(store)
    used, deferred = await watched.memories(2)
    hooks = watched.hooks()
    for memory in (used, deferred):
        await hooks.on_read(memory)
        await hooks.on_read(memory)
        await hooks.record_prediction(memory, {"opens": 730})

    await hooks.on_context_used([used, deferred], {str(used): "used", str(deferred): "deferred"})

    one, other = await watched.held(used), await watched.held(deferred)
    assert (one.pop("access_count"), other.pop("access_count")) == (2, 0)
    assert one == other
    [ended] = await hooks.prediction_errors()
    assert (ended.memory, ended.prediction.prediction_error) == (used, 0.3)
    assert await watched.count("staged_read") == 0


@pytest.mark.requirement("O-25")
@pytest.mark.parametrize("memories", ["listed", "none"])
async def test_one_bad_label_refuses_everything(store: Store, memories: str) -> None:
    watched = Watched(store)
    one, two = await watched.memories(2)
    listed = [one, two] if memories == "listed" else []

    with pytest.raises(UnknownOutcome) as caught:
        await watched.hooks().on_context_used(listed, {str(one): "acted", str(uuid4()): "echoed"})

    assert isinstance(caught.value, BadInput)
    assert isinstance(caught.value, ValueError)
    for name in NoteOutcome:
        assert name.value in caught.value.message
    assert "dismissed" in str(caught.value.hint)
    assert await watched.count("outcome") == 0


@pytest.mark.requirement("O-25")
@pytest.mark.parametrize("label", ["Acted", "acted ", "", "ACTED"])
async def test_labels_are_exact(store: Store, label: str) -> None:
    watched = Watched(store)

    with pytest.raises(UnknownOutcome):
        await watched.hooks().on_context_used([], {"x": label})


@pytest.mark.requirement("O-27")
async def test_what_is_unknown_or_anothers_is_skipped_and_the_rest_lands(store: Store) -> None:
    watched = Watched(store)
    mine = await watched.memory()
    theirs = await watched.memory("Quillon Freight ships tin.", agent="other", shared=False)
    gone = str(uuid4())

    seen = await watched.hooks().on_context_used(
        [mine, mine, gone, theirs, "no id"], {str(mine): "acted", gone: "acted", str(theirs): "acted"}
    )

    assert set(seen.effects) == {str(mine)}
    assert seen.skipped == {gone: "unknown", str(theirs): "foreign", "no id": "unknown"}
    assert (await watched.held(mine))["evidence_count"] == 1
    assert (await watched.held(theirs))["evidence_count"] == 0


@pytest.mark.requirement("O-28")
async def test_a_report_posted_three_times_works_once(store: Store) -> None:
    watched = Watched(store)
    one = await watched.memory()

    answers = [await watched.hooks().on_context_used([one], {str(one): "acted"}, key="turn 7") for _ in range(3)]

    assert [answer.replayed for answer in answers] == [False, True, True]
    assert answers[1].effects == answers[0].effects
    assert (await watched.held(one))["evidence_count"] == 1


@pytest.mark.requirement("O-28")
async def test_a_key_with_another_body_is_refused_and_forgotten_after_a_day(store: Store) -> None:
    watched = Watched(store)
    one = await watched.memory()
    await watched.hooks().on_context_used([one], {str(one): "acted"}, key="k")

    with pytest.raises(Replayed):
        await watched.hooks().on_context_used([one], {str(one): "used"}, key="k")
    watched.mind.forward(DAY + DAY)

    assert not (await watched.hooks().on_context_used([one], {str(one): "used"}, key="k")).replayed


@pytest.mark.requirement("O-28")
async def test_a_door_that_knows_the_turn_needs_no_key(store: Store) -> None:
    watched = Watched(store)
    one, turn = await watched.memory(), uuid4()
    first = await watched.hooks().on_context_used([one], {str(one): "acted"}, turn=turn)

    again = await watched.hooks().on_context_used([one], {str(one): "acted"}, turn=turn)

    assert (first.replayed, again.replayed) == (False, True)


STEPS = ["held", "gathered", "logged", "moved", "reads", "resolved", "told", "done"]


@pytest.mark.requirement("O-26")
@pytest.mark.parametrize("step", STEPS)
async def test_what_fails_between_any_two_steps_leaves_nothing(store: Store, step: str) -> None:
    watched = Watched(store)
    ids = await watched.memories(20)
    await watched.hooks().on_surfaced(ids)
    before = [await watched.held(each) for each in ids]

    def stumble(at: str) -> None:
        if at == step:
            raise FestingerError("stumbled")

    outcomes = {str(each): "contradicted" for each in ids}
    with pytest.raises(FestingerError, match="stumbled"):
        await watched.with_step(stumble).hooks().on_context_used(ids, outcomes, key="k")

    assert [await watched.held(each) for each in ids] == before
    assert len(await watched.hooks().proposals.get_pending()) == 20
    assert await events(store, "outcome_recorded") == []
    again = await watched.hooks().on_context_used(ids, outcomes, key="k")
    assert not again.replayed
    assert len(again.effects) == 20
    assert (await watched.hooks().on_context_used(ids, outcomes, key="k")).replayed


@pytest.mark.requirement("O-26")
async def test_fifty_batches_at_once_lose_nothing(store: Store) -> None:
    watched = Watched(store, max_per_cause=1000)
    ids = await watched.memories(20)

    async def batch(number: int) -> None:
        order = ids if number % 2 else ids[::-1]
        outcome = "acted" if number % 3 else "contradicted"
        await watched.hooks(f"s{number}").on_context_used(order, {str(each): outcome for each in order})

    await asyncio.gather(*(batch(number) for number in range(50)))

    assert {(await watched.held(each))["evidence_count"] for each in ids} == {50}
    assert await watched.count("outcome") == 1000
    # The log is in the order in which rows changed, so some serial order gives every float.
    assert await compare_memories_with_logs(watched.deps, watched.reporter().scope.space) == (20, [])


@pytest.mark.requirement("O-41")
async def test_the_doctor_fails_when_a_memory_is_not_as_its_log_says(store: Store) -> None:
    watched = Watched(store)
    one, two = await watched.memories(2)
    await watched.hooks().on_context_used([one, two], {str(one): "acted", str(two): "contradicted"})
    seen: list[tuple[int, int | None, str]] = []
    whole = await check_replay(watched.deps, [MAIN_SPACE], lambda *each: seen.append(each))
    await run_sql(store, "update memory set confidence = confidence + 1e-15 where id = %(id)s", id=one)
    broken = await check_replay(watched.deps, [MAIN_SPACE], lambda *each: seen.append(each))

    assert (whole.severity, seen[0]) == ("ok", (2, None, "memories replayed"))
    assert whole.message == "2 memories with outcomes were replayed; 0 numbers differ."
    assert broken.severity == "fail"
    assert [(each["memory"], each["column"]) for each in broken.details["wrong"]] == [(str(one), "confidence")]
    assert "festinger outcomes verify" in broken.remedy


@pytest.mark.requirement("O-29")
async def test_an_agents_own_surfacings_are_resolved_without_naming_its_partition(store: Store) -> None:
    watched = Watched(store)
    one, two = await watched.memories(2)
    hooks = watched.hooks(agent="agent-1")
    await hooks.on_surfaced([one])
    await hooks.on_surfaced([two], partition="side")

    await hooks.on_context_used([one, two], {str(one): "used", str(two): "used"})

    assert await hooks.proposals.get_pending("agent-1") == []
    assert await hooks.proposals.get_pending("side") == []


@pytest.mark.requirement("O-16")
@pytest.mark.requirement("O-29")
async def test_what_one_agent_reports_leaves_the_other_agents_reads_and_surfacings(store: Store) -> None:
    watched = Watched(store)
    shared = await watched.memory()
    for agent in ("a", "b"):
        await watched.hooks(agent=agent).on_read(shared)
        await watched.hooks(agent=agent).on_surfaced([shared])

    seen = await watched.hooks(agent="a").on_context_used([shared], {str(shared): "acted"})

    assert seen.effects[str(shared)].access == 1
    assert [each.agent_id for each in await watched.hooks().proposals.get_pending("b")] == ["b"]
    assert await watched.count("staged_read") == 1
    assert (await watched.held(shared))["access_count"] == 1


@pytest.mark.requirement("O-31")
async def test_one_session_that_reports_five_hundred_times_counts_ten_times(store: Store) -> None:
    watched = Watched(store)
    one = await watched.memory()
    for _ in range(500 // 20):
        for _ in range(20):
            await watched.hooks("sybil").on_context_used([one], {str(one): "acted"})

    log = await watched.log(one)

    assert len(log) == 500
    assert sum(row["counted"] for row in log) == 10
    assert {row["uncounted_because"] for row in log} == {None, "max_per_cause"}
    assert (await watched.held(one))["evidence_count"] == 10


@pytest.mark.requirement("O-31")
async def test_a_reviewers_report_always_counts(store: Store) -> None:
    watched = Watched(store, max_per_cause=1)
    one = await watched.memory()
    for _ in range(3):
        await watched.hooks("desk", is_reviewer=True, name="person:anna").on_context_used(
            [one], {str(one): "contradicted"}
        )

    assert (await watched.held(one))["contradictions"] == 3


@pytest.mark.requirement("O-37")
@pytest.mark.parametrize(("how", "weight"), [(ReportSource.SELF, 0.5), (ReportSource.INFERRED, 0.25)])
async def test_what_nobody_told_on_purpose_counts_once_a_cause(store: Store, how: ReportSource, weight: float) -> None:
    watched = Watched(store)
    one = await watched.memory()
    for _ in range(3):
        await watched.hooks(how=how, origin=Origin.MODEL).on_context_used([one], {str(one): "acted"})

    log = await watched.log(one)

    assert [row["counted"] for row in log] == [True, False, False]
    assert [row["w"] for row in log] == [weight] * 3
    assert (await watched.held(one))["passive_count"] == 1


@pytest.mark.requirement("O-36")
async def test_credit_splits_the_weight_but_not_an_explicit_signal(store: Store) -> None:
    watched = Watched(store)
    ids = await watched.memories(4)

    await watched.hooks().on_context_used(ids, {str(each): "acted" for each in ids})

    log = await watched.log()
    assert [row["alpha_gain"] for row in log] == [0.25] * 4
    assert [row["confidence_after"] for row in log] == [0.7] * 4


@pytest.mark.requirement("O-40")
async def test_what_a_person_contradicted_stays_down_until_somebody_acts_on_it(store: Store) -> None:
    watched = Watched(store)
    one = await watched.memory()
    await watched.hooks("desk").on_context_used([one], {str(one): "contradicted"})
    low = await watched.held(one)
    center = low["weight_alpha"] / (low["weight_alpha"] + low["weight_beta"])
    for number in range(50):
        watched.mind.forward(DAY)
        hooks = watched.hooks(f"s{number}", how=ReportSource.INFERRED, origin=Origin.MODEL)
        await hooks.on_read(one)
        await hooks.on_surfaced([one], reason="recall")
        await hooks.on_context_used([one], {str(one): "acted"}, q={str(one): 0.9})
        held = await watched.held(one)
        assert held["confidence"] <= 0.3
        assert held["weight_alpha"] / (held["weight_alpha"] + held["weight_beta"]) <= center

    await watched.hooks("last").on_context_used([one], {str(one): "acted"})

    lifted = await watched.held(one)
    assert lifted["confidence"] > 0.3
    assert lifted["weight_alpha"] / (lifted["weight_alpha"] + lifted["weight_beta"]) > center
    assert [each["name"] for each in await events(store, "ceiling_set", "ceiling_cleared")] == [
        "ceiling_set",
        "ceiling_cleared",
    ]


@pytest.mark.requirement("O-39")
async def test_a_person_who_states_it_anew_takes_the_ceiling_away(store: Store) -> None:
    watched = Watched(store)
    one = await watched.memory()
    await watched.hooks("desk").on_context_used([one], {str(one): "contradicted"})

    await watched.memory(session="another")

    held = await watched.held(one)
    assert held["confidence_ceiling"] is None
    assert held["confidence"] > 0.3


@pytest.mark.requirement("O-39")
async def test_a_person_who_settles_a_conflict_takes_the_ceiling_from_what_stands_and_undoing_brings_it_back(
    store: Store,
) -> None:
    mind, old, new = await disputed(store)
    watched, one = Watched(store, mind=mind), known(old)
    await watched.hooks().on_context_used([one], {str(one): "contradicted"})
    pressed = await watched.held(one)
    mind.forward()

    await decide_conflict(mind.world, MAIN_SPACE, conflict_of(new), said("dismiss"))

    settled = await watched.held(one)
    assert (settled["confidence_ceiling"], settled["weight_ceiling"]) == (None, None)
    assert settled["confidence"] == pressed["confidence"]
    [cleared] = await events(store, "ceiling_cleared")
    assert cleared["payload"] == {"memory": str(one), "by": "ada"}
    assert await compare_memories_with_logs(watched.deps, MAIN_SPACE) == (1, [])
    mind.forward()
    await undo_conflict_decision(mind.world, MAIN_SPACE, conflict_of(new), by="ada")
    assert await watched.held(one) == pressed


@pytest.mark.requirement("O-39")
async def test_a_run_that_settles_a_conflict_leaves_the_ceiling(store: Store) -> None:
    mind, old, new = await disputed(store)
    watched, one = Watched(store, mind=mind), known(old)
    await watched.hooks().on_context_used([one], {str(one): "contradicted"})
    pressed = await watched.held(one)
    mind.forward()

    by_rules = ConflictVerdict(decision="dismiss", judge=ConflictJudge.RULE, by="resolution")
    await decide_conflict(mind.world, MAIN_SPACE, conflict_of(new), by_rules)

    assert await watched.held(one) == pressed


def conflict_of(learned: Learned) -> UUID:
    assert learned.conflict is not None
    return learned.conflict


@pytest.mark.requirement("O-39")
async def test_an_explicit_report_replaces_what_was_inferred_of_the_same_turn(store: Store) -> None:
    watched, turn = Watched(store), uuid4()
    one, duplicate = await watched.memories(2)
    model = watched.hooks(how=ReportSource.INFERRED, origin=Origin.MODEL)
    await model.on_surfaced([one], turn=turn)
    await model.on_context_used([one], {str(one): "acted"}, turn=turn)

    await watched.hooks().on_context_used([one], {str(one): "contradicted"}, turn=turn)
    await watched.hooks().on_context_used([duplicate], {str(duplicate): "contradicted"})

    held, plain = await watched.held(one), await watched.held(duplicate)
    assert held == plain
    first, second = await watched.log(one)
    assert first["replaced_by"] == second["id"]
    [told] = await events(store, "outcome_replaced")
    assert (told["payload"]["from"], told["payload"]["to"]) == ("acted", "contradicted")


async def test_what_is_inferred_after_somebody_told_on_purpose_is_passed_over(store: Store) -> None:
    watched, turn = Watched(store), uuid4()
    one = await watched.memory()
    await watched.hooks().on_context_used([one], {str(one): "dismissed"}, turn=turn)

    late = await watched.hooks(how=ReportSource.INFERRED).on_context_used([one], {str(one): "acted"}, turn=turn)

    assert late.skipped == {str(one): "told_explicitly"}
    assert (await watched.held(one))["passive_count"] == 0


@pytest.mark.requirement("O-40")
async def test_a_thousand_reads_and_surfacings_move_nothing(store: Store) -> None:
    watched = Watched(store)
    one = await watched.memory()
    hooks = watched.hooks()
    await hooks.set_rhythm(one, cycles=[("year", 5.0, 0.0)], pressure_rate=0.1)
    before = await watched.held(one), await watched.amplitudes(one)
    for _ in range(100):
        for _ in range(5):
            await hooks.on_read(one)
            await hooks.on_surfaced([one], reason="recall")

    assert (await watched.held(one), await watched.amplitudes(one)) == before
    [waiting] = await hooks.proposals.get_pending()
    assert (waiting.times, waiting.reason) == (500, "recall")
    assert await watched.count("staged_read") == 500


@pytest.mark.requirement("O-18")
async def test_a_person_who_names_the_successor_lets_it_replace(store: Store) -> None:
    watched = Watched(store)
    old = await watched.memory("The harbour office of Lisgate opens at 0730.")
    new = await watched.memory("Lisgate's harbour office now opens its gate at nine.", session="s2")

    await watched.hooks().on_context_used([old], {str(old): "contradicted"}, superseded_by={str(old): str(new)})

    replaced = await watched.mind.memory(old)
    assert (replaced.status.value, replaced.superseded_by) == ("superseded", new)


@pytest.mark.requirement("O-18")
async def test_a_label_alone_retires_nothing_and_a_models_word_does_not_either(store: Store) -> None:
    watched = Watched(store)
    old = await watched.memory("The harbour office of Lisgate opens at 0730.")
    new = await watched.memory("Lisgate's harbour office now opens its gate at nine.", session="s2")
    hooks = watched.hooks(origin=Origin.MODEL, name="key:bot")

    await hooks.on_context_used([old], {str(old): "contradicted"})
    await hooks.on_context_used([old], {str(old): "contradicted"}, superseded_by={str(old): str(new)})

    assert (await watched.mind.memory(old)).status.value == "active"


@pytest.mark.requirement("O-20")
async def test_a_memory_held_for_good_has_only_its_reads_counted(store: Store) -> None:
    watched = Watched(store)
    one = await watched.memory(immutable=True)
    before = await watched.held(one)
    await watched.hooks().on_read(one)
    await watched.hooks().on_surfaced([one])

    await watched.hooks().on_context_used([one], {str(one): "acted"})

    held = await watched.held(one)
    assert held == before | {"access_count": 1}
    assert await watched.hooks().proposals.get_pending() == []


@pytest.mark.requirement("O-20")
async def test_a_superseded_memory_takes_effects_on_itself_and_is_not_brought_back(store: Store) -> None:
    watched = Watched(store)
    old = await watched.memory("The harbour office of Lisgate opens at 0730.")
    new = await watched.memory("Lisgate's harbour office now opens its gate at nine.", session="s2")
    await watched.hooks().on_context_used([old], {str(old): "contradicted"}, superseded_by={str(old): str(new)})
    successor = await watched.held(new)

    await watched.hooks("s9").on_context_used([old], {str(old): "acted"})

    assert (await watched.mind.memory(old)).status.value == "superseded"
    assert (await watched.held(old))["corroborations"] == 1
    assert await watched.held(new) == successor


@pytest.mark.requirement("O-41")
async def test_the_logs_give_what_is_stored_bit_for_bit(store: Store) -> None:
    watched = Watched(store)
    ids = await watched.memories(3)
    outcomes = ["acted", "used", "contradicted", "dismissed", "acted", "contradicted", "acted"]
    for number, outcome in enumerate(outcomes):
        watched.mind.forward()
        how = ReportSource.INFERRED if number % 3 == 1 else ReportSource.EXPLICIT
        await watched.hooks(f"s{number}", how=how).on_context_used(ids, {str(each): outcome for each in ids})
        await watched.memory(session=f"t{number}", origin="model" if number % 2 else "person")

    assert await compare_memories_with_logs(watched.deps, watched.reporter().scope.space) == (3, [])


@pytest.mark.requirement("O-41")
async def test_verifying_names_what_the_logs_do_not_say(store: Store) -> None:
    watched = Watched(store)
    one = await watched.memory()
    await watched.hooks().on_context_used([one], {str(one): "acted"})
    await run_sql(store, "update memory set confidence = 0.99 where id = %(id)s", id=one)

    [wrong] = (await compare_memories_with_logs(watched.deps, watched.reporter().scope.space))[1]

    assert (wrong.memory, wrong.column, wrong.stored) == (one, "confidence", 0.99)


@pytest.mark.requirement("O-41")
async def test_taking_a_hostile_session_back_leaves_every_float_as_if_it_had_never_been(store: Store) -> None:
    watched = Watched(store, max_per_cause=1000)
    [one, duplicate] = await watched.memories(2)
    for memory in (one, duplicate):
        await watched.hooks().set_rhythm(memory, cycles=[("week", 5.0, 0.0)], pressure_rate=0.2)
    for number in range(12):
        watched.mind.forward()
        outcome = "acted" if number % 3 else "contradicted"
        both = {str(one): outcome, str(duplicate): outcome}
        await watched.hooks(f"honest {number}").on_context_used([one, duplicate], both)
        for _ in range(25):
            await watched.hooks("hostile").on_context_used([one], {str(one): "contradicted"})

    async with store.transaction() as transaction:
        place = watched.reporter("hostile").scope
        selector = ErasureSelector(session=place.session)
        moved = (await withdraw_outcomes(watched.deps, transaction, place.space, selector)).memories

    assert moved == (one,)
    assert await watched.held(one) == await watched.held(duplicate)
    assert await watched.amplitudes(one) == await watched.amplitudes(duplicate)


@pytest.mark.requirement("O-21")
async def test_an_edge_goes_to_the_world_in_the_same_batch(store: Store) -> None:
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo"))
    watched = Watched(store, world=bench.deps)
    one, edge = await watched.memory(), "gnommoweb [type] repo"

    seen = await watched.hooks().on_context_used([one, edge], {str(one): "acted", edge: "acted"})

    assert (set(seen.effects), seen.edges, seen.skipped) == ({str(one)}, (edge,), {})
    ((*_, confidence),) = await table(store)
    assert confidence == pytest.approx(0.775)


@pytest.mark.requirement("O-21")
@pytest.mark.requirement("O-26")
async def test_a_batch_that_fails_leaves_the_edge_too(store: Store) -> None:
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo"))

    def stumble(at: str) -> None:
        if at == "done":
            raise FestingerError("stumbled")

    watched, edge = Watched(store, world=bench.deps, step=stumble), "gnommoweb [type] repo"
    with pytest.raises(FestingerError, match="stumbled"):
        await watched.hooks().on_context_used([edge], {edge: "acted"})

    ((*_, confidence),) = await table(store)
    assert confidence == pytest.approx(0.65)
