"""Does the server know how large the tables are that learning looks into?

Of a table that it has not looked at yet the server thinks that it is nearly empty, and joins each of its rows with
every other. It looks by itself within a minute, in which a file of statements has long been learnt: by then finding
the neighbours of one among 600 took 73 ms instead of 1. So whoever learns much has it look sooner, four times as late
each time, and not at all where it knows better already.
"""

from dataclasses import dataclass

from festinger.store.pool import Store
from festinger.store.queries import queries_of

Q = queries_of("festinger.memory")

FIRST, TIMES = 50, 4
"""After so many statements it is asked for the first time, and then after so many times as many."""
FAR_OFF = 2
"""How many times as much was looked up as the server thinks that there is."""


@dataclass(slots=True, kw_only=True)
class Sizing:
    """How many statements this process has held against what is remembered."""

    looked_up: int = 0
    due: int = FIRST


def is_far_off(looked_up: int, *, believed: float) -> bool:
    """Whether the server thinks that there is much less than there must be; below zero it knows nothing."""
    return looked_up > FAR_OFF * max(believed, 0)


async def keep_sized(store: Store, sizing: Sizing, *, more: int = 1) -> None:
    """So many statements more are about to be looked up, among those before them. Not within a transaction."""
    before, sizing.looked_up = sizing.looked_up, sizing.looked_up + more
    if before < sizing.due:
        return
    while sizing.due <= before:
        sizing.due *= TIMES
    if is_far_off(before, believed=await store.value(Q["believed_size"])):
        await store.run(Q["size_up"])
