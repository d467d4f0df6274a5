"""Effect of an approved proposal to decompose a dimension.

Both edges of a conflict get a dimension of their own and the conflict is decided; undoing restores the edge
and reopens the conflict. Both are operations of the package `world`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from festinger.errors import NoSuchConflict
from festinger.proposals.verdicts.effects import Afterwards, EffectContext, EffectPreview, EffectResult, require_text
from festinger.runtime.effects.memories import payload_id
from festinger.store.pool import NestedStore
from festinger.world.conflicts import PENDING, find_conflict
from festinger.world.decisions import (
    ConflictDecision,
    ConflictJudge,
    ConflictVerdict,
    decide_conflict,
    parse_dimension_name,
    undo_conflict_decision,
)
from festinger.world.model import WorldDeps, null_follow


class DecompositionEffect:
    def __init__(self, deps: WorldDeps) -> None:
        self._deps = deps

    def check(self, payload: Mapping[str, Any]) -> None:
        payload_id(payload, "conflict_id")
        for name in ("existing_dimension", "new_dimension"):
            parse_dimension_name(require_text(payload, name))

    async def look(self, operation: EffectContext) -> EffectPreview:
        id_ = payload_id(operation.payload, "conflict_id")
        try:
            found = await find_conflict(operation.transaction, operation.space, id_)
        except NoSuchConflict:
            return EffectPreview(gone=(f"conflict:{id_}",))
        names = [str(operation.payload.get(name, "?")) for name in ("existing_dimension", "new_dimension")]
        return EffectPreview(
            versions={f"conflict:{id_}": f"{found.status}:{found.existing_parent_id}"},
            is_done=found.status != PENDING,
            payload=operation.payload,
            says=f"Lets both stand: what is there as `{names[0]}`, the new one as `{names[1]}`.",
        )

    async def apply(self, operation: EffectContext) -> EffectResult:
        verdict = ConflictVerdict(
            decision=ConflictDecision.DECOMPOSE,
            judge=ConflictJudge.PERSON,
            by=operation.by,
            existing_dimension=require_text(operation.payload, "existing_dimension"),
            new_dimension=require_text(operation.payload, "new_dimension"),
            reasoning=operation.proposal.why[:500],
        )
        id_ = payload_id(operation.payload, "conflict_id")
        done = await decide_conflict(self._joined(operation), operation.space, id_, verdict)
        places: Mapping[str, Any] = done.resolution or {}
        return EffectResult(
            before={"conflict": str(id_), "status": PENDING, "places": places.get("before", [])},
            after={"conflict": str(id_), "status": done.status, "places": places.get("after", [])},
            changes=(f"conflict:{id_}",),
            afterwards=self._afterwards(operation),
        )

    async def undo(self, operation: EffectContext, applied: EffectResult) -> Afterwards:
        id_ = payload_id(applied.after, "conflict")
        await undo_conflict_decision(self._joined(operation), operation.space, id_, by=operation.by)
        return self._afterwards(operation)

    def _joined(self, operation: EffectContext) -> WorldDeps:
        # The caches of this process follow after the commit, not before.
        return replace(self._deps, store=NestedStore(operation.transaction), follow=null_follow)

    def _afterwards(self, operation: EffectContext) -> Afterwards:
        async def follow() -> None:
            await self._deps.follow(operation.space)

        return follow
