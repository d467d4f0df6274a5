"""Does the inbox work, in numbers?

How many proposals wait for a person, are held, or find no place; and whether the bars are loose or tight.
"""

from collections.abc import Iterable
from typing import Any

from festinger.ids import SpaceId
from festinger.observability.metrics import (
    PROPOSALS_HELD,
    PROPOSALS_OPEN,
    PROPOSALS_PAUSED,
    PROPOSALS_RATE,
    PROPOSALS_VALUE,
)
from festinger.proposals.desk import Desk
from festinger.proposals.meaning import pass_state
from festinger.proposals.promote import fullness
from festinger.proposals.proposal import Held
from festinger.proposals.rate import rate
from festinger.proposals.shelf import funnel
from festinger.store.queries import queries_of

Q = queries_of("festinger.proposals")


async def tally(desk: Desk, space: SpaceId) -> dict[str, Any]:
    """The funnel of a space: every state, the room in the inbox, the rate, and the last run."""
    async with desk.store.transaction() as transaction:
        inbox = await fullness(desk, transaction, space, now=desk.clock())
        states = await funnel(desk, transaction, space)
        last = await transaction.maybe(Q["last_run"], space=space)
    return {
        **{name: number for name, number in states.items() if number},
        "open": inbox.open,
        "limit": inbox.limit,
        "paused": inbox.paused_because,
        "warning": inbox.warning,
        "rate": (await rate(desk, space)).as_json(),
        "second pass": pass_state(desk, space),
        "last run": last["at"].isoformat() if last else None,
    }


async def fullest(desk: Desk, spaces: Iterable[SpaceId]) -> dict[SpaceId, str]:
    """What is said of each inbox that is full, or nearly so."""
    said: dict[SpaceId, str] = {}
    for space in spaces:
        async with desk.store.transaction() as transaction:
            inbox = await fullness(desk, transaction, space, now=desk.clock())
        if warning := inbox.paused_because or inbox.warning:
            said[space] = warning
    return said


async def measure(desk: Desk, spaces: Iterable[SpaceId]) -> None:
    """Move the gauges to what is now, over all spaces."""
    held = dict.fromkeys(Held, 0)
    waiting = paused = promoted = considered = 0
    for space in spaces:
        async with desk.store.transaction() as transaction:
            inbox = await fullness(desk, transaction, space, now=desk.clock())
            rows = await transaction.all(Q["count_held"], space=space, now=desk.clock())
            values = await desk.values(transaction, space)
        found = await rate(desk, space)
        waiting += inbox.open
        paused += inbox.paused_because is not None
        promoted, considered = promoted + found.promoted, considered + found.considered
        for row in rows:
            held[Held(row["held"])] += row["proposals"]
        for (producer, category), value in values.items():
            PROPOSALS_VALUE.labels(producer, category).set(value)
    PROPOSALS_OPEN.set(waiting)
    PROPOSALS_PAUSED.set(paused)
    PROPOSALS_RATE.set(promoted / considered if considered else 0.0)
    for why, number in held.items():
        PROPOSALS_HELD.labels(why).set(number)
