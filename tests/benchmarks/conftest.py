"""What every test of the bench gets: a home of its own, where the embedded server's password lies."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
