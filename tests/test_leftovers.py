"""What a run leaves behind is found, named and removed."""

import os
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from tests.leftovers import RUN, Grounds, end, files, lay_grounds, leave, strays

WAITING = [sys.executable, "-c", "import sys; print('up', flush=True); sys.stdin.read()"]


@pytest.fixture
def grounds() -> Iterator[Grounds]:
    laid = lay_grounds()
    yield laid
    leave(laid)


def test_an_untouched_run_leaves_nothing(grounds: Grounds):
    assert files(grounds) == []
    assert strays(grounds.folder.name) == []


@pytest.mark.requirement("X-114")
def test_a_forgotten_file_is_found_in_the_folder_and_in_the_home(grounds: Grounds):
    (grounds.folder / "fst-forgotten").mkdir()
    (grounds.folder / "home" / "history").touch()

    assert [path.name for path in files(grounds)] == ["fst-forgotten", "history"]


@pytest.mark.requirement("X-114")
def test_a_forgotten_process_is_ended_and_named(grounds: Grounds, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tests.leftovers.PATIENCE_S", 0.1)
    with subprocess.Popen(WAITING, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()

        named = end(strays(grounds.folder.name))

        assert [line.partition(":")[0] for line in named] == [f"process {process.pid}"]
        assert not psutil.pid_exists(process.pid) or process.wait() != 0


def test_a_process_of_another_run_is_left_alone(grounds: Grounds):
    with subprocess.Popen(WAITING, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={RUN: "fst-another"}) as process:
        assert process.stdout is not None
        process.stdout.readline()

        assert strays(grounds.folder.name) == []


def test_leaving_puts_the_environment_back(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", "/home/of-the-runner")
    laid = lay_grounds()
    inside = os.environ["HOME"]
    leave(laid)

    assert inside == str(laid.folder / "home")
    assert os.environ["HOME"] == "/home/of-the-runner"
    assert not laid.folder.exists()
