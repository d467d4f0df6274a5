"""What is believed now, what was believed then, and what held when?

Two clocks: `as_of` asks what was believed at a moment, mistakes included; `valid_at` asks, by present knowledge, what
held in the world at a moment. Chains of what replaced what are followed link by link.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.clock import aware
from festinger.errors import BadInput, NotFound
from festinger.ids import MemoryId, SpaceId
from festinger.memory.changes import Change, changes_of
from festinger.memory.desk import Desk
from festinger.memory.given import subject_key
from festinger.memory.memory import Memory, Place, memory_of
from festinger.memory.states import find
from festinger.memory.supersede import LONGEST_CHAIN, successors
from festinger.memory.wanted import STANDING, Wanted
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.memory")

LONGEST_PAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A memory and what it replaced, newest first, with everything that was done to them, oldest first."""

    memories: tuple[Memory, ...]
    changes: tuple[Change, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "memories": [memory.as_json() for memory in self.memories],
            "changes": [change.as_json() for change in self.changes],
        }


async def get(
    desk: Desk,
    place: Place,
    memory: UUID,
    *,
    as_of: datetime | None = None,
    valid_at: datetime | None = None,
) -> Memory:
    """One memory, if this agent may see it, and if it was believed and held at the moments that are asked for."""
    async with desk.store.transaction() as transaction:
        found = seen_by(place, await find(transaction, place.space, memory))
        is_asked_of_now = as_of is None and valid_at is None
        if not is_asked_of_now and not await believed(
            desk, transaction, place.space, [memory], as_of=as_of, valid_at=valid_at
        ):
            raise NotFound("This was not believed, or did not hold, at that moment.")
    desk.on_read(place, [found.id])
    return found


def seen_by(place: Place, memory: Memory) -> Memory:
    """The memory, unless it is another agent's own: to this one there is no such thing."""
    if memory.agent_id not in (None, place.agent):
        raise NotFound(f"There is no memory `{memory.id}`.")
    return memory


async def believed(
    desk: Desk,
    transaction: Transaction,
    space: SpaceId,
    memories: Iterable[UUID],
    *,
    as_of: datetime | None = None,
    valid_at: datetime | None = None,
) -> set[MemoryId]:
    """Which of some memories were believed at a moment, and held in the world at another."""
    rows = await transaction.all(
        Q["believed"],
        space=space,
        memories=list(memories),
        as_of=_past(desk, as_of),
        valid_at=aware(valid_at) if valid_at else None,
    )
    return {row["id"] for row in rows}


def _past(desk: Desk, as_of: datetime | None) -> datetime | None:
    if as_of is None:
        return None
    at = aware(as_of)
    if at > desk.clock():
        raise BadInput("What will be believed in the future is not known.", hint="Give a moment in the past.")
    return at


async def page(
    desk: Desk, place: Place, wanted: Wanted = STANDING, *, after: int | None = None, limit: int = 50
) -> list[Memory]:
    """Memories that an agent sees, newest first. A moment looks past states: whatever was believed then."""
    most = min(limit, LONGEST_PAGE)
    kept: list[Memory] = []
    async with desk.store.transaction() as transaction:
        while len(kept) < most:
            found = await _listed(desk, transaction, place, wanted, after=after, limit=most)
            kept += await _held_then(desk, transaction, place, wanted, found)
            if len(found) < most:
                break
            # Of what is listed some may not have been believed then: the page goes on until it is full.
            after = found[-1].seq
    return kept[:most]


async def _listed(
    desk: Desk, transaction: Transaction, place: Place, wanted: Wanted, *, after: int | None, limit: int
) -> list[Memory]:
    statuses = None if wanted.is_dated else wanted.statuses
    rows = await transaction.all(
        Q["page"],
        space=place.space,
        agent=None if wanted.everybodys else place.agent,
        statuses=None if statuses is None else [status.value for status in statuses],
        kinds=[kind.value for kind in wanted.kinds] or None,
        origins=[origin.value for origin in wanted.origins] or None,
        subject=subject_key(wanted.subject),
        words=wanted.words,
        until=_past(desk, wanted.as_of),
        after=after,
        limit=limit,
    )
    return [memory_of(row) for row in rows]


async def _held_then(
    desk: Desk, transaction: Transaction, place: Place, wanted: Wanted, found: Sequence[Memory]
) -> list[Memory]:
    if not wanted.is_dated:
        return list(found)
    ids = [memory.id for memory in found]
    moments = {"as_of": wanted.as_of, "valid_at": wanted.valid_at}
    held = await believed(desk, transaction, place.space, ids, **moments)
    return [memory for memory in found if memory.id in held]


async def current(desk: Desk, place: Place, memory: UUID) -> Memory:
    """What stands at the end of the chain that a memory is part of."""
    async with desk.store.transaction() as transaction:
        found = seen_by(place, await find(transaction, place.space, memory))
        later = await successors(transaction, place.space, memory)
    return later[-1] if later else found


async def history(desk: Desk, place: Place, memory: UUID) -> History:
    """A memory, what it replaced and what that replaced, and every change of them."""
    async with desk.store.transaction() as transaction:
        found = seen_by(place, await find(transaction, place.space, memory))
        rows = await transaction.all(Q["chain_back"], space=place.space, memory=memory, depth=LONGEST_CHAIN)
        chain = (found, *(memory_of(row) for row in rows))
        changes = await changes_of(transaction, place.space, [each.id for each in chain])
    return History(memories=chain, changes=tuple(changes))
