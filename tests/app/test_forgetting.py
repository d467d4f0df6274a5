"""Forgetting is whole at once, in every room, also where nobody does background work."""

from pathlib import Path

import pytest
from tests.app.test_memory import given
from tests.memory.oblivion import places_of

import festinger


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.requirement("M-82", "R-74")
async def test_what_was_recalled_and_then_forgotten_is_nowhere_although_no_worker_runs(
    database_url: str, tmp_path: Path
):
    async with festinger.open(given(tmp_path), database=database_url) as memory:
        kept = (await memory.learn("The heirloom clock is in the attic.")).memory
        assert kept is not None
        recalled = await memory.recall("where is the heirloom clock?")
        assert [item.id for item in recalled.items] == [kept.id]
        await memory._app.afterwards.written()
        store = memory._app.store
        assert any("recall" in place for place in await places_of(store, "heirloom"))

        await memory.forget(kept.id)

        assert await places_of(store, "heirloom") == []
