"""The suite `pairs`: what a new note does to an older one, through `learn`, without an LLM.

`pairs.jsonl` holds 400 pairs in four classes, written by people who knew neither the rules nor the training data. Each
pair is learned in a space of its own; what counts is what became of the second note.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchmarks.result import BenchMetric, at_least, at_most
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.supersession import open_home
from benchmarks.tally import MetricTally, TallyItem, counted
from festinger.memory.learn.result import Learned
from festinger.memory.model import LearnAction
from festinger.services.access import add_space

PAIRS = Path(__file__).with_name("pairs.jsonl")
PENDING = "pending"


def _share(name: str, about: str, goal: float, *, most: bool = False) -> BenchMetric:
    return BenchMetric(name=f"pairs.{name}", unit="share", about=about, goal=at_most(goal) if most else at_least(goal))


METRICS = (
    _share("same.merged", "repeated in other words, and one memory", 0.60),
    _share("same.false", "something else, and merged", 0.01, most=True),
    _share("update.superseded", "news that replaced the old value", 0.75),
    _share("update.false", "something else, and it replaced", 0.02, most=True),
    _share("contradicts.found", "contradictions that became a conflict", 0.70),
    _share("contradicts.false", "something else, and a conflict", 0.03, most=True),
    _share("independent.kept", "independent notes that stand side by side", 0.90),
    _share("pending", "pairs that wait for a judge", 0.15, most=True),
)


async def measure(bench: Bench) -> SuiteResult:
    rows = [{"id": str(number), **json.loads(line)} for number, line in enumerate(PAIRS.read_text().splitlines())]
    rows = bench.data.sampled(rows, by=lambda row: row["id"])
    bench.say("Learning the pairs.")
    became: dict[str, str] = {}
    async with open_home(bench, "pairs") as memory:
        for row in rows:
            space = await add_space(memory._app, f"pair-{row['id']}")  # noqa: SLF001 - the library makes no spaces
            own = replace(memory, space=space.id)
            await own.learn(row["old"])
            became[row["id"]] = outcome(await own.learn(row["new"]))

    def share(name: str, wanted: str, found: str) -> MetricTally:
        items = [_item(row, became[row["id"]], right=found) for row in rows if row["relation"] == wanted]
        return MetricTally(metric=f"pairs.{name}", system=PRODUCT, items=items)

    def false(name: str) -> MetricTally:
        others = [row for row in rows if row["relation"] != name]
        items = [_item(row, became[row["id"]], wrong=name) for row in others]
        return MetricTally(metric=f"pairs.{name}.false", system=PRODUCT, items=items)

    waiting = [_item(row, became[row["id"]], wrong=PENDING) for row in rows]
    return SuiteResult(
        tallies=[
            share("same.merged", "same", "same"),
            share("update.superseded", "update", "update"),
            share("contradicts.found", "contradicts", "contradicts"),
            share("independent.kept", "independent", "independent"),
            *map(false, ("same", "update", "contradicts")),
            MetricTally(metric="pairs.pending", system=PRODUCT, items=waiting),
        ]
    )


def outcome(learned: Learned) -> str:
    """What the second note was taken for, by what became of it."""
    if learned.action in (LearnAction.CONFIRMED, LearnAction.ECHOED):
        return "same"
    if learned.superseded:
        return "update"
    if learned.conflict:
        return "contradicts"
    return PENDING if learned.pending else "independent"


def _item(row: Mapping[str, str], became: str, *, right: str = "", wrong: str = "") -> TallyItem:
    told = {"old": row["old"], "new": row["new"], "became": became}
    if right:
        return counted(row["id"], became == right, told=told)
    return TallyItem(id=row["id"], part=float(became == wrong), right=became != wrong, told=told)


STATEMENT_PAIRS = Suite(
    name="pairs", about="What a new note does to an older one.", metrics=METRICS, measure=measure, needs=(), timed=False
)
