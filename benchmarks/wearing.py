"""Measures whether a recall takes longer after many others.

Many recalls are made and recorded, one after the other; then the same cues are asked again.
"""

from collections.abc import Awaitable, Callable, Sequence
from itertools import cycle, islice

from festinger.store.pool import Store
from festinger.store.queries import load_queries

Q = load_queries("festinger.store")

Ask = Callable[[str], Awaitable[float]]


async def worn(store: Store, cues: Sequence[str], *, ask: Ask, count: Ask, recalls: int, warming: int) -> list[float]:
    """Seconds of recalls after this many others; `count` recalls with recording."""
    for cue in islice(cycle(cues), recalls):
        await count(cue)
    async with store.apart() as connection:
        # In production the server does this by itself.
        await connection.execute(Q["tidy_everything"].sql)
    for cue in cues[:warming]:
        await ask(cue)
    return [await ask(cue) for cue in cues]
