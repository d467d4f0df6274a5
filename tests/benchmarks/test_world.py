"""The suite `world`: the large world is the same each time, and every number of it is measured."""

from datetime import date
from itertools import islice

import pytest
from benchmarks.bulk_world import fill_world
from benchmarks.large_world import FULL, QUICK, Prose, name, statements
from benchmarks.run import WALKABLE, throw_away_folder
from benchmarks.suite import Bench
from benchmarks.thinking import WorldTimes
from benchmarks.world import METRICS, WORLD, distribution, samples
from tests.world.worldly import Bench as WorldBench
from tests.world.worldly import kept, table

from festinger.ids import MAIN_SPACE, AgentId, Cause, Origin, SessionId
from festinger.store.pool import Store
from festinger.text.vocabulary import may_be_vocabulary
from festinger.world.edge_statements import apply_statement
from festinger.world.query import load_edges_as_of

CAUSE = Cause(agent=AgentId("a"), session=SessionId("s"), day=date(2026, 1, 5), origin=Origin.PERSON)
THOUGHT = WorldTimes(
    load=[2.0],
    memory=512.0,
    recollect_2k=[0.001] * 99 + [0.9],
    recollect_16k=[0.002],
    tokens_1mb=[0.1, 0.3, 0.2],
    cues_4k=[0.001],
    flush_10k=[0.5],
    collision=[0.01],
)


def test_no_two_concepts_have_one_name():
    names = [name(number) for number in range(FULL.concepts)]

    assert len(set(names)) == FULL.concepts
    assert all(map(may_be_vocabulary, names[::1000]))


def test_a_concept_is_only_placed_below_earlier_ones():
    numbers = {name(number): number for number in range(QUICK.concepts)}
    said = list(statements(QUICK, seed=0, cause=CAUSE))

    assert len(said) == QUICK.edges == len({(one.concept, one.dimension) for one in said})
    assert all(numbers[one.parent] < numbers[one.concept] for one in said if one.parent in numbers)
    assert said == list(statements(QUICK, seed=0, cause=CAUSE)) != list(statements(QUICK, seed=1, cause=CAUSE))
    assert len(list(islice(statements(FULL, seed=0, cause=CAUSE), 25))) == 25


def test_texts_have_their_length_and_names_of_the_world_in_them():
    prose, again = Prose(QUICK, seed=0), Prose(QUICK, seed=0)
    text = prose.text(2048)

    assert len(text) == 2048
    assert text == again.text(2048) != prose.text(2048)
    assert sum(name(number) in text.lower() for number in range(QUICK.concepts)) > 3


def test_every_number_of_a_run_is_a_metric_of_the_suite():
    found = {sample.metric: sample.value for sample in samples(WorldTimes(fill=[3.0], edges=500_000), THOUGHT)}

    assert found.keys() == {metric.name for metric in METRICS}
    assert found["world.fill"] == 6.0
    assert found["world.tokens_1mb"] == pytest.approx(200)
    assert (found["world.recollect_2k.p50"], found["world.recollect_2k.p99"]) == (1.0, 1.0)


def test_the_distribution_is_no_part_of_what_must_be_the_same():
    curve = distribution(THOUGHT)

    assert not curve.counted
    assert curve.points["2 KiB"][0] == (1.0, 0.01)


@pytest.mark.postgres
async def test_a_quick_run_fills_a_world_once_and_thinks_about_it():
    said: list[str] = []
    with throw_away_folder() as root:
        runs = [Bench(folder=root / f"world-{number}", quick=True, say=said.append) for number in range(2)]
        for run in runs:
            run.folder.mkdir(mode=WALKABLE)
        first, again = [await WORLD.measure(run) for run in runs]

    values = {sample.metric: sample.value for sample in first.samples}
    assert values.keys() == {metric.name for metric in METRICS}
    assert all(value > 0 for metric, value in values.items() if metric != "world.memory")
    assert {sample.metric: sample.value for sample in again.samples}["world.fill"] == values["world.fill"]
    assert sum("(once)" in line for line in said) == 1


async def test_a_world_that_is_written_in_bulk_stands_as_one_that_was_stated(store: Store):
    bench = await WorldBench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("dobby elf"))
    said = [bench.say(f"name{number} thingy") for number in range(500)]
    said += [bench.say("dobby elf"), bench.say("la lb"), bench.say("lb la"), bench.say("name1 thingy")]

    added = await fill_world(bench.deps, MAIN_SPACE, said, cause=bench.because(session="bulk"))

    assert added == 501
    assert kept(bench) == await table(store)
    assert len(kept(bench)) == 502
    assert bench.world().soas_by_token["name7"].novelty == 1.0
    then = await load_edges_as_of(bench.deps, MAIN_SPACE, bench.hands.now)
    assert set(then) == set(bench.world().urd_by_concept_dim)
