"""Lists refused statements and lets a person learn them anyway.

Every refusal is stored with its reason for some days, so that nothing is dropped silently. What a person
picks is learned through `learn` as that person's statement.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from festinger.errors import NotFound, Refused
from festinger.ids import AgentId, Origin, Scope, SessionId, SpaceId
from festinger.memory.deps import MemoryDeps
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import Learned
from festinger.memory.learn.statement import LearnRequest
from festinger.observability.checks import Check, ok_check, warning_check
from festinger.records import record_json, row_mapper
from festinger.store.queries import load_queries

Q = load_queries("festinger.memory")

LOOKED_AT = 200
"""Recent unrequested statements used to check whether too much is refused."""
TOO_MANY = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    id: UUID
    reason: str
    detail: str
    text: str
    agent_id: AgentId
    session_id: SessionId
    origin: Origin
    at: datetime
    learnt_id: UUID | None

    def as_json(self) -> dict[str, Any]:
        return record_json(self, agent_id="agent", session_id="session", learnt_id="learnt")


async def load_page_of_refusals(
    deps: MemoryDeps,
    space: SpaceId,
    *,
    reason: str | None = None,
    before: tuple[datetime, UUID] | None = None,
    limit: int = 50,
) -> list[Refusal]:
    """List refusals, newest first."""
    rows = await deps.store.all(
        Q["refusals"],
        space=space,
        reason=reason,
        at=before[0] if before else None,
        after=before[1] if before else None,
        limit=limit,
    )
    return [_refusal_from_row(row) for row in rows]


async def learn_anyway(deps: MemoryDeps, space: SpaceId, refusal: UUID, *, by: str) -> Learned:
    """Learn a refused statement on behalf of a person. Raises `NotFound`, `Refused`."""
    row = await deps.store.maybe(Q["find_refusal"], space=space, id=refusal)
    if row is None:
        raise NotFound(f"There is no refusal `{refusal}`.")
    found = _refusal_from_row(row)
    if found.learnt_id is not None:
        raise Refused("This was learnt already.", memory=str(found.learnt_id))
    scope = Scope(space=space, agent=found.agent_id, session=SessionId(by))
    learned = await learn(deps, scope, LearnRequest(text=found.text, origin=Origin.PERSON))
    if learned.memory is not None:
        await deps.store.run(Q["mark_learnt"], space=space, id=refusal, memory=learned.memory.id)
    return learned


async def prune_refusals(deps: MemoryDeps, space: SpaceId) -> int:
    """Delete expired refusals; return how many."""
    days = deps.terms(space).memory.refusals_keep_days
    return await deps.store.run(Q["prune_refusals"], space=space, before=deps.clock() - timedelta(days=days))


async def check_refusals(deps: MemoryDeps, spaces: Sequence[SpaceId]) -> Check:
    """Check whether most recent statements of any space were refused."""
    counts = {space: await deps.store.one(Q["refused_lately"], space=space, limit=LOOKED_AT) for space in spaces}
    strict = [
        f"{row['refused']} of the last {row['seen']} statements in `{space}`"
        for space, row in counts.items()
        if row["seen"] >= LOOKED_AT and row["refused"] > TOO_MANY * row["seen"]
    ]
    refused = sum(row["refused"] for row in counts.values())
    seen = sum(row["seen"] for row in counts.values())
    if strict:
        return warning_check(
            "memory.refusals",
            f"Much is refused: {', '.join(strict[:5])}.",
            "Look at it with `festinger refusals`; whatever should have been learnt can be learnt from there.",
            refused=refused,
            seen=seen,
        )
    return ok_check("memory.refusals", f"{refused} of the last {seen} statements were refused.")


_refusal_from_row = row_mapper(Refusal)
