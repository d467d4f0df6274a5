"""How much of what texts say outright is found, and how much of what is found was said?"""

import json
from pathlib import Path

import pytest
from benchmarks.data import Data
from benchmarks.extraction import (
    EXTRACT,
    Definition,
    ExtractionSentence,
    ExtractionTriple,
    definitions,
    false_edges,
    holds_parent,
    is_parent,
    parts,
    plain_is_a,
    shipped,
)
from benchmarks.suite import Bench, SuiteResult
from benchmarks.tally import detection

ZORSE = "A zorse is a striped animal."
SAID = Definition(id="said", text=ZORSE, term="Zorse", parents=("striped animal",))
MISSED = Definition(id="missed", text="Zorses abound.", term="Zorse", parents=("animal",))
FALSE = Definition(id="false", text="The zorse is a nuisance.", term="Zorse", parents=())
NOTHING = Definition(id="nothing", text="We saw a zorse.", term="Zorse", parents=())

HERD = "A herd of zorses."
PART = ExtractionSentence(id="part", text=HERD, nouns=("herd", "zorses"), part="zorses", whole="herd")
TURNED = ExtractionSentence(id="turned", text=HERD, nouns=("herd", "zorses"), part="herd", whole="zorses")
OTHER = ExtractionSentence(id="other", text=HERD, nouns=("herd", "zorses"), part=None, whole=None)
UNSAID = ExtractionSentence(id="unsaid", text="The zorse has a leg.", nouns=("zorse", "leg"), part="leg", whole="zorse")


@pytest.mark.requirement("S-27")
def test_a_definition_is_found_by_its_term():
    f1, precision, recall, accuracy = definitions("festinger", [SAID, MISSED, FALSE, NOTHING], shipped)

    assert (f1.value, precision.value, recall.value, accuracy.value) == (0.5, 0.5, 0.5, 1.0)
    assert [item.id for item in f1.items if not item.right] == ["missed", "false"]
    assert accuracy.n == 1
    assert f1.items[0].told == {
        "text": ZORSE,
        "found": "zorse ISA animal",
        "term": "Zorse",
        "parents": "striped animal",
    }


@pytest.mark.requirement("S-27")
@pytest.mark.parametrize(
    ("pair", "precision", "recall"),
    [(PART, 1.0, 1.0), (TURNED, 0.0, 0.0), (OTHER, 0.0, 0.0), (UNSAID, 0.0, 0.0)],
    ids=["the right way round", "turned", "not said", "missed"],
)
def test_a_part_is_found_the_right_way_round(pair: ExtractionSentence, precision: float, recall: float):
    _, of_found, of_wanted = detection("some", "festinger", parts([pair], shipped))

    assert (of_found.value, of_wanted.value) == (precision, recall)
    assert of_found.items[0].right is (pair is PART)


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

    assert scan(SAID.text) == [ExtractionTriple(subject="zorse", parent="striped animal", is_isa=True)]
    assert scan(MISSED.text) == []


def test_the_baseline_minds_no_blanks_too_many():
    text = "A Zorse (also zebrula),  is  a striped animal."

    assert plain_is_a({text: "Zorse"})(text)[0].parent == "striped animal"


@pytest.mark.requirement("S-27")
def test_triples_of_sentences_in_which_no_part_is_marked_are_counted():
    quiet = ExtractionSentence(id="quiet", text="We saw it.", nouns=("we", "it"), part=None, whole=None)

    assert false_edges("festinger", [quiet, OTHER, PART], shipped).value == 500


def rows(*, swapped: bool = False) -> dict[str, list[dict[str, object]]]:
    """Two sets; with their keys the wrong way round if asked."""
    said, other = (["animal"], [])[:: -1 if swapped else 1]
    part, whole = (("zorses", "herd"), (None, None))[swapped]
    return {
        "wcl": [
            {"id": "w1", "text": ZORSE, "term": "Zorse", "parents": said},
            {"id": "w2", "text": "The zorse is a nuisance.", "term": "Zorse", "parents": other},
        ],
        "semeval2010_t8": [{"id": "s1", "text": HERD, "e1": "herd", "e2": "zorses", "part": part, "whole": whole}],
    }


async def measured(folder: Path, *, swapped: bool = False, **asked: object) -> SuiteResult:
    for name, found in rows(swapped=swapped).items():
        (folder / name).mkdir(parents=True)
        lines = "".join(json.dumps(row) + "\n" for row in found)
        (folder / name / "sentences.jsonl").write_text(lines)
    return await EXTRACT.measure(Bench(folder=folder, data=Data(folder=folder), **asked))  # type: ignore[arg-type]


@pytest.mark.requirement("S-27")
async def test_the_suite_measures_every_metric_with_the_baseline_beside_it(tmp_path: Path):
    found = await measured(tmp_path)

    values = {(tally.metric, tally.system): tally.value for tally in found.tallies}
    assert {metric for metric, system in values if system == "festinger"} == {metric.name for metric in EXTRACT.metrics}
    assert values["wcl.precision", "festinger"] == values["wcl.precision", "is_a"] == 0.5
    assert [system.name for system in found.systems] == ["is_a"]


async def test_the_baseline_may_be_left_out(tmp_path: Path):
    found = await measured(tmp_path, baselines=frozenset())

    assert {tally.system for tally in found.tallies} == {"festinger"}


async def test_the_key_is_hidden_from_what_is_measured(tmp_path: Path):
    straight, turned = await measured(tmp_path / "a"), await measured(tmp_path / "b", swapped=True)

    def seen(measured: SuiteResult) -> list[str]:
        return [item.told["found"] for tally in measured.tallies[:1] for item in tally.items]

    assert seen(straight) == seen(turned)
    assert [tally.value for tally in straight.tallies] != [tally.value for tally in turned.tallies]
