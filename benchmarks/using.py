"""The suite `use`: whether outcomes bring the right memories up sooner.

The facts of long conversations (LoCoMo) are learned, and questions are asked once a day. After each, outcomes
are reported: what the set holds for the answer was acted on, or sometimes only used; of the rest some is
dismissed. Half of the questions are never reported on, and must not suffer. The same again with a fifth of
the labels wrong. Then a person contradicts some memories, which are recalled and acted on in passing, day
after day: they must stay down.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import log2
from random import Random
from statistics import mean
from typing import Any
from uuid import UUID

from benchmarks.conversations import by_group
from benchmarks.own_server import settings_at, throw_away_home
from benchmarks.result import BenchMetric, GoalOp, Sample, at_least, at_most
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult, silence
from festinger.ids import DEFAULT_AGENT, MemoryId, Origin, Scope, SessionId, SpaceId, id_maker
from festinger.jobs.worker import WorkerPool
from festinger.memory.changes import load_existing_memories
from festinger.memory.learn.pipeline import learn_many
from festinger.memory.learn.statement import LearnRequest
from festinger.outcomes.model import Reporter, ReportSource
from festinger.outcomes.report import observe_recall
from festinger.retrieval.query import parse_recall_query
from festinger.retrieval.recall import recall
from festinger.retrieval.result import RecallResult
from festinger.runtime.app import App, StartOptions, open_app
from festinger.runtime.environment import SystemServices
from festinger.services.access import add_space
from festinger.world.model import NoteOutcome

LOCOMO = "locomo"
CUT = 10
QUESTIONS = 60
ROUNDS = 5
"""Days with outcomes before the one that is compared with the first."""
ACTED, DISMISSED, WRONG = 0.9, 0.3, 0.2
DOWN, RECALLS, PASSING = 50, 50, 20
DAY = timedelta(days=1)

METRICS = (
    BenchMetric(name="outcomes.gain", unit="nDCG", about="after five days of outcomes", goal=at_least(0.10)),
    BenchMetric(
        name="outcomes.gain.wrong_labels",
        unit="nDCG",
        about="the same with a fifth of the labels wrong",
        goal=at_least(0.05),
    ),
    BenchMetric(
        name="outcomes.lowest_day",
        unit="nDCG",
        about="the worst day against the first: learning never makes it worse",
        goal=at_least(0.0),
    ),
    BenchMetric(name="outcomes.harm", unit="nDCG", about="on questions never reported on", goal=at_least(-0.005)),
    BenchMetric(
        name="outcomes.bystander_drift",
        unit="weight",
        about="of memories that were shown and got no outcome, mean",
        goal=at_most(0.01),
    ),
    BenchMetric(
        name="outcomes.stays_down",
        unit="share",
        about="contradicted memories that regain neither confidence nor weight",
        goal=at_least(1.0),
        better=GoalOp.AT_LEAST,
    ),
)

Rows = Sequence[Mapping[str, Any]]


@dataclass(slots=True)
class Days:
    """A clock that advances by days, and within a day stands still."""

    now: datetime

    def clock(self) -> datetime:
        return self.now

    def pass_one(self) -> None:
        self.now += DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """The facts of one conversation in a space: which memories cover which turns."""

    space: SpaceId
    turns: Mapping[MemoryId, frozenset[str]]

    def helps(self, memory: UUID, question: Mapping[str, Any]) -> bool:
        return not self.turns.get(MemoryId(memory), frozenset()).isdisjoint(question["gold"])

    def useful(self, question: Mapping[str, Any]) -> int:
        return sum(self.helps(memory, question) for memory in self.turns)


@dataclass(slots=True, kw_only=True)
class Course:
    """How questions fared, day by day, and the memories without an outcome."""

    days: list[float] = field(default_factory=list)
    never: tuple[float, float] = (0.0, 0.0)
    bystanders: set[UUID] = field(default_factory=set)
    told: set[UUID] = field(default_factory=set)


class Using:
    """An app whose days pass, with people who use what is recalled."""

    def __init__(self, app: App, days: Days, *, seed: int, wrong: float) -> None:
        self._app, self._days, self._wrong = app, days, wrong
        self._chance = Random(seed)  # noqa: S311 - outcomes to report, not secrets

    async def learn(self, name: str, facts: Rows) -> Learnt:
        space = (await add_space(self._app, name)).id
        given = [LearnRequest(text=fact["text"], subject=fact["subject"], origin=Origin.PERSON) for fact in facts]
        done = await learn_many(self._app.memory.deps, self._place(space, "learning"), given)
        turns: dict[MemoryId, frozenset[str]] = {}
        for learned, fact in zip(done, facts, strict=True):
            if learned.memory is not None:
                known = turns.get(learned.memory.id, frozenset())
                turns[learned.memory.id] = known | frozenset(fact["source"])
        await self._work()
        return Learnt(space=space, turns=turns)

    async def course(self, learnt: Learnt, asked: Rows, never: Rows) -> Course:
        """Ask and report once a day."""
        course = Course()
        before = await self._quality(learnt, never, "before")
        for day in range(ROUNDS + 1):
            course.days.append(await self._day(learnt, asked, day=day, course=course))
            await self._work()
            self._days.pass_one()
        course.never = (before, await self._quality(learnt, never, "after"))
        return course

    async def drift(self, learnt: Learnt, course: Course) -> list[float]:
        """How far the weights moved of what was shown and got no outcome."""
        async with self._app.store.transaction() as transaction:
            held = await load_existing_memories(transaction, learnt.space, course.bystanders - course.told)
        return [abs(memory.belief.weight.center - FRESH_CENTER) for memory in held.values()]

    async def stays_down(self, learnt: Learnt) -> list[bool]:
        """Whether each of some contradicted memories stays down, whatever is said in passing."""
        chosen = self._chance.sample(sorted(learnt.turns), min(DOWN, len(learnt.turns)))
        person = self._reporter(learnt.space, "desk", ReportSource.EXPLICIT, Origin.PERSON)
        await self._app.outcomes.protocol(person).on_context_used(
            chosen, {str(each): NoteOutcome.CONTRADICTED for each in chosen}
        )
        low = await self._held(learnt.space, chosen)
        for number in range(RECALLS):
            self._days.pass_one()
            await self._ask(learnt.space, "what else is there", f"again {number}")
            if number < PASSING:
                model = self._reporter(learnt.space, f"passing {number}", ReportSource.INFERRED, Origin.MODEL)
                await self._app.outcomes.protocol(model).on_context_used(
                    chosen, {str(each): NoteOutcome.ACTED for each in chosen}
                )
        after = await self._held(learnt.space, chosen)
        return [after[each] <= low[each] for each in chosen]

    async def _held(self, space: SpaceId, memories: Sequence[MemoryId]) -> dict[MemoryId, tuple[float, float]]:
        async with self._app.store.transaction() as transaction:
            found = await load_existing_memories(transaction, space, memories)
        return {id_: (each.belief.confidence, each.belief.weight.center) for id_, each in found.items()}

    async def _day(self, learnt: Learnt, asked: Rows, *, day: int, course: Course) -> float:
        scores = []
        for question in asked:
            session = f"{question['id']} day {day}"
            came = await self._ask(learnt.space, question["text"], session)
            scores.append(ndcg(learnt, question, came))
            await self._report(learnt, question, came, session=session, course=course)
        return mean(scores)

    async def _report(
        self, learnt: Learnt, question: Mapping[str, Any], came: RecallResult, *, session: str, course: Course
    ) -> None:
        outcomes: dict[str, NoteOutcome] = {}
        for item in came.items:
            if (outcome := self._outcome(helps=learnt.helps(item.id, question))) is not None:
                outcomes[str(item.id)] = outcome
        course.bystanders |= {item.id for item in came.items if str(item.id) not in outcomes}
        course.told |= {UUID(each) for each in outcomes}
        if came.items:
            await self._app.afterwards.written()
            reporter = self._reporter(learnt.space, session, ReportSource.EXPLICIT, Origin.PERSON)
            await observe_recall(self._app.outcomes.deps, reporter, outcomes, recall=came.id)

    def _outcome(self, *, helps: bool) -> NoteOutcome | None:
        if self._chance.random() < self._wrong:
            helps = not helps
        if helps:
            return NoteOutcome.ACTED if self._chance.random() < ACTED else NoteOutcome.USED
        return NoteOutcome.DISMISSED if self._chance.random() < DISMISSED else None

    async def _quality(self, learnt: Learnt, asked: Rows, session: str) -> float:
        return mean(
            [ndcg(learnt, question, await self._ask(learnt.space, question["text"], session)) for question in asked]
        )

    async def _ask(self, space: SpaceId, cue: str, session: str) -> RecallResult:
        query = parse_recall_query(cue, now=self._days.now, limit=CUT)
        return await recall(self._app.recall.deps, self._place(space, session), query, door="bench")

    async def _work(self) -> None:
        """Run the jobs in between."""
        await self._app.afterwards.written()
        await WorkerPool(self._app.jobs, shutdown_seconds=1).drain()

    def _place(self, space: SpaceId, session: str) -> Scope:
        return Scope(space=space, agent=DEFAULT_AGENT, session=SessionId(session))

    def _reporter(self, space: SpaceId, session: str, how: ReportSource, origin: Origin) -> Reporter:
        place = self._place(space, session)
        return Reporter(scope=place, name="bench", door="bench", how=how, origin=origin)


FRESH_CENTER = 0.2
"""The initial weight of a memory."""


def ndcg(learnt: Learnt, question: Mapping[str, Any], came: RecallResult) -> float:
    """How high the useful memories rank among the first ten; 1 for an ideal order."""
    gains = [learnt.helps(item.id, question) / log2(place + 2) for place, item in enumerate(came.items[:CUT])]
    best = sum(1 / log2(place + 2) for place in range(min(CUT, learnt.useful(question))))
    return sum(gains) / best if best else 0.0


async def measure(bench: Bench) -> SuiteResult:
    facts = by_group(bench.data.rows(LOCOMO, "facts", needs=("group", "id", "text", "subject", "source")))
    queries = by_group(bench.data.rows(LOCOMO, "queries", needs=("group", "id", "text", "gold")))
    groups = bench.data.sampled(sorted(facts), by=str)
    if bench.quick:
        groups = groups[:1]
    plain = await _run(bench, {group: (facts[group], queries[group]) for group in groups}, wrong=0.0)
    noisy = await _run(bench, {group: (facts[group], queries[group]) for group in groups}, wrong=WRONG)
    days = [mean(course.days[day] for course in plain.courses) for day in range(ROUNDS + 1)]
    noise = [mean(course.days[day] for course in noisy.courses) for day in range(ROUNDS + 1)]
    harm = mean(course.never[1] - course.never[0] for course in plain.courses)
    found = {
        "outcomes.gain": days[-1] - days[0],
        "outcomes.gain.wrong_labels": noise[-1] - noise[0],
        "outcomes.lowest_day": min(days) - days[0],
        "outcomes.harm": harm,
        "outcomes.bystander_drift": mean(plain.drift) if plain.drift else 0.0,
        "outcomes.stays_down": mean(plain.down),
    }
    bench.say(f"Day by day: {', '.join(f'{day:.3f}' for day in days)}.")
    return SuiteResult(
        samples=[Sample(metric=name, system=PRODUCT, value=value, n=len(groups)) for name, value in found.items()]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The results of every conversation."""

    courses: tuple[Course, ...]
    drift: tuple[float, ...]
    down: tuple[bool, ...]


async def _run(bench: Bench, groups: Mapping[str, tuple[Rows, Rows]], *, wrong: float) -> Ran:
    courses, drift, down = [], list[float](), list[bool]()
    async with _opened(bench, name=f"wrong-{wrong:g}") as (app, days):
        using = Using(app, days, seed=bench.seed, wrong=wrong)
        for group, (facts, queries) in groups.items():
            bench.say(f"Using the facts of {group}.")
            learnt = await using.learn(f"use-{group.lower()}", facts)
            askable = [each for each in queries if each["answerable"] and learnt.useful(each)]
            Random(bench.seed).shuffle(askable)  # noqa: S311 - questions to choose, not secrets
            number = QUESTIONS // 6 if bench.quick else QUESTIONS
            course = await using.course(learnt, askable[:number], askable[number : 2 * number])
            courses.append(course)
            drift += await using.drift(learnt, course)
            down += [] if wrong else await using.stays_down(learnt)
    return Ran(courses=tuple(courses), drift=tuple(drift), down=tuple(down))


@asynccontextmanager
async def _opened(bench: Bench, *, name: str) -> AsyncIterator[tuple[App, Days]]:
    """A memory whose days the bench counts."""
    days = Days(bench.clock())
    tools = replace(
        SystemServices.of_this_machine(),
        clock=days.clock,
        new_id=id_maker(days.clock, Random(bench.seed)),  # noqa: S311
    )
    folder = bench.folder / name
    folder.mkdir(exist_ok=True)
    async with throw_away_home(folder, stopwatch=bench.stopwatch) as home:
        live = settings_at(home, {"log.level": "error"})
        async with open_app(
            live, door="bench", progress=silence, start=StartOptions(providers=True), tools=tools
        ) as app:
            yield app, days


USE = Suite(
    name="use",
    about="Whether outcomes bring the right memories to mind sooner, and keep the wrong ones down.",
    metrics=METRICS,
    measure=measure,
    needs=(LOCOMO,),
)
