"""The suite `precision`: what comes beside the right thing counts against whoever brings it."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.data import Data
from benchmarks.precision import PRECISION, Came, faults, precision_of, recall_of, tallied
from benchmarks.run import throw_away_folder
from benchmarks.suite import PRODUCT, Bench


def asked(ids: list[str], gold: list[str] | None, **more: Any) -> Came:
    row = {"id": "q", "group": "g", "text": "?", "gold": gold, "never": [], "also_allowed": [], **more}
    return Came(row=row, ids=ids)


@pytest.mark.parametrize(
    ("came", "gold", "precision"),
    [(["a", "b"], ["a"], 0.5), (["a", "c"], ["a"], 1.0), ([], [], 1.0), (["b"], [], 0.0)],
    ids=["one too many", "one that does no harm", "rightly nothing", "wrongly something"],
)
def test_what_came_and_should_not_counts_against_it(came: list[str], gold: list[str], precision: float):
    assert precision_of(asked(came, gold, also_allowed=["c"])).part == precision


def test_what_should_have_come_and_did_not_is_missing():
    assert recall_of(asked(["a"], ["a", "b"])).part == 0.5


def test_a_question_is_judged_only_by_what_it_says():
    came = [asked([], ["a"]), asked(["x"], None), asked([], [])]

    precise, found = tallied(PRODUCT, came)

    assert [len(precise.items), len(found.items)] == [1, 1]


def test_what_must_never_come_or_was_replaced_is_counted():
    came = [asked(["a", "old"], ["a"]), asked(["b"], None, never=["b"])]

    assert faults(PRODUCT, came, {"old"}).value == 2.0


@pytest.mark.postgres
async def test_statements_are_learnt_and_asked_for(tmp_path: Path):
    told = ["The harbour crane is painted yellow.", "My violin teacher is called Marta."]
    statements = [
        {"group": "g", "id": f"m{number}", "text": text, "status": "active", "names": [], "scope": [], "kind": "x"}
        for number, text in enumerate(told)
    ]
    questions = [
        dict(asked([], ["m1"], id="q1", text="Who is the violin teacher?").row),
        dict(asked([], [], id="q2", text="zorble quix flarn").row),
        dict(asked([], [], id="q3", text=" ").row),
    ]
    (tmp_path / "precisionmembench").mkdir()
    for name, lines in (("corpus", statements), ("queries", questions)):
        (tmp_path / "precisionmembench" / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    with throw_away_folder() as folder:
        bench = Bench(folder=folder, data=Data(folder=tmp_path), baselines=frozenset({"bm25"}))
        measured = await PRECISION.measure(bench)

    values = {(each.metric, each.system): each.value for each in measured.tallies}
    assert values["precision.p", PRODUCT] == values["precision.r", PRODUCT] == 1.0
    assert values["precision.p", "bm25"] < 1.0
    assert {(each.metric, each.value) for each in measured.samples} == {("precision.never", 0.0)}
