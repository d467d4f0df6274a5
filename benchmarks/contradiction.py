"""The suite `contradict`: which statements cannot both hold.

Three sets under one setting: plain negations (SICK), one word changed (Breaking NLI), negations that
contradict nothing (Negation NLI). A pair counts as contradicting if the judge says so in either order. The
judge sees only the texts of a pair.
"""

from collections import Counter
from collections.abc import Sequence

from benchmarks.judging import (
    OBJECTORS,
    Contradicts,
    JudgingPair,
    JudgingTexts,
    baselines,
    embedded,
    judge_pairs,
    pairs_of,
    said,
    we_object,
)
from benchmarks.result import BenchMetric, GoalOp, Sample, at_least
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.tally import MetricTally, TallyFinding, TallyItem, detection

SICK, BREAKING, NEGATION = "sick", "breaking_nli", "negation_nli"
CONTRADICTS = "contradicts"


def _three(name: str, about: str, goal: float) -> tuple[BenchMetric, ...]:
    f1 = BenchMetric(name=f"{name}.f1", unit="share", about=f"{about}, F1", goal=at_least(goal))
    others = [
        BenchMetric(name=f"{name}.{kind}", unit="share", about=f"{about}, {kind}", better=GoalOp.AT_LEAST)
        for kind in ("precision", "recall")
    ]
    return (f1, *others)


METRICS = (
    *_three("sick.contradiction", "contradictions of SICK", 0.86),
    BenchMetric(
        name="breaking_nli.balanced",
        unit="share",
        about="one word changed: recall by category, and no alarm on what agrees",
        goal=at_least(0.88),
    ),
    *_three("negation_nli.contradiction", "contradictions of Negation NLI", 0.66),
    BenchMetric(name="contradict.mean", unit="share", about="mean of the three, one setting", goal=at_least(0.80)),
)


async def measure(bench: Bench) -> SuiteResult:
    sick = bench.data.sampled(_pairs(bench, SICK), by=lambda pair: pair.id)
    breaking = bench.data.sampled(_pairs(bench, BREAKING), by=lambda pair: pair.id)
    negated = [pair for pair in _pairs(bench, NEGATION) if pair.category != "rte"]
    negated = bench.data.sampled(negated, by=lambda pair: pair.id)
    bench.say("Embedding the pairs.")
    texts = await embedded(text for pair in (*sick, *breaking, *negated) for text in (pair.a, pair.b))
    pairs = [(pair.a, pair.b) for pair in (*sick, *breaking, *negated)]
    await judge_pairs(texts, [*pairs, *((b, a) for a, b in pairs)])
    systems = {PRODUCT: we_object, **{name: rule for name, rule in OBJECTORS.items() if bench.wants(name)}}
    tallies: list[MetricTally] = []
    samples: list[Sample] = []
    for system, objects in systems.items():
        made = [
            *detection("sick.contradiction", system, findings(texts, sick, objects)),
            balanced(system, texts, breaking, objects),
            *detection("negation_nli.contradiction", system, findings(texts, negated, objects)),
        ]
        tallies += made
        samples.append(_mean(system, made))
    return SuiteResult(
        tallies=tallies, samples=samples, systems=baselines([name for name in systems if name != PRODUCT])
    )


def _pairs(bench: Bench, name: str) -> list[JudgingPair]:
    return pairs_of(bench.data.rows(name, "pairs", needs=("id", "a", "b", "label")))


def findings(texts: JudgingTexts, pairs: Sequence[JudgingPair], objects: Contradicts) -> list[TallyFinding]:
    return [_finding(texts, pair, found=objects(texts, pair.a, pair.b)) for pair in pairs]


def _finding(texts: JudgingTexts, pair: JudgingPair, *, found: bool) -> TallyFinding:
    wanted = pair.label == CONTRADICTS
    return TallyFinding(
        id=pair.id, wanted=wanted, found=found, right=found and wanted, group=pair.group, told=told(texts, pair)
    )


def told(texts: JudgingTexts, pair: JudgingPair) -> dict[str, str]:
    verdict = said(texts, pair.a, pair.b)
    return {
        "a": pair.a,
        "b": pair.b,
        "label": pair.label,
        "said": f"{verdict.relation} {verdict.confidence:g} by {verdict.judge}: {verdict.reasoning}",
    }


def balanced(system: str, texts: JudgingTexts, pairs: Sequence[JudgingPair], objects: Contradicts) -> MetricTally:
    """The mean of recall by category and of the share of agreeing pairs without an objection."""
    sizes = Counter(pair.category for pair in pairs if pair.label == CONTRADICTS)
    agreeing = sum(pair.label != CONTRADICTS for pair in pairs)
    items = []
    for pair in pairs:
        wanted = pair.label == CONTRADICTS
        right = objects(texts, pair.a, pair.b) == wanted
        weight = 1 / (len(sizes) * sizes[pair.category]) if wanted else 1 / agreeing
        items.append(
            TallyItem(
                id=pair.id,
                part=weight / 2 * right,
                whole=weight / 2,
                right=right,
                group=pair.group,
                told=told(texts, pair),
            )
        )
    return MetricTally(metric="breaking_nli.balanced", system=system, items=items)


def _mean(system: str, tallies: Sequence[MetricTally]) -> Sample:
    counted = ("sick.contradiction.f1", "breaking_nli.balanced", "negation_nli.contradiction.f1")
    values = [tally.value for tally in tallies if tally.metric in counted]
    return Sample(metric="contradict.mean", system=system, value=sum(values) / len(values), n=len(values))


CONTRADICT = Suite(
    name="contradict",
    about="What cannot both stand: negations, and single words changed.",
    metrics=METRICS,
    measure=measure,
    needs=(SICK, BREAKING, NEGATION),
    timed=False,
)
