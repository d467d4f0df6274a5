"""What a planted page did is counted, and so is whatever else a repair moves."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks.planting import PlantingSize, repaired
from tests.jobs.deps import run_sql
from tests.runtime.server import given

import festinger
from festinger.client.memory import Memory

TINY = PlantingSize(honest=12, planted=4, values=2, insights=2, said_too=2)

Repair = Callable[..., Awaitable[Any]]


async def counted(database_url: str, folder: Path) -> dict[str, tuple[float, int]]:
    async with festinger.open(given(folder) | TINY.settings, database=database_url) as memory:
        found = await repaired(memory._app, TINY, seed=0)
    return {sample.metric: (sample.value, sample.n) for sample in found}


async def test_a_repair_leaves_nothing_of_a_page_and_moves_nothing_else(database_url: str, tmp_path: Path):
    found = await counted(database_url, tmp_path)

    # Four planted ones, two insights, and two honest ones that had been replaced.
    assert found["repair.effects_gone"] == (1.0, 8)
    assert found["repair.collateral"][0] == 0


async def test_who_repairs_nothing_or_too_much_is_found_out(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def nothing(memory: Memory, **_: Any) -> None:
        await run_sql(memory._app.store, "update memory set confidence = 0.1 where superseded_by is not null")

    monkeypatch.setattr(Memory, "repair", nothing)
    found = await counted(database_url, tmp_path)

    assert found["repair.effects_gone"] == (0.0, 8)
    assert found["repair.collateral"][0] > 0
