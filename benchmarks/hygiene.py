"""The suite `hygiene`: what the store holds after a month without maintenance.

A simulated month of talk passes through the proxy (see `month`); one message in twenty is worth keeping.
Counted is what is active at the end: what should not be there, what came back from our own notes, duplicates,
and what is missing. Session summaries are records of what was discussed, not beliefs; they are counted
separately. The baselines keep everything and nothing: no trivial policy wins.
"""

from collections import Counter
from collections.abc import Sequence

from benchmarks.judging import baselines
from benchmarks.month import DAYS, Material, Month, MonthMessage, MonthMessageKind, month
from benchmarks.month_door import MonthProxy, month_door
from benchmarks.month_kept import ActiveMonthItem, all_memories, edges_now, held, live
from benchmarks.own_server import throw_away_home
from benchmarks.result import BenchMetric, GoalOp, Sample, at_least, at_most
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.tally import MetricTally, TallyItem, counted
from benchmarks.truths import Form, Truth
from festinger.ids import MAIN_SPACE
from festinger.store.queries import load_queries
from festinger.store.repositories.models import lifetime_costs

Q = load_queries("benchmarks")

LOCOMO, TAU = "locomo", "tau_airline"
STORE_ALL, STORE_NONE = "store_all", "store_none"
FEW_DAYS = 3
"""For a run that only checks whether something fell."""
LONGEST_RESULT = 2_000

METRICS = (
    BenchMetric(
        name="hygiene.junk",
        unit="share",
        about="of what is held that no durable statement stands behind",
        goal=at_most(0.05),
        beside="hygiene.kept",
    ),
    BenchMetric(
        name="hygiene.kept",
        unit="share",
        about="durable statements that are held, and as they are now",
        goal=at_least(0.95),
        beside="hygiene.junk",
    ),
    BenchMetric(name="hygiene.re_ingested", unit="share", about="held because we said it", goal=at_most(0)),
    BenchMetric(name="hygiene.near_twins", unit="share", about="held more than once", goal=at_most(0.01)),
    BenchMetric(name="hygiene.secrets", unit="secrets", about="planted secrets in any memory", goal=at_most(0)),
    BenchMetric(name="hygiene.by_hand", unit="actions", about="what a person had to do", goal=at_most(0)),
    BenchMetric(name="hygiene.waiting", unit="share", about="memories that wait for a judge", better=GoalOp.AT_MOST),
    BenchMetric(
        name="hygiene.asks_model",
        unit="share",
        about="learns of which rules are not sure, so that a model is asked where there is one",
        goal=at_most(0.10),
    ),
    BenchMetric(name="hygiene.model_calls", unit="calls", about="questions to a model", better=GoalOp.AT_MOST),
    BenchMetric(name="hygiene.summaries", unit="memories", about="records of what sessions were about"),
)


async def measure(bench: Bench) -> SuiteResult:
    lived = month(_material(bench), seed=bench.seed, days=FEW_DAYS if bench.partial else DAYS)
    tallies, samples = await _ours(lived, bench)
    others = {STORE_ALL: _every_message(lived), STORE_NONE: []}
    for system, kept in others.items():
        if bench.wants(system):
            tallies += counts(system, kept, lived.truths)
            samples.append(_secrets(system, "\n".join(each.text for each in kept), lived))
    return SuiteResult(
        tallies=tallies, samples=samples, systems=baselines([name for name in others if bench.wants(name)])
    )


def _material(bench: Bench) -> Material:
    facts = bench.data.rows(LOCOMO, "facts", needs=("id", "text"))
    steps = [step for row in bench.data.rows(TAU, "traces", needs=("id", "steps")) for step in row["steps"]]
    policy = next(step["content"] for step in steps if step["role"] == "system")
    results = [step["content"][:LONGEST_RESULT] for step in steps if step["role"] == "tool" and step["content"]]
    return Material(facts=[row["text"] for row in facts], policy=policy, results=results)


async def _ours(lived: Month, bench: Bench) -> tuple[list[MetricTally], list[Sample]]:
    bench.say("Living through a month.")
    async with (
        throw_away_home(bench.folder, stopwatch=bench.stopwatch) as home,
        month_door(home, seed=bench.seed, store__stop_when_idle=False) as door,
    ):
        born = await edges_now(door)
        record = await live(lived, door, say=bench.say)
        everything = await held(door, record, born=born)
        written = await all_memories(door)
        asking = await asks_model(door)
        spent = (await lifetime_costs(door.app.store, space=MAIN_SPACE)).total
    beliefs = [each for each in everything if not each.is_summary]
    waiting = [TallyItem(id=f"{at}", part=float(each.is_waiting)) for at, each in enumerate(beliefs)]
    return [
        *counts(PRODUCT, beliefs, lived.truths),
        MetricTally(metric="hygiene.waiting", system=PRODUCT, items=waiting),
    ], [
        _secrets(PRODUCT, written, lived),
        asking,
        # Nothing in this file does more than talk and learn: no cleanup, no verdict, no setting.
        Sample(metric="hygiene.by_hand", system=PRODUCT, value=0.0, n=len(everything)),
        Sample(metric="hygiene.model_calls", system=PRODUCT, value=float(spent.calls), n=1),
        Sample(metric="hygiene.summaries", system=PRODUCT, value=float(len(everything) - len(beliefs)), n=1),
    ]


async def asks_model(door: MonthProxy) -> Sample:
    """The share of learn calls that ask a model. Without one they wait, which is reported just as often."""
    row = await door.app.store.one(Q["learns_that_ask"], space=MAIN_SPACE)
    learns: int = row["learns"]
    value = row["asking"] / learns if learns else 0.0
    return Sample(metric="hygiene.asks_model", system=PRODUCT, value=value, n=learns)


def _every_message(lived: Month) -> list[ActiveMonthItem]:
    said: Sequence[MonthMessage] = list(lived.messages())
    kept = [ActiveMonthItem(store="memory", text=each.text, kind=each.kind, saying=each.saying) for each in said]
    return kept + [
        ActiveMonthItem(store="memory", text=call.saying.text, kind=MonthMessageKind.DURABLE, saying=call.saying)
        for call in lived.calls()
    ]


def counts(system: str, kept: Sequence[ActiveMonthItem], known: Sequence[Truth]) -> list[MetricTally]:
    """What is wrong and what is missing in everything held."""
    named = [(f"{each.store} {at}", each) for at, each in enumerate(kept)]
    told = {id_: {"held": each.text[:300], "from": each.kind or "nobody"} for id_, each in named}

    def wrong(metric: str, bad: Sequence[tuple[str, bool]]) -> MetricTally:
        items = [TallyItem(id=id_, part=float(is_bad), right=not is_bad, told=told[id_]) for id_, is_bad in bad]
        return MetricTally(metric=metric, system=system, items=items)

    return [
        wrong("hygiene.junk", [(id_, each.saying is None) for id_, each in named]),
        wrong("hygiene.re_ingested", [(id_, each.kind is MonthMessageKind.ECHO) for id_, each in named]),
        wrong("hygiene.near_twins", _twins(named)),
        MetricTally(metric="hygiene.kept", system=system, items=[_present(truth, kept) for truth in known]),
    ]


def _twins(named: Sequence[tuple[str, ActiveMonthItem]]) -> list[tuple[str, bool]]:
    """Everything that states a truth, and whether its store states it a second time."""
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for id_, each in named:
        if each.saying is not None:
            seen[each.store, each.saying.truth] += 1
            found.append((id_, seen[each.store, each.saying.truth] > 1))
    return found


def _present(truth: Truth, kept: Sequence[ActiveMonthItem]) -> TallyItem:
    """Whether a truth is held in its present form, and not the old one."""
    forms = {each.saying.form for each in kept if each.saying is not None and each.saying.truth == truth.id}
    is_present = forms == {Form.CHANGED} if truth.changes else bool(forms)
    return counted(
        truth.id,
        is_present,
        told={"said": " | ".join(saying.text for saying in truth.sayings), "held": ", ".join(sorted(forms))},
    )


def _secrets(system: str, written: str, lived: Month) -> Sample:
    planted = [message.secret for message in lived.messages() if message.secret]
    found = sum(secret in written for secret in planted)
    return Sample(metric="hygiene.secrets", system=system, value=float(found), n=len(planted))


HYGIENE = Suite(
    name="hygiene",
    about="What does the store hold after a month that nobody looked after?",
    metrics=METRICS,
    measure=measure,
    needs=(LOCOMO, TAU),
    timed=False,
)
