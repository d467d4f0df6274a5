"""The suite `outcomes`: turns whose labels come from sets, what is read from them, and replies that belong to others."""

import json
from pathlib import Path
from typing import Any

from benchmarks.data import Data
from benchmarks.outcome_sets import answered, gainsaid
from benchmarks.outcome_turns import turns
from benchmarks.outcomes import READ, SHUFFLED, measure
from benchmarks.suite import Bench

FACTS: list[dict[str, Any]] = [
    {"group": "g", "id": f"f{n}", "subject": who, "text": f"{who} keeps {what}.", "source": [f"D1:{n}"]}
    for n, (who, what) in enumerate(
        [("Ann", "bees"), ("Ben", "ants"), ("Cleo", "newts"), ("Dan", "ferrets"), ("Eve", "llamas")]
    )
]
QUERY: dict[str, Any] = {
    "group": "g",
    "id": "q0",
    "text": "What does Ann keep?",
    "category": "single_hop",
    "answerable": True,
    "gold": ["D1:0"],
    "answer": "bees",
}


def stated(number: int, subject: str, value: str, **more: Any) -> dict[str, Any]:
    return {
        "group": "s",
        "id": str(number),
        "seq": number,
        "text": f"{subject} lives in {value}.",
        "subject": subject,
        "attribute": "city",
        "superseded_by": None,
        "conflict_with": None,
        **more,
    }


STREAM = [
    stated(0, "Ann", "Rome", superseded_by="3"),
    stated(1, "Ben", "Oslo"),
    stated(2, "Cleo", "Lima"),
    stated(3, "Ann", "Bern"),
    stated(4, "Cleo", "Kyiv", conflict_with="2"),
]


def test_an_answer_means_the_one_fact_of_its_turn_and_no_fact_beside_it() -> None:
    [found] = answered(FACTS, [QUERY], seed=1)

    assert found.meant == {"f0"}
    assert {note.id for note in found.turn.notes} == {"f0", "f1", "f2", "f3", "f4"}
    assert (found.turn.request, found.turn.reply) == (QUERY["text"], "bees")


def test_questions_that_leave_a_doubt_are_left_out() -> None:
    doubtful = [
        QUERY | {"gold": ["D1:0", "D1:1"]},
        QUERY | {"answerable": False},
        QUERY | {"category": "open_domain"},
        QUERY | {"gold": ["D9:9"]},
        QUERY | {"answer": ""},
    ]
    twice = [*FACTS, FACTS[0] | {"id": "f9"}]

    assert list(answered(FACTS, doubtful, seed=1)) == []
    assert list(answered(twice, [QUERY], seed=1)) == []


def test_a_later_statement_gainsays_what_it_replaces_or_disputes_and_nothing_of_others() -> None:
    found = {each.id: each for each in gainsaid(STREAM, seed=1)}

    assert found["s/3"].meant == {"0"}
    assert {note.id for note in found["s/3"].turn.notes} == {"0", "1", "2"}
    assert found["s/4"].meant == {"2"}
    assert found["s/1"].meant == frozenset()


async def test_every_note_counts_once_and_shuffled_replies_belong_to_nobody(tmp_path: Path) -> None:
    queries = [QUERY, QUERY | {"id": "q1", "text": "What does Ben keep?", "gold": ["D1:1"], "answer": "ants"}]
    sets = {
        "locomo/facts": FACTS,
        "locomo/queries": queries,
        "factconsolidation/stream_6k": STREAM,
        "memconflict/stream": STREAM,
    }
    for name, rows in sets.items():
        file = tmp_path / f"{name}.jsonl"
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))

    found = await measure(Bench(folder=tmp_path, data=Data(folder=tmp_path), smoke=True, seed=3))

    values = {tally.metric: tally.value for tally in found.tallies}
    sizes = {tally.metric: len(tally.items) for tally in found.tallies}
    assert values["outcomes.acted.precision"] == 1.0
    assert sizes["outcomes.acted.recall"] == 10
    assert {f"outcomes.{label}.recall" for label in READ} <= set(values)
    # Each answer lands beside the very note of the other question: one of five notes, in both turns.
    assert values[SHUFFLED] == 0.2
    assert found.samples == []


def test_the_same_seed_writes_the_same_turns() -> None:
    assert list(turns(20, seed=1)) == list(turns(20, seed=1))
    assert list(turns(20, seed=1)) != list(turns(20, seed=2))
    assert list(gainsaid(STREAM, seed=1)) == list(gainsaid(STREAM, seed=1))
