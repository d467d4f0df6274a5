"""The suite `agent`: what the agent adds to a turn without the time of its model, and what an agent takes of memory.

A memory of a hundred thousand generated statements, filled as in `speed` without comparing them; a scripted model
answers at once. A question is heard and answered; a statement is also learned, which compares it with its neighbors.
Vectors come from the toy of `recalling`, made beforehand for questions; the time of the shipped embedder is in
`speed.recall.embedded`. Runs as a process on its own home: `python -m benchmarks.agent FILE SIZE TURNS SEED`.
"""

import asyncio
import json
import os
import sys
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.large_memory import cues, statements
from benchmarks.own_server import run_apart, throw_away_home
from benchmarks.recalling import MODEL, PART, REBUILT_FROM, put_texts
from benchmarks.result import BenchMetric, Sample, at_most, percentile
from benchmarks.start import held_by
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult, silence
from benchmarks.toy import Toy
from festinger.agent.mind import Agent
from festinger.clock import system_stopwatch
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.errors import CannotStart
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, AgentId, Scope, SessionId
from festinger.llm.model import ModelPurpose
from festinger.llm.providers.scripted import build_scripted_model
from festinger.observability.logs import configure_logging
from festinger.retrieval.index.terms import recount_words
from festinger.runtime.app import App, StartOptions, open_app
from festinger.services.agent import open_mind
from festinger.settings.deployment import capture_deployment
from festinger.settings.live import LiveSettings
from festinger.store.queries import load_queries
from festinger.store.vectors import EmbeddingModelSpec, drop_index, ensure_index
from festinger.text.secrets import remove_secrets

Q = load_queries("festinger.store")

SIZE, TURNS = 100_000, 100
QUICK_SIZE, QUICK_TURNS = 60, 4
WARMING = 20
AGENTS = 20
"""Agents that talk at once where their memory is measured; a quick run has fewer."""
MS = 1000.0

METRICS = (
    BenchMetric(name="agent.turn.p50", unit="ms", about="a question, without the model, median", goal=at_most(80)),
    BenchMetric(name="agent.turn.p95", unit="ms", about="the same, p95"),
    BenchMetric(name="agent.told.p50", unit="ms", about="a statement that is learned as well, median"),
    BenchMetric(name="agent.memory", unit="MB", about="an agent that talks, in our process", goal=at_most(40)),
)


@dataclass(slots=True, kw_only=True)
class TurnMeasurement:
    """Seconds of turns, and what an agent takes in MB."""

    asked: list[float] = field(default_factory=list)
    told: list[float] = field(default_factory=list)
    agent_mb: float = 0.0


async def measure_turns(app: App, *, size: int, turns: int, seed: int) -> TurnMeasurement:
    """Fill the memory and talk with its agent; then with many agents at once."""
    texts = await _fill(app, size, seed=seed)
    warming, agents = min(WARMING, turns), min(AGENTS, turns)
    model, _ = build_scripted_model(*["All right, that is so."] * (2 * turns + warming + agents))

    async def choose(purpose: ModelPurpose, _scope: Scope) -> Any:
        return model if purpose is ModelPurpose.CHAT else None

    def scope(agent: str) -> Scope:
        return Scope(space=MAIN_SPACE, agent=AgentId(agent), session=SessionId(f"chat:{agent}"))

    questions = cues(texts, turns + warming, seed=seed)
    assert app.embedder is not None
    await app.embedder.embed(questions, EmbeddingPurpose.QUERY)
    found = TurnMeasurement()
    async with open_mind(app, scope(DEFAULT_AGENT), choose=choose) as agent:
        for question in questions[:warming]:
            await _turn(agent, question)
        found.asked = [await _turn(agent, question) for question in questions[warming:]]
        found.told = [await _turn(agent, f"I keep {text}") for text in islice(statements(seed + 1), turns)]
    before = held_by([os.getpid()]).rss
    async with AsyncExitStack() as stack:
        for number in range(agents):
            agent = await stack.enter_async_context(open_mind(app, scope(f"agent{number}"), choose=choose))
            await _turn(agent, questions[0])
        found.agent_mb = max(0.0, held_by([os.getpid()]).rss - before) / agents
    return found


async def _turn(agent: Agent, text: str) -> float:
    began = system_stopwatch()
    await agent.hear(text)
    await agent.step()
    return system_stopwatch() - began


async def _fill(app: App, size: int, *, seed: int) -> list[str]:
    """Store statements with their vectors, and do what jobs do in the background: index, count, vacuum, analyze."""
    if app.embedder is None:
        raise CannotStart("Turns cannot be measured without an embedder.")
    app.embedder = Toy(app.embedder)
    model = EmbeddingModelSpec(name=app.embedder.name, dims=app.embedder.dimensions)
    if size >= REBUILT_FROM:
        await drop_index(app.store, "memory_vector", model)
    texts = list(islice(statements(seed), size))
    for start in range(0, size, PART):
        await put_texts(app, MAIN_SPACE, texts[start : start + PART], embedder=app.embedder)
    await ensure_index(app.store, "memory_vector", model, purpose=EmbeddingPurpose.STORE.value)
    await recount_words(app.recall.deps, MAIN_SPACE)
    async with app.store.apart() as connection:
        await connection.execute(Q["tidy_everything"].sql)
    return texts


async def measure(bench: Bench) -> SuiteResult:
    size, turns = (QUICK_SIZE, QUICK_TURNS) if bench.quick else (SIZE, TURNS)
    file = bench.folder / "turns.json"
    bench.say("Filling a large memory, and talking with its agent.")
    async with throw_away_home(bench.folder, stopwatch=bench.stopwatch) as home:
        await run_apart("agent", str(file), str(size), str(turns), str(bench.seed), home=home)
    return SuiteResult(samples=samples(TurnMeasurement(**json.loads(file.read_bytes()))))


def samples(found: TurnMeasurement) -> list[Sample]:
    values = {
        "agent.turn.p50": (MS * median(found.asked), len(found.asked)),
        "agent.turn.p95": (MS * percentile(found.asked, 0.95), len(found.asked)),
        "agent.told.p50": (MS * median(found.told), len(found.told)),
        "agent.memory": (found.agent_mb, AGENTS),
    }
    return [Sample(metric=name, system=PRODUCT, value=value, n=n) for name, (value, n) in values.items()]


async def measured(*, size: int, turns: int, seed: int) -> TurnMeasurement:
    configure_logging(level="warning", style="console", content=False, redact=remove_secrets)
    flags = {"embedding.model": MODEL, "llm.write": "", "llm.judge": ""}
    settings = LiveSettings(capture_deployment(flags=flags))
    async with open_app(settings, door="bench", progress=silence, start=StartOptions(providers=True)) as app:
        return await measure_turns(app, size=size, turns=turns, seed=seed)


AGENT = Suite(
    name="agent",
    about="What the agent adds to a turn in a memory of a hundred thousand, without its model.",
    metrics=METRICS,
    measure=measure,
)

if __name__ == "__main__":
    _, told, *numbers = sys.argv
    how_many, how_often, grown_from = map(int, numbers)
    result = asyncio.run(measured(size=how_many, turns=how_often, seed=grown_from))
    Path(told).write_text(json.dumps(asdict(result)))
