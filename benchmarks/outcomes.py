"""The suite `outcomes`: what became of notes, inferred from what was said.

The rules read turns of public sets, whose labels nobody here wrote (see `outcome_sets`); then the same
replies shuffled to other turns, where nothing in them can come from a note. Each note of a turn is one item,
with the inferred outcome next to the true one. Speed is measured on turns of a template writer, of any
length.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.outcome_sets import OutcomeTurn, answered, gainsaid
from benchmarks.outcome_turns import NONE, turns
from benchmarks.result import BenchMetric, GoalOp, Sample, at_least, at_most
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.tally import MetricTally, TallyFinding, TallyItem, detection
from festinger.outcomes.inference import TurnInferenceInput, TurnNote, infer_turn_outcomes
from festinger.world.model import NoteOutcome

READ = (NoteOutcome.ACTED, NoteOutcome.CONTRADICTED)
SHUFFLED = "outcomes.shuffled_acted"
SPENT = "outcomes.inference.ms"
LONG_REPLY = 4000
MANY_NOTES = 10
LOCOMO, CONSOLIDATION, CONFLICT = "locomo", "factconsolidation", "memconflict"

METRICS = (
    *(
        BenchMetric(
            name=f"outcomes.{label}.{kind}",
            unit="share",
            about=f"notes {label}, read from what was said, {kind}",
            goal={("acted", "recall"): at_least(0.7)}.get(
                (label, kind), at_least(0.9) if kind == "precision" else None
            ),
            better=GoalOp.AT_LEAST,
        )
        for label in READ
        for kind in ("precision", "recall", "f1")
    ),
    BenchMetric(
        name=SHUFFLED,
        unit="share",
        about="notes called acted on in replies that belong to other turns",
        goal=at_most(0.02),
    ),
    BenchMetric(
        name=SPENT, unit="ms", about="to read ten notes against a reply of 4,000 characters", goal=at_most(5.0)
    ),
)


async def measure(bench: Bench) -> SuiteResult:
    used, denied = witnessed(bench)
    tallies = [
        tally
        for label, turns_of in zip(READ, (used, denied), strict=True)
        for tally in detection(f"outcomes.{label}", PRODUCT, _findings(turns_of, label))
    ]
    tallies.append(_shuffled(used, seed=bench.seed))
    samples = [] if bench.smoke else [_spent(bench)]
    return SuiteResult(tallies=tallies, samples=samples)


def witnessed(bench: Bench) -> tuple[list[OutcomeTurn], list[OutcomeTurn]]:
    """The turns of this run: those with answers, and those with later statements."""
    facts = bench.data.rows(LOCOMO, "facts", needs=("group", "id", "subject", "text", "source"))
    queries = bench.data.rows(LOCOMO, "queries", needs=("group", "id", "text", "gold", "answer", "category"))
    stream = bench.data.rows(CONSOLIDATION, "stream_6k", needs=("group", "id", "seq", "text", "superseded_by"))
    conflicts = bench.data.rows(CONFLICT, "stream", needs=("group", "id", "seq", "text", "conflict_with"))
    used = list(answered(facts, queries, seed=bench.seed))
    denied = [*gainsaid(stream, seed=bench.seed), *gainsaid(conflicts, seed=bench.seed)]
    return bench.data.sampled(used, by=_name), bench.data.sampled(denied, by=_name)


def _name(each: OutcomeTurn) -> str:
    return each.id


def said_of(turn: TurnInferenceInput) -> dict[str, str]:
    """What the rules say of the notes of a turn."""
    found = {each.note: each.outcome.value for each in infer_turn_outcomes(turn).outcomes}
    return {note.id: found.get(note.id, NONE) for note in turn.notes}


def _findings(witnessed: Sequence[OutcomeTurn], label: NoteOutcome) -> list[TallyFinding]:
    """One finding per note: whether it was acted on or contradicted, and whether that was inferred."""
    findings = []
    for each in witnessed:
        said = said_of(each.turn)
        for note in each.turn.notes:
            is_meant, is_found = note.id in each.meant, said[note.id] == label
            told = {"note": note.text, "reply": each.turn.reply, "said": said[note.id]}
            findings.append(
                TallyFinding(
                    id=f"{each.id} {note.id}", wanted=is_meant, found=is_found, right=is_meant and is_found, told=told
                )
            )
    return findings


def _shuffled(witnessed: Sequence[OutcomeTurn], *, seed: int) -> MetricTally:
    """Every reply moved to another turn; a note that is called acted on there is a mistake."""
    replies = [each.turn.reply for each in witnessed]
    chance = random.Random(seed)  # noqa: S311 - replies to deal, not a secret
    chance.shuffle(replies)
    items = []
    for each, reply in zip(witnessed, replies, strict=True):
        if reply == each.turn.reply:
            continue
        said = said_of(replace(each.turn, reply=reply))
        items += [
            TallyItem(
                id=f"{each.id} {note}", part=outcome == NoteOutcome.ACTED, whole=1.0, right=outcome != NoteOutcome.ACTED
            )
            for note, outcome in said.items()
        ]
    return MetricTally(metric=SHUFFLED, system=PRODUCT, items=items)


def _spent(bench: Bench) -> Sample:
    """The median of many turns with ten notes and a long reply."""
    some = list(turns(40, seed=bench.seed + 1))
    times = []
    for at in range(0, len(some), 2):
        notes = [note.text for each in some[at : at + 2] for note in each.turn.notes][:MANY_NOTES]
        reply = " ".join(each.turn.reply for each in some[at : at + 20] + some)[:LONG_REPLY]
        listed = tuple(TurnNote(id=str(place), text=text) for place, text in enumerate(notes))
        begun = bench.stopwatch()
        infer_turn_outcomes(TurnInferenceInput(notes=listed, request=some[at].turn.request, reply=reply))
        times.append(1000 * (bench.stopwatch() - begun))
    return Sample(metric=SPENT, system=PRODUCT, value=sorted(times)[len(times) // 2], n=len(times))


OUTCOMES = Suite(
    name="outcomes",
    about="What became of notes, read from what was said: answers and later statements of public sets.",
    metrics=METRICS,
    measure=measure,
    needs=(LOCOMO, CONSOLIDATION, CONFLICT),
    timed=False,
)
