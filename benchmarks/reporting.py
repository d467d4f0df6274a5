"""Measures reporting outcomes in a process with a large memory.

Runs as a process on its own home. `python -m benchmarks.reporting FILE AMOUNT SEED` stores statements of
`large_memory`, then reports outcomes: batches of twenty and of a hundred one after another, and batches of a
hundred from several callers at once. Results go into the file as JSON, with how many rows of memories were
changed and how many of them in place.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from random import Random

from benchmarks.large_memory import statements
from benchmarks.recalling import PART, put_texts
from benchmarks.suite import silence
from festinger.clock import system_stopwatch
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, MemoryId, Scope, SessionId
from festinger.observability.logs import configure_logging
from festinger.outcomes.model import Reporter
from festinger.outcomes.protocol import ObservationProtocol
from festinger.runtime.app import App, StartOptions, open_app
from festinger.settings.deployment import capture_deployment
from festinger.settings.live import LiveSettings
from festinger.store.queries import load_queries
from festinger.text.secrets import remove_secrets
from festinger.world.model import NoteOutcome

Q = load_queries("festinger.store")

CALLERS = 4
COUNTED_AFTER_S = 2.0
"""How long the server may take until its statistics include every change."""
SHARES = (NoteOutcome.ACTED, NoteOutcome.USED, NoteOutcome.DISMISSED, NoteOutcome.DEFERRED, NoteOutcome.CONTRADICTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeAmount:
    memories: int = 100_000
    batches: int = 60
    warming: int = 10


AMOUNTS = {"full": OutcomeAmount(), "quick": OutcomeAmount(memories=300, batches=3, warming=1)}


@dataclass(slots=True, kw_only=True)
class OutcomeMeasurement:
    """What was measured; times in seconds."""

    memories: int
    twenty: list[float] = field(default_factory=list)
    hundred: list[float] = field(default_factory=list)
    crowd_outcomes: int = 0
    crowd_seconds: float = 0.0
    updates: int = 0
    in_place: int = 0


class Reporting:
    """A large memory, and callers who report outcomes."""

    def __init__(self, app: App, memories: Sequence[MemoryId], *, seed: int) -> None:
        self._app, self._memories = app, memories
        self._chance = Random(seed)  # noqa: S311 - memories to report on, not secrets
        self._sessions = 0

    async def measure(self, amount: OutcomeAmount) -> OutcomeMeasurement:
        stand = OutcomeMeasurement(memories=len(self._memories))
        before = await self._changed()
        for times, size in ((stand.twenty, 20), (stand.hundred, 100)):
            took = [await self._report(size) for _ in range(amount.warming + amount.batches)]
            times += took[amount.warming :]
        began = system_stopwatch()
        # Each caller has memories of its own: contention is not what is measured.
        parts = [self._memories[start::CALLERS] for start in range(CALLERS)]
        await asyncio.gather(*(self._caller(amount.batches, part) for part in parts))
        stand.crowd_seconds = system_stopwatch() - began
        stand.crowd_outcomes = amount.batches * sum(min(100, len(part)) for part in parts)
        await asyncio.sleep(COUNTED_AFTER_S)
        after = await self._changed()
        stand.updates, stand.in_place = after[0] - before[0], after[1] - before[1]
        return stand

    async def _caller(self, batches: int, among: Sequence[MemoryId]) -> None:
        for _ in range(batches):
            await self._report(100, among)

    async def _report(self, size: int, among: Sequence[MemoryId] | None = None) -> float:
        """Surface some memories and report an outcome of each; returns how long the report took."""
        self._sessions += 1
        hooks = self._hooks(f"s{self._sessions}")
        known = among or self._memories
        chosen = self._chance.sample(known, min(size, len(known)))
        outcomes = {str(each): SHARES[place % len(SHARES)] for place, each in enumerate(chosen)}
        await hooks.on_surfaced(chosen, "recall")
        began = system_stopwatch()
        await hooks.on_context_used(chosen, outcomes)
        return system_stopwatch() - began

    def _hooks(self, session: str) -> ObservationProtocol:
        place = Scope(space=MAIN_SPACE, agent=DEFAULT_AGENT, session=SessionId(session))
        return self._app.outcomes.protocol(Reporter(scope=place, name="bench", door="bench"))

    async def _changed(self) -> tuple[int, int]:
        row = await self._app.store.one(Q["updates_of"], table="memory")
        return row["updates"], row["in_place"]


async def filled(app: App, size: int, *, seed: int) -> list[MemoryId]:
    """This many memories."""
    every, ids = statements(seed), list[MemoryId]()
    while missing := size - len(ids):
        ids += await put_texts(app, MAIN_SPACE, list(islice(every, min(PART, missing))))
    async with app.store.apart() as connection:
        await connection.execute(Q["tidy_everything"].sql)
    return ids


async def measured(amount: str, *, seed: int) -> OutcomeMeasurement:
    configure_logging(level="warning", style="console", content=False, redact=remove_secrets)
    # Outcomes need no vectors, so none are made.
    settings = LiveSettings(capture_deployment(flags={"embedding.model": "none:"}))
    async with open_app(settings, door="bench", progress=silence, start=StartOptions(providers=True)) as app:
        memories = await filled(app, AMOUNTS[amount].memories, seed=seed)
        return await Reporting(app, memories, seed=seed).measure(AMOUNTS[amount])


if __name__ == "__main__":
    _, told, how_much, grown_from = sys.argv
    found = asyncio.run(measured(how_much, seed=int(grown_from)))
    Path(told).write_text(json.dumps(asdict(found)))
