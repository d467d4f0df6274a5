"""What is written down about a run."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.bench.schema import assert_fits_the_schema
from tests.conftest import MONDAY

from festinger.bench.machine import Code, Machine
from festinger.bench.report import digest, document, headers, missed, rows, unmeasured
from festinger.bench.result import Kind, Metric, Sample, Status, System, at_least, at_most, together
from festinger.bench.run import Run
from festinger.bench.suite import Bench, Measured, Suite

METRICS = [
    Metric(name="slow", unit="ms", about="how slow", goal=at_most(2)),
    Metric(name="fast", unit="1/s", about="how fast", goal=at_least(10)),
    Metric(name="ratio", unit="x", about="against the peer", goal=at_least(5)),
    Metric(name="size", unit="MB", about="how large"),
]
SYSTEMS = [
    System(name="festinger", kind=Kind.PRODUCT, version="1"),
    System(name="peer", kind=Kind.PEER, status=Status.NOT_RUN, reason="it did not install"),
]
QUIET = Machine(cpu="some", cores=2, ram_gb=8.0, os="Linux", python="3.11", load_before=1.0)


async def nothing(_bench: Bench) -> Measured:
    return Measured()


def a_run(slow: float = 1.0, fast: float = 20.0) -> Run:
    suite = Suite(name="some", about="some", metrics=METRICS, measure=nothing)
    values = {"slow": slow, "fast": fast, "size": 1234.0}
    samples = [Sample(metric=name, system="festinger", value=value) for name, value in values.items()]
    return Run(
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
        "met": True,
    }


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
    assert rows(run)[2] == ["ratio", "x", "", "", ">= 5", "not measured"]


def test_the_table_has_a_row_a_metric_and_a_column_a_system():
    table = rows(a_run(slow=3.0))

    assert headers(a_run()) == ["metric", "unit", "festinger", "peer (not_run)", "goal", "met"]
    assert table[0] == ["slow", "ms", "3.00", "", "<= 2", "NO"]
    assert table[1] == ["fast", "1/s", "20.0", "", ">= 10", "yes"]
    assert table[3] == ["size", "MB", "1,234", "", "", ""]


@pytest.mark.requirement("S-05")
@pytest.mark.parametrize(("load", "noisy"), [(0.0, False), (1.0, False), (1.01, True)])
def test_a_load_above_half_a_core_is_noisy(load: float, noisy: bool):
    assert replace(QUIET, load_before=load).noisy is noisy
