"""Searches memories for a person, with the recall that agents get, and lists what lies near a memory.

Nothing is recorded: a person who looks is no evidence that a memory is true or useful. Someone who sees the whole
space searches for every agent at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from festinger.ids import DEFAULT_AGENT, AgentId, Scope, SpaceId
from festinger.memory.changes import load_existing_memories
from festinger.memory.model import Kind, Memory, Status
from festinger.memory.query import MemoryFilter, list_owners, load_page_of_memories
from festinger.retrieval.query import MOST_ITEMS, IncludableStatus, parse_recall_query
from festinger.retrieval.recall import recall
from festinger.retrieval.result import RecallItem
from festinger.runtime.app import App

NEAREST = 5
RECALLED = frozenset(
    {Status.ACTIVE, *(Status(each.value) for each in IncludableStatus if each is not IncludableStatus.DORMANT)}
)
"""States that recall can look into; the others are searched by words alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHit:
    memory: Memory
    why: str
    weak: bool = False


async def search_memories(
    app: App, space: SpaceId, cue: str, wanted: MemoryFilter, *, agent: AgentId | None, limit: int = 50
) -> list[MemoryHit]:
    """Return the memories that fit a cue, best first; if none is good enough, the nearest, marked as weak."""
    if wanted.statuses and not RECALLED.issuperset(wanted.statuses):
        scope = Scope(space=space, agent=agent or DEFAULT_AGENT)
        asked = replace(wanted, words=cue, everybodys=agent is None)
        found = await load_page_of_memories(app.memory.deps, scope, asked, limit=limit)
        return [MemoryHit(memory=each, why="It has these words.") for each in found]
    hits = await _recall(app, space, cue, wanted, agent=agent, limit=limit)
    if not hits:
        nearest = await _recall(app, space, cue, wanted, agent=agent, limit=NEAREST, ungated=True)
        hits = [replace(each, weak=True) for each in nearest]
    return [each for each in hits if wanted.statuses is None or each.memory.status in wanted.statuses]


async def find_neighbors(app: App, memory: Memory) -> list[MemoryHit]:
    """Return what lies nearest to a memory."""
    wanted = MemoryFilter(statuses=(Status.ACTIVE,))
    return await _recall(
        app,
        memory.space_id,
        memory.content,
        wanted,
        agent=memory.agent_id or DEFAULT_AGENT,
        limit=NEAREST,
        ungated=True,
        exclude=(memory.id,),
    )


async def _recall(
    app: App,
    space: SpaceId,
    cue: str,
    wanted: MemoryFilter,
    *,
    agent: AgentId | None,
    limit: int,
    ungated: bool = False,
    exclude: Sequence[UUID] = (),
) -> list[MemoryHit]:
    statuses = RECALLED if wanted.statuses is None else wanted.statuses
    query = parse_recall_query(
        cue,
        now=app.tools.clock(),
        limit=min(limit, MOST_ITEMS),
        kinds=[kind.value for kind in wanted.kinds or Kind],
        since=wanted.since,
        until=wanted.until,
        subject=wanted.subject,
        tags=(wanted.tag,) if wanted.tag else (),
        origins=[origin.value for origin in wanted.origins] or None,
        include=[each.value for each in IncludableStatus if each.value in {status.value for status in statuses}],
        exclude=tuple(exclude),
        explain=True,
        ungated=ungated,
    )
    agents = [agent] if agent else [*await list_owners(app.memory.deps, space), DEFAULT_AGENT]
    best: dict[UUID, RecallItem] = {}
    for each in dict.fromkeys(agents):
        found = await recall(app.recall.deps, Scope(space=space, agent=each), query, counts=False)
        for item in found.items:
            if item.id not in best or item.score > best[item.id].score:
                best[item.id] = item
    ranked = sorted(best.values(), key=lambda item: -item.score)[:limit]
    async with app.store.transaction() as transaction:
        rows = {UUID(int=id_.int): row for id_, row in (await load_existing_memories(transaction, space, best)).items()}
    return [
        MemoryHit(memory=rows[item.id], why=str((item.why or {}).get("sentence", "")))
        for item in ranked
        if item.id in rows
    ]
