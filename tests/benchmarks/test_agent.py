"""The suite `agent`: every number comes out."""

from pathlib import Path
from typing import Any

from benchmarks.agent import METRICS, QUICK_SIZE, QUICK_TURNS, measure_turns, samples
from tests.runtime.server import opened

from festinger.runtime.app import StartOptions


async def test_turns_are_timed_and_agents_weighed(database_url: str, tmp_path: Path):
    flags: dict[str, Any] = {"embedding__model": "hashed:384", "llm__write": "", "llm__judge": ""}
    async with opened(database_url, tmp_path, start=StartOptions(providers=True), **flags) as app:
        found = await measure_turns(app, size=QUICK_SIZE, turns=QUICK_TURNS, seed=1)

    assert (len(found.asked), len(found.told)) == (QUICK_TURNS, QUICK_TURNS)
    assert {each.metric for each in samples(found)} == {each.name for each in METRICS}
