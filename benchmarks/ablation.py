"""The suite `ablation`: what each part of a recall contributes.

The conversations of the suite `recall` are asked again with one part removed at a time, and with parts that
are off by default added. What changes nothing, or does harm, has no place among the defaults. Nothing is
stored again: the context of a turn is removed from its words here, but stays in its vector.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchmarks.conversations import heard
from benchmarks.recall import BEAM, LOCOMO, SETS, came_of, recall_of, sets_of
from benchmarks.result import BenchMetric, GoalOp, System, SystemKind
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.tally import MetricTally
from festinger.retrieval.deps import RetrievalConfig, RetrievalDeps
from festinger.runtime.app import App

PARTS: Mapping[str, Mapping[str, Any]] = {
    "words_ranked": {"words_share": 0.0},
    "vectors_ranked": {"words_share": 1.0},
    "scores_fused": {"fusion": "rrf"},
    "neighbours_words": {"context_weight": 0.0},
    "freshness_and_weight": {"prior_share": 0.0},
    "person_first": {"person_bonus": 0.0},
    "speaker_first": {"speaker_bonus": 0.0},
    "substance": {"substance": False},
    "newer_first": {"newer_first": False},
    "gate": {"abstain": False},
}
"""The parts that are removed, with the settings for it."""
NO_VECTORS = "vectors"
"""Like `vectors_ranked`, and vectors find nothing either."""

METRICS = tuple(
    BenchMetric(name=f"ablation.{short}.r10", unit="share", about=about, better=GoalOp.AT_LEAST)
    for short, about in (
        (SETS[LOCOMO], "turns of the answer among the first 10 (LoCoMo), without one part"),
        (SETS[BEAM], "messages of the answer among the first 10 (BEAM), without one part"),
    )
)


def without(deps: RetrievalDeps, changed: Mapping[str, Any]) -> RetrievalDeps:
    """The dependencies with some recall settings changed."""

    def terms(space: Any) -> RetrievalConfig:
        now = deps.terms(space)
        return replace(now, retrieval=now.retrieval.model_copy(update=dict(changed)))

    return replace(deps, terms=terms)


def deps_list(app: App) -> dict[str, RetrievalDeps]:
    """The product as shipped, and without each part."""
    deps = app.recall.deps
    found = {PRODUCT: deps}
    found |= {f"without {part}": without(deps, changed) for part, changed in PARTS.items()}
    return found | {f"without {NO_VECTORS}": replace(deps, embedder=lambda: None)}


async def measure(bench: Bench) -> SuiteResult:
    tallies: list[MetricTally] = []
    corpora, asked = sets_of(bench)
    async with heard(bench, corpora) as (app, taken):
        everybody = deps_list(app)
        for system, deps in everybody.items():
            bench.say(f"Asking {system}.")
            for name, short in SETS.items():
                came = await came_of(app, taken[name], asked[name], deps=deps)
                items = [recall_of(row, ids, 10) for row, ids in came]
                tallies.append(MetricTally(metric=f"ablation.{short}.r10", system=system, items=items))
    systems = [System(name=name, kind=SystemKind.BASELINE) for name in everybody if name != PRODUCT]
    return SuiteResult(tallies=tallies, systems=systems)


ABLATION = Suite(
    name="ablation",
    about="What is found without each part of a recall.",
    metrics=METRICS,
    measure=measure,
    needs=(LOCOMO, BEAM),
    timed=False,
)
