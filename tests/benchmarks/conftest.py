"""What every test of the bench gets: a home of its own, where the embedded server's password lies, and temporary files
in memory: clusters sync what they write, which takes seconds on a disk."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.store.homes import reachable_folder


@pytest.fixture(autouse=True)
def _own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture(autouse=True)
def _temporary_files_in_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = reachable_folder()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    shutil.rmtree(folder)
