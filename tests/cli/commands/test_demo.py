"""`festinger demo`, as a person calls it."""

import json

import pytest
from tests.cli.shell import Shell


@pytest.mark.postgres
def test_a_demo_runs_on_a_store_of_its_own_and_leaves_nothing(bare_shell: Shell):
    said = bare_shell.real("demo", "collision", "--json")

    assert said.code == 0, said.err
    titles = [scene["title"].partition(".")[0] for scene in json.loads(said.out)]
    assert titles == ["A name is met for the first time", "A fact is stated", "Before", "During", "The night", "After"]
    assert "yours was not touched" in said.err
    assert not (bare_shell.home / "festinger").exists()


@pytest.mark.parametrize("name", ["collision", "loop"])
def test_a_demo_never_opens_a_database_that_is_named(name: str, shell: Shell):
    said = shell("demo", name)

    assert said.code == 2
    assert "nothing was touched" in said.err
    assert said.out == ""
