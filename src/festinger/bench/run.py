"""How are suites run, and what becomes of their samples?

Every suite is measured as often as was asked for, each time in a fresh folder with fresh processes. The median of
the runs is the result, with the least and the greatest beside it. What is shown and written is `report`'s matter.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from festinger import __version__
from festinger.bench.machine import Code, Machine, this_code, this_machine
from festinger.bench.result import Kind, Result, Sample, Status, System, together
from festinger.bench.suite import PRODUCT, Bench, Suite

PREFIX = "fbench-"
"""Short, because the path of a socket in this folder may not be long."""

WALKABLE = 0o711
"""The database server of root runs as another user, who must be able to walk through to its data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Everything that a report is made of."""

    at: datetime
    suites: Sequence[Suite]
    bench: Bench
    code: Code
    machine: Machine
    systems: Sequence[System]
    results: Sequence[Result]


@contextmanager
def throw_away_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        Path(name).chmod(WALKABLE)
        yield Path(name)


async def run_suites(suites: Sequence[Suite], bench: Bench) -> Run:
    """Measure each suite `bench.repeat` times."""
    at, machine = bench.clock(), this_machine()
    if machine.noisy:
        bench.say(f"This machine is busy (load {machine.load_before} on {machine.cores} cores): noisy.")
    results: list[Result] = []
    systems: list[System] = [System(name=PRODUCT, kind=Kind.PRODUCT, version=__version__)]
    for suite in suites:
        samples: list[Sample] = []
        for number in range(bench.repeat):
            bench.say(f"Suite {suite.name}, run {number + 1} of {bench.repeat}.")
            folder = bench.folder / f"{suite.name}-{number}"
            folder.mkdir(mode=WALKABLE)
            measured = await suite.measure(replace(bench, folder=folder))
            samples += measured.samples
            systems = merged(systems, measured.systems)
        results += together(suite.metrics, systems, samples)
    return Run(
        at=at,
        suites=suites,
        bench=bench,
        code=this_code(),
        machine=machine,
        systems=systems,
        results=results,
    )


def merged(known: Sequence[System], found: Sequence[System]) -> list[System]:
    """Each system once, as it was seen last; but one that went wrong in any run has gone wrong."""
    by_name = {system.name: system for system in known}
    for system in found:
        before = by_name.get(system.name)
        went_wrong = before is not None and before.status is not Status.RAN
        by_name[system.name] = before if before is not None and went_wrong else system
    return list(by_name.values())
