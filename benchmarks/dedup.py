"""The suite `dedup`: whether two statements say the same.

Paraphrases (PARADE, MSRP) by the judge's score for `same`; pairs that must never merge (a word changed, news
that differ) and pairs that must (a rule in another frame) by its verdict; and a thousand facts typed in eight
ways by their fold. The baseline `cosine_dedup` merges whatever is near enough.
"""

import unicodedata
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.judging import JudgingPair, JudgingTexts, baselines, embedded, judge_pairs, pairs_of, said, scored
from benchmarks.result import BenchMetric, Sample, at_least, at_most
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.tally import MetricTally, Numbers, TallyItem, auroc, counted
from festinger.judge.model import Relation
from festinger.text.normalize import fold

PARADE, MSRP, BREAKING, SSB = "parade", "msrp", "breaking_nli", "supersessionbench"
COSINE = "cosine"
THRESHOLDS = (0.95, 0.90, 0.85)
FACTS = 1000
PRECISION = 0.97

Merges = Callable[[JudgingTexts, str, str], bool]

METRICS = (
    BenchMetric(name="parade.auc", unit="share", about="definitions of one thing, AUC", goal=at_least(0.83)),
    BenchMetric(
        name="parade.p_at_r50",
        unit="share",
        about="precision where half of the same pairs are found",
        goal=at_least(0.85),
    ),
    BenchMetric(name="msrp.auc", unit="share", about="news in other words, AUC", goal=at_least(0.79)),
    BenchMetric(
        name="merge.false.breaking_nli",
        unit="share",
        about="one word changed, and taken for the same",
        goal=at_most(0.005),
    ),
    BenchMetric(name="merge.false.msrp", unit="share", about="different news taken for the same", goal=at_most(0.01)),
    BenchMetric(
        name="merge.recall.ssb_same", unit="share", about="the same rule in another frame", goal=at_least(0.95)
    ),
    BenchMetric(
        name="merge.recall.parade",
        unit="share",
        about="same definitions found, at a precision of .97 or more",
        goal=at_least(0.15),
    ),
    BenchMetric(name="merge.fold", unit="rows", about="1,000 facts typed in 8 ways", goal=at_most(FACTS)),
)


async def measure(bench: Bench) -> SuiteResult:
    parade, msrp, breaking, rules = (_pairs(bench, name) for name in (PARADE, MSRP, BREAKING, SSB))
    bench.say("Embedding the pairs.")
    texts = await embedded(text for pair in (*parade, *msrp, *breaking, *rules) for text in (pair.a, pair.b))
    await judge_pairs(texts, [(pair.a, pair.b) for pair in (*parade, *msrp, *breaking, *rules)])
    systems: dict[str, Merges] = {PRODUCT: we_merge}
    systems |= {name: merge for name, merge in cosine_dedup().items() if bench.wants(name)}
    tallies = [
        tally
        for name, merge in systems.items()
        for tally in merging(name, texts, merge, (parade, msrp, breaking, rules))
    ]
    for name, score in ((PRODUCT, scored), (COSINE, lambda known, one, other: known.cosine(one, other))):
        if name == PRODUCT or bench.wants(name):
            tallies += ranking(name, texts, parade=parade, msrp=msrp, score=score)
    folded = Sample(metric="merge.fold", system=PRODUCT, value=float(rows_for_facts()), n=FACTS)
    others = [name for name in systems if name != PRODUCT] + ([COSINE] if bench.wants(COSINE) else [])
    return SuiteResult(tallies=tallies, samples=[folded], systems=baselines(others))


def _pairs(bench: Bench, name: str) -> list[JudgingPair]:
    rows = bench.data.rows(name, "pairs", needs=("id", "a", "b", "label"))
    return bench.data.sampled(pairs_of(rows), by=lambda pair: pair.id)


def we_merge(texts: JudgingTexts, one: str, other: str) -> bool:
    return said(texts, one, other).relation is Relation.SAME


def cosine_dedup() -> dict[str, Merges]:
    def at(threshold: float) -> Merges:
        return lambda texts, one, other: texts.cosine(one, other) >= threshold

    return {f"cosine_dedup_{threshold * 100:.0f}": at(threshold) for threshold in THRESHOLDS}


def merging(
    system: str, texts: JudgingTexts, merges: Merges, sets: Sequence[Sequence[JudgingPair]]
) -> list[MetricTally]:
    parade, msrp, breaking, rules = sets
    changed = [pair for pair in breaking if pair.label == "contradicts"]
    different = [pair for pair in msrp if pair.label == "different"]
    same_rule = [pair for pair in rules if pair.label == "same"]
    return [
        false_merges("merge.false.breaking_nli", system, texts, changed, merges),
        false_merges("merge.false.msrp", system, texts, different, merges),
        MetricTally(
            metric="merge.recall.ssb_same",
            system=system,
            items=[counted(pair.id, merges(texts, pair.a, pair.b), told=_told(pair)) for pair in same_rule],
        ),
        recall_where_precise(system, texts, parade, merges),
    ]


def false_merges(
    metric: str, system: str, texts: JudgingTexts, pairs: Sequence[JudgingPair], merges: Merges
) -> MetricTally:
    items = []
    for pair in pairs:
        wrong = merges(texts, pair.a, pair.b)
        items.append(TallyItem(id=pair.id, part=float(wrong), right=not wrong, group=pair.group, told=_told(pair)))
    return MetricTally(metric=metric, system=system, items=items)


def recall_where_precise(system: str, texts: JudgingTexts, pairs: Sequence[JudgingPair], merges: Merges) -> MetricTally:
    """The share of same pairs that are merged, or zero if too many different ones are merged too."""
    made = [(pair, merges(texts, pair.a, pair.b)) for pair in pairs]
    found = sum(merged and pair.label == "same" for pair, merged in made)
    precise = found >= PRECISION * sum(merged for _, merged in made)
    items = [counted(pair.id, merged and precise, told=_told(pair)) for pair, merged in made if pair.label == "same"]
    return MetricTally(metric="merge.recall.parade", system=system, items=items)


def ranking(
    system: str,
    texts: JudgingTexts,
    *,
    parade: Sequence[JudgingPair],
    msrp: Sequence[JudgingPair],
    score: Callable[[JudgingTexts, str, str], float],
) -> list[MetricTally]:
    def items(pairs: Sequence[JudgingPair]) -> list[TallyItem]:
        return [
            TallyItem(
                id=pair.id, part=score(texts, pair.a, pair.b), whole=float(pair.label == "same"), told=_told(pair)
            )
            for pair in pairs
        ]

    return [
        MetricTally(metric="parade.auc", system=system, items=items(parade), statistic=auroc),
        MetricTally(metric="parade.p_at_r50", system=system, items=items(parade), statistic=precision_at_half),
        MetricTally(metric="msrp.auc", system=system, items=items(msrp), statistic=auroc),
    ]


def precision_at_half(scores: Numbers, marked: Numbers, weights: Numbers) -> float:
    """The precision at the score where half of the marked ones are found."""
    order = np.argsort(-scores, kind="stable")
    found = np.cumsum((marked * weights)[order])
    taken = np.cumsum(weights[order])
    if not len(found) or not found[-1]:
        return 0.0
    place = int(np.searchsorted(found, found[-1] / 2))
    return float(found[place] / taken[place])


def rows_for_facts() -> int:
    """How many statements remain of a thousand facts typed in eight ways each."""
    return len({fold(text) for number in range(FACTS) for text in renderings(number)})


def renderings(number: int) -> list[str]:
    """One fact as eight people type it."""
    plain = f'Shelf {number} of the "north" aisle - the café\'s - holds box {number * 7 % FACTS}.'
    return [
        plain,
        plain.upper(),
        f"  {plain.replace(' ', '  ')}",
        plain.replace('"', "”").replace("'", "’"),
        plain.replace(" - ", " — "),
        plain.rstrip("."),
        unicodedata.normalize("NFD", plain),
        f"{plain.replace(' ', chr(0x2009))}\n",
    ]


def _told(pair: JudgingPair) -> dict[str, str]:
    return {"a": pair.a, "b": pair.b, "label": pair.label}


DEDUP = Suite(
    name="dedup",
    about="Do two statements say the same?",
    metrics=METRICS,
    measure=measure,
    needs=(PARADE, MSRP, BREAKING, SSB),
    timed=False,
)
