"""Does a recall take longer after very many others?

A few recalls are made that count, with all that is written of them. Their records are then multiplied until there are as
many as a busy month leaves, and the same cues are asked again.
"""

from collections.abc import Awaitable, Callable, Sequence

from festinger.ids import SpaceId
from festinger.store.pool import Store
from festinger.store.queries import queries_of

Q = queries_of("festinger.bench")
STORE = queries_of("festinger.store")

Ask = Callable[[str], Awaitable[float]]


async def worn(
    store: Store, space: SpaceId, cues: Sequence[str], *, ask: Ask, count: Ask, recalls: int, sample: int
) -> list[float]:
    """Seconds of recalls with the records of `recalls` others in the store; `count` asks so that it is written down."""
    for cue in cues[:sample]:
        await count(cue)
    kept = int(await store.value(Q["count_recalls"], space=space))
    async with store.transaction(patient=True) as transaction:
        await transaction.run(Q["multiply_recalls"], space=space, times=max(1, recalls // max(1, kept)))
    async with store.apart() as connection:
        await connection.execute(STORE["tidy_everything"].sql)
    for cue in cues[:sample]:
        await ask(cue)
    return [await ask(cue) for cue in cues]
