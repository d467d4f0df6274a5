"""Lets several processes learn all kinds of statements into one memory at the same time.

Runs as a process on a home that others use too. `python -m benchmarks.mixing FILE COUNT SEED` learns that
many statements, alone and in batches, shared and for two agents: new ones, repeated ones, updates and
opposites of what the others say. Results and failures go into the file as JSON.
"""

import asyncio
import json
import random
import sys
from collections import Counter
from pathlib import Path

from benchmarks.remembering import opened
from festinger.errors import FestingerError
from festinger.ids import MAIN_SPACE, AgentId, Origin, Scope, SessionId
from festinger.memory.deps import MemoryDeps
from festinger.memory.learn.pipeline import learn, learn_many
from festinger.memory.learn.statement import LearnRequest

SUBJECTS = 20
AT_ONCE = 4
"""Concurrent calls of a process: enough to meet others, few enough that none waits long."""
PART = 10
COLOURS = ("red", "green", "blue", "white")
SPEAKERS = (Origin.PERSON, Origin.PERSON, Origin.MODEL, Origin.TOOL)


def mixed(chance: random.Random) -> LearnRequest:
    """Something new, something said before, an update or its opposite, by somebody."""
    subject = f"depot {chance.randrange(SUBJECTS)}"
    text = chance.choice(
        [
            f"The colour of {subject} is {chance.choice(COLOURS)}",
            f"{subject.capitalize()} has {chance.randrange(9)} doors",
            f"Open {subject} at noon",
            f"Do not open {subject} at noon",
            f"Parcel {chance.randrange(10**6)} waits in {subject}",
        ]
    )
    return LearnRequest(text=text, origin=chance.choice(SPEAKERS), shared=chance.random() < 0.7)


async def mix(deps: MemoryDeps, count: int, *, seed: int) -> Counter[str]:
    """Counts of results; failures are under the name of their error."""
    chance = random.Random(seed)  # noqa: S311 - made-up sentences, and the same each time
    places = [Scope(space=MAIN_SPACE, agent=AgentId(name), session=SessionId(f"mixed {seed}")) for name in ("a", "b")]
    items, few = [mixed(chance) for _ in range(count)], asyncio.Semaphore(AT_ONCE)

    async def learnt(part: list[LearnRequest]) -> list[str]:
        async with few:
            place = chance.choice(places)
            try:
                # Half of it comes alone, half in batches.
                done = (
                    await learn_many(deps, place, part)
                    if chance.random() < 0.5
                    else [await learn(deps, place, item) for item in part]
                )
            except FestingerError as error:
                return [error.name] * len(part)
            return [each.error.name if each.error else each.action.value for each in done]

    parts = [items[start : start + PART] for start in range(0, count, PART)]
    return Counter(name for told in await asyncio.gather(*map(learnt, parts)) for name in told)


async def mixed_into_home(count: int, *, seed: int) -> dict[str, int]:
    async with opened() as app:
        return dict(await mix(app.memory.deps, count, seed=seed))


if __name__ == "__main__":
    _, told, how_many, grown_from = sys.argv
    found = asyncio.run(mixed_into_home(int(how_many), seed=int(grown_from)))
    Path(told).write_text(json.dumps(found))
