"""The report at the end of a run, seen from outside: a small suite is run by a pytest of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.proofs import WHOLE_SUITE
from tests.requirements import ROOT

SUITE = """
import pytest

@pytest.mark.skip(reason="shows what a skip is worth")
@pytest.mark.requirement("X-112")
def test_skipped(): ...

{more}
"""

CONFIG = "[pytest]\ntestpaths = tests\nmarkers =\n  requirement\n  live\naddopts = -p xdist.plugin -p tests.proofs -p no:cacheprovider\n"


def run_suite(folder: Path, *arguments: str, more: str = "") -> subprocess.CompletedProcess[str]:
    """Run a suite of one file in which the spec, the tests and the open list are the toy's own."""
    (folder / "docs" / "spec").mkdir(parents=True)
    (folder / "docs" / "spec" / "it.md").write_text("**X-112 Manifest.**\n")
    (folder / "tests").mkdir()
    (folder / "tests" / "__init__.py").touch()
    for name in ("requirements.py", "proofs.py"):
        (folder / "tests" / name).write_text((ROOT / "tests" / name).read_text())
    (folder / "tests" / "open.toml").touch()
    (folder / "tests" / "test_it.py").write_text(SUITE.format(more=more))
    (folder / "pytest.ini").write_text(CONFIG)
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.requirement("X-112")
@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_a_full_run_fails_when_a_requirement_is_only_skipped(tmp_path: Path, workers: str):
    done = run_suite(tmp_path, workers)

    assert "X-112 is carried only by skipped tests" in done.stdout
    assert "requirements: carried 1, open 0" in done.stdout
    assert done.returncode == pytest.ExitCode.TESTS_FAILED


def test_what_make_test_runs_counts_as_a_full_run():
    [suite] = re.findall(r'\nsuite: .*\n.* -m "([^"]+)"', (ROOT / "Makefile").read_text())

    assert suite in WHOLE_SUITE


def test_one_test_that_ran_is_enough(tmp_path: Path):
    done = run_suite(tmp_path, more="@pytest.mark.requirement('X-112')\ndef test_shown(): assert True\n")

    assert "carried only" not in done.stdout
    assert done.returncode == pytest.ExitCode.OK


def test_a_part_of_the_suite_is_not_judged(tmp_path: Path):
    done = run_suite(tmp_path, "tests/test_it.py")

    assert "requirements: carried 1, open 0" in done.stdout
    assert done.returncode == pytest.ExitCode.OK
