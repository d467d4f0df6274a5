"""Runs suites and combines their samples.

A timed suite is measured as often as requested, each time in a fresh folder with fresh processes; the result
is the median, with minimum and maximum. What is counted from items is counted once. `report` shows and writes
the results.
"""

import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import psutil

from benchmarks.curve import Curve
from benchmarks.data import File
from benchmarks.machine import Code, Machine, this_code, this_machine
from benchmarks.result import BenchResult, Sample, System, SystemKind, SystemStatus, counted, together
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.tally import MetricTally
from festinger import __version__
from festinger.clock import Stopwatch
from festinger.store.embedded.holders import stop_if_idle
from festinger.store.paths import HomeLayout

PREFIX = "fbench-"
"""Short, because the path of a socket in this folder is limited."""

OWNER = "owner.json"
"""The process that made the folder, by its id and start time."""

WALKABLE = 0o711
"""When run as root, the database server is another user, who must be able to traverse to its data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRun:
    """Everything that a report is made of."""

    at: datetime
    suites: Sequence[Suite]
    bench: Bench
    code: Code
    machine: Machine
    systems: Sequence[System]
    results: Sequence[BenchResult]
    tallies: Sequence[MetricTally] = ()
    curves: Sequence[Curve] = ()
    files: Sequence[File] = ()


@contextmanager
def throw_away_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        Path(name).chmod(WALKABLE)
        (Path(name) / OWNER).write_text(json.dumps([os.getpid(), psutil.Process().create_time()]))
        yield Path(name)


async def remove_leftovers(temp: Path, *, stopwatch: Stopwatch) -> list[Path]:
    """Remove the folders of killed benches, with their database servers; those of living ones stay."""
    left = _leftovers(temp)
    for folder in left:
        for home in _homes(folder):
            await stop_if_idle(HomeLayout(home=home), stopwatch=stopwatch)
        shutil.rmtree(folder, ignore_errors=True)
    return left


def _leftovers(temp: Path) -> list[Path]:
    return [folder for folder in temp.glob(f"{PREFIX}*") if _is_left(folder)]


def _homes(folder: Path) -> list[Path]:
    return [home.resolve() for home in folder.glob("*/home")]


def _is_left(folder: Path) -> bool:
    """Whether the folder's maker is gone; one without an owner file may be in the making."""
    try:
        pid, began = json.loads((folder / OWNER).read_text())
        return bool(psutil.Process(pid).create_time() != began)
    except psutil.NoSuchProcess:
        return True
    except (OSError, ValueError):
        return False


async def run_suites(suites: Sequence[Suite], bench: Bench) -> BenchRun:
    """Measure each suite, once or `bench.repeat` times."""
    for suite in suites:
        bench.data.require(suite.needs)
    at, machine = bench.clock(), this_machine()
    if machine.noisy:
        bench.say(f"This machine is busy (load {machine.load_before} on {machine.cores} cores): noisy.")
    results: list[BenchResult] = []
    tallies: list[MetricTally] = []
    curves: list[Curve] = []
    systems: list[System] = [System(name=PRODUCT, kind=SystemKind.PRODUCT, version=__version__)]
    for suite in suites:
        runs = [measured async for measured in _runs(suite, bench)]
        for measured in runs:
            systems = merged(systems, measured.systems)
        tallies += runs[-1].tallies
        curves += runs[-1].curves
        results += _results(suite, systems, runs, bench=bench)
    return BenchRun(
        at=at,
        suites=suites,
        bench=bench,
        code=this_code(),
        machine=machine,
        systems=systems,
        results=results,
        tallies=tallies,
        curves=curves,
        files=[bench.data.read[name] for name in sorted(bench.data.read)],
    )


async def _runs(suite: Suite, bench: Bench) -> AsyncIterator[SuiteResult]:
    times = bench.repeat if suite.timed else 1
    for number in range(times):
        bench.say(f"Suite {suite.name}, run {number + 1} of {times}.")
        folder = bench.folder / f"{suite.name}-{number}"
        folder.mkdir(mode=WALKABLE)
        yield await suite.measure(replace(bench, folder=folder))


def _results(
    suite: Suite, systems: Sequence[System], runs: Sequence[SuiteResult], *, bench: Bench
) -> list[BenchResult]:
    """In the order of the suite's metrics, timed and counted alike."""
    samples: list[Sample] = [sample for measured in runs for sample in measured.samples]
    timed = together(suite.metrics, systems, samples)
    known = counted(suite.metrics, systems, runs[-1].tallies, bootstrap=bench.bootstrap, seed=bench.seed)
    order = {metric.name: place for place, metric in enumerate(suite.metrics)}
    return sorted([*timed, *known], key=lambda result: order[result.metric.name])


def merged(known: Sequence[System], found: Sequence[System]) -> list[System]:
    """Each system once, as last seen; but one that failed in any run has failed."""
    by_name = {system.name: system for system in known}
    for system in found:
        before = by_name.get(system.name)
        went_wrong = before is not None and before.status is not SystemStatus.RAN
        by_name[system.name] = before if before is not None and went_wrong else system
    return list(by_name.values())
