"""How is something erased from the world for good, and why is the rest believed?"""

import json
from datetime import timedelta

import pytest
from tests.jobs.deps import rows
from tests.world.worldly import Bench, kept, queue, table

from festinger.errors import NoSuchConcept
from festinger.ids import MAIN_SPACE, Origin, SessionId
from festinger.store.pool import Store
from festinger.world.decisions import ConflictJudge, ConflictVerdict, decide_conflict
from festinger.world.edge_statements import apply_statement
from festinger.world.erase import forget_edge, forget_message
from festinger.world.query import build_concept_report, load_edges_as_of

TABLES = (
    "soas", "soas_sentence", "urd", "urd_cause", "urd_history", "resolution_queue", "cue_waiting", "cue_quarantine",
    "cue_quarantine_cause", "session_collision", "held_session", "alias", "world_tombstone", "urd_outcome", "event",
)  # fmt: skip


async def everything(store: Store) -> str:
    """Every byte of the room's tables."""
    found = [await rows(store, f"select to_jsonb(t)::text as row from {name} t") for name in TABLES]
    return json.dumps(found)


@pytest.mark.requirement("W-98")
async def test_after_forgetting_a_session_no_byte_of_what_it_said_is_left(store: Store):
    bench = await Bench(store).open()
    await bench.hear("winky is an elf", session="kept")
    for turn in range(5):
        await bench.hear(f"zanzibo is a quuxling, turn {turn}", session="secret")
    await bench.hear("winky is a zanzibo", session="secret")
    await bench.hear("Plughcorp is a vendor", session="secret", origin=Origin.TOOL)
    await bench.hear("winky is an elf", session="secret")
    await bench.flush()

    await bench.hear("zanzibo once more, not written yet", session="secret")
    done = await bench.recollector.forget_session(MAIN_SPACE, SessionId("secret"), by="person")

    left = await everything(store)
    assert not [word for word in ("zanzibo", "quuxling", "plughcorp") if word in left]
    assert {edge[:3] for edge in await table(store)} == {("winky", "elf", "type")}
    assert kept(bench) == await table(store)
    assert bench.world().pending_slots == set()
    assert "zanzibo" not in bench.world().soas_by_token
    (stone,) = await rows(store, "select kind, by, edges, causes from world_tombstone")
    assert stone == {"kind": "session", "by": "person", "edges": done.edges, "causes": done.causes}
    assert done.edges == 1


@pytest.mark.requirement("W-98")
async def test_an_edge_that_others_said_too_stays_without_the_forgotten_cause(store: Store):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo", session="one", message="m1"))
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo", session="two", message="m2"))

    await forget_message(bench.deps, MAIN_SPACE, "m1", by="person")

    assert len(await table(store)) == 1
    assert [row["session_id"] for row in await rows(store, "select session_id from urd_cause")] == ["two"]
    await forget_message(bench.deps, MAIN_SPACE, "m2", by="person")
    assert await table(store) == kept(bench) == set()


@pytest.mark.requirement("W-98")
async def test_an_edge_can_be_forgotten_by_name(store: Store):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("winky elf"))

    await forget_edge(bench.deps, MAIN_SPACE, concept="winky", parent="elf", dimension="type", by="person")

    left = await everything(store)
    assert not [word for word in ("winky", "elf") if word in left]
    assert kept(bench) == await table(store) == set()
    with pytest.raises(NoSuchConcept):
        await forget_edge(bench.deps, MAIN_SPACE, concept="a1", parent="b1", dimension="type", by="person")


@pytest.mark.requirement("W-38")
async def test_any_earlier_state_can_be_rebuilt(store: Store):
    bench = await Bench(store).open()
    moments = []
    for parent in ("repo", "container"):
        await apply_statement(bench.deps, MAIN_SPACE, bench.say(f"gnommoweb {parent}"))
        moments.append(bench.hands.now)
        bench.hands.forward(timedelta(hours=1))
    (item,) = await queue(store)
    await decide_conflict(
        bench.deps, MAIN_SPACE, item["id"], ConflictVerdict(decision="update", judge=ConflictJudge.PERSON, by="me")
    )
    name = bench.world().soas_by_id

    then = await load_edges_as_of(bench.deps, MAIN_SPACE, moments[0])
    now = await load_edges_as_of(bench.deps, MAIN_SPACE, bench.hands.now)

    assert [name[edge.parent_id] for edge in then.values()] == ["repo"]
    assert [name[edge.parent_id] for edge in now.values()] == ["container"]
    assert await load_edges_as_of(bench.deps, MAIN_SPACE, moments[0] - timedelta(days=1)) == {}


async def test_a_concept_says_why_it_is_believed(store: Store):
    bench = await Bench(store).open()
    await bench.hear("gnommoweb is a repo")
    await bench.hear("gnommoweb is a container", session="s2")
    await bench.hear("gnommoweb runs on docker", origin=Origin.TOOL)

    told = await build_concept_report(bench.deps, MAIN_SPACE, "gnommoweb")

    assert told.effective == 1.0
    assert [(each.edge["dimension"], each.edge["parent"]) for each in told.edges] == [("type", "repo")]
    assert [cause["session_id"] for cause in told.edges[0].causes] == ["s1"]
    assert [step["op"] for step in told.history] == ["add"]
    assert [item.incoming_parent for item in told.conflicts] == ["container"]
    assert [each.parent for each in told.quarantine] == ["docker"]
    with pytest.raises(NoSuchConcept) as unknown:
        await build_concept_report(bench.deps, MAIN_SPACE, "gnomoweb")
    assert unknown.value.details["nearest"] == ["gnommoweb"]
