"""Walks count what runs, and each goes where it says it goes."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from benchmarks.run import throw_away_folder
from benchmarks.suite import Bench
from benchmarks.walks import COUNTS, WALKS, Walk, measure, noted_calls, recorded_walks

from festinger.consolidation.resolution import decide_by_rules
from festinger.memory.learn.supersede import supersede_all
from festinger.memory.undo import undo
from festinger.proposals.verdicts.apply import apply_verdict
from festinger.retrieval.log import record_recall
from festinger.retrieval.recall import recall
from festinger.services.block import fit_block
from festinger.store.repositories.request_log import log_requests
from festinger.world.decisions import decide_conflict

THROUGH: dict[str, list[Callable[..., object]]] = {
    "chat": [recall, fit_block, log_requests],
    "learn": [supersede_all],
    "recall": [recall, record_recall],
    "undo": [undo],
    "verdict": [apply_verdict],
    "resolution": [decide_by_rules, decide_conflict],
}
"""What a walk misses if it was cut short or went another way: notes that fit, the last row that is written."""

SAMPLE = """
from dataclasses import dataclass

@dataclass
class Point:
    x: int

    def doubled(self):
        return [double(each) for each in (self.x,)]

def double(x):
    return x + x

def outer():
    return Point(1).doubled()
"""


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of ours; its dataclass looks it up by name."""
    module = ModuleType("festinger.sample")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(SAMPLE, module.__dict__)
    return module


async def noted(*calls: Callable[[], object]) -> Walk:
    """What a task of its own runs through that makes these calls."""

    async def run() -> None:
        for call in calls:
            call()

    with noted_calls() as walks:
        walks.append(Walk())
        await asyncio.create_task(run())
        return walks[0]


async def test_each_function_and_class_counts_once_and_a_comprehension_not_at_all(sample: ModuleType):
    walk = await noted(sample.outer, sample.outer)

    assert {name for _, name in walk.functions} == {"outer", "Point.__init__", "Point.doubled", "double"}
    assert walk.classes == {sample.Point}
    assert walk.modules == {sample.__name__}
    assert walk.depth == 3


async def test_what_others_do_does_not_count(sample: ModuleType):
    sample.__name__ = sample.__dict__["__name__"] = "elsewhere.sample"

    walk = await noted(sample.outer)

    assert [walk.count(what) for what in COUNTS] == [0, 0, 0, 0]


async def test_threads_of_a_walk_count_and_tasks_that_ran_before_do_not(sample: ModuleType):
    with noted_calls() as walks:
        walks.append(Walk())
        sample.outer()
        before = walks[0].count("functions")
        await asyncio.to_thread(sample.double, 2)

    assert before == 0
    assert walks[0].functions == {(sample.__name__, "double")}
    assert sys.getprofile() is None


@pytest.mark.postgres
async def test_each_walk_goes_where_it_says_it_goes():
    with throw_away_folder() as folder:
        walks = await recorded_walks(Bench(folder=folder))

    missed = [
        (name, function.__qualname__)
        for name, functions in THROUGH.items()
        for function in functions
        if (function.__module__, function.__qualname__) not in walks[name].functions
    ]
    assert (list(walks), missed) == (list(THROUGH), [])


async def test_every_metric_is_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    async def recorded(_bench: Bench) -> dict[str, Walk]:
        return {name: Walk(depth=7) for name in THROUGH}

    monkeypatch.setattr("benchmarks.walks.recorded_walks", recorded)
    samples = {each.metric: each.value for each in (await measure(Bench(folder=tmp_path))).samples}

    assert list(samples) == [metric.name for metric in WALKS.metrics]
    assert (samples["walks.undo.depth"], samples["walks.undo.modules"]) == (7, 0)
    assert {metric.name: str(metric.goal) for metric in WALKS.metrics if metric.goal} == {
        "walks.chat.modules": "<= 60",
        "walks.chat.classes": "<= 30",
        "walks.learn.modules": "<= 60",
        "walks.learn.classes": "<= 30",
    }
