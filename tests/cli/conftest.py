"""What tests of commands ask for: a person with an empty home, at a database of their own."""

from pathlib import Path

import pytest
from tests.cli.shell import Shell


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and the folder that commands are called in."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FESTINGER_HOME", str(tmp_path / "festinger"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def shell(person: Path, database_url: str) -> Shell:
    """Commands on a fresh, migrated and empty database."""
    return Shell(home=person, database=database_url)


@pytest.fixture
def bare_shell(person: Path) -> Shell:
    """Commands that name no database."""
    return Shell(home=person, database=None)
