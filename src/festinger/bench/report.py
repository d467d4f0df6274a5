"""What is written down about a run?

One JSON document with stable names, and the rows of a table for people. `docs/reference/bench.schema.json` says what
the document looks like; a test compares them.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from festinger.bench.result import Goal, Metric, Result, Status, System
from festinger.bench.run import Run
from festinger.bench.suite import PRODUCT
from festinger.clock import iso
from festinger.settings.tree import EmbeddingSettings

FORMAT = "festinger-bench"
VERSION = 1

MEASURED = ("value", "spread", "n", "met")
"""What two runs of the same code may differ in."""


def document(run: Run) -> dict[str, Any]:
    """Everything about a run."""
    found: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "at": iso(run.at),
        "suite": [suite.name for suite in run.suites],
        "seed": run.bench.seed,
        "partial": run.bench.quick,
        "code": asdict(run.code),
        "machine": {**asdict(run.machine), "noisy": run.machine.noisy},
        "config": {
            "repeat": run.bench.repeat,
            "quick": run.bench.quick,
            "embedder": EmbeddingSettings().model,
            "reranker": None,
            "model": None,
        },
        "systems": [{**asdict(system), "params": dict(system.params)} for system in run.systems],
        "results": [_result(result) for result in run.results],
    }
    return {**found, "digest": digest(found)}


def _result(result: Result) -> dict[str, Any]:
    return {
        "metric": result.metric.name,
        "system": result.system,
        "value": round(result.value, 4),
        "spread": [round(value, 4) for value in result.spread],
        "n": result.n,
        "unit": result.metric.unit,
        "goal": None if result.goal is None else asdict(result.goal),
        "met": result.met,
    }


def digest(document: Mapping[str, Any]) -> str:
    """The same for two runs that measured the same thing: times, memory and the machine are left out."""
    kept = {name: value for name, value in document.items() if name not in ("at", "machine", "digest")}
    kept["results"] = [
        {name: value for name, value in result.items() if name not in MEASURED}
        for result in document["results"]
    ]
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def missed(run: Run) -> list[Result]:
    """The results that fall short of their goal."""
    return [result for result in run.results if result.met is False]


def unmeasured(run: Run) -> list[Metric]:
    """The metrics with a goal of which nothing is known, because somebody did not run."""
    known = {result.metric.name for result in run.results if result.system == PRODUCT}
    return [
        metric
        for suite in run.suites
        for metric in suite.metrics
        if metric.goal is not None and metric.name not in known
    ]


def headers(run: Run) -> list[str]:
    """A system that did not run says so in its header, and its cells stay empty."""
    return ["metric", "unit", *map(_title, run.systems), "goal", "met"]


def rows(run: Run) -> list[list[str]]:
    """One row a metric: the value of each system, the goal, and whether it is met."""
    found = {(result.metric.name, result.system): result for result in run.results}
    return [
        [
            metric.name,
            metric.unit,
            *(_cell(found.get((metric.name, system.name))) for system in run.systems),
            "" if metric.goal is None else str(metric.goal),
            _verdict(metric.goal, found.get((metric.name, PRODUCT))),
        ]
        for suite in run.suites
        for metric in suite.metrics
    ]


def _title(system: System) -> str:
    return system.name if system.status is Status.RAN else f"{system.name} ({system.status})"


def _cell(result: Result | None) -> str:
    if result is None:
        return ""
    low, high = result.spread
    return _short(result.value) if low == high else f"{_short(result.value)} ({_short(low)}-{_short(high)})"


def _short(value: float) -> str:
    """As many digits as mean something."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _verdict(goal: Goal | None, result: Result | None) -> str:
    if goal is None:
        return ""
    return "not measured" if result is None else "yes" if result.met else "NO"


def listing(metrics: Sequence[Metric]) -> list[list[str]]:
    """One row a metric, for `bench list`."""
    return [
        [metric.name, metric.unit, str(metric.goal) if metric.goal else "", metric.about]
        for metric in metrics
    ]
