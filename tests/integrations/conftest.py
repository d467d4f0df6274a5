"""An open memory that knows one thing, as a program has it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.cli.conftest import person, shell
from tests.runtime.server import given

import festinger

__all__ = ["person", "shell"]

HARBOUR = "The harbour office of Lisgate opens at 0730."
CUE = "When does the harbour office of Lisgate open?"
TOLD = "Our staging database listens on port 5433."


@pytest.fixture
async def memory(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[festinger.Memory]:
    monkeypatch.setenv("HOME", str(tmp_path))
    async with festinger.open(given(tmp_path), database=database_url) as opened:
        await opened.learn(HARBOUR)
        yield opened
