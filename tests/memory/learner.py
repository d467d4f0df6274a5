"""A process that learns, and may die while it does.

`learner.py URL SPACE SEED mixed COUNT`: learns so many statements of all sorts at once, alone and in batches, for
everybody and for agents of its own, and prints what became of each.

`learner.py URL SPACE SEED STEP AT TEXT…`: learns each text with its own key and prints its place once that is
acknowledged. It kills itself the `AT`-th time that it stands at `STEP`. With `-` for a step it lives, and learns all
texts at once.
"""

import asyncio
import os
import random
import signal
import sys

from tests.memory.remembering import Mind

from festinger.clock import system_clock
from festinger.embedding.embedder import Supplies
from festinger.embedding.registry import open_embedder
from festinger.ids import Origin, SpaceId, id_maker
from festinger.memory.batch import learn_many
from festinger.memory.given import Given
from festinger.memory.learn import learn
from festinger.memory.learned import Learned
from festinger.settings.tree import StoreSettings
from festinger.store import line
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


SUBJECTS = ("mill", "ferry", "harbour", "lighthouse", "bakery")
AT_ONCE = 4
"""Calls that a process makes at the same time: enough to meet others, few enough that nobody waits for long."""
COLOURS = ("red", "green", "blue", "white")


def mixed(chance: random.Random) -> Given:
    """Something new, something said before, an update or its opposite, by somebody."""
    subject, colour = chance.choice(SUBJECTS), chance.choice(COLOURS)
    text = chance.choice(
        [
            f"The colour of the {subject} is {colour}",
            f"The {subject} has {chance.randrange(3)} doors",
            f"Open the {subject} at noon",
            f"Do not open the {subject} at noon",
            f"Parcel {chance.randrange(40)} waits in the {subject}",
        ]
    )
    origin = chance.choice([Origin.PERSON, Origin.PERSON, Origin.MODEL, Origin.TOOL])
    return Given(text=text, origin=origin, shared=chance.random() < 0.7)


async def learn_mixed(mind: Mind, space: str, seed: int, count: int) -> list[Learned]:
    chance = random.Random(seed)
    items = [mixed(chance) for _ in range(count)]
    places = [mind.place(f"s{seed}{name}", agent=name, space=SpaceId(space)) for name in ("a", "b")]
    half, rest = items[: count // 2], items[count // 2 :]
    parts = [rest[start : start + 10] for start in range(0, len(rest), 10)]
    few = asyncio.Semaphore(AT_ONCE)

    async def alone(item: Given) -> list[Learned]:
        async with few:
            return [await learn(mind.desk, chance.choice(places), item)]

    async def together(items: list[Given]) -> list[Learned]:
        async with few:
            return await learn_many(mind.desk, chance.choice(places), items)

    done = await asyncio.gather(*map(alone, half), *map(together, parts))
    return [each for some in done for each in some]


async def main(url: str, space: str, seed: str, step: str, at: str, *texts: str) -> None:
    deadly = Deadly("" if step == "mixed" else step, int(at))
    async with open_store(url, StoreSettings(), door="test") as store:
        embedder = await open_embedder("hashed:64", Supplies(offline=True))
        mind = Mind(
            store,
            embedder=embedder,
            step=deadly,
            new_id=id_maker(system_clock, random.Random(int(seed))),
        )
        place = mind.place(f"s{seed}", space=SpaceId(space))
        if step == "mixed":
            learnt = await learn_mixed(mind, space, int(seed), int(at))
            sys.stdout.write(
                "\n".join(each.error.name if each.error else each.action.value for each in learnt)
            )
            return
        if step == "-":
            done = await asyncio.gather(*(learn(mind.desk, place, Given(text=text)) for text in texts))
            sys.stdout.write("\n".join(each.action.value for each in done))
            return
        for number, text in enumerate(texts):
            await learn(mind.desk, place, Given(text=text, key=f"k{number}"))
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    line.LOCK_TIMEOUT_MS = 600_000  # on a busy machine whoever holds a lock may hold it for long
    asyncio.run(main(*sys.argv[1:]))
