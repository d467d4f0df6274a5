"""Random sequences of hooks, on the package that they come from and on ours: the same numbers after every step.

Left out are the named differences: what ends urgency, empty batches, memories that are named twice, proposals of other
partitions, and expiry.
"""

import asyncio
import json
import os
import random
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.jobs.deps import rows
from tests.outcomes.watching import Watched

from festinger.ids import MemoryId
from festinger.outcomes import ObservationProtocol
from festinger.store.pool import Store

PYTHON = os.environ.get("FESTINGER_REFERENCE_PYTHON", "")
"""Read before any test runs: each runs without the variables of our own."""
PROGRAM = Path(__file__).parents[2] / "benchmarks" / "peers" / "popoto" / "hooks.py"
STEPS = ("read", "surface", "predict", "acted", "used", "dismissed", "deferred", "contradicted")
SEQUENCES, LENGTH = 40, 14
PATIENCE_S = 240
NEAR = 1e-9
"""The package writes numbers with 14 digits."""

Held = dict[str, Any]


def sequences() -> list[list[str]]:
    chance = random.Random(2)
    return [[chance.choice(STEPS) for _ in range(LENGTH)] for _ in range(SEQUENCES)] + [
        ["predict", *["contradicted"] * 30],
        ["read", "read", *["acted"] * 30],
    ]


@pytest.fixture
async def redis(tmp_path: Path) -> AsyncIterator[str]:
    """A Redis of this test's own, on a socket in its folder."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("no `redis-server` is installed")
    socket = tmp_path / "redis"
    running = await asyncio.create_subprocess_exec(
        program,
        *("--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(tmp_path)),
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not socket.exists():  # noqa: ASYNC110 - another process makes it, and tells nobody
                await asyncio.sleep(0.05)
        yield f"unix://{socket}"
    finally:
        running.terminate()
        await running.wait()


async def by_reference(redis: str, asked: list[list[str]]) -> list[list[Held]]:
    running = await asyncio.create_subprocess_exec(
        PYTHON,
        str(PROGRAM),
        env={**os.environ, "REDIS_URL": redis},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE_S):
        told, _ = await running.communicate(json.dumps(asked).encode())
    assert running.returncode == 0
    found: list[list[Held]] = json.loads(told)
    return found


class Ours:
    """One memory of ours, with the rhythm of the reference's."""

    def __init__(self, watched: Watched, memory: MemoryId) -> None:
        self.watched, self.memory = watched, memory

    @property
    def hooks(self) -> ObservationProtocol:
        # A reviewer's word always counts: the limit of one cause is ours alone.
        return self.watched.hooks(is_reviewer=True)

    async def gone_through(self, steps: list[str]) -> list[Held]:
        await self.hooks.set_rhythm(self.memory, cycles=[("year", 5.0, 0.0)], pressure_rate=0.1)
        states = []
        for step in steps:
            before = await self._relieved_at()
            self.watched.mind.forward()
            await self._take(step)
            states.append({**await self._held(), "relieved": await self._relieved_at() != before})
        return states

    async def _take(self, step: str) -> None:
        if step == "read":
            await self.hooks.on_read(self.memory)
        elif step == "surface":
            await self.hooks.on_surfaced([self.memory])
        elif step == "predict":
            await self.hooks.record_prediction(self.memory, {"opens": 730})
        else:
            await self.hooks.on_context_used([self.memory], {str(self.memory): step})

    async def _held(self) -> Held:
        held = await self.watched.held(self.memory)
        counts = ("confidence", "evidence_count", "corroborations", "contradictions", "access_count")
        [amplitude] = await self.watched.amplitudes(self.memory)
        expected = await self._rows("select resolved, prediction_error as error from prediction")
        waiting = await self._rows("select 1 from surfacing", "outcome is null")
        return {
            **{name: held[name] for name in counts},
            "amplitude": amplitude,
            "resolved": bool(expected and expected[0]["resolved"]),
            "error": expected[0]["error"] if expected else None,
            "waits": bool(waiting),
        }

    async def _relieved_at(self) -> object:
        return (await self._rows("select pressure_resolved_at as at from rhythm"))[0]["at"]

    async def _rows(self, asked: str, also: str = "true") -> list[dict[str, Any]]:
        return await rows(self.watched.store, f"{asked} where memory_id = %(id)s and {also}", id=self.memory)


@pytest.mark.reference
@pytest.mark.skipif(not PYTHON, reason="`make test-reference` sets the package up")
@pytest.mark.timeout(900)
async def test_random_sequences_of_hooks_do_what_they_do_in_the_reference(store: Store, redis: str) -> None:
    asked = sequences()
    watched = Watched(store, discharge="upstream")

    theirs = await by_reference(redis, asked)
    for number, (steps, expected) in enumerate(zip(asked, theirs, strict=True)):
        memory = await watched.memory(f"The office of port {number} opens at {600 + number}.")
        found = await Ours(watched, memory).gone_through(steps)
        for at, (mine, yours) in enumerate(zip(found, expected, strict=True)):
            assert mine == pytest.approx(yours, abs=NEAR), (number, steps[: at + 1])
