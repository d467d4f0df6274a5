"""How is a memory parted that says more than one thing?

Each part is learnt like any statement, derives from what it was parted from and has its origin; the source is put
away. Learning takes its time outside of transactions, so within one the parts are only asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from festinger.errors import BadInput, Refused
from festinger.ids import DEFAULT_AGENT, AgentId, SpaceId
from festinger.memory.changes import Note, Op, write_change
from festinger.memory.desk import Desk
from festinger.memory.given import Given, Said, checked
from festinger.memory.intake import take_in
from festinger.memory.kinds import LIVE, Status
from festinger.memory.learn import learn, write_once
from festinger.memory.learned import Learned
from festinger.memory.memory import NO_SESSION, Memory, Place
from festinger.memory.prepared import Prepared
from festinger.memory.states import difference, find, lock_one, restate
from festinger.store.pool import Transaction

MOST_PARTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Parted:
    source: Memory
    parts: tuple[Learned, ...]
    change: UUID

    def as_json(self) -> dict[str, Any]:
        return {
            "source": self.source.as_json(),
            "parts": [part.as_json() for part in self.parts],
            "change": str(self.change),
        }


async def split(desk: Desk, space: SpaceId, memory: UUID, texts: Sequence[str], *, by: str) -> Parted:
    """Learn each part of a memory by itself and put the memory away."""
    if not 2 <= len(texts) <= MOST_PARTS:
        raise BadInput(f"A memory is parted into 2 to {MOST_PARTS} texts.")
    async with desk.store.transaction() as transaction:
        source = await find(transaction, space, memory)
    if source.status not in LIVE or source.immutable:
        raise Refused(
            "Only a memory that stands, and not for good, can be parted.", status=source.status.value
        )
    given = [checked(part_of(source, text)) for text in texts]
    parts = [await learn(desk, place_of(source), each) for each in given]
    async with desk.store.transaction() as transaction:
        old = await lock_one(transaction, space, memory)
        new = await restate(transaction, old, at=desk.clock(), status=Status.ARCHIVED, pending=False)
        before, after = difference(old, new)
        more = {"parts": [str(part.memory.id) for part in parts if part.memory]}
        note = Note(op=Op.SPLIT, before={old.id: before}, after={old.id: after}, by=by, more=more)
        change = await write_change(desk, transaction, space, note)
    return Parted(source=new, parts=tuple(parts), change=change)


def part_of(source: Memory, text: str) -> Given:
    return Given(
        text=text,
        subject=source.subject,
        kind=source.kind,
        origin=source.origin,
        source=source.source,
        derived_from=(source.id,),
        by_model=False,
        tags=source.tags,
        shared=source.agent_id is None,
    )


def place_of(memory: Memory) -> Place:
    return Place(
        space=memory.space_id,
        agent=memory.agent_id or AgentId(DEFAULT_AGENT),
        session=memory.session_id or NO_SESSION,
    )


async def say_anew(
    desk: Desk, transaction: Transaction, sources: Sequence[Memory], texts: Sequence[str]
) -> list[Learned]:
    """Learn clearer texts in place of some memories, within the transaction that puts those away.

    There is no time for vectors and judges here; they come by the job that brings what is missing.
    """
    place = place_of(sources[0])
    done: list[Learned] = []
    for text in texts:
        source = sources[min(len(done), len(sources) - 1)]
        said = await take_in(desk, transaction, place, part_of(source, text))
        if not isinstance(said, Said):
            raise BadInput(f"This cannot be kept: {said.reason}.")
        prepared = Prepared(place=place, said=said, ref=desk.new_memory_id())
        done.append(await write_once(desk, transaction, prepared))
    return done
