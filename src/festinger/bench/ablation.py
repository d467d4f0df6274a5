"""The suite `ablation`: what does each part of a recall give?

The conversations of the suite `recall` are asked again with one part taken out at a time, and with what is off by
default put in. Whatever changes nothing, or does harm, has no place among the defaults. Nothing is stored anew: the
surroundings of a turn leave its words here, and stay in its vector.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from festinger.bench.conversations import heard
from festinger.bench.recall import BEAM, LOCOMO, SETS, came_of, recall_of, sets_of
from festinger.bench.result import Kind, Metric, Op, System
from festinger.bench.suite import PRODUCT, Bench, Measured, Suite
from festinger.bench.tally import Tally
from festinger.retrieval.deps import Desk, Terms
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
"""What is taken out, and how the settings say so."""
NO_VECTORS = "vectors"
"""As `vectors_ranked`, and nothing is found by them either."""

METRICS = tuple(
    Metric(name=f"ablation.{short}.r10", unit="share", about=about, better=Op.AT_LEAST)
    for short, about in (
        (SETS[LOCOMO], "turns of the answer among the first 10 (LoCoMo), without one part"),
        (SETS[BEAM], "messages of the answer among the first 10 (BEAM), without one part"),
    )
)


def without(desk: Desk, changed: Mapping[str, Any]) -> Desk:
    """The desk with some settings of recalling changed."""

    def terms(space: Any) -> Terms:
        now = desk.terms(space)
        return replace(now, retrieval=now.retrieval.model_copy(update=dict(changed)))

    return replace(desk, terms=terms)


def desks(app: App) -> dict[str, Desk]:
    """Us as shipped, and without each part."""
    desk = app.recall.desk
    found = {PRODUCT: desk}
    found |= {f"without {part}": without(desk, changed) for part, changed in PARTS.items()}
    return found | {f"without {NO_VECTORS}": replace(desk, embedder=lambda: None)}


async def measure(bench: Bench) -> Measured:
    tallies: list[Tally] = []
    corpora, asked = sets_of(bench)
    async with heard(bench, corpora) as (app, taken):
        everybody = desks(app)
        for system, desk in everybody.items():
            bench.say(f"Asking {system}.")
            for name, short in SETS.items():
                came = await came_of(app, taken[name], asked[name], desk=desk)
                items = [recall_of(row, ids, 10) for row, ids in came]
                tallies.append(Tally(metric=f"ablation.{short}.r10", system=system, items=items))
    systems = [System(name=name, kind=Kind.BASELINE) for name in everybody if name != PRODUCT]
    return Measured(tallies=tallies, systems=systems)


ABLATION = Suite(
    name="ablation",
    about="What is found without each part of a recall.",
    metrics=METRICS,
    measure=measure,
    needs=(LOCOMO, BEAM),
    timed=False,
)
