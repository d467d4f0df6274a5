"""What happens when somebody states a fact on purpose?"""

from datetime import timedelta

import pytest
from tests.jobs.deps import rows
from tests.world.worldly import Bench, kept, queue, table

from festinger.errors import BadFact, SelfParent, TooLarge
from festinger.ids import MAIN_SPACE, Origin
from festinger.store.pool import Store
from festinger.world.edge_statements import apply_statement
from festinger.world.learn import fact_result_json, iknowthat
from festinger.world.model import StatementEffect
from festinger.world.quarantine import load_quarantine


async def test_a_stated_fact_stands_at_once_with_full_confidence(store: Store):
    bench = await Bench(store).open()

    (known,) = await iknowthat(
        bench.deps, MAIN_SPACE, ["gnommoweb -isa repo in context of glitch_university"], because=bench.because()
    )

    assert known.stated.did is StatementEffect.ADDED
    assert known.stated.new_tokens == ("gnommoweb", "repo", "glitch_university")
    assert await table(store) == kept(bench) == {("gnommoweb", "repo", "glitch_university", True, 1.0)}
    assert (await bench.hear("gnommoweb")).lines == ("gnommoweb: [glitch_university] repo",)
    (row,) = await rows(store, "select source, origin, person_stated from urd where id <> parent_id")
    assert row == {"source": "gutask", "origin": "person", "person_stated": True}


async def test_a_fact_corroborates_or_waits_with_the_highest_priority(store: Store):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo", session="s0"))

    (same,) = await iknowthat(bench.deps, MAIN_SPACE, ["gnommoweb -isa repo"], because=bench.because())
    (other,) = await iknowthat(bench.deps, MAIN_SPACE, ["gnommoweb -isa app"], because=bench.because())

    assert (same.stated.did, other.stated.did) == (StatementEffect.CORROBORATED, StatementEffect.CONFLICT)
    assert same.stated.edge is not None
    assert (same.stated.edge.confidence, same.stated.edge.source) == (1.0, "gutask")
    assert [item["priority"] for item in await queue(store)] == [10]


async def test_an_agents_fact_is_the_agents(store: Store):
    bench = await Bench(store).open()

    await iknowthat(bench.deps, MAIN_SPACE, ["dobby -isa elf"], because=bench.because(Origin.MODEL))

    (row,) = await rows(store, "select confidence, origin, person_stated from urd where id <> parent_id")
    assert row == {"confidence": pytest.approx(0.8), "origin": "model", "person_stated": False}


async def test_a_persons_fact_lets_the_same_statement_out_of_quarantine(store: Store):
    bench = await Bench(store).open()
    await bench.hear("Acmecorp is a vendor", origin=Origin.TOOL)

    await iknowthat(bench.deps, MAIN_SPACE, ["acmecorp -isa vendor"], because=bench.because())

    assert [each.status for each in await load_quarantine(bench.deps, MAIN_SPACE, statuses=None)] == ["admitted"]


@pytest.mark.requirement("W-39")
async def test_facts_are_all_stated_or_none(store: Store):
    bench = await Bench(store).open()

    with pytest.raises(BadFact):
        await iknowthat(bench.deps, MAIN_SPACE, ["dobby -isa elf", "nonsense"], because=bench.because())
    with pytest.raises(SelfParent):
        await iknowthat(bench.deps, MAIN_SPACE, ["dobby -isa dobby"], because=bench.because())
    with pytest.raises(TooLarge):
        await iknowthat(bench.deps, MAIN_SPACE, ["dobby -isa elf"] * 101, because=bench.because())

    assert await table(store) == set()


@pytest.mark.requirement("W-96")
async def test_an_inferred_edge_falls_silent_and_a_stated_one_never_does(store: Store):
    bench = await Bench(store).open()
    await bench.hear("gnommoweb runs on docker")
    await iknowthat(bench.deps, MAIN_SPACE, ["gnommoweb -isa repo"], because=bench.because())
    before = await rows(store, "select * from urd order by id, dim_id")
    bench.hands.forward(timedelta(days=91))

    later = await bench.hear("open gnommoweb")
    after = await rows(store, "select * from urd order by id, dim_id")
    await bench.hear("gnommoweb runs on docker", session="s9")

    assert later.lines == ("gnommoweb: [type] repo",)
    assert before == after
    assert (await bench.hear("gnommoweb now")).lines == ("gnommoweb: [type] repo [runs-on] docker",)


@pytest.mark.requirement("W-86")
async def test_a_person_who_states_what_they_said_in_passing_makes_it_certain(store: Store):
    bench = await Bench(store).open()
    await bench.hear("Jenkins is a server")
    silent = await bench.hear("why is jenkins slow")

    (known,) = await iknowthat(bench.deps, MAIN_SPACE, ["jenkins -isa server"], because=bench.because())

    assert silent.lines == ()
    assert (await fact_result_json(bench.deps, MAIN_SPACE, known))["edge"]["confidence"] == 1.0
    assert await table(store) == kept(bench) == {("jenkins", "server", "type", True, 1.0)}
    (row,) = await rows(store, "select source, evidence_count from urd where id <> parent_id")
    assert row == {"source": "gutask", "evidence_count": 0}
    (noted,) = await rows(store, "select source, confidence, message_id from urd_cause")
    assert noted == {"source": "gutask", "confidence": 1.0, "message_id": None}
    assert (await bench.hear("is jenkins slow again")).lines == ("jenkins: [type] server",)


@pytest.mark.requirement("W-86")
async def test_an_agent_that_states_what_was_inferred_is_told_what_stands(store: Store):
    bench = await Bench(store).open()
    await bench.hear("gnommoweb is a repo")

    (known,) = await iknowthat(bench.deps, MAIN_SPACE, ["gnommoweb -isa repo"], because=bench.because(Origin.MODEL))

    told = await fact_result_json(bench.deps, MAIN_SPACE, known)
    assert (told["status"], told["edge"]["confidence"], told["edge"]["source"]) == ("corroborated", 0.65, "inferred")
