"""The suite `recall`: whether the right turn is recalled.

Long conversations of two friends (LoCoMo) and of a person with an assistant (BEAM) are stored turn by turn;
then every answerable question is asked. The baselines are plain rankings: words alone, vectors alone, and
both fused by rank.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.conversations import IngestedConversation, Rows, ask, by_group, heard
from benchmarks.rankings import RANKINGS, ranked
from benchmarks.result import BenchMetric, System, SystemKind, at_least
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.tally import MetricTally, TallyItem, counted
from festinger.runtime.app import App

LOCOMO, BEAM = "locomo", "beam100k"
SETS = {LOCOMO: "locomo", BEAM: "beam"}
CUTS = (1, 5, 10, 20)
DEPTH = 10
"""How many results count where their order matters."""
HOPS = "multi_hop"
CATEGORIES = {
    "locomo": ("single_hop", HOPS, "temporal", "open_domain"),
    "beam": (
        "contradiction_resolution", "event_ordering", "information_extraction", "instruction_following",
        "knowledge_update", "multi_session_reasoning", "preference_following", "summarization", "temporal_reasoning",
    ),
}  # fmt: skip
"""Kinds of answerable questions, as the sets name them."""
FEW = 2
"""Conversations of a set in a partial run: storing them takes longest, and one must be foreign to another."""


def _share(name: str, about: str, goal: float | None = None) -> BenchMetric:
    return BenchMetric(name=name, unit="share", about=about, goal=at_least(goal) if goal is not None else None)


METRICS = (
    _share("locomo.r10", "turns of the answer among the first 10 (LoCoMo)", 0.74),
    _share("locomo.r1", "turns of the answer in the first place (LoCoMo)", 0.40),
    _share("locomo.r5", "turns of the answer among the first 5 (LoCoMo)"),
    _share("locomo.r20", "turns of the answer among the first 20 (LoCoMo)"),
    _share("locomo.ndcg10", "how far ahead those turns stand among the first 10 (LoCoMo)"),
    _share("beam.r10", "messages of the answer among the first 10 (BEAM)", 0.62),
    _share("beam.r1", "messages of the answer in the first place (BEAM)"),
    _share("beam.r5", "messages of the answer among the first 5 (BEAM)"),
    _share("beam.r20", "messages of the answer among the first 20 (BEAM)"),
    _share("beam.ndcg10", "how far ahead those messages stand among the first 10 (BEAM)"),
    _share("beam.updated_above", "what is newest stands above what it replaced", 0.80),
    *(
        _share(
            f"{short}.{category}.r10",
            f"among the first 10, of questions of the kind `{category}` ({short})",
            0.48 if category == HOPS else None,
        )
        for short, categories in CATEGORIES.items()
        for category in categories
    ),
)


async def measure(bench: Bench) -> SuiteResult:
    tallies: list[MetricTally] = []
    corpora, asked = sets_of(bench)
    names = list(filter(bench.wants, RANKINGS))
    async with heard(bench, corpora) as (app, taken):
        for set_name, short in SETS.items():
            bench.say(f"Asking of {set_name}.")
            tallies += tallied(short, PRODUCT, await came_of(app, taken[set_name], asked[set_name]))
            tallies += await _by_baselines(app, short, corpora[set_name], asked[set_name], names=names)
    systems = [System(name=name, kind=SystemKind.BASELINE) for name in names]
    return SuiteResult(tallies=tallies, systems=systems)


def sets_of(bench: Bench) -> tuple[dict[str, dict[str, Rows]], dict[str, dict[str, Rows]]]:
    """The conversations and answerable questions of each set. A partial run has the first few only."""
    corpora: dict[str, dict[str, Rows]] = {}
    asked: dict[str, dict[str, Rows]] = {}
    for name in SETS:
        turns = by_group(bench.data.rows(name, "corpus", needs=("group", "id", "session", "text", "role")))
        rows = by_group(answerable(bench.data.rows(name, "queries", needs=("group", "id", "text"))))
        asked[name] = {
            group: bench.data.sampled(rows[group], by=lambda row: str(row["id"])) for group in turns if group in rows
        }
        if bench.partial:
            asked[name] = dict(list(asked[name].items())[:FEW])
        corpora[name] = {group: turns[group] for group in asked[name]}
    return corpora, asked


async def came_of(
    app: App, taken: Mapping[str, IngestedConversation], asked: Mapping[str, Rows], **how: Any
) -> list[tuple[Mapping[str, Any], list[str]]]:
    """Each question with the turns that came."""
    return [
        (question, conversation.named(await ask(app, conversation.space, question["text"], **how)))
        for group, conversation in taken.items()
        for question in asked[group]
    ]


def answerable(rows: Rows) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["answerable"] and row["gold"]]


async def _by_baselines(
    app: App, short: str, corpus: Mapping[str, Rows], asked: Mapping[str, Rows], *, names: Sequence[str]
) -> list[MetricTally]:
    came: dict[str, list[tuple[Mapping[str, Any], list[str]]]] = {name: [] for name in names}
    for group, questions in asked.items():
        found = await ranked(names, app, corpus.get(group, ()), [row["text"] for row in questions])
        for name, orders in found.items():
            came[name] += zip(questions, orders, strict=True)
    return [tally for name, each in came.items() for tally in tallied(short, name, each)]


def tallied(short: str, system: str, came: Sequence[tuple[Mapping[str, Any], list[str]]]) -> list[MetricTally]:
    """Every number of one system over the questions of one set."""
    tallies = [
        MetricTally(metric=f"{short}.r{cut}", system=system, items=[recall_of(row, ids, cut) for row, ids in came])
        for cut in CUTS
    ]
    tallies.append(MetricTally(metric=f"{short}.ndcg10", system=system, items=[ndcg_of(*each) for each in came]))
    if short == SETS[BEAM]:
        updates = [_updated(row, ids) for row, ids in came if row["category"] == "knowledge_update"]
        tallies.append(MetricTally(metric="beam.updated_above", system=system, items=updates))
    kinds = {
        category: [recall_of(row, ids, 10) for row, ids in came if row["category"] == category]
        for category in CATEGORIES[short]
    }
    return tallies + [
        MetricTally(metric=f"{short}.{category}.r10", system=system, items=items)
        for category, items in kinds.items()
        if items
    ]


def recall_of(row: Mapping[str, Any], ids: Sequence[str], cut: int) -> TallyItem:
    gold = set(row["gold"])
    found = len(gold & set(ids[:cut])) / len(gold)
    told = {"question": row["text"], "gold": ", ".join(sorted(gold)), "came": ", ".join(ids[:cut])}
    return TallyItem(id=row["id"], part=found, right=found == 1.0, group=row["group"], told=told)


def ndcg_of(row: Mapping[str, Any], ids: Sequence[str]) -> TallyItem:
    """The discounted gain of the right turns' positions, relative to the ideal order."""
    gold = set(row["gold"])
    worth = [1 / math.log2(place + 1) for place in range(1, DEPTH + 1)]
    reached = sum(worth[place] for place, each in enumerate(ids[:DEPTH]) if each in gold)
    return TallyItem(id=row["id"], part=reached / sum(worth[: len(gold)]), group=row["group"])


def _updated(row: Mapping[str, Any], ids: Sequence[str]) -> TallyItem:
    places = {each: place for place, each in enumerate(ids)}
    newest = places.get(row["newer"][-1], 99)
    right = all(newest < places.get(older, 99) for older in row["older"])
    return counted(row["id"], right, group=row["group"], told={"question": row["text"]})


RECALL = Suite(
    name="recall",
    about="Whether the right turn comes to mind.",
    metrics=METRICS,
    measure=measure,
    needs=(LOCOMO, BEAM),
    timed=False,
)
