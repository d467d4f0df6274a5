"""Measures whether a real model can reuse its prompt cache although we put notes into the prompt.

A model server keeps what it has read of a conversation, and reads only what is new, as long as the beginning
is the same byte for byte. So a chat of many turns is held twice with a small llama.cpp server, directly and
through the product with notes, and the server says how many tokens it read in each turn. The product may add
only the notes themselves, once.
"""

import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import peer_systems as peers
from benchmarks.curve import Curve
from benchmarks.large_world import LargeWorldSize, Prose
from benchmarks.load import HOST, ask_once
from benchmarks.own_server import serving
from benchmarks.passing import PATH
from benchmarks.result import BenchMetric, Sample, System, SystemKind, SystemStatus, at_most
from benchmarks.server import BenchProcess, Program, bare_environment, free_port, running
from benchmarks.suite import PRODUCT, Bench, SuiteResult
from festinger.errors import Unavailable

TURNS, FEW_TURNS = 20, 3
TURN_CHARS = 100
"""Few enough that all turns with all their notes fit into the window of the small model."""
REPLY = "All right, I have noted that."

METRICS = (
    BenchMetric(
        name="proxy.prefix.evaluated",
        unit="x",
        about=f"tokens that a model reads in {TURNS} turns, over those without us and our notes once",
        goal=at_most(1.05),
    ),
    BenchMetric(name="proxy.prefix.notes", unit="tokens", about="what our notes add to the prompt in the end"),
    BenchMetric(name="proxy.prefix.tokens", unit="tokens", about="what the model read in all turns"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixTurn:
    """What a model server reports on a request: tokens of its prompt, and how many of them it read."""

    prompt: int
    evaluated: int


async def measure(home: Path, size: LargeWorldSize, bench: Bench) -> SuiteResult:
    """Both chats; without a model server, a system that did not run."""
    system = System(name=peers.LLAMA, kind=SystemKind.BASELINE, params={"turns": _turns(bench)})
    try:
        python = await peers.python_of(peers.LLAMA, bench)
        system = replace(system, version=await peers.version_of("xllamacpp", python))
        bench.say("Chatting with a real model, straight and through us.")
        straight, through = await _chats(home, size, python, bench)
    except Unavailable as error:
        return SuiteResult(systems=[replace(system, status=SystemStatus.NOT_RUN, reason=error.message)])
    return SuiteResult(samples=samples(straight, through), systems=[system], curves=[by_turn(straight, through)])


def _turns(bench: Bench) -> int:
    return FEW_TURNS if bench.quick else TURNS


async def _chats(
    home: Path, size: LargeWorldSize, python: Path, bench: Bench
) -> tuple[list[PrefixTurn], list[PrefixTurn]]:
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(running(_llama(python, bench), core=None, stopwatch=bench.stopwatch))
        ours = await stack.enter_async_context(
            running(serving(home, upstream_port=model.port), core=None, stopwatch=bench.stopwatch)
        )
        # A warm-up: the first chat would otherwise pay for loading the world.
        await _chat(ours, size, seed=bench.seed + 1, turns=1, bench=bench)
        straight = await _chat(model, size, seed=bench.seed, turns=_turns(bench), bench=bench)
        return straight, await _chat(ours, size, seed=bench.seed, turns=_turns(bench), bench=bench)


def _llama(python: Path, bench: Bench) -> Program:
    port = free_port()
    return Program(
        name=peers.LLAMA,
        command=[str(python), str(peers.LLAMA_SERVER), str(port)],
        port=port,
        ready="/health",
        folder=bench.folder,
        environment=bare_environment(bench.folder),
        patience_s=bench.peer_patience_s,
    )


async def _chat(server: BenchProcess, size: LargeWorldSize, *, seed: int, turns: int, bench: Bench) -> list[PrefixTurn]:
    """The same words of the person in every chat of a seed, and always the same reply in the history."""
    prose, found = Prose(size, seed=seed), []
    messages = [{"role": "system", "content": f"You answer briefly. This is chat {seed}."}]
    for _ in range(turns):
        messages.append({"role": "user", "content": prose.text(TURN_CHARS)})
        asked = {"model": "smollm2", "messages": messages, "max_tokens": 4, "temperature": 0}
        body = json.dumps(asked).encode()
        answer = await ask_once(server.port, PATH, body, stopwatch=bench.stopwatch)
        if answer is None or answer.status != 200:
            told = "nothing" if answer is None else f"status {answer.status}"
            raise Unavailable(f"`{server.name}` answered a turn of the chat at {HOST} with {told}")
        found.append(read_turn(answer.body))
        messages.append({"role": "assistant", "content": REPLY})
    return found


def read_turn(body: bytes) -> PrefixTurn:
    """What llama.cpp reports besides its answer."""
    told = json.loads(body)
    return PrefixTurn(prompt=told["usage"]["prompt_tokens"], evaluated=told["timings"]["prompt_n"])


def samples(straight: Sequence[PrefixTurn], through: Sequence[PrefixTurn]) -> list[Sample]:
    read, read_by_us = (sum(turn.evaluated for turn in turns) for turns in (straight, through))
    notes = through[-1].prompt - straight[-1].prompt
    found = {
        ("proxy.prefix.evaluated", PRODUCT): read_by_us / max(read + notes, 1),
        ("proxy.prefix.notes", PRODUCT): float(notes),
        ("proxy.prefix.tokens", PRODUCT): float(read_by_us),
        ("proxy.prefix.tokens", peers.LLAMA): float(read),
    }
    return [
        Sample(metric=metric, system=system, value=value, n=len(through)) for (metric, system), value in found.items()
    ]


def by_turn(straight: Sequence[PrefixTurn], through: Sequence[PrefixTurn]) -> Curve:
    chats = {"straight": straight, "through us, with notes": through}
    return Curve(
        name="proxy.prefix",
        title="How much of a growing chat a real model reads in each turn",
        x="turn",
        y="tokens read",
        points={
            name: [(float(number), float(turn.evaluated)) for number, turn in enumerate(turns, start=1)]
            for name, turns in chats.items()
        },
    )
