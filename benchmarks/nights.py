"""The suite `nights`: whether consolidation keeps a memory true over thirty days, or ninety with `--long`.

The facts of long conversations (LoCoMo) are learned over these days, with a night at the end of each; some are
tagged as goals. The model is scripted and wordy: it draws an insight for every word that several notes share, words
it anew each time, holds a note against every third goal, and now and then cites notes that it was not shown or adds
a number that no note has. As it knows which word each insight is about, it also shows how often two are about one
word, however they are worded. The same facts without nights, in a second space, show what nights do to recall; there
a first night runs at the end, while the same questions are asked once more. The plain alternative to nights and
recall is to read everything: once a night to sum it up, and with each question.
"""

import asyncio
import random
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count, islice
from statistics import fmean, median
from typing import Any

from benchmarks.conversations import Rows, by_group
from benchmarks.own_server import settings_at, throw_away_home
from benchmarks.result import BenchMetric, GoalOp, Sample, System, SystemKind, at_least, at_most
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.tally import MetricTally, TallyItem, counted
from festinger.consolidation.context import find_unsupported
from festinger.consolidation.night import NightDeps, begin_night, list_night_items
from festinger.consolidation.reflect import (
    InsightDraft,
    InsightsAnswer,
    NarrativeAnswer,
    QuestionsAnswer,
    ReconsiderAnswer,
    ShortFormAnswer,
)
from festinger.consolidation.run import run_night
from festinger.consolidation.tensions import TensionAnswer
from festinger.embedding.profiles import EmbeddingPurpose, ThresholdName
from festinger.ids import DEFAULT_AGENT, MemoryId, Origin, Scope, SessionId, SpaceId, id_maker
from festinger.llm.model import AnswerSchema, Model, ModelAnswer, PromptMessage, ToolOffer
from festinger.memory.changes import MemoryRelation, find_linked_ids, load_existing_memories
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import DERIVED, Memory
from festinger.memory.query import MemoryFilter, load_page_of_memories
from festinger.retrieval.index.terms import count_words_of_changed_texts
from festinger.retrieval.query import RecallQuery
from festinger.retrieval.recall import recall
from festinger.runtime.app import App, StartOptions, open_app
from festinger.runtime.environment import SystemServices
from festinger.services.access import add_space
from festinger.text.budget import estimate_tokens
from festinger.text.words import FUNCTION_WORDS

LOCOMO = "locomo"
EVERYTHING = "everything"
"""The baseline that reads all that is known."""
DAYS, LONG_DAYS, FEW_DAYS = 30, 90, 5
GOAL_EVERY = 40
BETWEEN_S = 0.05
"""Between two questions while a night runs."""
FEW_FACTS = 60
FIRST_DAY = datetime(2026, 1, 5, 20, tzinfo=UTC)
CUT = 10
TEMPLATES = (
    "{word} comes up again and again",
    "Again and again there is talk of {word}",
    "Talk often turns to {word}",
    "{word} matters to them",
    "They keep coming back to {word}",
    "What they share has much to do with {word}",
)

METRICS = (
    BenchMetric(
        name="nights.duplicates", unit="share", about="insights as near as one that says the same", goal=at_most(0.01)
    ),
    BenchMetric(name="nights.same_topic", unit="share", about="insights about what another one is about"),
    BenchMetric(name="nights.derived", unit="share", about="derived memories among all active", goal=at_most(0.20)),
    BenchMetric(
        name="nights.uncited", unit="count", about="derived memories with fewer than two sources", goal=at_most(0)
    ),
    BenchMetric(
        name="nights.unsupported", unit="count", about="derived memories that say what no source says", goal=at_most(0)
    ),
    BenchMetric(name="nights.second_run", unit="count", about="changes of a second night at once", goal=at_most(0)),
    BenchMetric(name="nights.locomo.r10", unit="share", about="turns of the answer among the first 10, after nights"),
    BenchMetric(
        name="nights.locomo.r10_change", unit="share", about="what nights do to that recall", goal=at_least(-0.01)
    ),
    BenchMetric(
        name="nights.recall_during",
        unit="x",
        about="median time of a recall in a night, over without",
        goal=at_most(1.5),
    ),
    BenchMetric(
        name="nights.prompt_tokens", unit="", about="tokens that a night sends to a model", better=GoalOp.AT_MOST
    ),
    BenchMetric(
        name="nights.answer_tokens",
        unit="",
        about="tokens of notes with a question that they answer",
        better=GoalOp.AT_MOST,
    ),
)


class WordyModel:
    """Draws an insight for every word that several notes share, in ever other words."""

    name = "scripted:wordy"

    def __init__(self, seed: int) -> None:
        self._numbers = count()
        self._chance = random.Random(seed)  # noqa: S311 - chooses words
        self.tokens = 0

    async def answer(self, messages: Sequence[PromptMessage], shape: type[Any]) -> ModelAnswer[Any]:
        prompt = messages[0].text
        self.tokens += estimate_tokens(prompt)
        value: AnswerSchema
        if shape is QuestionsAnswer:
            asked = [f"What is known about {word}?" for word, _ in shared_words(prompt)]
            value = QuestionsAnswer(reasoning="r", questions=asked[:3])
        elif shape is InsightsAnswer:
            drafts = [self._draft(word, cites) for word, cites in shared_words(prompt)]
            value = InsightsAnswer(reasoning="r", insights=drafts[:5])
        elif shape is NarrativeAnswer:
            words = " and then of ".join(word for word, _ in shared_words(prompt)[:3])
            added = ", at least 4242 times" if next(self._numbers) % 7 == 3 else ""
            value = NarrativeAnswer(reasoning="r", narrative=f"I heard of {words}{added}")
        elif shape is TensionAnswer:
            is_third = next(self._numbers) % 3 == 0
            value = TensionAnswer(reasoning="r", contradicting=[1, 900] if is_third else [], confidence=0.9)
        elif shape is ReconsiderAnswer:
            value = ReconsiderAnswer(reasoning="r", verdict="holds")
        else:
            value = ShortFormAnswer(reasoning="r", short="")
        return ModelAnswer(value=value, model=self.name, prompt_hash=None, usage=None, cost_usd=Decimal(0), calls=1)

    def _draft(self, word: str, cites: Sequence[int]) -> InsightDraft:
        number = next(self._numbers)
        text = self._chance.choice(TEMPLATES).format(word=word)
        text = text[0].upper() + text[1:]
        if number % 7 == 3:
            text += ", at least 4242 times"
        shown = [900, 901] if number % 5 == 4 else list(cites)
        return InsightDraft(reasoning=word, statement=text, cites=shown, confidence=0.9)

    def chat(self, messages: Sequence[PromptMessage], tools: Sequence[ToolOffer] = ()) -> Any:
        raise NotImplementedError


def shared_words(prompt: str) -> list[tuple[str, list[int]]]:
    """The words that at least two notes of a prompt share, with the numbers of those notes, most shared first."""
    found: dict[str, list[int]] = {}
    for number, text in re.findall(r"^\[(\d+)\] \([^)]*\) (.*)$", prompt, re.MULTILINE):
        for word in set(re.findall(r"[a-z]{5,}", text)) - FUNCTION_WORDS:
            found.setdefault(word, []).append(int(number))
    return sorted(((word, cites) for word, cites in found.items() if len(cites) > 1), key=lambda e: (-len(e[1]), e[0]))


@dataclass
class Days:
    now: datetime = FIRST_DAY

    def clock(self) -> datetime:
        return self.now


@asynccontextmanager
async def opened(bench: Bench, days: Days) -> AsyncIterator[App]:
    chance = random.Random(bench.seed)  # noqa: S311 - ids of a throwaway store
    tools = SystemServices(clock=days.clock, chance=chance, new_id=id_maker(days.clock, chance))
    async with throw_away_home(bench.folder, stopwatch=bench.stopwatch) as home:
        live = settings_at(home, {"log.level": "error", "llm.write": "", "llm.judge": ""})
        start = StartOptions(providers=True)
        async with open_app(live, door="bench", progress=lambda _: None, start=start, tools=tools) as app:
            yield app


async def measure(bench: Bench) -> SuiteResult:
    facts = by_group(bench.data.rows(LOCOMO, "facts", needs=("group", "id", "text", "source")))
    asked = by_group(bench.data.rows(LOCOMO, "queries", needs=("group", "id", "text")))
    groups = list(facts)[: 1 if bench.partial else None]
    tallies: dict[str, list[TallyItem]] = {metric.name: [] for metric in METRICS}
    totals: dict[str, float] = dict.fromkeys(("before", "asked", "derived", "uncited", "unsupported", "second_run"), 0)
    tokens: dict[tuple[str, str], list[float]] = {}
    slower: list[float] = []
    days = Days()
    length = FEW_DAYS if bench.partial else LONG_DAYS if bench.long else DAYS
    async with opened(bench, days) as app:
        for group in groups:
            rows = list(islice(facts[group], FEW_FACTS if bench.partial else None))
            questions = [row for row in asked[group] if row["answerable"] and row["gold"]]
            recalls, model = [], WordyModel(bench.seed)
            for with_nights in (False, True):
                bench.say(f"Living {group} {'with' if with_nights else 'without'} nights.")
                days.now = FIRST_DAY
                name = f"{group}-{'nights' if with_nights else 'plain'}"
                writer = model if with_nights else None
                space, known = await live(app, days, rows, name=name, length=length, model=writer)
                await count_words_of_changed_texts(app.recall.deps, space)
                recalls.append([await found_in(app, space, known, row) for row in questions])
                if not with_nights and not bench.smoke:
                    slower.append(await slow_down(app, space, questions, bench))
            tallies["nights.locomo.r10"] += [item for item, _ in recalls[1]]
            totals["before"] += sum(item.part for item, _ in recalls[0])
            totals["asked"] += len(questions)
            sizes = [estimate_tokens(row["text"]) for row in rows]
            known_at_night = [sum(sizes[: len(rows) * (day + 1) // length]) for day in range(length)]
            read: dict[tuple[str, str], list[float]] = {
                ("prompt_tokens", PRODUCT): [model.tokens / length],
                ("prompt_tokens", EVERYTHING): [fmean(known_at_night)],
                ("answer_tokens", PRODUCT): [size for item, size in recalls[1] if item.part == 1],
                ("answer_tokens", EVERYTHING): [float(sum(sizes)) for item, _ in recalls[1] if item.part == 1],
            }
            for place, numbers in read.items():
                tokens.setdefault(place, []).extend(numbers)
            await judge_derived(app, space, tallies, totals)
            totals["second_run"] += await run_one(app, space, WordyModel(99))
    r10 = sum(item.part for item in tallies["nights.locomo.r10"]) / totals["asked"]
    samples = [
        Sample(metric=f"nights.{name}", system=PRODUCT, value=float(totals[name]), n=int(totals["derived"]))
        for name in ("uncited", "unsupported", "second_run")
    ]
    change = r10 - totals["before"] / totals["asked"]
    samples.append(Sample(metric="nights.locomo.r10_change", system=PRODUCT, value=change, n=int(totals["asked"])))
    samples += [
        Sample(metric=f"nights.{name}", system=system, value=fmean(numbers), n=len(numbers))
        for (name, system), numbers in tokens.items()
        if numbers
    ]
    if slower:
        samples.append(Sample(metric="nights.recall_during", system=PRODUCT, value=median(slower), n=len(slower)))
    counted_ones = ("nights.duplicates", "nights.same_topic", "nights.derived", "nights.locomo.r10")
    return SuiteResult(
        tallies=[MetricTally(metric=name, system=PRODUCT, items=tallies[name]) for name in counted_ones],
        samples=samples,
        systems=[System(name=EVERYTHING, kind=SystemKind.BASELINE)],
    )


async def live(
    app: App, days: Days, facts: Rows, *, name: str, length: int, model: WordyModel | None
) -> tuple[SpaceId, dict[MemoryId, Sequence[str]]]:
    """Learn the facts day by day, with a night after each if there is a model; return the space and the turns
    behind each memory."""
    space = (await add_space(app, name.lower())).id
    known: dict[MemoryId, list[str]] = {}
    for day in range(length):
        scope = Scope(space=space, agent=DEFAULT_AGENT, session=SessionId(f"day{day}"))
        start, end = len(facts) * day // length, len(facts) * (day + 1) // length
        for place, row in enumerate(facts[start:end], start):
            tags = ("goal",) if place % GOAL_EVERY == 0 else ()
            request = LearnRequest(text=row["text"], subject=row["subject"], origin=Origin.MODEL, tags=tags)
            learned = await learn(app.memory.deps, scope, request)
            if learned.memory is not None:
                known.setdefault(learned.memory.id, []).extend(row["source"])
        if model is not None:
            await run_one(app, space, model)
        days.now += timedelta(days=1)
    return space, {memory: tuple(sources) for memory, sources in known.items()}


async def slow_down(app: App, space: SpaceId, questions: Rows, bench: Bench) -> float:
    """Return how many times as long the median recall takes while a first night runs."""
    alone = [await timed_recall(app, space, row, bench) for row in questions]
    night = asyncio.create_task(run_one(app, space, WordyModel(bench.seed)))
    during: list[float] = []
    for row in questions:
        if night.done():
            break
        during.append(await timed_recall(app, space, row, bench))
    await night
    return median(during) / median(alone)


async def timed_recall(app: App, space: SpaceId, row: Mapping[str, Any], bench: Bench) -> float:
    """Ask one question as a server does, after a short pause; return the seconds."""
    await asyncio.sleep(BETWEEN_S)
    began = bench.stopwatch()
    with app.jobs.courtesy.serving():
        await found_in(app, space, {}, row)
    return bench.stopwatch() - began


async def run_one(app: App, space: SpaceId, model: Model) -> int:
    """Run a night; return how many changes it made."""

    async def writer(_space: SpaceId) -> Model:
        return model

    deps: NightDeps = replace(app.nights, writer=writer)
    async with app.store.transaction() as transaction:
        night = await begin_night(deps, transaction, space)
    await run_night(deps, space, night)
    return len(await list_night_items(app.store, space, night))


async def found_in(
    app: App, space: SpaceId, known: Mapping[MemoryId, Sequence[str]], row: Mapping[str, Any]
) -> tuple[TallyItem, int]:
    """The share of the turns of an answer that stand behind the first ten memories, and how many tokens those have.

    An insight has no turns."""
    scope = Scope(space=space, agent=DEFAULT_AGENT, session=SessionId("asking"))
    query = RecallQuery(cue=row["text"], limit=CUT, ungated=True)
    came = await recall(app.recall.deps, scope, query, counts=False)
    turns = {turn for item in came.items for turn in known.get(MemoryId(item.id), ())}
    gold = set(row["gold"])
    size = sum(estimate_tokens(item.text) for item in came.items)
    return TallyItem(id=row["id"], part=len(gold & turns) / len(gold), group=row["group"]), size


async def judge_derived(
    app: App, space: SpaceId, tallies: Mapping[str, list[TallyItem]], totals: dict[str, float]
) -> None:
    """Hold every active memory against what the bars say of derived ones."""
    scope = Scope(space=space, agent=DEFAULT_AGENT, session=SessionId(""))
    memories: list[Memory] = []
    while page := await load_page_of_memories(
        app.memory.deps, scope, MemoryFilter(), after=memories[-1].seq if memories else None, limit=200
    ):
        memories += page
    words: set[str] = set()
    for memory in memories:
        tallies["nights.derived"].append(counted(str(memory.id), memory.kind in DERIVED))
        if memory.kind not in DERIVED:
            continue
        totals["derived"] += 1
        async with app.store.transaction() as transaction:
            ids = await find_linked_ids(transaction, space, memory.id, MemoryRelation.DERIVES_FROM)
            sources = await load_existing_memories(transaction, space, ids)
        totals["uncited"] += len(sources) < 2
        totals["unsupported"] += (
            find_unsupported(memory.content, [each.content for each in sources.values()]) is not None
        )
        if memory.kind == "insight":
            word = next((w for t in TEMPLATES if (w := _word_in(memory.content, t))), memory.content)
            tallies["nights.same_topic"].append(counted(str(memory.id), word in words, told={"text": memory.content}))
            words.add(word)
    insights = [each for each in memories if each.kind == "insight"]
    tallies["nights.duplicates"] += await find_near(app, insights)


async def find_near(app: App, insights: Sequence[Memory]) -> list[TallyItem]:
    """Whether each insight is as near to an earlier one as two that say the same."""
    assert app.embedder is not None, "the suite opens it"
    bar = app.embedder.profile.threshold(ThresholdName.CONFIRMING)
    assert bar is not None, "the bundled embedder has a threshold"
    vectors = await app.embedder.embed([each.content for each in insights], EmbeddingPurpose.COMPARE)
    return [
        counted(str(each.id), any(float(vector @ other) >= bar for other in vectors[:place]))
        for place, (each, vector) in enumerate(zip(insights, vectors, strict=True))
    ]


def _word_in(text: str, template: str) -> str | None:
    """The word that an insight of this template is about."""
    pattern = re.escape(template).replace(re.escape("{word}"), r"(\w+)")
    found = re.fullmatch(pattern, text, re.IGNORECASE)
    return found[1].lower() if found else None


NIGHTS = Suite(
    name="nights",
    about="Whether nights keep a memory true over thirty days, or ninety.",
    metrics=METRICS,
    measure=measure,
    needs=(LOCOMO,),
    timed=False,
)
