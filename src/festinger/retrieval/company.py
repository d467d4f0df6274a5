"""Which memories come to mind together?

What one recall gave is paired, each with those right behind it, and the best of it with the best of the recall that
came before it in the same session. A pair counts once per cause, so that a loop has one vote. How strongly two belong
together fades when it is read; no job ages it. Where one leads on to is `spreading`'s matter.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from festinger.ids import Cause, Origin
from festinger.memory.model import NO_SESSION, Place
from festinger.retrieval.desk import Desk
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.retrieval")

BEHIND = 4
"""Ranks behind a memory with which it is paired."""
BEST = 3
"""Of two recalls that follow each other, so many of each are paired."""
FOLLOWS_WITHIN = timedelta(minutes=10)

Pair = tuple[UUID, UUID]
"""Two memories, the smaller id first."""


def together(memories: Sequence[UUID]) -> list[Pair]:
    """The pairs of what one recall gave, in its order."""
    return _pairs(
        (one, other)
        for place, one in enumerate(memories)
        for other in memories[place + 1 : place + 1 + BEHIND]
    )


def one_after_the_other(memories: Sequence[UUID], before: Sequence[UUID]) -> list[Pair]:
    """The pairs of two recalls of which one followed the other."""
    return _pairs((one, other) for one in memories[:BEST] for other in before[:BEST])


def _pairs(found: Iterable[Pair]) -> list[Pair]:
    return sorted({(min(pair), max(pair)) for pair in found if pair[0] != pair[1]})


def cause_key(cause: Cause) -> str:
    """A cause as one text."""
    return f"{cause.agent}|{cause.session}|{cause.day.isoformat()}|{cause.origin.value}"


async def keep_company(
    desk: Desk, transaction: Transaction, place: Place, memories: Sequence[UUID], *, recall: UUID
) -> int:
    """Note which memories a recall brought to mind together, and after which others; how many pairs counted."""
    now = desk.clock()
    before = await _before(transaction, place, recall=recall, now=now)
    beside = together(memories)
    after = [pair for pair in one_after_the_other(memories, before) if pair not in set(beside)]
    pairs = beside + after
    if not pairs:
        return 0
    rows = await transaction.all(
        Q["keep_company"],
        space=place.space,
        one=[pair[0] for pair in pairs],
        other=[pair[1] for pair in pairs],
        together=[1] * len(beside) + [0] * len(after),
        at=now,
        cause=cause_key(place.cause(Origin.SYSTEM, now)),
    )
    if any(row["is_new"] for row in rows):
        await _let_the_weakest_go(desk, transaction, place, memories, now=now)
    return len(rows)


async def _before(transaction: Transaction, place: Place, *, recall: UUID, now: datetime) -> list[UUID]:
    """The best of the recall before this one in the session, if that was a moment ago."""
    if place.session == NO_SESSION:
        return []
    rows = await transaction.all(
        Q["best_of_recall_before"],
        space=place.space,
        agent=place.agent,
        session=place.session,
        recall=recall,
        since=now - FOLLOWS_WITHIN,
        limit=BEST,
    )
    return [row["ref"] for row in rows]


async def _let_the_weakest_go(
    desk: Desk, transaction: Transaction, place: Place, memories: Sequence[UUID], *, now: datetime
) -> None:
    settings = desk.terms(place.space).retrieval
    await transaction.run(
        Q["let_the_weakest_go"],
        space=place.space,
        memories=list(memories),
        partners=settings.partners,
        full=settings.co_access_full,
        half_life=settings.co_access_half_life_days,
        at=now,
    )
