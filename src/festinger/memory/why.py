"""Why is something believed?

Read from rows alone, never asked of a model: each time it was said, what it derives from and what rests on it, what
it replaced, what judges and outcomes said of it, and everything that was done to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from festinger.clock import iso
from festinger.ids import MemoryId, Origin, SpaceId
from festinger.judge.model import Record
from festinger.memory.changes import Change, changes_of
from festinger.memory.desk import Desk
from festinger.memory.history import seen_by
from festinger.memory.links import DEPTH, Ancestor, Link, derivation
from festinger.memory.memory import Memory, Place
from festinger.memory.states import find, find_all
from festinger.memory.weight import Weight
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.memory")

MOST_SIGHTINGS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One time that a memory was said."""

    id: UUID
    agent: str
    session: str
    day: date
    origin: Origin
    trust: float
    wording: str
    source: str | None
    similarity: float | None
    at: datetime
    counted: bool
    uncounted_because: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """A step of the line on which the trust in a memory rests."""

    id: UUID
    depth: int
    trust: float | None
    content: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """On what a memory rests."""

    memory: Memory
    said: tuple[Sighting, ...]
    derives_from: tuple[Memory, ...]
    supports: tuple[Memory, ...]
    """What derives from it."""
    supersedes: tuple[Memory, ...]
    superseded_by: Memory | None
    judgements: tuple[Record, ...]
    outcomes: tuple[Any, ...]
    changes: tuple[Change, ...]
    trust_line: tuple[Rest, ...]

    @property
    def claim(self) -> str:
        return self.memory.content

    @property
    def origin(self) -> Origin:
        return self.memory.origin

    @property
    def causes(self) -> tuple[Sighting, ...]:
        return tuple(sighting for sighting in self.said if sighting.counted)

    @property
    def sources(self) -> tuple[Memory, ...]:
        return self.derives_from

    @property
    def weight(self) -> Weight:
        return self.memory.weight

    @property
    def confidence(self) -> float:
        return self.memory.confidence

    def as_json(self) -> dict[str, Any]:
        return {
            "memory": self.memory.as_json(),
            "said": [_said(sighting) for sighting in self.said],
            "derives_from": [each.as_json() for each in self.derives_from],
            "supports": [each.as_json() for each in self.supports],
            "supersedes": [each.as_json() for each in self.supersedes],
            "superseded_by": self.superseded_by.as_json() if self.superseded_by else None,
            "judgements": [_judged(record) for record in self.judgements],
            "outcomes": list(self.outcomes),
            "changes": [change.as_json() for change in self.changes],
            "trust_line": [
                {"id": str(rest.id), "depth": rest.depth, "trust": rest.trust, "content": rest.content}
                for rest in self.trust_line
            ],
        }


async def why(desk: Desk, place: Place, memory: UUID) -> Why:
    """Everything on which a belief rests."""
    async with desk.store.transaction() as transaction:
        found = seen_by(place, await find(transaction, place.space, memory))
        links = await transaction.all(Q["links_of"], space=place.space, memory=memory)
        line = await derivation(transaction, place.space, [memory], depth=DEPTH)
        ids = {each["from_id"] for each in links} | {each["to_id"] for each in links}
        ids |= {each.id for each in line} | ({found.superseded_by} if found.superseded_by else set())
        near = await find_all(transaction, place.space, ids)
        said = await sightings(transaction, place.space, found.id)
        changes = await changes_of(transaction, place.space, [memory])
    return Why(
        memory=found,
        said=said,
        derives_from=_linked(links, near, found.id, Link.DERIVES_FROM),
        supports=_linked(links, near, found.id, Link.DERIVES_FROM, backwards=True),
        supersedes=_linked(links, near, found.id, Link.SUPERSEDES),
        superseded_by=near.get(found.superseded_by) if found.superseded_by else None,
        judgements=tuple(await desk.panel.said_of(place.space, memory)),
        outcomes=await desk.outcomes_of(place.space, found.id),
        changes=tuple(changes),
        trust_line=(
            Rest(id=found.id, depth=0, trust=found.trust, content=found.content),
            *_rests(line, near),
        ),
    )


async def sightings(
    transaction: Transaction, space: SpaceId, memory: MemoryId, *, limit: int = MOST_SIGHTINGS
) -> tuple[Sighting, ...]:
    """Each time that a memory was said."""
    rows = await transaction.all(Q["sightings_of"], space=space, memory=memory, limit=limit)
    return tuple(
        Sighting(
            id=row["id"],
            agent=row["agent_id"],
            session=row["session_id"],
            day=row["day"],
            origin=Origin(row["origin"]),
            trust=row["trust"],
            wording=row["wording"],
            source=row["source"],
            similarity=row["similarity"],
            at=row["at"],
            counted=row["counted"],
            uncounted_because=row["uncounted_because"],
        )
        for row in rows
    )


def _linked(
    links: list[dict[str, Any]],
    near: Mapping[MemoryId, Memory],
    memory: MemoryId,
    relation: Link,
    *,
    backwards: bool = False,
) -> tuple[Memory, ...]:
    this, other = ("to_id", "from_id") if backwards else ("from_id", "to_id")
    ids = [each[other] for each in links if each["relation"] == relation and each[this] == memory]
    return tuple(near[each] for each in ids if each in near)


def _rests(line: list[Ancestor], near: Mapping[MemoryId, Memory]) -> tuple[Rest, ...]:
    known = {UUID(int=id_.int): memory.content for id_, memory in near.items()}
    return tuple(
        Rest(id=each.id, depth=each.depth, trust=each.trust, content=known.get(each.id)) for each in line
    )


def _said(sighting: Sighting) -> dict[str, Any]:
    return {
        "id": str(sighting.id),
        "agent": sighting.agent,
        "session": sighting.session,
        "day": sighting.day.isoformat(),
        "origin": sighting.origin.value,
        "trust": sighting.trust,
        "wording": sighting.wording,
        "source": sighting.source,
        "similarity": sighting.similarity,
        "at": iso(sighting.at),
        "counted": sighting.counted,
        "uncounted_because": sighting.uncounted_because,
    }


def _judged(record: Record) -> dict[str, Any]:
    return {
        "id": str(record.id),
        "old": str(record.old_ref),
        "new": str(record.new_ref),
        "relation": record.judgement.relation.value,
        "confidence": record.judgement.confidence,
        "judge": record.judgement.judge,
        "reasoning": record.judgement.reasoning,
        "at": iso(record.at),
    }
