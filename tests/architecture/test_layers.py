"""An import points only down, and some libraries belong to one room. The rules are `.importlinter`'s."""

import configparser
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.architecture.source import PACKAGE, ROOT

LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"

MAY_USE = {"psycopg": {"store"}, "http-clients": {"embedding", "llm", "proxy"}, "typer": {"cli"}}
"""The rooms that each forbidding contract leaves free."""


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Lint the package that lies in `folder`."""
    return subprocess.run(
        [sys.executable, "-c", LINT, "--config", str(ROOT / ".importlinter"), "--no-cache", "--no-logo"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def contracts() -> configparser.ConfigParser:
    rules = configparser.ConfigParser()
    rules.read(ROOT / ".importlinter")
    return rules


def names(listed: str) -> set[str]:
    return {name for line in listed.split("\n") for name in line.replace("|", " ").split()}


def rooms() -> set[str]:
    return names(contracts()["importlinter:contract:layers"]["layers"])


@pytest.mark.requirement("X-110")
def test_the_package_keeps_its_layers():
    done = lint(PACKAGE.parent)

    assert done.returncode == 0, done.stdout


@pytest.mark.requirement("X-110")
def test_each_breach_of_the_layers_is_found(tmp_path: Path):
    copy = tmp_path / "festinger"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "attic").mkdir()
    (copy / "attic" / "__init__.py").touch()
    for room, line in {
        "text": "import festinger.memory",
        "memory": "import psycopg",
        "world": "import aiohttp",
        "judge": "import typer",
    }.items():
        (copy / room / "breach.py").write_text(line)

    said = " ".join(lint(tmp_path).stdout.split())

    assert "festinger.attic" in said
    assert "festinger.text is not allowed to import festinger.memory" in said
    assert "festinger.memory.breach -> psycopg" in said
    assert "festinger.world.breach -> aiohttp" in said
    assert "festinger.judge.breach -> typer" in said


@pytest.mark.requirement("X-110")
@pytest.mark.parametrize("contract", MAY_USE)
def test_a_library_that_belongs_to_one_room_is_forbidden_in_all_others(contract: str):
    section = contracts()[f"importlinter:contract:{contract}"]
    forbidden_in = {name.removeprefix("festinger.") for name in names(section["source_modules"])}

    assert forbidden_in == rooms() - MAY_USE[contract]


def test_every_room_of_the_package_stands_in_the_layers():
    there = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}

    assert there - {"__init__", "__main__", "__pycache__"} == rooms()
