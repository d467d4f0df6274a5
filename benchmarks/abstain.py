"""The suite `abstain`: whether nothing is recalled where nothing fits.

The conversations of the suite `recall` are asked the questions of the next conversation, made-up words, and
their own questions with and without the turns that answer them. The cost of abstaining is measured too: how
many fewer of the right turns come with the gate than without. Gates on plain cosine or BM25 are compared,
each set to the highest cost that is allowed.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.conversations import IngestedConversation, Rows, ask, heard
from benchmarks.rankings import order_of, scores_of
from benchmarks.recall import BEAM, LOCOMO, SETS, came_of, recall_of, sets_of
from benchmarks.result import BenchMetric, GoalOp, System, SystemKind, at_least, at_most
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.tally import MetricTally, TallyItem, auroc, counted
from festinger.retrieval.deps import RetrievalConfig, RetrievalDeps
from festinger.runtime.app import App

NONSENSE = 200
FIRST = 10
GATES = ("bm25", "cosine")
MAY_COST = {LOCOMO: 0.01, BEAM: 0.03}
"""The allowed loss of recall@10, by set."""


def _metrics(short: str, *, foreign: float, cost: float) -> tuple[BenchMetric, ...]:
    return (
        BenchMetric(
            name=f"abstain.foreign.{short}",
            unit="share",
            about="questions of another conversation that bring nothing",
            goal=at_least(foreign),
            beside=f"abstain.cost.{short}",
        ),
        BenchMetric(
            name=f"abstain.cost.{short}",
            unit="share",
            about="right turns among the first 10 that the gate holds back",
            goal=at_most(cost),
            beside=f"abstain.foreign.{short}",
        ),
        BenchMetric(
            name=f"abstain.removed.{short}.auroc",
            unit="area",
            about="evidence with the turns of the answer against without",
            goal=at_least(0.68),
        ),
    )


METRICS = (
    *_metrics(SETS[LOCOMO], foreign=0.98, cost=MAY_COST[LOCOMO]),
    *_metrics(SETS[BEAM], foreign=0.95, cost=MAY_COST[BEAM]),
    BenchMetric(name="abstain.nonsense", unit="share", about="words that nobody said: nothing", goal=at_least(0.995)),
    BenchMetric(
        name="abstain.below", unit="share", about="abstentions that say how many were found", better=GoalOp.AT_LEAST
    ),
)


async def measure(bench: Bench) -> SuiteResult:
    tallies: list[MetricTally] = []
    corpora, asked = sets_of(bench)
    async with heard(bench, corpora) as (app, taken):
        for name, short in SETS.items():
            bench.say(f"Asking {name} what it cannot know.")
            tallies += await _held_back(app, short, taken[name], asked[name])
            tallies.append(await _removed(app, short, taken[name], asked[name]))
            for gate in filter(bench.wants, GATES):
                tallies += await _by_gate(app, gate, name, corpora=corpora[name], asked=asked[name])
        spaces = [each for name in SETS for each in taken[name].values()]
        tallies += await _nonsense(app, spaces, seed=bench.seed)
    systems = [System(name=gate, kind=SystemKind.BASELINE) for gate in GATES if bench.wants(gate)]
    return SuiteResult(tallies=tallies, systems=systems)


def next_of(groups: Sequence[str]) -> dict[str, str]:
    """For each conversation, the one whose questions are foreign to it."""
    return {group: groups[(place + 1) % len(groups)] for place, group in enumerate(groups)}


def ungated(deps: RetrievalDeps) -> RetrievalDeps:
    """The dependencies without the gate: everything found is returned."""

    def terms(space: Any) -> RetrievalConfig:
        now = deps.terms(space)
        return replace(now, retrieval=now.retrieval.model_copy(update={"abstain": False}))

    return replace(deps, terms=terms)


async def _held_back(
    app: App, short: str, taken: Mapping[str, IngestedConversation], asked: Mapping[str, Rows]
) -> list[MetricTally]:
    foreign: list[TallyItem] = []
    groups = next_of(list(taken))
    for group, other in groups.items():
        for row in asked[other] if other != group else ():
            came = await ask(app, taken[group].space, row["text"], limit=FIRST)
            told = {"question": row["text"], "came": str(len(came.items))}
            foreign.append(counted(row["id"], came.abstained, group=row["group"], told=told))
    gated = await came_of(app, taken, asked)
    told_all = await came_of(app, taken, asked, deps=ungated(app.recall.deps))
    cost = [cost_of(row, ids, all_ids) for (row, ids), (_, all_ids) in zip(gated, told_all, strict=True)]
    return [
        MetricTally(metric=f"abstain.foreign.{short}", system=PRODUCT, items=foreign),
        MetricTally(metric=f"abstain.cost.{short}", system=PRODUCT, items=cost),
    ]


def cost_of(row: Mapping[str, Any], gated: Sequence[str], told: Sequence[str]) -> TallyItem:
    """What the gate withheld of the right turns of one question."""
    lost = recall_of(row, told, FIRST).part - recall_of(row, gated, FIRST).part
    return TallyItem(id=row["id"], part=lost, right=lost <= 0, group=row["group"], told={"question": row["text"]})


async def _removed(
    app: App, short: str, taken: Mapping[str, IngestedConversation], asked: Mapping[str, Rows]
) -> MetricTally:
    """The best evidence for each question, with and without the turns that answer it."""
    deps = ungated(app.recall.deps)
    items = []
    for group, conversation in taken.items():
        by_name = {name: turn for turn, name in conversation.turns.items()}
        for row in asked[group]:
            gold = [by_name[name] for name in row["gold"] if name in by_name]
            learnt = [each for each, turns in conversation.learnt.items() if not set(turns).isdisjoint(gold)]
            for there in (True, False):
                came = await ask(
                    app,
                    conversation.space,
                    row["text"],
                    limit=FIRST,
                    deps=deps,
                    exclude=[] if there else [*gold, *learnt],
                )
                best = max((item.evidence for item in came.items), default=0.0)
                items.append(TallyItem(id=f"{row['id']}/{there}", part=best, whole=float(there), group=row["group"]))
    return MetricTally(metric=f"abstain.removed.{short}.auroc", system=PRODUCT, items=items, statistic=auroc)


async def _by_gate(
    app: App, gate: str, set_name: str, *, corpora: Mapping[str, Rows], asked: Mapping[str, Rows]
) -> list[MetricTally]:
    """A plain ranking that abstains below the highest threshold within the allowed cost."""
    short = SETS[set_name]
    own: list[tuple[float, float]] = []
    foreign: list[tuple[str, str, float]] = []
    removed: list[TallyItem] = []
    for group, other in next_of(list(corpora)).items():
        turns = corpora[group]
        ids = [turn["id"] for turn in turns]
        questions = [*asked[group], *(asked[other] if other != group else ())]
        scores = (await scores_of([gate], app, turns, [row["text"] for row in questions]))[gate]
        for place, (row, each) in enumerate(zip(questions, scores, strict=True)):
            best = max(each)
            if place >= len(asked[group]):
                foreign.append((row["id"], row["group"], best))
                continue
            own.append((best, recall_of(row, [ids[at] for at in order_of(each)], FIRST).part))
            without = max(score for name, score in zip(ids, each, strict=True) if name not in row["gold"])
            removed += [
                TallyItem(id=f"{row['id']}/{there}", part=score, whole=float(there), group=row["group"])
                for there, score in ((True, best), (False, without))
            ]
    bar = highest_bar(own, may_cost=MAY_COST[set_name])
    items = [counted(id_, best < bar, group=group) for id_, group, best in foreign]
    return [
        MetricTally(metric=f"abstain.foreign.{short}", system=gate, items=items),
        MetricTally(metric=f"abstain.removed.{short}.auroc", system=gate, items=removed, statistic=auroc),
    ]


def highest_bar(own: Sequence[tuple[float, float]], *, may_cost: float) -> float:
    """The highest minimum score at which the mean loss of recall stays within the limit."""
    left, bar = may_cost * len(own), 0.0
    for best, found in sorted(own):
        left -= found
        if left < 0:
            return best
        bar = best
    return bar


async def _nonsense(app: App, spaces: Sequence[IngestedConversation], *, seed: int) -> list[MetricTally]:
    chance = random.Random(seed)  # noqa: S311 - words that nobody said, not secrets
    silent, told = [], []
    for number in range(NONSENSE):
        cue = " ".join(non_word(chance) for _ in range(4))
        came = await ask(app, spaces[number % len(spaces)].space, cue, limit=FIRST)
        silent.append(counted(f"nonsense/{number}", came.abstained, told={"cue": cue}))
        is_told = came.below_threshold > 0 if came.abstained else came.below_threshold == 0
        told.append(counted(f"nonsense/{number}", is_told, told={"cue": cue}))
    return [
        MetricTally(metric="abstain.nonsense", system=PRODUCT, items=silent),
        MetricTally(metric="abstain.below", system=PRODUCT, items=told),
    ]


def non_word(chance: random.Random) -> str:
    """A pronounceable word without a meaning."""
    syllables = (chance.choice("bcdfghjklmnprstvwz") + chance.choice("aeiou") for _ in range(chance.randint(2, 3)))
    return "".join(syllables) + chance.choice("bdfgklmnprstvz")


ABSTAIN = Suite(
    name="abstain",
    about="Whether nothing comes to mind where nothing fits, and what that costs.",
    metrics=METRICS,
    measure=measure,
    needs=(LOCOMO, BEAM),
    timed=False,
)
