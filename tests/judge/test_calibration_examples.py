"""Examples: those that come along, those of a file, and what a person's word teaches."""

from collections import Counter
from pathlib import Path

import pytest

from festinger.errors import BadInput
from festinger.judge.calibration import (
    LEAST_PAIRS,
    CalibrationExample,
    PairLabel,
    examples_from_decision,
    load_bundled_examples,
    read_examples,
)
from festinger.judge.model import Relation

RELATIONS = [relation for relation in Relation if relation is not Relation.UNSURE]


@pytest.mark.requirement("M-26")
def test_the_bundled_examples_are_enough_for_every_threshold_and_none_stands_twice():
    examples = load_bundled_examples()
    counted = Counter(each.label for each in examples)

    for label in (
        PairLabel.SAME,
        PairLabel.UNRELATED,
        PairLabel.NEGATION,
        PairLabel.SAME_SUBJECT,
        PairLabel.OTHER_SUBJECT,
        PairLabel.CENSORED,
        PairLabel.ALLOWED,
    ):
        assert counted[label] >= LEAST_PAIRS, label
    assert {PairLabel.UPDATE, PairLabel.CONTRADICTS, PairLabel.REFINES} <= set(counted)
    assert len({(each.a, each.b) for each in examples}) == len(examples)


@pytest.mark.requirement("M-26")
@pytest.mark.parametrize("relation", RELATIONS)
def test_every_relation_of_the_judges_is_a_label_of_a_file(relation: Relation, tmp_path: Path):
    file = tmp_path / "pairs.jsonl"
    file.write_text(f'\n{{"a": "one", "b": "two\u2028", "label": "{relation}"}}\n', encoding="utf-8")

    assert read_examples(file) == [CalibrationExample(a="one", b="two\u2028", label=PairLabel(relation.value))]


@pytest.mark.parametrize(
    "line",
    [
        '{"a": "x", "b": "y", "label": "unsure"}',
        '{"a": "x", "b": "y", "label": "same", "c": 1}',
        '{"a": 1}',
        "not json",
    ],
    ids=["a relation that teaches nothing", "one field too many", "a number for a text", "no JSON"],
)
def test_the_first_line_that_is_no_pair_is_named(line: str, tmp_path: Path):
    file = tmp_path / "pairs.jsonl"
    file.write_text(f'{{"a": "x", "b": "y", "label": "same"}}\n{line}\n')

    with pytest.raises(BadInput, match=r"pairs\.jsonl:2 is no pair"):
        read_examples(file)


def test_a_persons_word_teaches_that_two_names_are_of_one_subject_unless_both_hold_apart():
    told = ("The server has 16 GB", "Our server has 32 GB")

    update = examples_from_decision(*told, Relation.UPDATE, subjects=("the server", "our server"))
    apart = examples_from_decision(*told, Relation.UNRELATED, subjects=("the server", "our server"))
    nameless = examples_from_decision(*told, Relation.SAME, subjects=(None, "our server"))
    equal = examples_from_decision(*told, Relation.SAME, subjects=("server", "server"))

    assert update == [
        CalibrationExample(a=told[0], b=told[1], label=PairLabel.UPDATE),
        CalibrationExample(a="the server", b="our server", label=PairLabel.SAME_SUBJECT),
    ]
    assert [each.label for found in (apart, nameless, equal) for each in found] == [
        PairLabel.UNRELATED,
        PairLabel.SAME,
        PairLabel.SAME,
    ]
