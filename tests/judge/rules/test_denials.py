"""What does a statement deny, and what can it contradict?"""

import pytest

from festinger.judge.model import Judgement, JudgeStatement, PairFeatures, Relation
from festinger.judge.rules.decide import are_any_of_kind, is_backed_denial, is_double_negation, is_partial_denial, judge
from festinger.judge.rules.guards import ReadingComparison, compare_readings
from festinger.judge.rules.parse import parse_statement


def said(old: str, new: str) -> Judgement:
    return judge(JudgeStatement(text=old, order=1), JudgeStatement(text=new, order=2))


def compared(old: str, new: str) -> ReadingComparison:
    return compare_readings(parse_statement(old), parse_statement(new))


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("The porter sleeps.", 0),
        ("The porter doesn't sleep.", 1),
        ("The porter drinks neither tea nor coffee.", 1),
        ("The porter does not sleep and does not sing.", 2),
        ("The porter sleeps because nobody rings.", 1),
        ("Nobody, not even the porter, sleeps.", 2),
        ("The porter is never not asleep.", 0),
        ("The porter never sleeps without a candle.", 0),
        ("The porter is not only old but deaf.", 0),
    ],
)
def test_negations_cancel_out_within_a_clause_only(text: str, clauses: int):
    assert parse_statement(text).negations == clauses


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("The porter sings, and nobody claps.", {"clap"}),
        ("The porter moved the piano without help.", {"help"}),
        ("The porter doesn't sing when guests arrive.", {"porter", "sing"}),
        ("Does the porter sing? No.", {"porter", "sing"}),
    ],
)
def test_a_negation_reaches_no_further_than_its_clause(text: str, denied: set[str]):
    assert parse_statement(text).denied == denied


@pytest.mark.requirement("J-05")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The porter sings and dances.", "The porter does not sing and does not dance."),
        ("The porter drinks tea.", "The porter drinks neither tea nor coffee."),
        ("Every sensor sent data.", "Not every sensor sent data."),
        ("Some of the sensors sent data.", "None of the sensors sent data."),
        ("Mara sold her camera to a student.", "Mara did not sell her camera."),
    ],
    ids=["both clauses", "neither", "not every", "none", "less of it"],
)
def test_what_is_denied_contradicts(old: str, new: str):
    assert said(old, new).relation is said(new, old).relation is Relation.CONTRADICTS


@pytest.mark.requirement("J-05")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The gate is open.", "The gate is not closed."),
        ("The porter sings.", "The porter sings, and nobody claps."),
        ("The porter moved the piano.", "The porter moved the piano without help."),
        ("Some of the sensors sent data.", "Not all of the sensors sent data."),
        ("Some of the sensors sent data.", "Some of the sensors did not send data."),
        ("The porter sings old songs.", "Archived. The hall is free in the morning, and nobody sings songs there now."),
    ],
    ids=["the opposite", "another clause", "without", "not all", "some of", "little of it"],
)
def test_a_denial_of_something_else_contradicts_nothing(old: str, new: str):
    assert Relation.CONTRADICTS not in (said(old, new).relation, said(new, old).relation)


@pytest.mark.parametrize(
    ("old", "new", "is_partial"),
    [
        ("Some shops opened.", "Not all shops opened.", True),
        ("All shops opened.", "Not all shops opened.", False),
        ("Several of the shops opened.", "Some of the shops did not open.", True),
        ("Some shop is open.", "No shop is open.", False),
        ("Some shops opened.", "All shops opened.", False),
    ],
)
def test_not_all_leaves_room_for_some(old: str, new: str, is_partial: bool):
    assert is_partial_denial(compared(old, new)) is is_partial_denial(compared(new, old)) is is_partial


@pytest.mark.parametrize(
    ("old", "new", "is_any"),
    [
        ("A nurse folds a sheet.", "A nurse opens a window.", True),
        ("A nurse is folding a sheet.", "The nurse is sitting down.", True),
        ("The nurse is slowly folding a sheet.", "Nurses are resting.", True),
        ("There is a nurse folding a sheet.", "The nurse is resting.", True),
        ("The nurse folds sheets.", "The nurse is resting.", False),
        ("The nurse is folding a sheet.", "Mara is resting.", False),
        ("I'm folding a sheet.", "The nurse is resting.", False),
        ("The backup is at the building.", "A nurse is resting.", False),
    ],
)
def test_who_is_unnamed_and_just_doing_something_may_be_anyone(old: str, new: str, is_any: bool):
    assert are_any_of_kind(compared(old, new)) is are_any_of_kind(compared(new, old)) is is_any


def test_a_man_and_the_woman_are_two_whichever_is_named_first():
    for pair in (("The man is asleep.", "A woman is asleep."), ("A woman is asleep.", "The man is asleep.")):
        assert said(*pair).relation is not Relation.CONTRADICTS


@pytest.mark.parametrize(
    ("old", "new", "similarity", "is_backed"),
    [
        ("A nurse is folding a sheet.", "The nurse isn't folding a sheet.", 0.6, True),
        ("A nurse is folding a sheet.", "The nurse isn't folding a towel in the hall.", 0.45, False),
        ("A nurse is folding a sheet.", "The nurse isn't folding towels.", 0.45, True),
        ("A nurse is folding a sheet.", "There is no nurse folding towels.", 0.45, False),
        ("A nurse is folding a sheet.", "There is no nurse folding a sheet.", 0.45, True),
        ("A nurse is folding a sheet.", "The nurse is folding a sheet.", 0.9, False),
        ("A nurse is folding a sheet.", "Nobody is folding a sheet.", None, True),
    ],
)
def test_of_what_does_not_exist_more_must_be_on_the_other_side(
    old: str, new: str, similarity: float | None, is_backed: bool
):
    features = PairFeatures(similarity=similarity)

    assert is_backed_denial(compared(old, new), features) is is_backed_denial(compared(new, old), features) is is_backed


@pytest.mark.parametrize(
    ("old", "new", "is_double"),
    [
        ("The porter sings.", "It is not true that the porter does not sing.", True),
        ("The porter sings.", "The porter does not sing.", False),
        ("The porter never sings.", "It is not true that the porter does not sing.", False),
    ],
)
def test_a_clause_that_is_negated_twice_is_known(old: str, new: str, is_double: bool):
    assert is_double_negation(compared(old, new)) is is_double_negation(compared(new, old)) is is_double
