"""Measures learning in a process that remembers much already.

Runs as a process on its own home. `python -m benchmarks.remembering FILE AMOUNT SEED` fills the memory up to
each size, and there measures learning: the last statements before a size in batches, then single statements
and repeated ones, and how many pairs were judged. Results go into the file as JSON.

Up to the last batches of a size, statements are stored without being compared, and the vector index is built
over them: this measures learning into a large memory, not building it. The seeded statements are about
people, things and places, all different, with a tenth as many subjects. Each has twenty neighbors that share
half of its words, so that the number of judged pairs is the same at every size.
"""

import asyncio
import json
import random
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.large_world import name
from benchmarks.recalling import MODEL, PART, put_texts
from benchmarks.suite import silence
from festinger.clock import system_stopwatch
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.errors import CannotStart
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, AgentId, Scope, SessionId, SpaceId
from festinger.judge.model import Judgement, StatementPair
from festinger.memory.deps import MemoryDeps
from festinger.memory.learn.pipeline import learn, learn_many
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import Kind
from festinger.memory.vectors import MemoryEmbeddingInput, embed_texts
from festinger.observability.logs import configure_logging
from festinger.runtime.app import App, StartOptions, open_app
from festinger.settings.deployment import capture_deployment
from festinger.settings.live import LiveSettings
from festinger.store.queries import load_queries
from festinger.store.vectors import EmbeddingModelSpec, drop_index, ensure_index, find_nearest
from festinger.text.secrets import remove_secrets

Q = load_queries("benchmarks")
STORE = load_queries("festinger.store")

TABLE = "memory_vector"

VERBS = ("keeps", "repairs", "paints", "sells", "carries", "stores", "cleans", "lends")
THINGS = ("boats", "clocks", "lamps", "kettles", "violins", "ladders", "maps", "mirrors", "nets", "ovens")


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnAmount:
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000)
    batched: int = 2_000
    """Statements before each size that are learned in batches; half for a small size."""
    singles: int = 300
    probes: int = 200
    """Statements whose nearest memory is searched by the index and exhaustively."""


FEW = LearnAmount(sizes=(50, 150), batched=30, singles=5, probes=5)
AMOUNTS = {"full": LearnAmount(), "quick": FEW}


@dataclass(slots=True, kw_only=True)
class LearnMeasurement:
    """What was measured at one size; times in seconds."""

    memories: int
    batch_seconds: float = 0.0
    batch_items: int = 0
    single: list[float] = field(default_factory=list)
    confirm: list[float] = field(default_factory=list)
    pairs: list[int] = field(default_factory=list)
    """Pairs that were judged for each single statement."""
    nearest: list[bool] = field(default_factory=list)
    """Whether the index found the nearest, for each statement that was searched both ways."""


class CountingJudges:
    """The judges, with a count of the pairs that they are asked about."""

    def __init__(self, panel: Any) -> None:
        self._panel = panel
        self.pairs = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._panel, name)

    async def at_once(self, space: SpaceId, pairs: Sequence[StatementPair]) -> list[Judgement]:
        self.pairs += len(pairs)
        said: list[Judgement] = await self._panel.at_once(space, pairs)
        return said


def statements(seed: int) -> Iterator[str]:
    """Endless distinct statements."""
    chance, number = random.Random(seed), 0  # noqa: S311 - made-up sentences, and the same each time
    while True:
        who, where = name(chance.randrange(100_000)), name(200_000 + number)
        verb, thing = chance.choice(VERBS), chance.choice(THINGS)
        yield f"{who} {verb} {chance.randrange(2, 90)} {thing} in the house of {where}"
        number += 1


async def measure(app: App, amount: LearnAmount, *, seed: int) -> list[LearnMeasurement]:
    """Fill the memory up to each size, and measure there."""
    panel = CountingJudges(app.memory.deps.panel)
    deps: MemoryDeps = replace(app.memory.deps, panel=panel)
    place = Scope(space=MAIN_SPACE, agent=AgentId(DEFAULT_AGENT), session=SessionId("bench"))
    every, held, stands = statements(seed), 0, []
    for size in amount.sizes:
        stand = LearnMeasurement(memories=size)
        batched = min(amount.batched, size // 2)
        await _fill(app, every, missing=size - held - batched)
        await _batches(deps, place, list(islice(every, batched)), stand=stand)
        await _single(deps, place, every, panel=panel, stand=stand, singles=amount.singles)
        stand.nearest = await _nearest(deps, place, list(islice(every, amount.probes)))
        held = size + amount.singles
        stands.append(stand)
    return stands


async def _fill(app: App, every: Iterator[str], *, missing: int) -> None:
    """Store this many statements, with what jobs and the server do in the background in production."""
    if app.embedder is None:
        raise CannotStart("Learning cannot be measured without an embedder.")
    model = EmbeddingModelSpec(name=app.embedder.name, dims=app.embedder.dimensions)
    # Built over all of them, the index takes a fraction of the time that adding each would take.
    await drop_index(app.store, TABLE, model)
    for start in range(0, missing, PART):
        await put_texts(app, MAIN_SPACE, list(islice(every, min(PART, missing - start))), owner=None)
    await ensure_index(app.store, TABLE, model, purpose=EmbeddingPurpose.STORE.value)
    async with app.store.apart() as connection:
        await connection.execute(STORE["tidy_everything"].sql)


async def _batches(deps: MemoryDeps, place: Scope, texts: Sequence[str], *, stand: LearnMeasurement) -> None:
    items = [LearnRequest(text=text) for text in texts]
    began = system_stopwatch()
    await learn_many(deps, place, items)
    stand.batch_seconds, stand.batch_items = system_stopwatch() - began, len(items)


async def _single(
    deps: MemoryDeps,
    place: Scope,
    every: Iterator[str],
    *,
    panel: CountingJudges,
    stand: LearnMeasurement,
    singles: int,
) -> None:
    for text in islice(every, singles):
        for times in (stand.single, stand.confirm):
            before, began = panel.pairs, system_stopwatch()
            await learn(deps, place, LearnRequest(text=text))
            times.append(system_stopwatch() - began)
            if times is stand.single:
                stand.pairs.append(panel.pairs - before)


async def _nearest(deps: MemoryDeps, place: Scope, texts: Sequence[str]) -> list[bool]:
    """Whether the index gives the nearest memory for each text; one equally near is as good."""
    hits = []
    for vectors in await embed_texts(deps, [MemoryEmbeddingInput(text=text, kind=Kind.FACT) for text in texts]):
        if vectors is None:
            continue
        async with deps.store.transaction(patient=True) as transaction:
            index, whole = [
                (await find_nearest(transaction, Q[name], vectors.store, space=place.space))[0]["distance"]
                for name in ("nearest_by_index", "nearest_of_all")
            ]
        hits.append(index == whole)
    return hits


@asynccontextmanager
async def opened() -> AsyncIterator[App]:
    configure_logging(level="warning", style="console", content=False, redact=remove_secrets)
    settings = LiveSettings(capture_deployment(flags={"embedding.model": MODEL}))
    async with open_app(settings, door="bench", progress=silence, start=StartOptions(providers=True)) as app:
        yield app


async def measured(amount: str, *, seed: int) -> list[LearnMeasurement]:
    async with opened() as app:
        return await measure(app, AMOUNTS[amount], seed=seed)


if __name__ == "__main__":
    _, told, how_much, grown_from = sys.argv
    found = asyncio.run(measured(how_much, seed=int(grown_from)))
    Path(told).write_text(json.dumps([asdict(each) for each in found]))
