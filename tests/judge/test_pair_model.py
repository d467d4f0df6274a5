"""What does a small local pair model say of two statements?

The contract at the top is what any model behind the port must keep; the shipped fake keeps it.
"""

import pytest

from festinger.judge.model import Current, Guard, JudgeStatement, Relation
from festinger.judge.pair_model import (
    EntailmentScores,
    PairModel,
    ScriptedPairModel,
    judge_by_model,
    judgement_from_entailment,
)
from festinger.judge.rules.guards import compare_readings
from festinger.judge.rules.parse import parse_statement as read_text

YES = EntailmentScores(entails=0.9, neutral=0.05, contradicts=0.05)
OPEN = EntailmentScores(entails=0.1, neutral=0.85, contradicts=0.05)
NO = EntailmentScores(entails=0.05, neutral=0.05, contradicts=0.9)
UNCLEAR = EntailmentScores(entails=0.4, neutral=0.3, contradicts=0.3)

PLAIN = ("deployments go by merging", "people merge to deploy")
GUARDED = ("it takes 5 ms", "it takes 6 ms")
SLOT = ("Anna lives in Paris", "Anna lives in Rome")

MODELS: dict[str, PairModel] = {"scripted": ScriptedPairModel({PLAIN: YES})}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
async def test_a_model_answers_every_pair_in_order_and_its_shares_make_one(model: PairModel):
    answers = await model.infer([PLAIN, GUARDED, PLAIN])

    assert model.name.startswith("onnx:")
    assert len(answers) == 3
    assert answers[0] == answers[2]
    for each in answers:
        assert each.entails + each.neutral + each.contradicts == pytest.approx(1)
    assert await model.infer([]) == []


CASES = {
    "both ways": (PLAIN, YES, YES, Relation.SAME, Current.BOTH),
    "both ways over a guard": (GUARDED, YES, YES, Relation.UNSURE, Current.BOTH),
    "one way": (PLAIN, YES, OPEN, Relation.REFINES, Current.BOTH),
    "against": (PLAIN, NO, OPEN, Relation.CONTRADICTS, Current.BOTH),
    "against in one slot": (SLOT, NO, NO, Relation.UPDATE, Current.NEW),
    "open": (PLAIN, OPEN, OPEN, Relation.UNRELATED, Current.BOTH),
    "unclear": (PLAIN, UNCLEAR, UNCLEAR, Relation.UNSURE, Current.BOTH),
}


@pytest.mark.parametrize(("pair", "forward", "back", "relation", "current"), CASES.values(), ids=CASES)
def test_two_answers_make_one_relation(
    pair: tuple[str, str], forward: EntailmentScores, back: EntailmentScores, relation: Relation, current: Current
):
    compared = compare_readings(*map(read_text, pair))

    found = judgement_from_entailment(forward, back, compared=compared, name="onnx:some", is_later=True)

    assert (found.relation, found.current, found.judge) == (relation, current, "onnx:some")
    assert found.final is (relation is not Relation.UNSURE)


async def test_the_model_is_asked_both_ways_round():
    model = ScriptedPairModel({PLAIN: YES, PLAIN[::-1]: YES})
    old, new = (JudgeStatement(text=text) for text in PLAIN)

    found = await judge_by_model(model, old, new, compared=compare_readings(*map(read_text, PLAIN)))

    assert model.asked == [PLAIN, PLAIN[::-1]]
    assert (found.relation, found.confidence) == (Relation.SAME, 0.9)


@pytest.mark.requirement("J-04")
def test_a_guard_is_named_beside_the_verdict():
    found = judgement_from_entailment(
        OPEN, OPEN, compared=compare_readings(*map(read_text, GUARDED)), name="onnx:some", is_later=None
    )

    assert found.guards == (Guard.NUMBER,)
