"""How much of what texts say outright is found, and how much of what is found was said?"""

import gzip
import json
from pathlib import Path

import pytest

from festinger.bench.extraction import (
    Definition,
    Found,
    Pair,
    Triple,
    definitions,
    holds_parent,
    is_parent,
    parts,
    per_thousand,
    plain_is_a,
    read_definitions,
    read_pairs,
    shipped,
)

SAID = Definition(text="A zorse is a striped animal.", term="Zorse", parents=("striped animal",))
MISSED = Definition(text="Zorses abound.", term="Zorse", parents=("animal",))
FALSE = Definition(text="The zorse is a nuisance.", term="Zorse", parents=())
NOTHING = Definition(text="We saw a zorse.", term="Zorse", parents=())

PART = Pair(text="A herd of zorses.", nouns=("herd", "zorses"), part="zorses", whole="herd")
TURNED = Pair(text="A herd of zorses.", nouns=("herd", "zorses"), part="herd", whole="zorses")
OTHER = Pair(text="A herd of zorses.", nouns=("herd", "zorses"), part=None, whole=None)
UNSAID = Pair(text="The zorse has a leg.", nouns=("zorse", "leg"), part="leg", whole="zorse")


def test_a_definition_is_found_by_its_term():
    found, right_parents = definitions([SAID, MISSED, FALSE, NOTHING], shipped)

    assert found == Found(right=1, false=1, missed=1)
    assert right_parents == 1.0
    assert (found.precision, found.recall, found.f1) == (0.5, 0.5, 0.5)


def test_a_part_is_found_the_right_way_round():
    assert parts([PART], shipped) == Found(right=1, false=0, missed=0)
    assert parts([TURNED], shipped) == Found(right=0, false=1, missed=1)
    assert parts([OTHER], shipped) == Found(right=0, false=1, missed=0)
    assert parts([UNSAID], shipped) == Found(right=0, false=0, missed=1)


@pytest.mark.parametrize(
    ("parent", "marked", "right"),
    [
        ("animal", ("Striped Animal",), True),
        ("unit", ("unit of mass",), True),
        ("mass", ("unit of mass",), True),
        ("stripe", ("striped animal",), False),
    ],
)
def test_a_parent_is_right_by_its_noun(parent: str, marked: tuple[str, ...], right: bool):
    assert is_parent(parent, marked) == right


def test_a_phrase_may_hold_the_parent_anywhere():
    assert holds_parent("striped animal with hooves", ("animal",))
    assert not holds_parent("striped animals with hooves", ("animal",))


def test_the_baseline_reads_the_phrase_after_the_term():
    scan = plain_is_a({SAID.text: "Zorse", MISSED.text: "Zorse"})

    assert scan(SAID.text) == [Triple(subject="zorse", parent="striped animal", is_isa=True)]
    assert scan(MISSED.text) == []


def test_triples_of_sentences_that_say_nothing_are_counted():
    assert per_thousand(["We saw it.", "zorse is a gnommoweb"], shipped) == 500


def test_sentences_are_read_from_their_folders(tmp_path: Path):
    rows = {
        "wcl": {"text": "t", "term": "x", "parents": ["y"]},
        "semeval2010_t8": {"text": "t", "e1": "a", "e2": "b", "part": "a", "whole": "b"},
    }
    for folder, row in rows.items():
        (tmp_path / folder).mkdir()
        with gzip.open(tmp_path / folder / "sentences.jsonl.gz", "wt") as lines:
            lines.write(json.dumps(row) + "\n")

    assert read_definitions(tmp_path) == [Definition(text="t", term="x", parents=("y",))]
    assert read_pairs(tmp_path) == [Pair(text="t", nouns=("a", "b"), part="a", whole="b")]
