"""The suite `recall`: does the right turn come to mind, and nothing where nothing fits?

Long conversations of two friends (LoCoMo) and of a person with an assistant (BEAM) are said turn by turn; then every
answerable question is asked. Beside us stand the plain rankings: words alone, vectors alone, and both joined by rank.
The same memory is asked questions of the next conversation and words that nobody ever said: then nothing should come.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from festinger.app.wiring import App
from festinger.bench.conversations import Taken, ask, by_group, opened, take_in
from festinger.bench.rankings import RANKINGS, ranked
from festinger.bench.result import Kind, Metric, System, at_least
from festinger.bench.suite import PRODUCT, Bench, Measured, Suite
from festinger.bench.tally import Item, Tally, counted

LOCOMO, BEAM = "locomo", "beam100k"
SETS = {LOCOMO: "locomo", BEAM: "beam"}
CUTS = (1, 5, 10, 20)
NONSENSE = 200

Rows = Sequence[Mapping[str, Any]]


def _share(name: str, about: str, goal: float | None = None) -> Metric:
    return Metric(name=name, unit="share", about=about, goal=at_least(goal) if goal is not None else None)


METRICS = (
    _share("locomo.r10", "turns of the answer among the first 10 (LoCoMo)", 0.74),
    _share("locomo.r1", "turns of the answer in the first place (LoCoMo)", 0.40),
    _share("locomo.r5", "turns of the answer among the first 5 (LoCoMo)"),
    _share("locomo.r20", "turns of the answer among the first 20 (LoCoMo)"),
    _share("locomo.multi_hop.r10", "the same of questions that need several turns", 0.48),
    _share("beam.r10", "messages of the answer among the first 10 (BEAM)", 0.62),
    _share("beam.r1", "messages of the answer in the first place (BEAM)"),
    _share("beam.r5", "messages of the answer among the first 5 (BEAM)"),
    _share("beam.r20", "messages of the answer among the first 20 (BEAM)"),
    _share("beam.updated_above", "what is newest stands above what it replaced", 0.80),
    _share("abstain.foreign.locomo", "questions of another conversation that bring nothing", 0.98),
    _share("abstain.foreign.beam", "the same for messages", 0.95),
    _share("abstain.own.locomo", "own questions that bring something"),
    _share("abstain.own.beam", "the same for messages"),
    _share("abstain.nonsense", "words that nobody said and that bring nothing", 0.995),
)


async def measure(bench: Bench) -> Measured:
    tallies: list[Tally] = []
    async with opened(bench) as app:
        for set_name, short in SETS.items():
            bench.say(f"Saying the conversations of {set_name}.")
            corpus = by_group(
                bench.data.rows(set_name, "corpus", needs=("group", "id", "session", "text", "role"))
            )
            asked = by_group(_answerable(bench.data.rows(set_name, "queries", needs=("group", "id", "text"))))
            groups = [group for group in corpus if group in asked]
            taken = {group: await take_in(app, corpus[group], name=f"c-{group.lower()}") for group in groups}
            bench.say(f"Asking of {set_name}.")
            tallies += await _found(app, short, taken, asked)
            tallies += await _abstained(app, short, taken, asked)
            tallies += await _by_baselines(
                app, short, corpus, asked, names=list(filter(bench.wants, RANKINGS))
            )
        tallies.append(await _nonsense(app, taken, seed=bench.seed))
    systems = [System(name=name, kind=Kind.BASELINE) for name in RANKINGS if bench.wants(name)]
    return Measured(tallies=tallies, systems=systems)


def _answerable(rows: Rows) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["answerable"] and row["gold"]]


async def _found(app: App, short: str, taken: Mapping[str, Taken], asked: Mapping[str, Rows]) -> list[Tally]:
    came = [
        (question, conversation.named(await ask(app, conversation.space, question["text"])))
        for group, conversation in taken.items()
        for question in asked[group]
    ]
    return tallied(short, PRODUCT, came)


async def _by_baselines(
    app: App, short: str, corpus: Mapping[str, Rows], asked: Mapping[str, Rows], *, names: Sequence[str]
) -> list[Tally]:
    came: dict[str, list[tuple[Mapping[str, Any], list[str]]]] = {name: [] for name in names}
    for group, questions in asked.items():
        found = await ranked(names, app, corpus.get(group, ()), [row["text"] for row in questions])
        for name, orders in found.items():
            came[name] += zip(questions, orders, strict=True)
    return [tally for name, each in came.items() for tally in tallied(short, name, each)]


def tallied(short: str, system: str, came: Sequence[tuple[Mapping[str, Any], list[str]]]) -> list[Tally]:
    """Every number of one system over the questions of one set."""
    tallies = [
        Tally(metric=f"{short}.r{cut}", system=system, items=[_recall(row, ids, cut) for row, ids in came])
        for cut in CUTS
    ]
    if short == SETS[LOCOMO]:
        hops = [_recall(row, ids, 10) for row, ids in came if row["category"] == "multi_hop"]
        tallies.append(Tally(metric="locomo.multi_hop.r10", system=system, items=hops))
    else:
        updates = [_updated(row, ids) for row, ids in came if row["category"] == "knowledge_update"]
        tallies.append(Tally(metric="beam.updated_above", system=system, items=updates))
    return tallies


def _recall(row: Mapping[str, Any], ids: Sequence[str], cut: int) -> Item:
    gold = set(row["gold"])
    found = len(gold & set(ids[:cut])) / len(gold)
    told = {"question": row["text"], "gold": ", ".join(sorted(gold)), "came": ", ".join(ids[:cut])}
    return Item(id=row["id"], part=found, right=found == 1.0, group=row["group"], told=told)


def _updated(row: Mapping[str, Any], ids: Sequence[str]) -> Item:
    places = {each: place for place, each in enumerate(ids)}
    newest = places.get(row["newer"][-1], 99)
    right = all(newest < places.get(older, 99) for older in row["older"])
    return counted(row["id"], right, group=row["group"], told={"question": row["text"]})


async def _abstained(
    app: App, short: str, taken: Mapping[str, Taken], asked: Mapping[str, Rows]
) -> list[Tally]:
    """Own questions, which should bring something, and those of the next conversation, which should not."""
    groups = list(taken)
    foreign, own = [], []
    for place, group in enumerate(groups):
        for row in asked[groups[(place + 1) % len(groups)]]:
            came = await ask(app, taken[group].space, row["text"], limit=10)
            foreign.append(
                counted(row["id"], came.abstained, group=row["group"], told={"question": row["text"]})
            )
        for row in asked[group]:
            came = await ask(app, taken[group].space, row["text"], limit=10)
            own.append(
                counted(row["id"], not came.abstained, group=row["group"], told={"question": row["text"]})
            )
    return [
        Tally(metric=f"abstain.foreign.{short}", system=PRODUCT, items=foreign if len(groups) > 1 else []),
        Tally(metric=f"abstain.own.{short}", system=PRODUCT, items=own),
    ]


async def _nonsense(app: App, taken: Mapping[str, Taken], *, seed: int) -> Tally:
    chance = random.Random(seed)  # noqa: S311 - words that nobody said, not secrets
    spaces = [each.space for each in taken.values()]
    items = []
    for number in range(NONSENSE):
        cue = " ".join(_non_word(chance) for _ in range(4))
        came = await ask(app, spaces[number % len(spaces)], cue, limit=10)
        items.append(counted(f"nonsense/{number}", came.abstained, told={"cue": cue}))
    return Tally(metric="abstain.nonsense", system=PRODUCT, items=items)


def _non_word(chance: random.Random) -> str:
    """Something that can be pronounced and means nothing."""
    syllables = (
        chance.choice("bcdfghjklmnprstvwz") + chance.choice("aeiou") for _ in range(chance.randint(2, 3))
    )
    return "".join(syllables) + chance.choice("bdfgklmnprstvz")


RECALL = Suite(
    name="recall",
    about="Whether the right turn comes to mind, and nothing where nothing fits.",
    metrics=METRICS,
    measure=measure,
    needs=(LOCOMO, BEAM),
    timed=False,
)
