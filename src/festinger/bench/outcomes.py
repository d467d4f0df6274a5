"""The suite `outcomes`: what became of notes, read from what was said.

Labelled turns that a seeded writer puts together (see `outcome_turns`), read by the rules; then the same replies dealt
out to other turns, where nothing of them can come from a note. What was said of each turn stands beside its label in
the items, which is the table of confusions.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from festinger.bench.outcome_turns import NONE, Labelled, turns
from festinger.bench.result import Metric, Op, Sample, at_least, at_most
from festinger.bench.suite import PRODUCT, Bench, Measured, Suite
from festinger.bench.tally import Finding, Item, Tally, detection
from festinger.outcomes.inference import Turn, TurnNote, infer

WHOLE, PART = 600, 210
READ = ("acted", "contradicted")
SHUFFLED = "outcomes.shuffled_acted"
SPENT = "outcomes.inference.ms"
LONG_REPLY = 4000
MANY_NOTES = 10

METRICS = (
    *(
        Metric(
            name=f"outcomes.{label}.{kind}",
            unit="share",
            about=f"notes {label}, read from what was said, {kind}",
            goal={("acted", "recall"): at_least(0.7)}.get(
                (label, kind), at_least(0.9) if kind == "precision" else None
            ),
            better=Op.AT_LEAST,
        )
        for label in READ
        for kind in ("precision", "recall", "f1")
    ),
    Metric(
        name=SHUFFLED,
        unit="share",
        about="notes called acted on in replies that belong to other turns",
        goal=at_most(0.02),
    ),
    Metric(
        name=SPENT,
        unit="ms",
        about="to read ten notes against a reply of 4,000 characters",
        goal=at_most(5.0),
    ),
)


async def measure(bench: Bench) -> Measured:
    labelled = list(turns(PART if bench.smoke or bench.quick else WHOLE, seed=bench.seed))
    found = [(each, said_of(each)) for each in labelled]
    tallies = [
        tally for label in READ for tally in detection(f"outcomes.{label}", PRODUCT, _findings(found, label))
    ]
    tallies.append(_shuffled(labelled, seed=bench.seed))
    samples = [] if bench.smoke else [_spent(bench)]
    return Measured(tallies=tallies, samples=samples)


def said_of(labelled: Labelled) -> str:
    """What the rules say of the note that a turn is about."""
    return next((each.outcome.value for each in infer(labelled.turn) if each.note == labelled.note), NONE)


def confusion(labelled: Sequence[Labelled]) -> Counter[tuple[str, str]]:
    """How often each label was read as what."""
    return Counter((each.label, said_of(each)) for each in labelled)


def _findings(found: Sequence[tuple[Labelled, str]], label: str) -> list[Finding]:
    return [
        Finding(
            id=each.id,
            wanted=each.label == label,
            found=said == label,
            right=said == label == each.label,
            told={
                "reply": each.turn.reply,
                "next": each.turn.next_message,
                "label": each.label,
                "said": said,
            },
        )
        for each, said in found
    ]


def _shuffled(labelled: Sequence[Labelled], *, seed: int) -> Tally:
    """Every reply dealt to another turn; a note that is called acted on there is a mistake."""
    replies = [each.turn.reply for each in labelled]
    chance = random.Random(seed)  # noqa: S311 - replies to deal, not a secret
    chance.shuffle(replies)
    items = []
    for each, reply in zip(labelled, replies, strict=True):
        if reply == each.turn.reply:
            continue
        turn = replace(each.turn, reply=reply, next_message="")
        acted = {found.note for found in infer(turn) if found.outcome == "acted"}
        items += [
            Item(id=f"{each.id} {note.id}", part=note.id in acted, whole=1.0, right=note.id not in acted)
            for note in turn.notes
        ]
    return Tally(metric=SHUFFLED, system=PRODUCT, items=items)


def _spent(bench: Bench) -> Sample:
    """The median of many turns with ten notes and a long reply."""
    some = list(turns(40, seed=bench.seed + 1))
    times = []
    for at in range(0, len(some), 2):
        notes = [note.text for each in some[at : at + 2] for note in each.turn.notes][:MANY_NOTES]
        reply = " ".join(each.turn.reply for each in some[at : at + 20] + some)[:LONG_REPLY]
        listed = tuple(TurnNote(id=str(place), text=text) for place, text in enumerate(notes))
        begun = bench.stopwatch()
        infer(Turn(notes=listed, request=some[at].turn.request, reply=reply))
        times.append(1000 * (bench.stopwatch() - begun))
    return Sample(metric=SPENT, system=PRODUCT, value=sorted(times)[len(times) // 2], n=len(times))


OUTCOMES = Suite(
    name="outcomes",
    about="What became of notes, read from what was said: turns written by a template writer with a seed.",
    metrics=METRICS,
    measure=measure,
    timed=False,
)
