"""Selects the memories and sightings that an erasure or a repair affects.

By ids, subject or words; or by where they came from: a source, a session, an agent, an origin, within a time
range.
A memory that was also said elsewhere loses only the sightings selected here.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.errors import BadInput
from festinger.ids import AgentId, MemoryId, Origin, SessionId, SpaceId
from festinger.memory.learn.statement import subject_key
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureSelector:
    """A filter in which all given fields must match."""

    ids: tuple[MemoryId, ...] = ()
    subject: str | None = None
    query: str | None = None
    source: str | None = None
    session: SessionId | None = None
    agent: AgentId | None = None
    origin: Origin | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def names_memories(self) -> bool:
        return bool(self.ids or self.subject or self.query)

    @property
    def has_provenance(self) -> bool:
        return bool(self.source or self.session or self.agent or self.origin)

    @property
    def provenance_parameters(self) -> dict[str, Any]:
        """Origin and time range as query parameters."""
        return {
            "source": self.source,
            "session": self.session,
            "agent": self.agent,
            "origin": self.origin.value if self.origin else None,
            "since": self.since,
            "until": self.until,
        }

    def checked(self) -> "ErasureSelector":
        if not (self.names_memories or self.has_provenance):
            raise BadInput(
                "Nothing was named that could be meant.",
                hint="Name ids, a subject, a query, a source, a session, an agent or an origin.",
            )
        if self.since and self.until and self.since >= self.until:
            raise BadInput("The time that was named ends before it begins.")
        return self

    def as_json(self) -> dict[str, Any]:
        """Return where things came from, for the log. Words of queries are left out."""
        named = {"source": self.source, "session": self.session, "agent": self.agent, "origin": self.origin}
        times = {"since": self.since, "until": self.until}
        return {name: str(value) for name, value in (named | times).items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureTargets:
    """The selection: whole memories, and single sightings of memories that were also said elsewhere."""

    whole: frozenset[MemoryId]
    sightings: Mapping[MemoryId, tuple[UUID, ...]]
    """By the memory that holds them now, including whole ones."""
    with_twins: bool = False
    """Whether duplicates are included: naming a memory means its content."""
    episodes: frozenset[UUID] = frozenset()
    """Episodes that are fully selected, with everything said in them."""
    cited: frozenset[UUID] = frozenset()
    """Other ids to erase in packages that cite memories, turns and episodes."""

    @property
    def trimmed(self) -> list[MemoryId]:
        return sorted(set(self.sightings) - self.whole)


async def find_erasure_targets(transaction: Transaction, space: SpaceId, selector: ErasureSelector) -> ErasureTargets:
    """Resolve a selector. A memory that nobody else said is selected as a whole."""
    selector = selector.checked()
    named = await _find_named_ids(transaction, space, selector) if selector.names_memories else None
    if not selector.has_provenance:
        return ErasureTargets(whole=frozenset(named or ()), sightings={}, with_twins=True)
    rows = await transaction.all(Q["said_there"], space=space, **selector.provenance_parameters)
    chosen = [row for row in rows if named is None or row["home"] in named]
    there = Counter(row["home"] for row in chosen)
    held = sorted({row["memory_id"] for row in chosen})
    totals = await transaction.all(Q["sightings_by_home"], space=space, memories=held) if held else []
    sightings: dict[MemoryId, list[UUID]] = {}
    for row in chosen:
        sightings.setdefault(row["memory_id"], []).append(row["id"])
    return ErasureTargets(
        whole=frozenset(row["home"] for row in totals if there[row["home"]] == row["said"]),
        sightings={memory: tuple(ids) for memory, ids in sightings.items()},
        episodes=await _episodes(transaction, space, selector),
    )


async def _episodes(transaction: Transaction, space: SpaceId, selector: ErasureSelector) -> frozenset[UUID]:
    """Return the fully selected episodes: none if an origin or a memory narrows the selection."""
    if selector.names_memories or selector.origin:
        return frozenset()
    rows = await transaction.all(Q["episodes_there"], space=space, **selector.provenance_parameters)
    return frozenset(row["id"] for row in rows)


async def _find_named_ids(transaction: Transaction, space: SpaceId, selector: ErasureSelector) -> Sequence[MemoryId]:
    rows = await transaction.all(
        Q["named_memories"],
        space=space,
        memories=list(selector.ids) or None,
        subject=subject_key(selector.subject),
        words=selector.query,
    )
    return [row["id"] for row in rows]


async def find_source_message_ids(transaction: Transaction, space: SpaceId, source: str) -> tuple[str, ...]:
    """Return the messages that contain a source."""
    rows = await transaction.all(Q["messages_there"], space=space, source=source)
    return tuple(row["message"] for row in rows)
