"""The suite `precision`: whether only relevant memories are recalled.

Statements of a few people are learned as they are (PrecisionMemBench); then questions are asked for which
often nothing or very little should come. Anything else that comes counts against the product, and what must
never come, or was replaced, is counted separately. The baselines are plain rankings, which return the first
three whatever is asked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.conversations import Rows, ask, by_group, opened
from benchmarks.rankings import RANKINGS, ranked
from benchmarks.result import BenchMetric, Sample, System, SystemKind, at_least, at_most
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.tally import MetricTally, TallyItem
from festinger.ids import DEFAULT_AGENT, Origin, Scope, SessionId, SpaceId
from festinger.jobs.worker import WorkerPool
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import Kind as MemoryKind
from festinger.retrieval.index.terms import count_words_of_changed_texts
from festinger.runtime.app import App
from festinger.services.access import add_space

SET = "precisionmembench"
FIRST = 5
RANKED_FIRST = 3
"""How many a plain ranking returns: more would be less precise."""

METRICS = (
    BenchMetric(
        name="precision.p", unit="share", about="of what came that should", goal=at_least(0.75), beside="precision.r"
    ),
    BenchMetric(
        name="precision.r",
        unit="share",
        about="of what should come that came",
        goal=at_least(0.80),
        beside="precision.p",
    ),
    BenchMetric(
        name="precision.never", unit="memories", about="that came and must not, or were replaced", goal=at_most(0)
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """A question, and what came for it."""

    row: Mapping[str, Any]
    ids: Sequence[str]


async def measure(bench: Bench) -> SuiteResult:
    learnt = by_group(bench.data.rows(SET, "corpus", needs=("group", "id", "text", "status")))
    rows = bench.data.rows(SET, "queries", needs=("group", "id", "text", "never", "also_allowed"))
    # A blank question is refused by every system and says nothing of any.
    worded = [row for row in rows if row["text"].strip()]
    asked = by_group(bench.data.sampled(worded, by=lambda row: str(row["id"])))
    names = list(filter(bench.wants, RANKINGS))
    came: dict[str, list[Came]] = {name: [] for name in (PRODUCT, *names)}
    async with opened(bench) as app:
        for group, questions in asked.items():
            bench.say(f"Asking what {group} told.")
            came[PRODUCT] += await _by_us(app, group, learnt[group], questions)
            texts = [row["text"] for row in questions]
            for name, orders in (await ranked(names, app, learnt[group], texts)).items():
                came[name] += [
                    Came(row=row, ids=ids[:RANKED_FIRST]) for row, ids in zip(questions, orders, strict=True)
                ]
    replaced = {row["id"] for each in learnt.values() for row in each if row["status"] == "superseded"}
    return SuiteResult(
        tallies=[tally for name, each in came.items() for tally in tallied(name, each)],
        samples=[faults(name, each, replaced) for name, each in came.items()],
        systems=[System(name=name, kind=SystemKind.BASELINE) for name in names],
    )


async def _by_us(app: App, group: str, statements: Rows, questions: Rows) -> list[Came]:
    space = (await add_space(app, group.lower())).id
    known = await _told(app, space, statements)
    came = []
    for row in questions:
        found = await ask(app, space, row["text"], limit=FIRST, strict=True)
        came.append(Came(row=row, ids=[known[item.id] for item in found.items if item.id in known]))
    return came


async def _told(app: App, space: SpaceId, statements: Rows) -> dict[Any, str]:
    """The memory that each statement became; duplicates share one."""
    place = Scope(space=space, agent=DEFAULT_AGENT, session=SessionId("telling"))
    kinds = {kind.value for kind in MemoryKind}
    known: dict[Any, str] = {}
    for row in statements:
        given = LearnRequest(
            text=row["text"],
            kind=row["kind"] if row.get("kind") in kinds else MemoryKind.FACT,
            origin=Origin.PERSON,
            tags=(*row.get("names", ()), *row.get("scope", ())),
        )
        learned = await learn(app.memory.deps, place, given)
        if learned.memory is not None:
            known.setdefault(learned.memory.id, row["id"])
    await WorkerPool(app.jobs, shutdown_seconds=1).drain()
    await count_words_of_changed_texts(app.recall.deps, space)
    return known


def tallied(system: str, came: Sequence[Came]) -> list[MetricTally]:
    judged = [each for each in came if each.row["gold"] is not None]
    precise = [precision_of(each) for each in judged if each.ids or not each.row["gold"]]
    found = [recall_of(each) for each in judged if each.row["gold"]]
    return [
        MetricTally(metric="precision.p", system=system, items=precise),
        MetricTally(metric="precision.r", system=system, items=found),
    ]


def precision_of(came: Came) -> TallyItem:
    """The share of what came that should, or does no harm; nothing is right where nothing was wanted."""
    allowed = {*came.row["gold"], *came.row["also_allowed"]}
    part = sum(each in allowed for each in came.ids) / len(came.ids) if came.ids else 1.0
    return _item(came, part)


def recall_of(came: Came) -> TallyItem:
    gold = set(came.row["gold"])
    return _item(came, len(gold & set(came.ids)) / len(gold))


def _item(came: Came, part: float) -> TallyItem:
    told = {"question": came.row["text"], "came": ", ".join(came.ids)}
    return TallyItem(id=came.row["id"], part=part, right=part == 1.0, group=came.row["group"], told=told)


def faults(system: str, came: Sequence[Came], replaced: set[str]) -> Sample:
    wrong = sum(each in replaced or each in one.row["never"] for one in came for each in one.ids)
    return Sample(metric="precision.never", system=system, value=float(wrong), n=len(came))


PRECISION = Suite(
    name="precision",
    about="Whether only what is relevant comes to mind.",
    metrics=METRICS,
    measure=measure,
    needs=(SET,),
    timed=False,
)
