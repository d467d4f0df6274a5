"""What do the doors show of judgements, and how does a person's answer come in?

A judgement is shown with both statements, because nobody can answer a question of two ids. An agent's key sees the
judgements of what that agent may see, and no others.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from festinger.clock import iso
from festinger.ids import AgentId, SpaceId
from festinger.judge.model import Record
from festinger.judge.records import find, listed
from festinger.memory.changes import find_all
from festinger.memory.conflicts import Answered, answer, answer_of
from festinger.memory.model import Memory

if TYPE_CHECKING:
    from festinger.app.wiring import App


async def judgements(
    app: "App",
    space: SpaceId,
    *,
    final: bool | None = None,
    agent: AgentId | None = None,
    before: UUID | None = None,
    limit: int = 50,
) -> list[dict[str, Any]]:
    """Judgements, the newest first; with an agent, those of what that agent may see."""
    shown: list[dict[str, Any]] = []
    while len(shown) < limit:
        found = await listed(app.memory.judges.desk, space, final=final, before=before, limit=limit)
        shown += await _shown(app, space, found, agent)
        if len(found) < limit:
            break
        before = found[-1].id
    return shown[:limit]


async def judgement(app: "App", space: SpaceId, id_: UUID) -> dict[str, Any]:
    """One judgement. Raises `NotFound`."""
    (found,) = await _shown(app, space, [await find(app.memory.judges.desk, space, id_)], None)
    return found


async def questions(
    app: "App", space: SpaceId, *, agent: AgentId | None = None, limit: int = 50
) -> list[dict[str, Any]]:
    """The pairs that judges have given up on: only a person can tell."""
    most = app.memory.judges.desk.max_tries(space)
    waiting = await judgements(app, space, final=False, agent=agent, limit=limit)
    return [each for each in waiting if each["attempts"] >= most]


async def answer_question(
    app: "App", space: SpaceId, id_: UUID, given: str, *, by: str, note: str = ""
) -> Answered:
    """Keep a person's answer and do what follows. Raises `NotFound`, `BadInput`, `Stale`."""
    said = answer_of(given, by=by, note=note)
    asked = await find(app.memory.judges.desk, space, id_)
    return await answer(app.memory.desk, space, asked, said, by=by)


async def _shown(
    app: "App", space: SpaceId, found: Sequence[Record], agent: AgentId | None
) -> list[dict[str, Any]]:
    async with app.store.transaction() as transaction:
        refs = {ref for record in found for ref in (record.old_ref, record.new_ref)}
        near = {UUID(int=id_.int): each for id_, each in (await find_all(transaction, space, refs)).items()}
    return [_json(record, near) for record in found if agent is None or _may_see(agent, record, near)]


def _may_see(agent: AgentId, record: Record, near: Mapping[UUID, Memory]) -> bool:
    both = [near.get(record.old_ref), near.get(record.new_ref)]
    return all(memory is not None and memory.agent_id in (None, agent) for memory in both)


def _json(record: Record, near: Mapping[UUID, Memory]) -> dict[str, Any]:
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
