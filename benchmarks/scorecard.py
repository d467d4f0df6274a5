"""Writes the report of a run for readers.

`--report DIR` writes an HTML page, the same tables as Markdown, the results as JSON, and one line per item
for every counted number. The page is one file: plots are inline SVG, nothing is fetched, and it supports
light and dark.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import orjson

from benchmarks.plots import PlotBar, bars, plot, shades
from benchmarks.report import document, headers, rows
from benchmarks.result import BenchMetric, BenchResult, GoalOp
from benchmarks.run import BenchRun
from benchmarks.suite import PRODUCT, Suite
from benchmarks.tally import MetricTally, TallyItem
from festinger.clock import iso

LIGHT = ("#0b6e4f", "#3d5a80", "#b5651d", "#7b3f61", "#6b7280", "#a3a13a")
DARK = ("#4fd1a1", "#8fb3e0", "#f0a868", "#d58bb4", "#a9b1bd", "#d9d77a")

TEMPLATES = Path(__file__).with_name("templates")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorecardPicture:
    title: str
    svg: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    """The same as text, for those who cannot see it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorecardSuite:
    """One suite on the page."""

    suite: Suite
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    met: int
    goals: int
    pictures: Sequence[ScorecardPicture]


def write_report(run: BenchRun, folder: Path, *, with_texts: bool = False) -> None:
    """Write everything about a run into a folder, which is created if necessary."""
    (folder / "items").mkdir(parents=True, exist_ok=True)
    written = document(run)
    (folder / "results.json").write_bytes(orjson.dumps(written, option=orjson.OPT_INDENT_2) + b"\n")
    for name in ("scorecard.html", "scorecard.md"):
        (folder / name).write_text(page(run, written, name), encoding="utf-8")
    for metric in dict.fromkeys(tally.metric for tally in run.tallies):
        tallies = [tally for tally in run.tallies if tally.metric == metric]
        lines = b"".join(_lines(tally, with_texts=with_texts) for tally in tallies)
        (folder / "items" / f"{metric}.jsonl").write_bytes(lines)


def page(run: BenchRun, written: Mapping[str, Any], name: str) -> str:
    """The page of this name."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=name.endswith(".html"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return templates.get_template(name).render(
        run=written, at=iso(run.at), sheets=[sheet(run, suite) for suite in run.suites], shades=shades(LIGHT, DARK)
    )


def sheet(run: BenchRun, suite: Suite) -> ScorecardSuite:
    ours = [result for result in _of_suite(run, suite) if result.system == PRODUCT]
    return ScorecardSuite(
        suite=suite,
        headers=headers(run, suite),
        rows=rows(run, suite),
        met=sum(result.met is True for result in ours),
        goals=sum(metric.goal is not None for metric in suite.metrics),
        pictures=[*_comparisons(run, suite), *_curves(run, suite)],
    )


def _of_suite(run: BenchRun, suite: Suite) -> list[BenchResult]:
    names = {metric.name for metric in suite.metrics}
    return [result for result in run.results if result.metric.name in names]


def _comparisons(run: BenchRun, suite: Suite) -> list[ScorecardPicture]:
    """Bars for every metric that has a goal or another system."""
    found = []
    for metric in suite.metrics:
        results = [result for result in run.results if result.metric.name == metric.name]
        if any(result.system == PRODUCT for result in results) and (len(results) > 1 or metric.goal):
            found.append(_comparison(run, metric, results))
    return found


def _comparison(run: BenchRun, metric: BenchMetric, results: Sequence[BenchResult]) -> ScorecardPicture:
    places = {system.name: place for place, system in enumerate(run.systems)}
    drawn = [
        PlotBar(
            name=result.system,
            value=result.value,
            colour=places[result.system],
            interval=result.ci,
            mark=None if metric.goal is None else metric.goal.value,
        )
        for result in results
    ]
    return ScorecardPicture(
        title=f"{metric.name}: {metric.about}{_query(metric)}",
        svg=bars(drawn, unit=metric.unit),
        headers=["system", metric.unit or "value", "95 of 100 draws", "n"],
        rows=[[one.system, f"{one.value:.4g}", _between(one.ci), str(one.n)] for one in results],
    )


def _query(metric: BenchMetric) -> str:
    if metric.direction is None:
        return ""
    way = "more" if metric.direction is GoalOp.AT_LEAST else "less"
    return f" ({way} is better{f', goal {metric.goal}' if metric.goal else ''})"


def _between(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"{interval[0]:.4g} to {interval[1]:.4g}"


def _curves(run: BenchRun, suite: Suite) -> list[ScorecardPicture]:
    return [
        ScorecardPicture(
            title=curve.title,
            svg=plot(curve),
            headers=["system", curve.x, curve.y],
            rows=[[system, f"{x:.4g}", f"{y:.4g}"] for system, points in curve.points.items() for x, y in points],
        )
        for curve in run.curves
        if curve.name.partition(".")[0] == suite.name
    ]


def _lines(tally: MetricTally, *, with_texts: bool) -> bytes:
    return b"".join(orjson.dumps(_line(tally, item, with_texts=with_texts)) + b"\n" for item in tally.items)


def _line(tally: MetricTally, item: TallyItem, *, with_texts: bool) -> dict[str, Any]:
    known = {"id": item.id, "system": tally.system, "part": item.part, "whole": item.whole, "right": item.right}
    return {**known, "told": dict(item.told)} if with_texts else known
