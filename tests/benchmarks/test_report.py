"""What is written down about a run."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.curve import Curve
from benchmarks.data import Data, File
from benchmarks.machine import Code, Machine
from benchmarks.report import (
    below_floor,
    digest,
    document,
    headers,
    in_order,
    listing,
    missed,
    rows,
    settings_digest,
    unmeasured,
    wrong_items,
)
from benchmarks.result import (
    BenchMetric,
    Sample,
    System,
    SystemKind,
    SystemStatus,
    at_least,
    at_most,
    counted,
    together,
)
from benchmarks.run import BenchRun
from benchmarks.suite import Bench, Suite, SuiteResult
from benchmarks.tally import MetricTally
from benchmarks.tally import counted as counted_item
from tests.benchmarks.schema import assert_fits_the_schema
from tests.conftest import MONDAY

METRICS = [
    BenchMetric(name="slow", unit="ms", about="how slow", goal=at_most(2)),
    BenchMetric(name="fast", unit="1/s", about="how fast", goal=at_least(10)),
    BenchMetric(name="ratio", unit="x", about="against the peer", goal=at_least(5)),
    BenchMetric(name="size", unit="MB", about="how large"),
]
SYSTEMS = [
    System(name="festinger", kind=SystemKind.PRODUCT, version="1"),
    System(name="peer", kind=SystemKind.PEER, status=SystemStatus.NOT_RUN, reason="it did not install"),
]
QUIET = Machine(
    cpu="some", cores=2, ram_gb=8.0, os="Linux", python="3.11", postgres="18", pgvector="0.8", load_before=1.0
)


async def nothing(_bench: Bench) -> SuiteResult:
    return SuiteResult()


def a_run(slow: float = 1.0, fast: float = 20.0) -> BenchRun:
    suite = Suite(name="some", about="some", metrics=METRICS, measure=nothing)
    values = {"slow": slow, "fast": fast, "size": 1234.0}
    samples = [Sample(metric=name, system="festinger", value=value) for name, value in values.items()]
    return BenchRun(
        at=MONDAY,
        suites=[suite],
        bench=Bench(folder=Path()),
        code=Code(version="1", commit="abc"),
        machine=QUIET,
        systems=SYSTEMS,
        results=together(METRICS, SYSTEMS, samples),
    )


def test_the_document_is_what_the_docs_say():
    written = json.loads(json.dumps(document(a_run())))

    assert_fits_the_schema(written)
    assert written["at"] == "2026-01-05T12:00:00Z"
    assert written["results"][0] == {
        "metric": "slow",
        "system": "festinger",
        "value": 1.0,
        "spread": [1.0, 1.0],
        "n": 1,
        "unit": "ms",
        "goal": {"op": "<=", "value": 2},
        "better": "<=",
        "met": True,
        "counted": False,
        "ci": None,
        "against": None,
    }


def a_counted_run(*rights: bool, smoke: bool = False) -> BenchRun:
    def tally(system: str, rights: Sequence[bool]) -> MetricTally:
        items = [counted_item(str(place), right) for place, right in enumerate(rights)]
        return MetricTally(metric="found", system=system, items=items)

    metric = BenchMetric(name="found", unit="share", about="how many", goal=at_least(0.5))
    suite = Suite(name="some", about="some", metrics=[metric], measure=nothing, needs=("set",), timed=False)
    tallies = [tally("festinger", rights), tally("peer", [False] * len(rights))]
    return replace(
        a_run(),
        suites=[suite],
        bench=Bench(folder=Path(), smoke=smoke, bootstrap=200),
        systems=[SYSTEMS[0], replace(SYSTEMS[1], status=SystemStatus.RAN, reason="")],
        results=counted([metric], SYSTEMS, tallies, bootstrap=200),
        tallies=tallies,
        curves=[Curve(name="some.curve", title="t", x="k", y="share", points={"festinger": [(1.0, 0.5)]})],
        files=[File(set="set", name="pairs.jsonl", sha256="0" * 64, rows=4)],
    )


@pytest.mark.requirement("S-02", "S-06")
def test_what_was_counted_comes_with_its_interval_its_data_and_its_lead():
    written = json.loads(json.dumps(document(a_counted_run(True, True, True, False))))

    assert_fits_the_schema(written)
    ours = written["results"][0]
    assert (ours["value"], ours["counted"], ours["met"], ours["n"]) == (0.75, True, True, 4)
    assert ours["ci"][0] < 0.75 < ours["ci"][1]
    assert ours["against"]["system"] == "peer"
    assert ours["against"]["difference"] == 0.75
    assert written["data"] == [{"folder": "set", "files": [{"name": "pairs.jsonl", "sha256": "0" * 64, "rows": 4}]}]
    assert written["curves"]["some.curve"]["points"] == {"festinger": [[1.0, 0.5]]}


@pytest.mark.requirement("S-05")
def test_the_digest_covers_what_was_counted():
    one, same, other = (a_counted_run(True, right) for right in (True, True, False))

    assert document(one)["digest"] == document(same)["digest"] != document(other)["digest"]


def test_the_settings_are_those_that_are_shipped_whatever_the_suite():
    timed, quality = document(a_run()), document(a_counted_run(True))

    assert timed["config"]["settings_digest"] == quality["config"]["settings_digest"] == settings_digest()


@pytest.mark.requirement("S-07")
def test_a_run_is_held_to_the_floors_of_its_kind():
    floors = {"smoke": {"found": 0.9}, "whole": {"found": 0.4}}

    assert below_floor(a_counted_run(True, False), floors) == []
    (fallen,) = below_floor(a_counted_run(True, False, smoke=True), floors)
    assert (fallen.floor, fallen.value) == (0.9, 0.5)
    limited = replace(a_counted_run(False), bench=Bench(folder=Path(), data=Data(limit=1)))
    assert below_floor(limited, floors) == []


@pytest.mark.requirement("S-07", "S-61")
def test_what_is_wrong_is_named_by_its_items_ten_at_most():
    assert wrong_items(a_counted_run(True, False, False), "found") == ["1", "2"]
    assert len(wrong_items(a_counted_run(*[False] * 20), "found")) == 10


@pytest.mark.requirement("S-60")
def test_what_can_be_bought_with_one_another_stands_together():
    recall = BenchMetric(name="recall", unit="share", about="r", beside="alarms")
    alarms = BenchMetric(name="alarms", unit="share", about="a", beside="recall")
    other = BenchMetric(name="other", unit="share", about="o")

    assert in_order([recall, other, alarms]) == [recall, alarms, other]


def test_the_list_says_which_folders_a_suite_needs():
    suite = a_counted_run(True).suites[0]

    assert listing({"some": suite}) == [["some (set)", "found", "share", ">= 0.5", "how many"]]


def test_a_system_that_another_suite_brought_has_no_column_here():
    run = replace(a_counted_run(True), systems=[*SYSTEMS, System(name="stranger", kind=SystemKind.BASELINE)])

    assert headers(run, run.suites[0]) == ["metric", "unit", "festinger", "peer (not_run)", "goal", "met"]


@pytest.mark.requirement("S-05")
def test_the_digest_leaves_out_what_two_runs_may_differ_in():
    one, two = a_run(), replace(a_run(slow=1.9), at=MONDAY.replace(hour=18), machine=replace(QUIET, cores=64))
    seeded = replace(one, bench=replace(one.bench, seed=7))

    assert document(one)["digest"] == document(two)["digest"] == digest(document(two))
    assert document(seeded)["digest"] != document(one)["digest"]


def test_only_a_missed_goal_is_missed():
    assert [result.metric.name for result in missed(a_run(slow=3.0))] == ["slow"]
    assert missed(a_run()) == []


def test_what_could_not_be_compared_is_neither_met_nor_missed():
    run = a_run()

    assert [metric.name for metric in unmeasured(run)] == ["ratio"]
    assert rows(run, run.suites[0])[2] == ["ratio", "x", "", "", ">= 5", "not measured"]


@pytest.mark.requirement("S-07")
def test_a_smoke_run_does_not_miss_what_it_leaves_out():
    run = a_run()
    smoke = replace(run, bench=replace(run.bench, smoke=True))

    assert [row[0] for row in rows(smoke, smoke.suites[0])] == ["slow", "fast", "size"]
    assert unmeasured(smoke) == []


def test_the_table_has_a_row_a_metric_and_a_column_a_system():
    run = a_run(slow=3.0)
    table = rows(run, run.suites[0])

    assert headers(run, run.suites[0]) == ["metric", "unit", "festinger", "peer (not_run)", "goal", "met"]
    assert table[0] == ["slow", "ms", "3.00", "", "<= 2", "NO"]
    assert table[1] == ["fast", "1/s", "20.0", "", ">= 10", "yes"]
    assert table[3] == ["size", "MB", "1,234", "", "", ""]


@pytest.mark.requirement("S-05")
@pytest.mark.parametrize(("load", "noisy"), [(0.0, False), (1.0, False), (1.01, True)])
def test_a_load_above_half_a_core_is_noisy(load: float, noisy: bool):
    assert replace(QUIET, load_before=load).noisy is noisy
