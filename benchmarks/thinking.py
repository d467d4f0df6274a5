"""Measures a process that holds a large world.

Runs as a process, because memory is measured per process, with an environment that names its home. `python -m
benchmarks.thinking fill FILE QUICK SEED` writes the world into the store of the home; `… think …` loads it
and measures all operations on it. Results go into the file as JSON.
"""

import asyncio
import gc
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeVar

import psutil

from benchmarks.bulk_world import fill_world
from benchmarks.large_world import FULL, QUICK, LargeWorldSize, Prose, name, statements
from festinger.clock import system_stopwatch
from festinger.ids import MAIN_SPACE, AgentId, Cause, Origin, Scope, SessionId, cause
from festinger.observability.logs import configure_logging
from festinger.runtime.app import App, StartOptions, open_app
from festinger.settings.deployment import capture_deployment
from festinger.settings.live import LiveSettings
from festinger.text.cues import extract_cues
from festinger.text.secrets import remove_secrets
from festinger.text.tokens import tokenize
from festinger.world.counts import flush_counts
from festinger.world.edge_statements import apply_statement
from festinger.world.model import EdgeSource, WorldStatement
from festinger.world.recall import SourceText

T = TypeVar("T")

KIB, MIB = 1024, 2**20
BATCH = 100_000
CAUSES_EACH = 10
"""Conflicts of one session; more would be held back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldAmount:
    """How much is measured in one run."""

    short: int = 1_000
    long: int = 300
    scans: int = 500
    megabytes: int = 5
    words: int = 10_000
    collisions: int = 200


FEW = WorldAmount(short=10, long=5, scans=10, megabytes=1, words=100, collisions=5)


@dataclass(slots=True, kw_only=True)
class WorldTimes:
    """Seconds, each a list in the order of measurement; memory in MiB."""

    fill: list[float] = field(default_factory=list)
    edges: int = 0
    load: list[float] = field(default_factory=list)
    memory: float = 0.0
    recollect_2k: list[float] = field(default_factory=list)
    recollect_16k: list[float] = field(default_factory=list)
    tokens_1mb: list[float] = field(default_factory=list)
    cues_4k: list[float] = field(default_factory=list)
    flush_10k: list[float] = field(default_factory=list)
    collision: list[float] = field(default_factory=list)


async def fill(app: App, size: LargeWorldSize, *, seed: int) -> WorldTimes:
    """Write the whole world, as many triples at once as allowed."""
    await app.world.begin(MAIN_SPACE)
    because = _because(app, "fill")
    every, took, added = statements(size, seed=seed, cause=because), 0.0, 0
    while triples := list(islice(every, BATCH)):
        began = system_stopwatch()
        added += await fill_world(app.world.deps, MAIN_SPACE, triples, cause=because)
        took += system_stopwatch() - began
    return WorldTimes(fill=[took], edges=added)


def _because(app: App, session: str) -> Cause:
    return cause(agent=AgentId("bench"), session=SessionId(session), origin=Origin.PERSON, at=app.tools.clock())


async def think(app: App, size: LargeWorldSize, amount: WorldAmount, *, seed: int) -> WorldTimes:
    """Load the world and measure all operations, reading first and writing last."""
    times = WorldTimes()
    before = _resident()
    began = system_stopwatch()
    await app.world.need(MAIN_SPACE)
    times.load = [system_stopwatch() - began]
    times.memory = _resident() - before
    prose = Prose(size, seed=seed)
    _read(app, prose, amount, times)
    times.flush_10k = [await _flush(app, amount.words)]
    times.collision = [await collide(app, number) for number in range(amount.collisions)]
    return times


def _resident() -> float:
    gc.collect()
    return float(psutil.Process().memory_info().rss / MIB)


def _read(app: App, prose: Prose, amount: WorldAmount, times: WorldTimes) -> None:
    place = Scope(space=MAIN_SPACE, agent=AgentId("bench"), session=SessionId("reading"))

    def recollect(text: str) -> object:
        return app.world.recollector.recollect(place, [SourceText(text=text, origin=Origin.PERSON)])

    def scan(text: str) -> object:
        return extract_cues(text, tokenize(text))

    recollect(prose.text(2 * KIB))  # word lists are read once per process
    times.recollect_2k = _took(recollect, [prose.text(2 * KIB) for _ in range(amount.short)])
    times.recollect_16k = _took(recollect, [prose.text(16 * KIB) for _ in range(amount.long)])
    times.cues_4k = _took(scan, [prose.text(4 * KIB) for _ in range(amount.scans)])
    times.tokens_1mb = _took(tokenize, [prose.text(1_000_000) for _ in range(amount.megabytes)])


def _took(operation: Callable[[T], object], given: Sequence[T]) -> list[float]:
    found = []
    for one in given:
        began = system_stopwatch()
        operation(one)
        found.append(system_stopwatch() - began)
    return found


async def _flush(app: App, words: int) -> float:
    """Write this many counted words at once."""
    room, now = app.world, app.tools.clock()
    for number in range(words):
        room.encounters.count(MAIN_SPACE, name(number), origin=Origin.PERSON, now=now)
    began = system_stopwatch()
    await flush_counts(room.deps, room.encounters, MAIN_SPACE, world=room.worlds.find(MAIN_SPACE))
    return system_stopwatch() - began


async def collide(app: App, number: int) -> float:
    """State another value for a slot that is taken."""
    world = await app.world.need(MAIN_SPACE)
    row = world.soas_by_token[name(number + 1)]
    edge = world.edges(row.id)[0]
    said = WorldStatement(
        concept=row.token,
        parent=f"other-{name(number)}",
        dimension=world.soas_by_id[edge.dim_id],
        is_isa=edge.is_isa,
        confidence=0.65,
        source=EdgeSource.INFERRED,
        cause=_because(app, f"session {number // CAUSES_EACH}"),
    )
    began = system_stopwatch()
    await apply_statement(app.world.deps, MAIN_SPACE, said)
    return system_stopwatch() - began


async def measured(what: str, *, quick: bool, seed: int) -> WorldTimes:
    """Open the store of this process's home and do what was asked."""
    settings = LiveSettings(capture_deployment())
    configure_logging(level="warning", style="console", content=False, redact=remove_secrets)
    size = QUICK if quick else FULL
    async with open_app(settings, door="bench", progress=lambda _line: None, start=StartOptions()) as app:
        if what == "fill":
            return await fill(app, size, seed=seed)
        return await think(app, size, FEW if quick else WorldAmount(), seed=seed)


if __name__ == "__main__":
    _, operation, file, quickly, grown_from = sys.argv
    told = asyncio.run(measured(operation, quick=quickly == "quick", seed=int(grown_from)))
    Path(file).write_text(json.dumps(asdict(told)))
