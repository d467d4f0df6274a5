"""The suites `recall`, `abstain` and `ablation`: conversations are said once, and every number comes out."""

import json
import random
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from benchmarks.abstain import cost_of, highest_bar, next_of, non_word
from benchmarks.conversations import IngestedConversation, taken_of
from benchmarks.data import Data
from benchmarks.rankings import Bm25Ranking, order_of
from benchmarks.recall import CATEGORIES, ndcg_of, recall_of, tallied
from benchmarks.run import throw_away_folder
from benchmarks.suite import PRODUCT, Bench
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import MONDAY

from benchmarks import ablation, abstain, carryover, recall
from festinger.ids import Origin, SpaceId
from festinger.retrieval.result import RecallItem, RecallResult

QUESTION: dict[str, Any] = {
    "id": "q1",
    "group": "a",
    "text": "Where does Ann live?",
    "gold": ["t1", "t2"],
    "category": "multi_hop",
}


def item(number: int, kind: str) -> RecallItem:
    return RecallItem(
        id=UUID(int=number),
        type=kind,
        kind="fact",
        text="",
        compressed=None,
        score=1.0,
        evidence=1.0,
        weak=False,
        origin=Origin.PERSON,
        trust=1.0,
        confidence=0.5,
        weight=0.2,
        event_time=None,
        learned_at=MONDAY,
        disputed=False,
        source=None,
        also=(),
        why=None,
    )


def test_a_memory_counts_at_its_rank_for_the_turns_that_it_was_learnt_from():
    taken = IngestedConversation(
        space=SpaceId("s"),
        turns={UUID(int=1): "t1", UUID(int=2): "t2", UUID(int=3): "t3"},
        learnt={UUID(int=9): [UUID(int=2), UUID(int=1)]},
    )
    came = RecallResult(
        id=UUID(int=0),
        items=(item(3, "turn"), item(9, "memory"), item(1, "turn")),
        abstained=False,
        below_threshold=0,
        degraded=(),
    )

    assert taken.named(came) == ["t3", "t2", "t1"]
    assert taken_of(json.loads(json.dumps(taken.as_json()))) == taken


@pytest.mark.parametrize(
    ("came", "worth"),
    [(["t1", "t2"], 1.0), (["t2", "t9", "t1"], 1.5 / 1.6309), (["t9"], 0.0), (["t9"] * 10 + ["t1", "t2"], 0.0)],
    ids=["first", "one behind", "none", "too late"],
)
def test_what_stands_further_ahead_is_worth_more(came: list[str], worth: float):
    assert ndcg_of(QUESTION, came).part == pytest.approx(worth, abs=1e-4)


def test_questions_are_told_apart_by_their_kind():
    other = {**QUESTION, "category": "temporal"}

    found = {each.metric: each.value for each in tallied("locomo", PRODUCT, [(QUESTION, ["t1"]), (other, [])])}

    assert (found["locomo.r10"], found["locomo.multi_hop.r10"], found["locomo.temporal.r10"]) == (0.25, 0.5, 0.0)
    assert "locomo.open_domain.r10" not in found


def test_recall_is_the_share_of_the_gold_among_the_first():
    assert recall_of(QUESTION, ["t9", "t1", "t2"], 2).part == 0.5
    assert recall_of(QUESTION, ["t9", "t1", "t2"], 3).right is True


@pytest.mark.requirement("S-21")
@pytest.mark.parametrize(
    ("came", "right"),
    [(["new", "old"], True), (["old", "new"], False), (["other"], False), (["new"], True)],
    ids=["above", "below", "neither", "alone"],
)
def test_the_newest_must_stand_above_every_older_one(came: list[str], right: bool):
    asked = {**QUESTION, "category": "knowledge_update", "newer": ["mid", "new"], "older": ["old"]}

    tallies = {each.metric: each for each in tallied("beam", PRODUCT, [(asked, came)])}

    assert tallies["beam.updated_above"].items[0].right is right


def test_each_conversation_is_asked_the_questions_of_the_next():
    assert next_of(["a", "b", "c"]) == {"a": "b", "b": "c", "c": "a"}


def test_what_a_gate_costs_is_what_it_held_back_of_the_right_turns():
    assert cost_of(QUESTION, [], ["t1", "t9"]).part == 0.5
    assert cost_of(QUESTION, ["t1"], ["t1"]).part == 0.0


@given(own=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40), may_cost=st.floats(0, 0.5))
def test_a_bar_never_costs_more_than_it_may(own: list[tuple[float, float]], may_cost: float):
    bar = highest_bar(own, may_cost=may_cost)

    assert sum(found for best, found in own if best < bar) <= may_cost * len(own) + 1e-9


def test_words_that_nobody_said_are_the_same_for_one_seed():
    assert non_word(random.Random(1)) == non_word(random.Random(1))
    assert non_word(random.Random(1)).isalpha()


def test_a_plain_ranking_puts_shared_rare_words_first():
    scores = Bm25Ranking(["the tea is green", "tea for all", "nothing of it"]).scores("green tea")

    assert order_of(scores) == [0, 1, 2]


def said(group: str, number: int, text: str, role: str) -> dict[str, Any]:
    return {"group": group, "id": f"{group}{number}", "session": 1, "text": text, "role": role, "at": "2025-03-01"}


def written(folder: Path, **more: Any) -> Path:
    """Two sets of two short conversations each."""
    talks = {
        "a": ["Ann: I moved to Oslo in spring.", "Ben: I keep three green kettles."],
        "b": ["Cleo: My violin teacher is called Marta.", "Dan: The ferry leaves at seven."],
    }
    for name in ("locomo", "beam100k"):
        rows = [
            said(group, number, text, "user") for group, texts in talks.items() for number, text in enumerate(texts)
        ]
        asked = [
            {
                "group": group,
                "id": f"{name}-{group}-{number}",
                "text": text,
                "gold": [f"{group}{number}"],
                "answerable": True,
                **more,
                "category": "knowledge_update" if name == "beam100k" else "multi_hop",
                "newer": [f"{group}{number}"],
                "older": [f"{group}{1 - number}"],
            }
            for group, number, text in (
                ("a", 0, "Where did Ann move to in spring?"),
                ("a", 1, "How many green kettles does Ben keep?"),
                ("b", 0, "Who is the violin teacher of Cleo?"),
                ("b", 1, "When does the ferry leave?"),
            )
        ]
        (folder / name).mkdir(parents=True)
        for file, lines in (("corpus", rows), ("queries", asked)):
            (folder / name / f"{file}.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    return folder


@pytest.mark.postgres
async def test_conversations_are_said_once_for_all_suites_and_every_metric_comes_out(tmp_path: Path):
    spoken: list[str] = []
    data = Data(folder=written(tmp_path / "data"))
    with throw_away_folder() as folder:
        found = {}
        for suite in (recall.RECALL, abstain.ABSTAIN, ablation.ABLATION):
            (folder / f"{suite.name}-0").mkdir(mode=0o711)
            bench = Bench(folder=folder / f"{suite.name}-0", data=data, say=spoken.append)
            found[suite.name] = await suite.measure(bench)

    assert len([line for line in spoken if line.startswith("Saying ")]) == 4
    kinds = {f"{short}.{each}.r10" for short, categories in CATEGORIES.items() for each in categories}
    kinds_not_asked = kinds - {"locomo.multi_hop.r10", "beam.knowledge_update.r10"}
    for suite in (recall.RECALL, abstain.ABSTAIN, ablation.ABLATION):
        ours = {each.metric for each in found[suite.name].tallies if each.system == PRODUCT and each.items}
        assert ours == {metric.name for metric in suite.metrics} - kinds_not_asked
    values = {(each.metric, each.system): each.value for each in found["recall"].tallies}
    assert values["locomo.r10", PRODUCT] == 1.0
    assert {system for _, system in values} == {PRODUCT, "bm25", "cosine", "rrf"}
    assert {each.system for each in found["ablation"].tallies} >= {"without vectors", "without person_first"}


@pytest.mark.postgres
async def test_what_one_session_carries_into_the_next_is_counted_with_each_part_and_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # Of so few questions a third may be none: all are asked in a short run, too.
    monkeypatch.setattr("benchmarks.data._is_of_the_third", lambda _name: False)
    data = Data(folder=written(tmp_path / "data", answer="A fact that slow thought found."), third=True)
    with throw_away_folder() as folder:
        (folder / "carryover-0").mkdir(mode=0o711)
        found = await carryover.CARRYOVER.measure(Bench(folder=folder / "carryover-0", data=data))

    known = {each.system: each.value for each in found.tallies if each.metric == "carryover.known"}
    assert known.keys() == {PRODUCT, carryover.NO_IDENTITY, carryover.EVERYTHING}
    assert known[carryover.EVERYTHING] > 0
    assert {each.system for each in found.tallies if each.metric == "carryover.corrected"} == {
        PRODUCT,
        carryover.NO_LESSONS,
    }
    assert all(each.value > 0 for each in found.samples)
