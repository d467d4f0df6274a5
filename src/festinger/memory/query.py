"""Reads memories: pages, filters, history, point-in-time queries and explanations.

Two clocks: `as_of` asks what was believed at a moment, mistakes included and in the words of then; `valid_at`
asks, by present knowledge, what held in the world at a moment. Filters have the same names and values in every interface.
Explanations are read from rows alone, never asked of a model.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from typing import Any, TypeVar
from uuid import UUID

from festinger.clock import aware, iso, read_moment
from festinger.errors import BadInput, NotFound
from festinger.ids import AgentId, MemoryId, Origin, Scope, SpaceId
from festinger.judge.model import JudgementRecord
from festinger.memory.changes import (
    DEPTH,
    LONGEST_CHAIN,
    Ancestor,
    Change,
    MemoryRelation,
    changes_of,
    find_ancestors,
    find_memory,
    load_existing_memories,
)
from festinger.memory.confidence import LOST_A_DAY, LOST_WHEN_STALE, STALE_AFTER_DAYS, STALE_BELOW_READS, Weight
from festinger.memory.deps import MemoryDeps
from festinger.memory.learn.statement import subject_key
from festinger.memory.learn.supersede import find_successors
from festinger.memory.model import Kind, Memory, Status, memory_from_row, parse_kind
from festinger.records import record_json, row_mapper
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Name = TypeVar("Name", bound=StrEnum)

EVERY = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """Filter of a list. `words` uses the syntax of a search box."""

    statuses: Sequence[Status] | None = (Status.ACTIVE,)
    kinds: Sequence[Kind] = ()
    origins: Sequence[Origin] = ()
    subject: str | None = None
    tag: str | None = None
    words: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    """Learned between these."""
    as_of: datetime | None = None
    valid_at: datetime | None = None
    everybodys: bool = False
    """Whether to include other agents' private memories: for people, never for an agent."""

    @property
    def is_dated(self) -> bool:
        return self.as_of is not None or self.valid_at is not None


STANDING = MemoryFilter()


def parse_filter(asked: Mapping[str, str]) -> MemoryFilter:
    """Parse filter parameters, comma-separated. The status defaults to active; `all` means every status."""
    status = asked.get("status")
    statuses = None if status == EVERY else _parse_list(Status, status) if status else STANDING.statuses
    return MemoryFilter(
        statuses=statuses,
        kinds=[parse_kind(each) for each in asked.get("kind", "").split(",") if each],
        origins=_parse_list(Origin, asked.get("origin", "")),
        subject=asked.get("subject"),
        tag=asked.get("tag") or None,
        words=asked.get("q"),
        since=_parse_moment(asked, "since"),
        until=_parse_moment(asked, "until"),
        as_of=_parse_moment(asked, "as_of"),
        valid_at=_parse_moment(asked, "valid_at"),
    )


def _parse_moment(asked: Mapping[str, str], name: str) -> datetime | None:
    # An unescaped `+` of an offset arrives as a space.
    return read_moment(asked[name].replace(" ", "+")) if asked.get(name) else None


def _parse_list(names: type[Name], text: str) -> list[Name]:
    try:
        return [names(each) for each in text.split(",") if each]
    except ValueError as error:
        known = ", ".join(f"`{each}`" for each in names)
        raise BadInput(f"`{text[:40]}` is no {names.__name__.lower()}.", hint=f"Say {known}.") from error


Q = load_queries("festinger.memory")

LONGEST_PAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHistory:
    """A memory and what it replaced, newest first, with all their changes, oldest first."""

    memories: tuple[Memory, ...]
    changes: tuple[Change, ...]

    def as_json(self) -> dict[str, Any]:
        return record_json(self)


async def get_memory(
    deps: MemoryDeps, scope: Scope, memory: UUID, *, as_of: datetime | None = None, valid_at: datetime | None = None
) -> Memory:
    """Return a memory if the agent may see it and it was believed and valid at the given times."""
    async with deps.store.transaction() as transaction:
        found = require_visible(scope, await find_memory(transaction, scope.space, memory))
        is_asked_of_now = as_of is None and valid_at is None
        if not is_asked_of_now and not await find_believed_ids(
            deps, transaction, scope.space, [memory], as_of=as_of, valid_at=valid_at
        ):
            raise NotFound("This was not believed, or did not hold, at that moment.")
        [found] = await _reword_as_of(transaction, [found], as_of)
    deps.on_read(scope, [found.id])
    return found


def require_visible(scope: Scope, memory: Memory) -> Memory:
    """Raise `NotFound` for another agent's private memory."""
    if memory.agent_id not in (None, scope.agent):
        raise NotFound(f"There is no memory `{memory.id}`.")
    return memory


async def find_believed_ids(
    deps: MemoryDeps,
    transaction: Transaction,
    space: SpaceId,
    memories: Iterable[UUID],
    *,
    as_of: datetime | None = None,
    valid_at: datetime | None = None,
) -> set[MemoryId]:
    """Return which of the given memories were believed at one time and valid at another."""
    rows = await transaction.all(
        Q["believed"],
        space=space,
        memories=list(memories),
        as_of=_require_past(deps, as_of),
        valid_at=aware(valid_at) if valid_at else None,
    )
    return {row["id"] for row in rows}


async def find_wordings_at(
    transaction: Transaction, space: SpaceId, memories: Iterable[UUID], as_of: datetime
) -> dict[MemoryId, dict[str, Any]]:
    """Return the wording columns at a moment of those memories that were edited since."""
    rows = await transaction.all(Q["wordings_at"], space=space, memories=list(memories), as_of=aware(as_of))
    marks = ("fold", "gist")
    return {row["id"]: row["words"] | {name: bytes.fromhex(row["words"][name]) for name in marks} for row in rows}


async def _reword_as_of(transaction: Transaction, found: Sequence[Memory], as_of: datetime | None) -> list[Memory]:
    """Return memories in the words that they had at a moment."""
    if as_of is None or not found:
        return list(found)
    words = await find_wordings_at(transaction, found[0].space_id, [memory.id for memory in found], as_of)
    derived: dict[str, Any] = {"content_contextualized": None, "compressed": None}
    return [replace(each, **words[each.id], **derived) if each.id in words else each for each in found]


def _require_past(deps: MemoryDeps, as_of: datetime | None) -> datetime | None:
    if as_of is None:
        return None
    at = aware(as_of)
    if at > deps.clock():
        raise BadInput("What will be believed in the future is not known.", hint="Give a moment in the past.")
    return at


async def load_page_of_memories(
    deps: MemoryDeps, scope: Scope, wanted: MemoryFilter = STANDING, *, after: int | None = None, limit: int = 50
) -> list[Memory]:
    """List memories visible to an agent, newest first. A point in time overrides the status filter."""
    most = min(limit, LONGEST_PAGE)
    kept: list[Memory] = []
    async with deps.store.transaction() as transaction:
        while len(kept) < most:
            found = await _list_rows(deps, transaction, scope, wanted, after=after, limit=most)
            kept += await _restore_as_of(deps, transaction, scope, wanted, found)
            if len(found) < most:
                break
            # Some of these may not have been believed then: continue until the page is full.
            after = found[-1].seq
    return kept[:most]


async def load_brief_sections(
    deps: MemoryDeps, scope: Scope, topic: str | None = None, *, limit: int, known: bool = True
) -> dict[str, list[Memory]]:
    """Load the heaviest active memories of each section, about a topic or of the newest; with `known` also what has no
    section of its own. Raises `StoreDown`."""
    agent: dict[str, Any] = {"space": scope.space, "agent": scope.agent, "limit": limit}
    if topic:
        rows = await deps.store.all(Q["brief_of_topic"], topic=topic, subject=subject_key(topic), **agent)
    else:
        rows = await deps.store.all(Q["brief_of_newest"], newest=NEWEST, others=NEWEST if known else 0, **agent)
    found: dict[str, list[Memory]] = {}
    for row in rows:
        found.setdefault(row["section"], []).append(memory_from_row(row))
    return found


async def list_heaviest_memories(deps: MemoryDeps, scope: Scope, n: int) -> list[tuple[Memory, float]]:
    """List the memories that an agent holds most deeply, with the center of their weight after decay."""
    rows = await deps.store.all(
        Q["heaviest"],
        space=scope.space,
        agent=scope.agent,
        at=deps.clock(),
        lost_a_day=LOST_A_DAY,
        stale_after=STALE_AFTER_DAYS,
        stale_below=STALE_BELOW_READS,
        lost_when_stale=LOST_WHEN_STALE,
        limit=n,
    )
    return [(memory_from_row(row), row["center"]) for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCauses:
    """The distinct causes that are evidence for a memory, one sighting of each, and the days that they span."""

    sightings: tuple[UUID, ...] = ()
    origins: tuple[Origin, ...] = ()
    days: int = 0

    @property
    def count(self) -> int:
        return len(self.sightings)


_map_causes = row_mapper(MemoryCauses)


async def load_causes(
    transaction: Transaction, space: SpaceId, memories: Iterable[UUID], *, spent: Iterable[UUID] = ()
) -> dict[MemoryId, MemoryCauses]:
    """Load the causes of memories; of what was derived, those of its sources. Sightings in `spent` do not count."""
    rows = await transaction.all(Q["causes_of"], space=space, memories=list(memories), spent=list(spent))
    return {row["memory_id"]: _map_causes(row) for row in rows}


async def _list_rows(
    deps: MemoryDeps, transaction: Transaction, scope: Scope, wanted: MemoryFilter, *, after: int | None, limit: int
) -> list[Memory]:
    rows = await transaction.all(
        Q["page"],
        **_filter_parameters(scope, wanted),
        words=wanted.words,
        as_of=_require_past(deps, wanted.as_of),
        after=after,
        limit=limit,
    )
    return [memory_from_row(row) for row in rows]


def _filter_parameters(scope: Scope, wanted: MemoryFilter) -> dict[str, Any]:
    statuses = None if wanted.is_dated else wanted.statuses
    return {
        "space": scope.space,
        "agent": None if wanted.everybodys else scope.agent,
        "statuses": None if statuses is None else [status.value for status in statuses],
        "kinds": [kind.value for kind in wanted.kinds] or None,
        "origins": [origin.value for origin in wanted.origins] or None,
        "subject": subject_key(wanted.subject),
        "tag": wanted.tag,
        "since": wanted.since,
        "until": wanted.until,
    }


async def browse_memories(
    deps: MemoryDeps,
    scope: Scope,
    wanted: MemoryFilter = STANDING,
    *,
    before: tuple[datetime, UUID] | None = None,
    limit: int = 50,
) -> list[Memory]:
    """List memories for a person, latest first; `before` is the time and id of the last one shown."""
    at, after = before or (None, None)
    rows = await deps.store.all(Q["browse"], **_filter_parameters(scope, wanted), at=at, after=after, limit=limit)
    return [memory_from_row(row) for row in rows]


MOST_OWNERS = 50
MOST_WEIGHED = 5_000
"""Memories that a histogram counts."""


async def count_memories_by_weight(deps: MemoryDeps, space: SpaceId) -> list[int]:
    """Count the newest active memories by weight, in ten steps from 0 to 1."""
    return [row["memories"] for row in await deps.store.all(Q["weight_histogram"], space=space, newest=MOST_WEIGHED)]


async def list_owners(deps: MemoryDeps, space: SpaceId) -> list[AgentId]:
    """List the agents that have memories of their own."""
    return [AgentId(row["id"]) for row in await deps.store.all(Q["owners"], space=space, limit=MOST_OWNERS)]


async def list_subjects(
    deps: MemoryDeps, space: SpaceId, *, agent: AgentId | None = None, after: str = "", limit: int = 100
) -> list[dict[str, Any]]:
    """List what live memories are about, with how many there are of each, in order of the alphabet."""
    rows = await deps.store.all(Q["subjects"], space=space, agent=agent, after=after, limit=limit)
    return [dict(row) for row in rows]


async def load_memories_about(
    deps: MemoryDeps, space: SpaceId, subject: str, *, agent: AgentId | None = None, limit: int = 200
) -> list[Memory]:
    """Load the live memories of a subject, those that wait for a decision included."""
    rows = await deps.store.all(Q["about"], space=space, subject=subject_key(subject), agent=agent, limit=limit)
    return [memory_from_row(row) for row in rows]


async def count_daily_by_kind(deps: MemoryDeps, space: SpaceId, since: datetime) -> list[dict[str, Any]]:
    """Count the memories that came on each day, by kind."""
    return [dict(row) for row in await deps.store.all(Q["daily_kinds"], space=space, since=since)]


async def _restore_as_of(
    deps: MemoryDeps, transaction: Transaction, scope: Scope, wanted: MemoryFilter, found: Sequence[Memory]
) -> list[Memory]:
    if not wanted.is_dated:
        return list(found)
    ids = [memory.id for memory in found]
    moments = {"as_of": wanted.as_of, "valid_at": wanted.valid_at}
    held = await find_believed_ids(deps, transaction, scope.space, ids, **moments)
    return await _reword_as_of(transaction, [memory for memory in found if memory.id in held], wanted.as_of)


async def find_current_version(deps: MemoryDeps, scope: Scope, memory: UUID) -> Memory:
    """Return the end of the supersession chain of a memory."""
    async with deps.store.transaction() as transaction:
        found = require_visible(scope, await find_memory(transaction, scope.space, memory))
        later = await find_successors(transaction, scope.space, memory)
    return later[-1] if later else found


async def load_history(deps: MemoryDeps, scope: Scope, memory: UUID) -> MemoryHistory:
    """Return a memory, everything it replaced, and all their changes."""
    async with deps.store.transaction() as transaction:
        found = require_visible(scope, await find_memory(transaction, scope.space, memory))
        rows = await transaction.all(Q["chain_back"], space=scope.space, memory=memory, depth=LONGEST_CHAIN)
        chain = (found, *(memory_from_row(row) for row in rows))
        changes = await changes_of(transaction, scope.space, [each.id for each in chain])
    return MemoryHistory(memories=chain, changes=tuple(changes))


MOST_SIGHTINGS = 200
NEWEST = 500
"""Memories of a kind among which the heaviest are looked for where there is no topic: a brief reads no whole table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySighting:
    """One time that a memory was stated."""

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


_map_sighting = row_mapper(MemorySighting, agent="agent_id", session="session_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustStep:
    """One step in the chain of sources behind a memory's trust."""

    id: UUID
    depth: int
    trust: float | None
    content: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """What a memory rests on."""

    memory: Memory
    said: tuple[MemorySighting, ...]
    derives_from: tuple[Memory, ...]
    supports: tuple[Memory, ...]
    """What derives from it."""
    supersedes: tuple[Memory, ...]
    superseded_by: Memory | None
    judgements: tuple[JudgementRecord, ...]
    outcomes: tuple[Any, ...]
    changes: tuple[Change, ...]
    trust_line: tuple[TrustStep, ...]

    @property
    def claim(self) -> str:
        return self.memory.content

    @property
    def origin(self) -> Origin:
        return self.memory.origin

    @property
    def causes(self) -> tuple[MemorySighting, ...]:
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
        judgements = [_judgement_json(record) for record in self.judgements]
        return record_json(self, hide=("judgements",)) | {"judgements": judgements}


async def explain_belief(deps: MemoryDeps, scope: Scope, memory: UUID) -> Why:
    """Return everything that a belief rests on."""
    async with deps.store.transaction() as transaction:
        found = require_visible(scope, await find_memory(transaction, scope.space, memory))
        links = await transaction.all(Q["links_of"], space=scope.space, memory=memory)
        line = await find_ancestors(transaction, scope.space, [memory], depth=DEPTH)
        ids = {each["from_id"] for each in links} | {each["to_id"] for each in links}
        ids |= {each.id for each in line} | ({found.superseded_by} if found.superseded_by else set())
        near = await load_existing_memories(transaction, scope.space, ids)
        sightings = await list_sightings(transaction, scope.space, found.id)
        changes = await changes_of(transaction, scope.space, [memory])
    return Why(
        memory=found,
        said=sightings,
        derives_from=_select_linked(links, near, found.id, MemoryRelation.DERIVES_FROM),
        supports=_select_linked(links, near, found.id, MemoryRelation.DERIVES_FROM, backwards=True),
        supersedes=_select_linked(links, near, found.id, MemoryRelation.SUPERSEDES),
        superseded_by=near.get(found.superseded_by) if found.superseded_by else None,
        judgements=tuple(await deps.panel.said_of(scope.space, memory)),
        outcomes=await deps.outcomes_of(scope.space, found.id),
        changes=tuple(changes),
        trust_line=(
            TrustStep(id=found.id, depth=0, trust=found.trust, content=found.content),
            *_build_trust_steps(line, near),
        ),
    )


async def list_sightings(
    transaction: Transaction, space: SpaceId, memory: MemoryId, *, limit: int = MOST_SIGHTINGS
) -> tuple[MemorySighting, ...]:
    """List the sightings of a memory."""
    rows = await transaction.all(Q["sightings_of"], space=space, memory=memory, limit=limit)
    return tuple(map(_map_sighting, rows))


def _select_linked(
    links: list[dict[str, Any]],
    near: Mapping[MemoryId, Memory],
    memory: MemoryId,
    relation: MemoryRelation,
    *,
    backwards: bool = False,
) -> tuple[Memory, ...]:
    this, other = ("to_id", "from_id") if backwards else ("from_id", "to_id")
    ids = [each[other] for each in links if each["relation"] == relation and each[this] == memory]
    return tuple(near[each] for each in ids if each in near)


def _build_trust_steps(line: list[Ancestor], near: Mapping[MemoryId, Memory]) -> tuple[TrustStep, ...]:
    known = {UUID(int=id_.int): memory.content for id_, memory in near.items()}
    return tuple(TrustStep(id=each.id, depth=each.depth, trust=each.trust, content=known.get(each.id)) for each in line)


def _judgement_json(record: JudgementRecord) -> dict[str, Any]:
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
