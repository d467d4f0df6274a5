"""The suite `retire`: what a statement takes away from another, one statement at a time through `learn`, without an LLM.

`retire.jsonl` holds 200 pairs in four classes: news about another thing (`other`), more about the same thing (`both`),
news, and the same in other words. They were written by two authors, a hundred pairs each, who knew neither the rules nor
any other data; nobody who works on the judges has read the half called `unseen`. The pairs of a half are the words of
one person, and nothing in it is out of date but the older statements of its news: so each pair is learned in a space of
its own, and all of them in one, the older statements first.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.result import BenchMetric, at_least, at_most
from benchmarks.statement_pairs import outcome
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.supersession import open_home
from benchmarks.tally import MetricTally, TallyItem, counted
from festinger.client.memory import Memory
from festinger.memory.learn.result import Learned
from festinger.services.access import add_space

PAIRS = Path(__file__).with_name("retire.jsonl")
SEEN, UNSEEN = "seen", "unseen"
OTHER, BOTH, NEWS, SAME = "other", "both", "news", "same"
RETIRED, MERGED, CONFLICT = "update", "same", "contradicts"
"""What became of the second statement, as `outcome` names it."""


def _share(name: str, about: str, goal: float, *, most: bool = False) -> BenchMetric:
    return BenchMetric(name=f"retire.{name}", unit="share", about=about, goal=at_most(goal) if most else at_least(goal))


METRICS = tuple(
    metric
    for half in (SEEN, UNSEEN)
    for metric in (
        _share(f"{half}.wrong", "true, alone with news about something else, and retired", 0.0, most=True),
        _share(f"{half}.swallowed", "something else, and taken for a repetition", 0.0, most=True),
        _share(f"{half}.update", "news that replaced the old statement", 0.92),
        _share(f"{half}.same", "repeated in other words, and one memory", 0.70),
        _share(f"{half}.conflict.false", "pairs that agree, and a conflict", 0.02, most=True),
        _share(f"{half}.store.precision", "retirements that are right, with all statements in one store", 0.97),
        _share(f"{half}.store.update", "news that replaced the old statement, with all statements in one store", 0.92),
        _share(f"{half}.store.same", "repeated in other words, and one memory, in one store", 0.70),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetirePair:
    id: str
    half: str
    kind: str
    old: str
    new: str
    old_subject: str | None = None
    new_subject: str | None = None


async def measure(bench: Bench) -> SuiteResult:
    lines = PAIRS.read_text(encoding="utf-8").splitlines()
    pairs = [RetirePair(id=str(number), **json.loads(line)) for number, line in enumerate(lines)]
    pairs = bench.data.sampled(pairs, by=lambda pair: pair.id)
    tallies: list[MetricTally] = []
    async with open_home(bench, "retire") as memory:
        for half in (SEEN, UNSEEN):
            mine = [pair for pair in pairs if pair.half == half]
            bench.say(f"Learning the pairs of the {half} half.")
            tallies += alone(half, mine, [await _learn_pair(memory, pair) for pair in mine])
            tallies += await in_one_store(memory, half, mine)
    return SuiteResult(tallies=tallies)


async def _learn_pair(memory: Memory, pair: RetirePair) -> str:
    own = await _own_space(memory, f"pair-{pair.id}")
    await own.learn(pair.old, subject=pair.old_subject)
    return outcome(await own.learn(pair.new, subject=pair.new_subject))


async def _own_space(memory: Memory, name: str) -> Memory:
    space = await add_space(memory._app, name)  # noqa: SLF001 - the library makes no spaces
    return replace(memory, space=space.id)


def alone(half: str, pairs: Sequence[RetirePair], became: Sequence[str]) -> list[MetricTally]:
    """What became of each pair in a space of its own."""
    found = {pair.id: each for pair, each in zip(pairs, became, strict=True)}

    def tally(name: str, kinds: Sequence[str], *, right: str = "", wrong: str = "") -> MetricTally:
        items = [_item(pair, found[pair.id], right=right, wrong=wrong) for pair in pairs if pair.kind in kinds]
        return MetricTally(metric=f"retire.{half}.{name}", system=PRODUCT, items=items)

    return [
        tally("wrong", (OTHER, BOTH), wrong=RETIRED),
        tally("swallowed", (OTHER, BOTH), wrong=MERGED),
        tally("update", (NEWS,), right=RETIRED),
        tally("same", (SAME,), right=MERGED),
        tally("conflict.false", (OTHER, BOTH, SAME), wrong=CONFLICT),
    ]


async def in_one_store(memory: Memory, half: str, pairs: Sequence[RetirePair]) -> list[MetricTally]:
    own = await _own_space(memory, half)
    olds = [await own.learn(pair.old, subject=pair.old_subject) for pair in pairs]
    news = [await own.learn(pair.new, subject=pair.new_subject) for pair in pairs]
    right = {pair.id: _replaced(old, new) for pair, old, new in zip(pairs, olds, news, strict=True)}
    merged = {pair.id: _merged(old, new) for pair, old, new in zip(pairs, olds, news, strict=True)}
    texts = {each.memory.id: each.memory.content for each in (*olds, *news) if each.memory}
    retirements = [
        counted(f"{by.memory.id}:{gone}", is_right, told=_told(half, {"old": texts[gone], "new": by.memory.content}))
        for by, pair in [*((each, None) for each in olds), *zip(news, pairs, strict=True)]
        if by.memory
        for gone in by.superseded
        for is_right in [pair is not None and pair.kind == NEWS and _is_text(texts[gone], pair.old)]
    ]

    def tally(name: str, items: Sequence[TallyItem]) -> MetricTally:
        return MetricTally(metric=f"retire.{half}.store.{name}", system=PRODUCT, items=items)

    def of_kind(kind: str, found: Mapping[str, bool]) -> list[TallyItem]:
        return [counted(pair.id, found[pair.id], told=_text(pair)) for pair in pairs if pair.kind == kind]

    return [
        tally("precision", retirements),
        tally("update", of_kind(NEWS, right)),
        tally("same", of_kind(SAME, merged)),
    ]


def _replaced(old: Learned, new: Learned) -> bool:
    return old.memory is not None and old.memory.id in new.superseded


def _merged(old: Learned, new: Learned) -> bool:
    return old.memory is not None and new.memory is not None and old.memory.id == new.memory.id


def _is_text(one: str, other: str) -> bool:
    return one.strip() == other.strip()


def _item(pair: RetirePair, became: str, *, right: str, wrong: str) -> TallyItem:
    told = _text(pair) | {"became": became}
    if right:
        return counted(pair.id, became == right, told=told)
    return TallyItem(id=pair.id, part=float(became == wrong), right=became != wrong, told=told)


def _text(pair: RetirePair) -> dict[str, str]:
    return _told(pair.half, {"old": pair.old, "new": pair.new})


def _told(half: str, texts: dict[str, str]) -> dict[str, str]:
    """The texts of an item; none of the half that is not to be looked at."""
    return texts if half == SEEN else {}


RETIRE = Suite(
    name="retire", about="What a statement takes away from another.", metrics=METRICS, measure=measure, timed=False
)
