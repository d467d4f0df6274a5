"""The suite `supersede`: which statement replaced which.

Streams are learned in order and compared with their key: facts whose later value holds (FactConsolidation), a
life in which some things change, some cannot and some coexist (MemConflict), and chains of rules
(SupersessionBench). One setting for all: letting the newest win is right on the first and wrong on the
second.

All follow a user's path: a memory opened with its defaults learns them; facts once as a document and once as a
person's word, and it is asked by `recall`. The baselines are plain rankings of all facts: `bm25` with ties to
the newer one, and `newest_80`, the newest within 80 % of the best score.
"""

import math
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.judging import JudgingPair, JudgingTexts, baselines, embedded, judge_pairs, pairs_of, said, stripped
from benchmarks.own_server import throw_away_home
from benchmarks.result import BenchMetric, GoalOp, Sample, at_least, at_most
from benchmarks.streams import Learner, StreamResult, held_after, nearest_wins, through
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.tally import MetricTally, TallyItem, counted
from festinger.client.memory import Memory
from festinger.client.memory import open as open_memory
from festinger.ids import MemoryId, Origin
from festinger.judge.model import Relation
from festinger.memory.learn.statement import LearnRequest

FC, MC, SSB = "factconsolidation", "memconflict", "supersessionbench"
SIZES = ("6k", "32k")
BASELINES: Mapping[str, float] = {"nearest_wins_70": 0.70, "nearest_wins_80": 0.80}
RANKINGS: Mapping[str, float] = {"bm25": 1.0, "newest_80": 0.8}
"""Plain rankings of all facts: the newest of those that reach this share of the best score answers."""
SPOKEN: Mapping[Origin, str] = {Origin.DOCUMENT: "", Origin.PERSON: ".person"}
"""The origins that facts are learned with, and the suffix of each in the name of a metric."""
KINDS = ("static", "conditional", "distractor", "dynamic")

Rows = Sequence[Mapping[str, Any]]


def _share(name: str, about: str, goal: Any) -> BenchMetric:
    return BenchMetric(name=name, unit="share", about=about, goal=goal)


METRICS = (
    *(
        metric
        for spoken in SPOKEN.values()
        for size, answers, stale in (("6k", 0.99, 0.0), ("32k", 0.97, 0.01))
        for metric in (
            _share(f"fc{size}{spoken}.answer_at_1", f"questions answered by what stands ({size})", at_least(answers)),
            _share(f"fc{size}{spoken}.stale_at_1", f"questions answered by what was replaced ({size})", at_most(stale)),
        )
    ),
    _share("fc32k.retire.precision", "retirements that are in the key", at_least(0.98)),
    _share("fc32k.retire.recall", "facts of the key that are retired", at_least(0.95)),
    _share("merge.false.fc_stream", "facts that were taken for another one (32k)", at_most(0.0)),
    _share("ssb.pairs.macro_f1", "same, update, unrelated", at_least(0.93)),
    _share("ssb.chain_exact", "chains of which just the last version stands", at_least(0.92)),
    _share("memconflict.update_recall", "values that changed and were replaced", at_least(0.90)),
    _share("memconflict.retire_precision", "retirements that are in the key", at_least(0.97)),
    _share("memconflict.false_supersession", "what still holds and was replaced", at_most(0.01)),
    _share("memconflict.false_supersession.static", "what cannot change and was replaced", at_most(0.02)),
    _share("memconflict.conflict_recall", "contradictions that were put to a person", at_least(0.85)),
    BenchMetric(name="fc32k.pending", unit="share", about="facts that wait for a judge", better=GoalOp.AT_MOST),
)


async def measure(bench: Bench) -> SuiteResult:
    facts = {size: _facts(bench, size) for size in SIZES}
    asked = {size: _asked(bench, size, facts[size]) for size in SIZES}
    lives = bench.data.rows(MC, "stream", needs=("id", "group", "text", "kind"))
    versions = [row for row in bench.data.rows(SSB, "stream", needs=("id", "group", "text")) if "/v" in row["id"]]
    chains = bench.data.sampled(versions, by=lambda row: row["group"])
    pairs = bench.data.sampled(
        pairs_of(bench.data.rows(SSB, "pairs", needs=("id", "a", "b", "label"))), by=lambda pair: pair.id
    )
    bench.say("Embedding the streams.")
    texts = await embedded(
        [row["text"] for rows in (*facts.values(), lives, chains) for row in rows]
        + [text for pair in pairs for text in (pair.a, pair.b)]
    )
    await judge_pairs(texts, [(pair.a, pair.b) for pair in pairs])
    rankings = [name for name in RANKINGS if bench.wants(name)]
    tallies = await real_path(bench, facts, asked)
    bench.say("Learning the streams.")
    async with open_home(bench, "streams") as memory:
        tallies += await memconflict(PRODUCT, lives, through(memory))
        tallies.append(await chains_exact(PRODUCT, chains, through(memory)))
    learners = {name: nearest_wins(texts, bar) for name, bar in BASELINES.items() if bench.wants(name)}
    for system, learner in learners.items():
        for size in SIZES:
            held = await learner([row["text"] for row in facts[size]])
            tallies += ranked(system, size, facts[size], asked[size], active=sorted(held.active))
            tallies += retirements(system, facts[size], held) if size == "32k" else []
        tallies += await memconflict(system, lives, learner)
        tallies.append(await chains_exact(system, chains, learner))
    for name in rankings:
        for size in SIZES:
            tallies += ranked(name, size, facts[size], asked[size], within=RANKINGS[name])
    macro = Sample(metric="ssb.pairs.macro_f1", system=PRODUCT, value=macro_f1(texts, pairs), n=len(pairs))
    return SuiteResult(tallies=tallies, samples=[macro], systems=baselines([*learners, *rankings]))


@asynccontextmanager
async def open_home(bench: Bench, name: str) -> AsyncIterator[Memory]:
    """A memory with default settings on a home that is thrown away."""
    folder = bench.folder / name
    folder.mkdir(mode=0o711, exist_ok=True)
    async with throw_away_home(folder, stopwatch=bench.stopwatch) as home:
        settings = {"home": str(home), "offline": True, "store.stop_when_idle": False}
        async with open_memory(settings) as memory:
            yield memory


def _facts(bench: Bench, size: str) -> Rows:
    """The stream, or the part of it that counts in this run: all facts of a subject, or none."""
    rows = bench.data.rows(FC, f"stream_{size}", needs=("id", "text"))
    return bench.data.sampled(rows, by=lambda row: row.get("subject") or row["id"])


def _asked(bench: Bench, size: str, facts: Rows) -> Rows:
    known = {row["id"] for row in facts}
    rows = bench.data.rows(FC, f"queries_{size}", needs=("id", "text"))
    return [row for row in rows if row.get("gold") and known.issuperset(row["gold"])]


async def real_path(bench: Bench, facts: Mapping[str, Rows], asked: Mapping[str, Rows]) -> list[MetricTally]:
    """Learn and recall as a user does, each stream in a memory of its own."""
    tallies: list[MetricTally] = []
    for origin, spoken in SPOKEN.items():
        for size in SIZES:
            name = f"fc{size}{spoken}"
            bench.say(f"Learning the facts of {size} as the word of a {origin.value}.")
            async with open_home(bench, name) as memory:
                learned = await memory.learn_many(
                    [LearnRequest(text=row["text"], origin=origin) for row in facts[size]]
                )
                ids = {each.memory.id: row["id"] for each, row in zip(learned, facts[size], strict=True) if each.memory}
                first: dict[str, str | None] = {}
                for row in single_hop(asked[size]):
                    found = (await memory.recall(row["text"])).items
                    first[row["id"]] = ids.get(MemoryId(found[0].id)) if found else None
            tallies += answers(PRODUCT, name, asked[size], first)
            if (origin, size) == (Origin.DOCUMENT, "32k"):
                tallies += retirements(PRODUCT, facts[size], held_after(learned))
    return tallies


def single_hop(asked: Rows) -> Rows:
    return [row for row in asked if row.get("hops") == "single" and row.get("gold")]


def ranked(
    system: str, size: str, facts: Rows, asked: Rows, *, active: Sequence[int] | None = None, within: float = 1.0
) -> list[MetricTally]:
    """The answers of a plain ranking of facts, whatever their origin."""
    ids = [facts[place]["id"] for place in (range(len(facts)) if active is None else active)]
    text = {row["id"]: row["text"] for row in facts}
    best = bm25([text[each] for each in ids], within=within)
    first = {row["id"]: ids[best(row["text"])] if ids else None for row in single_hop(asked)}
    return [tally for spoken in SPOKEN.values() for tally in answers(system, f"fc{size}{spoken}", asked, first)]


def answers(system: str, name: str, asked: Rows, first: Mapping[str, str | None]) -> list[MetricTally]:
    """Whether the first fact for a question is the current one, or one that was replaced."""
    single = single_hop(asked)
    right = [counted(row["id"], first[row["id"]] in row["gold"], told={"text": row["text"]}) for row in single]
    stale = [
        TallyItem(
            id=row["id"], part=float(first[row["id"]] in row["stale"]), right=first[row["id"]] not in row["stale"]
        )
        for row in single
    ]
    return [
        MetricTally(metric=f"{name}.answer_at_1", system=system, items=right),
        MetricTally(metric=f"{name}.stale_at_1", system=system, items=stale),
    ]


def bm25(corpus: Sequence[str], *, k1: float = 1.2, b: float = 0.75, within: float = 1.0) -> Callable[[str], int]:
    """The position of the newest text that reaches the share `within` of the best score for a question."""
    bags = [Counter(stripped(text)) for text in corpus]
    lengths = [sum(bag.values()) for bag in bags]
    mean = sum(lengths) / max(1, len(lengths))
    holding = Counter(word for bag in bags for word in bag)
    weight = {word: math.log(1 + (len(bags) - count + 0.5) / (count + 0.5)) for word, count in holding.items()}

    def best(question: str) -> int:
        wanted = [word for word in stripped(question) if word in weight]
        scores = [
            sum(
                weight[word] * bag[word] * (k1 + 1) / (bag[word] + k1 * (1 - b + b * length / mean))
                for word in wanted
                if word in bag
            )
            for bag, length in zip(bags, lengths, strict=True)
        ]
        enough = within * max(scores)
        return max(place for place, score in enumerate(scores) if score >= enough)

    return best


def retirements(system: str, facts: Rows, held: StreamResult) -> list[MetricTally]:
    made = {facts[old]["id"]: facts[new]["id"] for old, new in held.superseded_by.items()}
    key = {row["id"]: row["superseded_by"] for row in facts if row["superseded_by"]}
    text = {row["id"]: row["text"] for row in facts}
    of_made = [
        counted(old, key.get(old) == new, told={"old": text[old], "new": text[new]}) for old, new in made.items()
    ]
    of_key = [counted(old, made.get(old) == new, told={"old": text[old], "new": text[new]}) for old, new in key.items()]
    merged = [
        TallyItem(id=row["id"], part=float(place in held.merged_into), right=place not in held.merged_into)
        for place, row in enumerate(facts)
    ]
    waiting = [TallyItem(id=row["id"], part=float(place in held.pending)) for place, row in enumerate(facts)]
    return [
        MetricTally(metric="fc32k.retire.precision", system=system, items=of_made),
        MetricTally(metric="fc32k.retire.recall", system=system, items=of_key),
        MetricTally(metric="merge.false.fc_stream", system=system, items=merged),
        MetricTally(metric="fc32k.pending", system=system, items=waiting),
    ]


async def memconflict(system: str, rows: Rows, learner: Learner) -> list[MetricTally]:
    """A life: what changed was replaced, what holds was not, and what cannot be was put to a person."""
    by_user: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        by_user[row["group"]].append(row)
    made: dict[str, str] = {}
    against: dict[str, set[str]] = {}
    for life in by_user.values():
        held = await learner([row["text"] for row in life])
        made |= {life[old]["id"]: life[new]["id"] for old, new in held.superseded_by.items()}
        against |= {life[new]["id"]: {life[old]["id"] for old in olds} for new, olds in held.conflicts.items()}
    text = {row["id"]: row["text"] for row in rows}
    key = {row["id"] for row in rows if row["superseded_by"]}
    still = [row for row in rows if row["kind"] in KINDS and not row["superseded_by"] and not row.get("duplicate_of")]

    def kept(row: Mapping[str, Any]) -> TallyItem:
        gone = row["id"] in made and text[made[row["id"]]] != row["text"]
        return TallyItem(id=row["id"], part=float(gone), right=not gone, group=row["group"], told={"text": row["text"]})

    return [
        MetricTally(
            metric="memconflict.update_recall",
            system=system,
            items=[counted(old, old in made, told={"text": text[old]}) for old in sorted(key)],
        ),
        MetricTally(
            metric="memconflict.retire_precision",
            system=system,
            items=[counted(old, old in key, told={"old": text[old], "new": text[made[old]]}) for old in made],
        ),
        MetricTally(metric="memconflict.false_supersession", system=system, items=[kept(row) for row in still]),
        MetricTally(
            metric="memconflict.false_supersession.static",
            system=system,
            items=[kept(row) for row in still if row["kind"] == "static"],
        ),
        MetricTally(
            metric="memconflict.conflict_recall",
            system=system,
            items=[
                counted(row["id"], row["conflict_with"] in against.get(row["id"], ()), told={"text": row["text"]})
                for row in rows
                if row["kind"] == "static_conflict"
            ],
        ),
    ]


async def chains_exact(system: str, rows: Rows, learner: Learner) -> MetricTally:
    """All chains in one space, every first version before every second; right if only the last is active."""
    ordered = sorted(rows, key=lambda row: int(row["id"].rpartition("/v")[2]))
    held = await learner([row["text"] for row in ordered])
    standing = {row["id"] for place, row in enumerate(ordered) if place in held.active or place in held.conflicts}
    chains: dict[str, list[str]] = defaultdict(list)
    for row in ordered:
        chains[row["group"]].append(row["id"])
    return MetricTally(
        metric="ssb.chain_exact",
        system=system,
        items=[
            counted(group, [each for each in ids if each in standing] == [ids[-1]]) for group, ids in chains.items()
        ],
    )


def macro_f1(texts: JudgingTexts, pairs: Sequence[JudgingPair]) -> float:
    """The mean of F1 over the three labels; what contradicts or refines counts as an update."""
    names = {Relation.SAME: "same", Relation.UNRELATED: "unrelated", Relation.UNSURE: "unsure"}
    made = [(pair.label, names.get(said(texts, pair.a, pair.b).relation, "update")) for pair in pairs]
    scores = []
    for label in ("same", "update", "unrelated"):
        right = sum(one == other == label for one, other in made)
        total = sum((one == label) + (other == label) for one, other in made)
        scores.append(2 * right / total if total else 0.0)
    return sum(scores) / len(scores)


SUPERSEDE = Suite(
    name="supersede",
    about="What replaced what: facts, a life, chains of rules.",
    metrics=METRICS,
    measure=measure,
    needs=(FC, MC, SSB),
    timed=False,
)
