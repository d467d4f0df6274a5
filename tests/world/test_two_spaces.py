"""Whatever happens in two spaces: no leak, no circle, memory equals the table, and history replays to it."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.jobs.deps import rows, run_sql
from tests.world.worldly import Bench, kept, queue, table

from festinger.errors import BadDecision, BadFact, Refused
from festinger.ids import MAIN_SPACE, Origin, SessionId, SpaceId
from festinger.store.pool import Store
from festinger.world.decisions import ConflictJudge, ConflictVerdict, decide_conflict, undo_conflict_decision
from festinger.world.edge_statements import apply_statement
from festinger.world.erase import forget_session
from festinger.world.graph import World
from festinger.world.query import load_edges_as_of

WORK = SpaceId("work")
NAMES = ("xa", "xb", "xc", "xd")
DECISIONS = ("update", "dismiss", "decompose", "same", "reclassify", "undo")

STATE = st.tuples(
    st.just("state"),
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.sampled_from(("type", "membership", "xd")),
    st.booleans(),
    st.sampled_from((0.5, 0.65, 0.9)),
    st.sampled_from((Origin.PERSON, Origin.MODEL, Origin.TOOL)),
    st.sampled_from(("s1", "s2", "s3")),
)
DECIDE = st.tuples(st.just("decide"), st.integers(0, 5), st.sampled_from(DECISIONS))
FORGET = st.tuples(st.just("forget"), st.sampled_from(("s1", "s2", "s3")))
STEPS = st.lists(
    st.tuples(st.sampled_from((MAIN_SPACE, WORK)), st.one_of(STATE, STATE, STATE, DECIDE, DECIDE, FORGET)),
    min_size=8,
    max_size=25,
)


async def take(bench: Bench, space: SpaceId, step: tuple[Any, ...]) -> None:
    try:
        match step:
            case ("state", concept, parent, dim, is_isa, confidence, origin, session):
                said = bench.say(
                    f"{space}_{concept} {space}_{parent} {dim if dim in ('type', 'membership') else f'{space}_{dim}'}",
                    is_isa=is_isa,
                    confidence=confidence,
                    origin=origin,
                    session=session,
                )
                await apply_statement(bench.deps, space, said)
            case ("decide", number, decision):
                await settle(bench, space, number, decision)
            case ("forget", session):
                await forget_session(bench.deps, space, SessionId(session), by="person")
    except (BadFact, BadDecision, Refused):
        pass


async def settle(bench: Bench, space: SpaceId, number: int, decision: str) -> None:
    items = await queue(bench.store, space)
    if not items:
        return
    item = items[number % len(items)]["id"]
    if decision == "undo":
        await undo_conflict_decision(bench.deps, space, item, by="reviewer")
        return
    verdict = ConflictVerdict(
        decision=decision,
        judge=ConflictJudge.PERSON,
        by="reviewer",
        existing_dimension="first",
        new_dimension="second",
        dimension="third",
    )
    await decide_conflict(bench.deps, space, item, verdict)


def assert_no_circle(world: World) -> None:
    for concept, dim in world.urd_by_concept_dim:
        above, steps = world.parent_in(dim, concept), 0
        while above is not None and above != concept:
            above, steps = world.parent_in(dim, above), steps + 1
            assert steps < 64
        assert above != concept


async def assert_whole(bench: Bench, space: SpaceId) -> None:
    world = bench.world(space)
    assert kept(bench, space) == await table(bench.store, space)
    assert_no_circle(world)
    pending = await rows(
        bench.store,
        "select distinct concept_id, dim_id from resolution_queue where space_id = %(space)s and status = 'pending'",
        space=space,
    )
    assert world.pending_slots == {(row["concept_id"], row["dim_id"]) for row in pending}
    replayed = await load_edges_as_of(bench.deps, space, bench.hands.now)
    assert {slot: edge.parent_id for slot, edge in replayed.items()} == {
        slot: edge.parent_id for slot, edge in world.urd_by_concept_dim.items()
    }


def assert_apart(bench: Bench) -> None:
    assert not {token for token in bench.world(WORK).soas_by_token if token.startswith("main_")}
    assert not {token for token in bench.world(MAIN_SPACE).soas_by_token if token.startswith("work_")}
    assert not bench.world(WORK).soas_by_id.keys() & bench.world(MAIN_SPACE).soas_by_id.keys()


@pytest.mark.requirement("W-35", "W-38", "W-42", "W-97")
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    derandomize=True,
)
@given(steps=STEPS)
async def test_whatever_happens_each_space_keeps_itself_true_and_to_itself(
    store: Store, steps: list[tuple[SpaceId, tuple[Any, ...]]]
):
    await run_sql(store, "delete from space where id = 'work'")
    await run_sql(
        store,
        "truncate soas, soas_sentence, urd, urd_cause, urd_history, urd_outcome, world_version, world_log, alias,"
        " resolution_queue, cue_quarantine, cue_quarantine_cause, world_tombstone",
    )
    await run_sql(store, "insert into space (id, name) values ('work', 'work')")
    bench = await Bench(store).open(MAIN_SPACE, WORK)

    for space, step in steps:
        await take(bench, space, step)

    for space in (MAIN_SPACE, WORK):
        await assert_whole(bench, space)
    assert_apart(bench)
