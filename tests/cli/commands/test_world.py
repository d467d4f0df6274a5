"""The shared world from the command line."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.cli.shell import Shell

REPO = "gnommoweb -isa repo"
CONTAINER = "gnommoweb -isa container"


@pytest.mark.parametrize(
    ("facts", "codes"),
    [([REPO, REPO], [0, 0]), ([REPO, CONTAINER], [0, 3]), (["gnommoweb repo"], [2])],
    ids=["stated twice", "colliding", "no fact"],
)
def test_the_exit_code_of_iknowthat_says_what_became_of_the_fact(facts: list[str], codes: list[int], shell: Shell):
    assert [shell("iknowthat", fact).code for fact in facts] == codes


def test_what_a_person_states_here_is_a_persons_word(shell: Shell):
    shell("iknowthat", REPO)
    found = shell("concept", "gnommoweb", "--json").json

    (believed,) = found["edges"]
    assert (believed["edge"]["parent"], believed["edge"]["confidence"]) == ("repo", 1.0)
    assert [cause["origin"] for cause in believed["causes"]] == ["person"]


def test_facts_can_be_read_one_a_line(shell: Shell):
    said = shell("iknowthat", "-", "--json", typed=f"{REPO}\n\ndobby -isa agent\n")

    assert [each["edge"]["concept"] for each in said.json] == ["gnommoweb", "dobby"]


@pytest.mark.requirement("U-41")
def test_the_graph_around_a_word_is_a_table_and_a_picture_in_a_file(shell: Shell, tmp_path: Path):
    shell("iknowthat", "-", typed=f"{REPO}\nrepo -isa artifact\n")
    file = tmp_path / "gnommoweb.svg"
    drawn = shell("graph", "gnommoweb", "--depth", "2", "--svg", str(file))
    found = shell("graph", "Gnommoweb", "--json").json
    unknown, nowhere = shell("graph", "nobody"), shell("graph", "gnommoweb", "--svg", str(tmp_path / "no" / "a.svg"))

    assert ["repo", "is", "a", "artifact", "type"] in [line.split() for line in drawn.out.splitlines()]
    assert ElementTree.parse(file).getroot().tag.endswith("}svg")
    assert [word["token"] for word in found["words"]] == ["repo", "gnommoweb"]
    assert (unknown.code, nowhere.code) == (3, 2)


def test_a_conflict_is_decided_by_its_beginning_and_taken_back(shell: Shell):
    shell("iknowthat", REPO)
    conflict = shell("iknowthat", CONTAINER, "--json").json["conflict"]["id"]
    listed = shell("conflicts", "--json").json
    decided = shell("conflicts", "resolve", conflict[:23], "update", "--json").json
    stands = shell("concept", "gnommoweb", "--json").json["edges"][0]["edge"]["parent"]
    undone = shell("conflicts", "undo", conflict, "--json").json
    dismissed = shell("conflicts", "dismiss", conflict, "--note", "a typo", "--json").json

    assert [item["id"] for item in listed] == [conflict]
    assert (decided["status"], stands) == ("resolved", "container")
    assert undone["status"] == "pending"
    assert dismissed["status"] == "dismissed"
    assert shell("conflicts", "show", conflict).code == 0
    assert shell("conflicts", "show", "ffffffff-ffff").code == 3


def test_a_resolution_can_be_asked_for_once_at_a_time(shell: Shell):
    first = shell("resolve", "run", "--json")
    second = shell("resolve", "run")

    assert (first.code, first.json["pending"]) == (0, 0)
    assert second.code == 4


def test_without_conflicts_the_list_says_so(shell: Shell):
    assert "No conflicts" in shell("conflicts").out
