"""Writes the results of a run: a JSON document with stable names, and table rows for people.

`docs/reference/bench.schema.json` describes the document; a test compares them.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from benchmarks.data import File
from benchmarks.floors import SHARE, SMOKE, WHOLE, Fallen, Floors, fallen
from benchmarks.result import Against, BenchMetric, BenchResult, Goal, System, SystemKind, SystemStatus
from benchmarks.run import BenchRun
from benchmarks.suite import PRODUCT, Suite
from festinger.clock import iso
from festinger.settings.tree import Settings

FORMAT = "festinger-bench"
VERSION = 1

TIMED = ("value", "spread", "n", "met")
"""What may differ between two runs of the same code, where time was measured."""

ITEMS_NAMED = 10
"""Wrong items that are named for a number that fell."""


def document(run: BenchRun) -> dict[str, Any]:
    """Everything about a run."""
    found: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "at": iso(run.at),
        "suite": [suite.name for suite in run.suites],
        "seed": run.bench.seed,
        "partial": run.bench.partial,
        "code": asdict(run.code),
        "machine": {**asdict(run.machine), "noisy": run.machine.noisy},
        "config": {
            "repeat": run.bench.repeat,
            "bootstrap": run.bench.bootstrap,
            "quick": run.bench.quick,
            "smoke": run.bench.smoke,
            "limit": run.bench.data.limit,
            "embedder": Settings().embedding.model,
            "reranker": None,
            "model": None,
            "settings_digest": settings_digest(),
        },
        "data": data_read(run.files),
        "systems": [{**asdict(system), "params": dict(system.params)} for system in run.systems],
        "results": [_result(result) for result in run.results],
        "curves": {curve.name: asdict(curve) for curve in run.curves},
    }
    return {**found, "digest": digest(found)}


def settings_digest() -> str:
    """The same for every suite and run of one release: nothing is set for a test."""
    shipped = Settings().model_dump(mode="json")
    return hashlib.sha256(json.dumps(shipped, sort_keys=True, default=str).encode()).hexdigest()


def data_read(files: Sequence[File]) -> list[dict[str, Any]]:
    """Every set with the files that were read from it."""
    return [
        {"folder": name, "files": [{"name": file.name, "sha256": file.sha256, "rows": file.rows} for file in group]}
        for name, group in groupby(files, key=lambda file: file.set)
    ]


def _result(result: BenchResult) -> dict[str, Any]:
    return {
        "metric": result.metric.name,
        "system": result.system,
        "value": round(result.value, 4),
        "spread": [round(value, 4) for value in result.spread],
        "n": result.n,
        "unit": result.metric.unit,
        "goal": None if result.goal is None else asdict(result.goal),
        "better": result.metric.direction,
        "met": result.met,
        "counted": result.counted,
        "ci": None if result.ci is None else [round(value, 4) for value in result.ci],
        "against": None if result.against is None else _against(result.against),
    }


def _against(against: Against) -> dict[str, Any]:
    low, high = against.ci
    return {"system": against.system, "difference": round(against.difference, 4), "ci": [round(low, 4), round(high, 4)]}


def digest(document: Mapping[str, Any]) -> str:
    """The same for two runs that measured the same thing: times, memory and the machine are left out."""
    kept = {name: value for name, value in document.items() if name not in ("at", "machine", "digest")}
    kept["results"] = [
        {name: value for name, value in result.items() if result["counted"] or name not in TIMED}
        for result in document["results"]
    ]
    kept["curves"] = {name: curve for name, curve in document["curves"].items() if curve["counted"]}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def missed(run: BenchRun) -> list[BenchResult]:
    """The results that fall short of their goal."""
    return [result for result in run.results if result.met is False]


def below_floor(run: BenchRun, floors: Floors) -> list[Fallen]:
    """What fell below its floor; of partial runs only the smoke run has floors."""
    if run.bench.partial and not run.bench.smoke:
        return []
    metrics = [metric for suite in run.suites for metric in suite.metrics]
    return fallen(metrics, run.results, floors.get(SMOKE if run.bench.smoke else WHOLE, {}))


def wrong_items(run: BenchRun, metric: str) -> list[str]:
    """The ids of the first items that the product got wrong."""
    return [
        item.id
        for tally in run.tallies
        if (tally.metric, tally.system) == (metric, PRODUCT)
        for item in tally.items
        if item.right is False
    ][:ITEMS_NAMED]


def unmeasured(run: BenchRun) -> list[BenchMetric]:
    """Metrics with a goal but no result, because a system did not run; a smoke run misses none."""
    if run.bench.smoke:
        return []
    known = {result.metric.name for result in run.results if result.system == PRODUCT}
    return [
        metric
        for suite in run.suites
        for metric in suite.metrics
        if metric.goal is not None and metric.name not in known
    ]


def headers(run: BenchRun, suite: Suite) -> list[str]:
    """Column headers; a system that did not run says so, and its cells stay empty."""
    return ["metric", "unit", *map(_title, present(run, suite)), "goal", "met"]


def rows(run: BenchRun, suite: Suite) -> list[list[str]]:
    """One row per metric: the value of each system, the goal, and whether it is met."""
    found = {(result.metric.name, result.system): result for result in run.results}
    return [
        [
            metric.name,
            metric.unit,
            *(_cell(found.get((metric.name, system.name))) for system in present(run, suite)),
            "" if metric.goal is None else str(metric.goal),
            _verdict(metric.goal, found.get((metric.name, PRODUCT))),
        ]
        for metric in in_order(suite.metrics)
        # A smoke run leaves out timings, and that is no news.
        if not run.bench.smoke or (metric.name, PRODUCT) in found
    ]


def present(run: BenchRun, suite: Suite) -> list[System]:
    """The systems of a suite: the product, those with a number, and those that should have run."""
    names = {metric.name for metric in suite.metrics}
    gave = {result.system for result in run.results if result.metric.name in names}
    return [
        system
        for system in run.systems
        if system.name in gave
        or system.kind is SystemKind.PRODUCT
        or (system.status is not SystemStatus.RAN and suite.timed)
    ]


def in_order(metrics: Sequence[BenchMetric]) -> list[BenchMetric]:
    """In order, but metrics that trade off against each other are adjacent."""
    placed: dict[str, BenchMetric] = {}
    known = {metric.name: metric for metric in metrics}
    for metric in metrics:
        placed.setdefault(metric.name, metric)
        if metric.beside in known:
            placed.setdefault(metric.beside, known[metric.beside])
    return list(placed.values())


def _title(system: System) -> str:
    return system.name if system.status is SystemStatus.RAN else f"{system.name} ({system.status})"


def _cell(result: BenchResult | None) -> str:
    if result is None:
        return ""
    low, high = result.spread
    if result.counted:
        return f"{result.value:.3f}" if result.metric.unit == SHARE else _short(result.value)
    return _short(result.value) if low == high else f"{_short(result.value)} ({_short(low)}-{_short(high)})"


def _short(value: float) -> str:
    """As many digits as mean something."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _verdict(goal: Goal | None, result: BenchResult | None) -> str:
    if goal is None:
        return ""
    return "not measured" if result is None else "yes" if result.met else "NO"


def listing(suites: Mapping[str, Suite]) -> list[list[str]]:
    """One row per metric, for `bench list`; the data folders of a suite are next to its name."""
    return [
        [_needing(suite), metric.name, metric.unit, str(metric.goal) if metric.goal else "", metric.about]
        for suite in suites.values()
        for metric in in_order(suite.metrics)
    ]


def _needing(suite: Suite) -> str:
    return f"{suite.name} ({', '.join(suite.needs)})" if suite.needs else suite.name
