"""Collects what waits for a person in other packages, and handles open judgements.

Counts and names conflicts, unsure pairs, quarantined statements and memories, held sessions, suggested pairs
and tasks, each with a link to where it is decided. A judgement is shown with both statements, because nobody
can answer a question about two ids; an agent's key sees only judgements of what that agent may see.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from festinger.clock import iso
from festinger.ids import DEFAULT_AGENT, AgentId, Scope, SpaceId
from festinger.judge.model import JudgementRecord
from festinger.judge.records import find_judgement, load_judgements
from festinger.memory.changes import MemoryChangeOp, list_changes, load_existing_memories
from festinger.memory.conflicts import PairAnswerResult, apply_pair_answer, parse_pair_answer
from festinger.memory.health import count_waiting
from festinger.memory.model import Memory, Status
from festinger.memory.query import MemoryFilter, load_page_of_memories
from festinger.proposals.deps import ProposalDeps
from festinger.proposals.inbox import PendingGroup, PendingItem, Sources
from festinger.proposals.pairs import list_suggested_pairs
from festinger.proposals.verdicts.tasks import list_tasks
from festinger.world.conflicts import PENDING, Conflict, count_pending, load_conflicts
from festinger.world.quarantine import list_quarantined_sessions, load_quarantine

if TYPE_CHECKING:
    from festinger.runtime.app import App


async def fetch_judgements(
    app: "App",
    space: SpaceId,
    *,
    final: bool | None = None,
    agent: AgentId | None = None,
    before: UUID | None = None,
    limit: int = 50,
) -> list[dict[str, Any]]:
    """Return judgements, newest first; with an agent, only those of what it may see."""
    shown: list[dict[str, Any]] = []
    while len(shown) < limit:
        found = await load_judgements(app.memory.judges.deps, space, final=final, before=before, limit=limit)
        shown += await _shown(app, space, found, agent)
        if len(found) < limit:
            break
        before = found[-1].id
    return shown[:limit]


async def fetch_judgement(app: "App", space: SpaceId, id_: UUID) -> dict[str, Any]:
    """Return one judgement. Raises `NotFound`."""
    (found,) = await _shown(app, space, [await find_judgement(app.memory.judges.deps, space, id_)], None)
    return found


async def fetch_open_questions(
    app: "App", space: SpaceId, *, agent: AgentId | None = None, limit: int = 50
) -> list[dict[str, Any]]:
    """Return the pairs that judges have given up on: only a person can tell."""
    most = app.memory.judges.deps.max_tries(space)
    waiting = await fetch_judgements(app, space, final=False, agent=agent, limit=limit)
    return [each for each in waiting if each["attempts"] >= most]


async def answer_question(
    app: "App", space: SpaceId, id_: UUID, given: str, *, by: str, note: str = ""
) -> PairAnswerResult:
    """Store a person's answer and apply it. Raises `NotFound`, `BadInput`, `Stale`."""
    said = parse_pair_answer(given, by=by, note=note)
    asked = await find_judgement(app.memory.judges.deps, space, id_)
    return await apply_pair_answer(app.memory.deps, space, asked, said, by=by)


async def _shown(
    app: "App", space: SpaceId, found: Sequence[JudgementRecord], agent: AgentId | None
) -> list[dict[str, Any]]:
    async with app.store.transaction() as transaction:
        refs = {ref for record in found for ref in (record.old_ref, record.new_ref)}
        near = {
            UUID(int=id_.int): each for id_, each in (await load_existing_memories(transaction, space, refs)).items()
        }
    return [_json(record, near) for record in found if agent is None or _may_see(agent, record, near)]


def _may_see(agent: AgentId, record: JudgementRecord, near: Mapping[UUID, Memory]) -> bool:
    both = [near.get(record.old_ref), near.get(record.new_ref)]
    return all(memory is not None and memory.agent_id in (None, agent) for memory in both)


def _json(record: JudgementRecord, near: Mapping[UUID, Memory]) -> dict[str, Any]:
    said = record.judgement
    return {
        "id": str(record.id),
        "old": _statement(record.old_ref, near),
        "new": _statement(record.new_ref, near),
        "relation": said.relation.value,
        "current": said.current.value,
        "confidence": said.confidence,
        "judge": said.judge,
        "reasoning": said.reasoning,
        "guards": [guard.value for guard in said.guards],
        "final": said.final,
        "attempts": record.attempts,
        "next_try": iso(record.next_try) if record.next_try else None,
        "at": iso(record.at),
        "overruled_by": str(record.overruled_by) if record.overruled_by else None,
    }


def _statement(ref: UUID, near: Mapping[UUID, Memory]) -> dict[str, Any]:
    memory = near.get(ref)
    return {"id": str(ref), "content": memory.content if memory else None}


MOST = 200
"""The most items of one kind that are counted; with more, this number is shown."""

CONFLICTS, WORLD, MEMORIES, INBOX = "/admin/conflicts", "/admin/world", "/admin/memories", "/admin/inbox"


def build_waiting_sources(app: "App", deps: ProposalDeps) -> Sources:
    """Build the sources of what waits, in the order in which they are shown."""
    return (
        partial(_conflicts, app),
        partial(_collect_questions, app),
        partial(_collect_quarantined_statements, app),
        partial(_collect_held_sessions, app),
        partial(_collect_quarantined_memories, app),
        partial(_pairs, deps),
        partial(_tasks, deps),
    )


async def _conflicts(app: "App", space: SpaceId, limit: int) -> PendingGroup:
    found = await load_conflicts(app.world.deps, space, statuses=(PENDING,), limit=limit)
    count = await count_pending(app.world.deps, space)
    async with app.store.transaction() as transaction:
        ids = {ref for each in found for ref in (each.old_memory, each.new_memory) if ref is not None}
        memories = await load_existing_memories(transaction, space, ids)
    # Agents may list what waits, and must not read what is another's own.
    texts = {id_: f"a memory of {each.agent_id}" if each.agent_id else each.content for id_, each in memories.items()}
    return PendingGroup(kind="conflicts", count=count, items=tuple(_conflict_item(each, texts) for each in found))


async def _collect_questions(app: "App", space: SpaceId, limit: int) -> PendingGroup:
    items = (
        PendingItem(
            id=each["id"],
            title=f"{each['old']['content']} / {each['new']['content']}",
            why="no judge was sure",
            link=CONFLICTS,
        )
        for each in await fetch_open_questions(app, space, limit=MOST)
    )
    return _pending_group("questions", items, limit=limit)


async def _collect_quarantined_statements(app: "App", space: SpaceId, limit: int) -> PendingGroup:
    items = (
        PendingItem(
            id=str(each.id),
            title=f"{each.concept} {'is a' if each.is_isa else 'is part of'} {each.parent} ({each.dim})",
            why=f"nobody vouches for it; it comes from a {each.origin}",
            link=WORLD,
        )
        for each in await load_quarantine(app.world.deps, space, limit=MOST)
    )
    return _pending_group("quarantined statements", items, limit=limit)


async def _collect_held_sessions(app: "App", space: SpaceId, limit: int) -> PendingGroup:
    items = (
        PendingItem(
            id=each.session_id,
            title=f"session {each.session_id}",
            why=f"contradicted {each.collisions} well-established facts",
            link=WORLD,
        )
        for each in await list_quarantined_sessions(app.world.deps, space)
    )
    return _pending_group("held sessions", items, limit=limit)


async def _pairs(deps: ProposalDeps, space: SpaceId, limit: int) -> PendingGroup:
    items = (
        PendingItem(
            id=str(row["id"]),
            title=f"{row['a_what']} / {row['b_what']}",
            why="these may be one" if row["relation"] == "same" else "these oppose each other",
            link=INBOX,
        )
        for row in await list_suggested_pairs(deps, space, limit=MOST)
    )
    return _pending_group("pairs", items, limit=limit)


async def _tasks(deps: ProposalDeps, space: SpaceId, limit: int) -> PendingGroup:
    found = await list_tasks(deps, space, limit=MOST)
    items = (PendingItem(id=str(each.id), title=each.title, why="approved advice", link=INBOX) for each in found)
    return _pending_group("tasks", items, limit=limit)


async def _collect_quarantined_memories(app: "App", space: SpaceId, limit: int) -> PendingGroup:
    """Collect quarantined memories, each with the reason for its quarantine."""
    scope = Scope(space=space, agent=DEFAULT_AGENT)
    wanted = MemoryFilter(statuses=(Status.QUARANTINED,), everybodys=True)
    found = await load_page_of_memories(app.memory.deps, scope, wanted, limit=limit)
    count = (await count_waiting(app.memory.deps, space))["quarantined"]
    items = [await _quarantined_memory_item(app, space, each) for each in found]
    return PendingGroup(kind="quarantined memories", count=count, items=tuple(items))


async def _quarantined_memory_item(app: "App", space: SpaceId, memory: Memory) -> PendingItem:
    changes = await list_changes(app.memory.deps, space, ops=(MemoryChangeOp.QUARANTINE,), memory=memory.id, limit=1)
    why = changes[0].reason if changes else ""
    return PendingItem(id=str(memory.id), title=memory.content, why=why, link=f"{MEMORIES}/{memory.id}")


def _conflict_item(conflict: Conflict, texts: Mapping[Any, str]) -> PendingItem:
    if conflict.about == "memory":
        title = " / ".join(texts.get(ref, "a forgotten memory") for ref in (conflict.old_memory, conflict.new_memory))
    else:
        title = f"{conflict.concept} ({conflict.dimension}): {conflict.existing_parent} / {conflict.incoming_parent}"
    return PendingItem(
        id=str(conflict.id), title=title, why=conflict.reason or "both cannot stand", link=f"{CONFLICTS}/{conflict.id}"
    )


def _pending_group(kind: str, items: Iterable[PendingItem], *, limit: int) -> PendingGroup:
    listed = tuple(items)
    return PendingGroup(kind=kind, count=len(listed), items=listed[:limit])
