"""Does a recall take longer after many others?

Recalls are made that count, one after the other, with all that is written down of each; then the same cues are asked
again.
"""

from collections.abc import Awaitable, Callable, Sequence
from itertools import cycle, islice

from festinger.store.pool import Store
from festinger.store.queries import queries_of

Q = queries_of("festinger.store")

Ask = Callable[[str], Awaitable[float]]


async def worn(store: Store, cues: Sequence[str], *, ask: Ask, count: Ask, recalls: int, warming: int) -> list[float]:
    """Seconds of recalls after so many others; `count` asks so that it is written down."""
    for cue in islice(cycle(cues), recalls):
        await count(cue)
    async with store.apart() as connection:
        # On other days the server does that by itself.
        await connection.execute(Q["tidy_everything"].sql)
    for cue in cues[:warming]:
        await ask(cue)
    return [await ask(cue) for cue in cues]
