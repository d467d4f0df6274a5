"""Measures what is left of a page's planted statements after a repair, and what else has moved.

Honest documents fill a memory. Then a page plants its own: new statements, other values for what documents
say, and repeats of them; insights are drawn from some of it. After the repair none of this may hold,
everything that it displaced must hold again, and every earlier row must be unchanged, to the last bit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from benchmarks.large_memory import statements
from benchmarks.large_world import name
from benchmarks.result import Sample
from benchmarks.suite import PRODUCT
from festinger.client.memory import Memory
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, MemoryId, Origin, SessionId
from festinger.memory.learn.result import Learned
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import Kind, Status
from festinger.runtime.app import App
from festinger.store.queries import load_queries

Q = load_queries("benchmarks")

PAGE = "https://example.org/planted"
GOOD = "https://example.org/handbook"
OLD_PORT, NEW_PORT = 4000, 9000


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantingSize:
    """How much of everything there is; `planted` includes `values`."""

    honest: int
    planted: int
    values: int
    """Planted statements that give something another value, and so replace what held."""
    insights: int
    said_too: int
    """Honest statements that the page repeats."""

    @property
    def settings(self) -> dict[str, Any]:
        # A flood from one page would be quarantined; here it must be active, so that there is something to
        # withdraw.
        return {"memory.burst_limit": 10 * self.planted}


WHOLE = PlantingSize(honest=10_000, planted=200, values=50, insights=20, said_too=50)
SMALL = PlantingSize(honest=300, planted=20, values=5, insights=4, said_too=5)

Rows = Mapping[str, str]
"""What was remembered, row by row: a name, and a hash of its content."""


async def repaired(app: App, size: PlantingSize, *, seed: int) -> list[Sample]:
    """Fill a memory, plant, repair, and count what is left and what moved."""
    memory = Memory(space=MAIN_SPACE, agent=DEFAULT_AGENT, session=SessionId("reader"), _app=app)
    honest = await _fill(memory, size, seed=seed)
    before = await _rows(app)
    replaced, made = await _plant(memory, size, honest)
    stood = {each: await _stands(memory, each) for each in (*made, *replaced)}
    await memory.repair(source=PAGE)
    after = await _rows(app)
    # An effect is a planted memory or insight that was active, or an honest one that was not.
    effects = [each for each, stands in stood.items() if stands is (each in made)]
    gone = [each for each in effects if await _stands(memory, each) is not stood[each]]
    moved = sum(after.get(row) != mark for row, mark in before.items())
    return [
        Sample(metric="repair.effects_gone", system=PRODUCT, value=len(gone) / len(effects), n=len(effects)),
        Sample(metric="repair.collateral", system=PRODUCT, value=float(moved), n=len(before)),
    ]


async def _fill(memory: Memory, size: PlantingSize, *, seed: int) -> Sequence[Learned]:
    """Learn what honest documents say, beginning with the values that the page will change."""
    values = [_port(number, OLD_PORT) for number in range(size.values)]
    texts = [*values, *islice(statements(seed), size.honest - size.values)]
    return await memory.for_session("honest").learn_many([_said(text, GOOD) for text in texts])


async def _plant(
    memory: Memory, size: PlantingSize, honest: Sequence[Learned]
) -> tuple[list[MemoryId], list[MemoryId]]:
    """Let the page say everything; returns what it replaced, and what came of it."""
    page = memory.for_session("page")
    texts = [_port(number, NEW_PORT) for number in range(size.values)]
    texts += [f"{name(900_000 + at).capitalize()} is a fraud." for at in range(size.planted - size.values)]
    planted = [each.memory.id for each in await page.learn_many([_said(t, PAGE) for t in texts]) if each.memory]
    known = [each.memory for each in honest if each.memory]
    await page.learn_many([_said(each.content, PAGE) for each in known[-size.said_too :]])
    drawn = [
        LearnRequest(
            text=f"What is known of matter {name(800_000 + at)} has changed.",
            kind=Kind.INSIGHT,
            origin=Origin.JOB,
            # Half of them rest on the page alone, half on a document too.
            derived_from=(planted[at], *([known[size.values + at].id] if at % 2 else [])),
        )
        for at in range(size.insights)
    ]
    insights = [each.memory.id for each in await memory.learn_many(drawn) if each.memory]
    return [each.id for each in known[: size.values]], [*planted, *insights]


def _port(number: int, first: int) -> str:
    return f"The {name(700_000 + number)} server listens on port {first + number}."


def _said(text: str, source: str) -> LearnRequest:
    return LearnRequest(text=text, origin=Origin.DOCUMENT, source=source)


async def _stands(memory: Memory, id_: MemoryId) -> bool:
    return (await memory.get(id_)).status is Status.ACTIVE


async def _rows(app: App) -> Rows:
    found = await app.store.all(Q["remembered_rows"], space=MAIN_SPACE)
    return {row["row"]: row["mark"] for row in found}
