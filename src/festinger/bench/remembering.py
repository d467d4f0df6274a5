"""How fast does a process learn that remembers much already?

A process of its own on a home of its own. `python -m festinger.bench.remembering FILE AMOUNT SEED` learns statements
in batches up to each size, and there measures single statements, repeated ones and how many pairs were judged. What
came out goes into the file as JSON. The statements are made from the seed: people, things and places, every one
different, of as many subjects as there are tenths of them.
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

from festinger.app.wiring import App, Start, open_app
from festinger.bench.large_world import name
from festinger.clock import system_stopwatch
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, AgentId, SessionId, SpaceId
from festinger.jobs.worker import Crew
from festinger.judge.judgement import Judgement
from festinger.judge.pair import Pair
from festinger.judge.statement import Bars
from festinger.memory.batch import learn_many
from festinger.memory.candidates import nearest_ids, score
from festinger.memory.desk import Desk
from festinger.memory.given import Cleaned, Given, Said, checked, marked
from festinger.memory.learn import learn, words_of
from festinger.memory.memory import Place
from festinger.memory.vectors import embed
from festinger.seeing.logs import configure
from festinger.settings.deployment import this_process
from festinger.settings.live import LiveSettings
from festinger.text.redaction import without_secrets

PART = 1_000
"""Statements of one call."""
MEASURED_PARTS = 2
"""Calls at the end of each filling whose rate counts: those before them learn into a smaller memory."""

VERBS = ("keeps", "repairs", "paints", "sells", "carries", "stores", "cleans", "lends")
THINGS = ("boats", "clocks", "lamps", "kettles", "violins", "ladders", "maps", "mirrors", "nets", "ovens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000)
    singles: int = 300
    probes: int = 200
    """Statements whose nearest memory is looked for by the index and by reading all."""


FEW = Amount(sizes=(50, 150), singles=5, probes=5)
AMOUNTS = {"full": Amount(), "quick": FEW}


@dataclass(slots=True, kw_only=True)
class Stand:
    """What was measured at one size; times in seconds."""

    memories: int
    batch_seconds: float = 0.0
    batch_items: int = 0
    single: list[float] = field(default_factory=list)
    confirm: list[float] = field(default_factory=list)
    pairs: list[int] = field(default_factory=list)
    """Pairs that were judged for each single statement."""
    nearest: list[bool] = field(default_factory=list)
    """Whether the index found the nearest of all, for each statement that was looked up both ways."""


class Counted:
    """The judges, with a count of the pairs that they are asked about."""

    def __init__(self, panel: Any) -> None:
        self._panel = panel
        self.pairs = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._panel, name)

    async def at_once(self, space: SpaceId, pairs: Sequence[Pair]) -> list[Judgement]:
        self.pairs += len(pairs)
        said: list[Judgement] = await self._panel.at_once(space, pairs)
        return said


def statements(seed: int) -> Iterator[str]:
    """Statements without end, all different."""
    chance, number = random.Random(seed), 0  # noqa: S311 - made-up sentences, and the same each time
    while True:
        who, where = name(chance.randrange(100_000)), name(200_000 + number)
        verb, thing = chance.choice(VERBS), chance.choice(THINGS)
        yield f"{who} {verb} {chance.randrange(2, 90)} {thing} in the house of {where}"
        number += 1


async def measure(app: App, amount: Amount, *, seed: int) -> list[Stand]:
    """Fill the memory up to each size, and measure there."""
    panel = Counted(app.memory.desk.panel)
    desk: Desk = replace(app.memory.desk, panel=panel)
    place = Place(space=MAIN_SPACE, agent=AgentId(DEFAULT_AGENT), session=SessionId("bench"))
    every, held, stands = statements(seed), 0, []
    for size in amount.sizes:
        stand = Stand(memories=size)
        await _fill(desk, place, every, missing=size - held, stand=stand)
        # Whatever filling asked to be done later, the index of the vectors above all, is done before measuring.
        await Crew(app.jobs, shutdown_seconds=1).drain()
        await _single(desk, place, every, panel=panel, stand=stand, singles=amount.singles)
        stand.nearest = await _nearest(desk, place, list(islice(every, amount.probes)))
        held = size + amount.singles
        stands.append(stand)
    return stands


async def _fill(desk: Desk, place: Place, every: Iterator[str], *, missing: int, stand: Stand) -> None:
    parts = [PART] * (missing // PART) + ([missing % PART] if missing % PART else [])
    for number, size in enumerate(parts):
        items = [Given(text=text) for text in islice(every, size)]
        began = system_stopwatch()
        await learn_many(desk, place, items)
        if number >= len(parts) - MEASURED_PARTS:
            stand.batch_seconds += system_stopwatch() - began
            stand.batch_items += len(items)


async def _single(
    desk: Desk, place: Place, every: Iterator[str], *, panel: Counted, stand: Stand, singles: int
) -> None:
    for text in islice(every, singles):
        for times in (stand.single, stand.confirm):
            before, began = panel.pairs, system_stopwatch()
            await learn(desk, place, Given(text=text))
            times.append(system_stopwatch() - began)
            if times is stand.single:
                stand.pairs.append(panel.pairs - before)


async def _nearest(desk: Desk, place: Place, texts: Sequence[str]) -> list[bool]:
    """Whether the index gives the nearest memory for each text; one as near is as good."""
    said = [_said(desk, text) for text in texts]
    hits = []
    for each, vectors in zip(said, await embed(desk, [words_of(each) for each in said]), strict=True):
        if vectors is None:
            continue
        async with desk.store.transaction() as transaction:
            found = [
                list(await nearest_ids(transaction, place.space, each, vectors, limit=1, whole=whole))
                for whole in (False, True)
            ]
            # Without a bar everything is scored.
            free = replace(vectors, bars=Bars())
            near = {
                candidate.memory.id: candidate.similarity
                for ids in found
                for candidate in await score(transaction, place.space, each, ids, free)
            }
        index, whole = (near[ids[0]] if ids else None for ids in found)
        hits.append(index == whole)
    return hits


def _said(desk: Desk, text: str) -> Said:
    clean = Cleaned(text=text, redactions=(), hid=False)
    return marked(checked(Given(text=text)), clean, owner=None, trust=1.0, at=desk.clock())


@asynccontextmanager
async def opened() -> AsyncIterator[App]:
    configure(level="warning", style="console", content=False, redact=without_secrets)
    settings = LiveSettings(this_process(flags={"embedding.model": "hashed:384"}))
    async with open_app(settings, door="bench", progress=_quietly, start=Start(providers=True)) as app:
        yield app


def _quietly(_message: str) -> None:
    """A measuring process says nothing while all is well."""


async def measured(amount: str, *, seed: int) -> list[Stand]:
    async with opened() as app:
        return await measure(app, AMOUNTS[amount], seed=seed)


if __name__ == "__main__":
    _, told, how_much, grown_from = sys.argv
    found = asyncio.run(measured(how_much, seed=int(grown_from)))
    Path(told).write_text(json.dumps([asdict(each) for each in found]))
