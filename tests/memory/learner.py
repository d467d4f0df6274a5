"""Processes that learn, and may die while they do.

`learner.py [[ARGUMENT, ...], ...]` runs one process for each list of arguments, all at once, forked from one that has
imported everything, and prints how each ended and what it said.

`URL SPACE SEED mixed COUNT`: learns so many statements of all sorts at once, as the bench does, and prints
what became of each.

`URL SPACE SEED STEP AT TEXT…`: learns each text with its own key and prints its place once that is
acknowledged. It kills itself the `AT`-th time that it stands at `STEP`. With `-` for a step it lives, and learns all
texts at once.
"""

import asyncio
import json
import os
import random
import signal
import sys

from benchmarks.mixing import mix
from tests.memory.remembering import Mind

from festinger.clock import system_clock
from festinger.embedding.embedder import EmbedderOptions
from festinger.embedding.registry import open_embedder
from festinger.ids import SpaceId, id_maker
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.statement import LearnRequest
from festinger.settings.tree import StoreSettings
from festinger.store import connection
from festinger.store.pool import open_store


class Deadly:
    """Kills this process at a step."""

    def __init__(self, step: str, at: int) -> None:
        self._step = step
        self._left = at

    def __call__(self, step: str) -> None:
        self._left -= step == self._step
        if step == self._step and not self._left:
            os.kill(os.getpid(), signal.SIGKILL)


async def main(url: str, space: str, seed: str, step: str, at: str, *texts: str) -> None:
    deadly = Deadly("" if step == "mixed" else step, int(at))
    async with open_store(url, StoreSettings(), door="test") as store:
        embedder = await open_embedder("hashed:64", EmbedderOptions(offline=True))
        mind = Mind(store, embedder=embedder, step=deadly, new_id=id_maker(system_clock, random.Random(int(seed))))
        place = mind.place(f"s{seed}", space=SpaceId(space))
        if step == "mixed":
            told = await mix(mind.deps, int(at), seed=int(seed))
            sys.stdout.write("\n".join(told.elements()))
            return
        if step == "-":
            done = await asyncio.gather(*(learn(mind.deps, place, LearnRequest(text=text)) for text in texts))
            sys.stdout.write("\n".join(each.action.value for each in done))
            return
        for number, text in enumerate(texts):
            await learn(mind.deps, place, LearnRequest(text=text, key=f"k{number}"))
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


def fork(arguments: list[str]) -> tuple[int, int]:
    """A process that learns: its id, and where to read what it says."""
    reading, writing = os.pipe()
    if pid := os.fork():
        os.close(writing)
        return pid, reading
    code = 1
    try:
        os.dup2(writing, sys.stdout.fileno())
        asyncio.run(main(*arguments))
        sys.stdout.flush()
        code = 0
    finally:
        os._exit(code)


def run_all(runs: list[list[str]]) -> list[tuple[int, list[str]]]:
    ended = []
    for pid, reading in [fork(arguments) for arguments in runs]:
        with os.fdopen(reading) as said:
            lines = said.read().split()
        ended.append((os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), lines))
    return ended


if __name__ == "__main__":
    connection.LOCK_TIMEOUT_MS = 600_000  # on a busy machine whoever holds a lock may hold it for long
    sys.stdout.write(json.dumps(run_all(json.loads(sys.argv[1]))))
