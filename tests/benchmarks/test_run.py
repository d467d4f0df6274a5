"""How suites are run: as often as asked, each time afresh."""

import json
import os
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from benchmarks.catalogue import SUITES, chosen_suites, suite_of
from benchmarks.data import Data
from benchmarks.result import BenchMetric, Sample, System, SystemKind, SystemStatus
from benchmarks.run import OWNER, PREFIX, merged, remove_leftovers, run_suites, throw_away_folder
from benchmarks.suite import Bench, Suite, SuiteResult
from benchmarks.tally import MetricTally, counted

from festinger.clock import system_stopwatch
from festinger.errors import BadInput, NotFound

SPEED = BenchMetric(name="speed", unit="ms", about="how fast")
PEER = System(name="peer", kind=SystemKind.PEER)


@pytest.mark.requirement("S-05")
async def test_a_suite_is_measured_as_often_as_asked_in_folders_of_its_own(tmp_path: Path):
    folders: list[Path] = []

    async def measure(bench: Bench) -> SuiteResult:
        folders.append(bench.folder)
        value = float([7, 1, 3][len(folders) - 1])
        return SuiteResult(samples=[Sample(metric="speed", system="festinger", value=value)], systems=[PEER])

    suite = Suite(name="some", about="some", metrics=[SPEED], measure=measure)
    run = await run_suites([suite], Bench(folder=tmp_path, repeat=3))

    assert [(result.value, result.spread) for result in run.results] == [(3.0, (1.0, 7.0))]
    assert len({folder for folder in folders if folder.is_dir()}) == 3
    assert [system.name for system in run.systems] == ["festinger", "peer"]


async def test_what_is_counted_is_counted_once(tmp_path: Path):
    asked: list[Bench] = []

    async def measure(bench: Bench) -> SuiteResult:
        asked.append(bench)
        return SuiteResult(tallies=[MetricTally(metric="speed", system="festinger", items=[counted("a", right=True)])])

    suite = Suite(name="some", about="some", metrics=[SPEED], measure=measure, timed=False)
    run = await run_suites([suite], Bench(folder=tmp_path, repeat=3))

    assert len(asked) == 1
    assert [(result.value, result.counted) for result in run.results] == [(1.0, True)]


@pytest.mark.requirement("S-09")
async def test_nothing_is_measured_where_a_set_is_missing(tmp_path: Path):
    async def measure(bench: Bench) -> SuiteResult:
        raise AssertionError("it must not begin")

    suite = Suite(name="some", about="some", metrics=[SPEED], measure=measure)
    needy = replace(suite, name="needy", needs=("there", "missing"))
    (tmp_path / "there").mkdir()

    with pytest.raises(BadInput, match="missing"):
        await run_suites([suite, needy], Bench(folder=tmp_path, data=Data(folder=tmp_path)))


def test_a_smoke_run_leaves_out_what_is_timed():
    chosen = chosen_suites([], smoke=True)

    assert [suite.name for suite in chosen] == [name for name, suite in SUITES.items() if not suite.timed]
    assert chosen


def test_a_metric_is_found_with_its_suite():
    suite, metric = suite_of("wcl.f1")

    assert (suite.name, metric.name) == ("extract", "wcl.f1")
    with pytest.raises(NotFound):
        suite_of("nonsense")


def test_a_system_that_failed_once_has_failed():
    failed = replace(PEER, status=SystemStatus.FAILED, reason="it stopped answering")

    assert merged([failed], [PEER]) == [failed]
    assert merged([PEER], [failed]) == [failed]


def test_the_folder_is_gone_afterwards():
    with throw_away_folder() as folder:
        (folder / "something").write_text("left")

    assert not folder.exists()


async def test_a_killed_bench_is_cleaned_up_by_the_next_one(tmp_path: Path):
    gone, alive, unsaid = (tmp_path / f"{PREFIX}{name}" for name in ("gone", "alive", "unsaid"))
    began = psutil.Process().create_time()
    for folder, owner in ((gone, [os.getpid(), began - 60]), (alive, [os.getpid(), began])):
        folder.mkdir()
        (folder / OWNER).write_text(json.dumps(owner))
    unsaid.mkdir()

    left = await remove_leftovers(tmp_path, stopwatch=system_stopwatch)

    assert left == [gone]
    assert [folder.exists() for folder in (gone, alive, unsaid)] == [False, True, True]


def test_a_folder_says_whose_it_is():
    with throw_away_folder() as folder:
        assert json.loads((folder / OWNER).read_text())[0] == os.getpid()


def test_no_name_means_every_suite():
    assert [suite.name for suite in chosen_suites([])] == list(SUITES)


def test_an_unknown_suite_is_refused_with_the_known_ones():
    with pytest.raises(BadInput) as refused:
        chosen_suites(["foundation", "nonsense"])

    assert "`nonsense`" in refused.value.message
    assert "foundation" in refused.value.hint


def test_no_two_metrics_of_a_suite_have_one_name():
    for suite in SUITES.values():
        names = [metric.name for metric in suite.metrics]
        assert len(names) == len(set(names))


@pytest.mark.requirement("S-60")
def test_what_stands_beside_a_metric_is_a_metric_of_the_same_suite():
    for suite in SUITES.values():
        names = {metric.name for metric in suite.metrics}
        assert {metric.beside for metric in suite.metrics if metric.beside} <= names
