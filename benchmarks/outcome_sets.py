"""Turns from public sets, labeled with what became of each note.

No rule or sentence of ours takes part. Answers say what was acted on: when a LoCoMo question was answered
from one turn, that turn's fact shaped the published answer, and facts of other turns did not. Later
statements say what was contradicted: in FactConsolidation and MemConflict, what a later statement replaces or
disputes was contradicted, and what is about something else, or holds alongside it, was not.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from festinger.outcomes.inference import TurnInferenceInput, TurnNote

BESIDE = 4
"""Other notes next to the one that a turn is about."""
SIMPLE = "single_hop"

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeTurn:
    """A turn, and which of its notes were acted on or contradicted; the others were neither."""

    id: str
    turn: TurnInferenceInput
    meant: frozenset[str]


def answered(facts: Sequence[Row], queries: Iterable[Row], *, seed: int) -> Iterator[OutcomeTurn]:
    """Questions with their published answers, next to the fact that answered each and facts of other turns.

    Only where the set leaves no doubt: one turn of evidence, of which it recorded one fact.
    """
    chance = random.Random(seed)  # noqa: S311 - notes to put beside others, not secrets
    by_turn = _by_turn(facts)
    for query in queries:
        found = by_turn.get((query["group"], *query["gold"]), ()) if len(query["gold"]) == 1 else ()
        if not query["answerable"] or query["category"] != SIMPLE or len(found) != 1 or not query["answer"]:
            continue
        gold = found[0]
        others = [each for each in facts if each["group"] == gold["group"] and query["gold"][0] not in each["source"]]
        notes = [gold, *chance.sample(others, min(BESIDE, len(others)))]
        chance.shuffle(notes)
        yield OutcomeTurn(
            id=query["id"],
            turn=TurnInferenceInput(
                notes=tuple(_note(each) for each in notes), request=query["text"], reply=str(query["answer"])
            ),
            meant=frozenset({str(gold["id"])}),
        )


def _by_turn(facts: Sequence[Row]) -> dict[tuple[str, ...], list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = {}
    for each in facts:
        if len(each["source"]) == 1:
            found.setdefault((each["group"], each["source"][0]), []).append(each)
    return found


def gainsaid(stream: Sequence[Row], *, seed: int) -> Iterator[OutcomeTurn]:
    """Each later statement as a reply, next to what it replaces or disputes and unrelated statements."""
    chance = random.Random(seed)  # noqa: S311 - as above
    for said in stream:
        before = [each for each in stream if each["group"] == said["group"] and each["seq"] < said["seq"]]
        against = {
            str(each["id"])
            for each in before
            if each.get("superseded_by") == said["id"] or said.get("conflict_with") == each["id"]
        }
        kin = [each for each in before if each["attribute"] == said["attribute"] and not _touches(each, said)]
        others = [
            each for each in before if str(each["id"]) not in against and each not in kin and not _touches(each, said)
        ]
        aside = [*chance.sample(kin, min(2, len(kin))), *chance.sample(others, min(2, len(others)))]
        notes = [*(each for each in before if str(each["id"]) in against), *aside]
        if not notes:
            continue
        chance.shuffle(notes)
        turn = TurnInferenceInput(notes=tuple(_note(each) for each in notes), reply=said["text"])
        yield OutcomeTurn(id=f"{said['group']}/{said['id']}", turn=turn, meant=frozenset(against))


def _touches(one: Row, other: Row) -> bool:
    """Whether two statements fill the same slot, so that an older value of a chain might be meant too."""
    return one["attribute"] is None or (one["subject"], one["attribute"]) == (other["subject"], other["attribute"])


def _note(row: Row) -> TurnNote:
    return TurnNote(id=str(row["id"]), text=row["text"], subject=str(row["subject"] or ""))
