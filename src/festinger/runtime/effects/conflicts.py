"""What does a yes to parting a dimension do?

Both edges of a conflict get a dimension of their own and the conflict is decided; undoing restores the edge and lets
the conflict wait again. Both are decisions of the room `world`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from festinger.errors import NoSuchConflict
from festinger.proposals.verdicts.effects import Afterwards, Applied, Deed, Look, text_in
from festinger.runtime.effects.memories import id_in
from festinger.store.pool import Joined
from festinger.world.conflicts import PENDING, find_conflict
from festinger.world.decisions import Decision, Judge, Verdict, decide, dimension_name, undo
from festinger.world.model import Desk, follow_nothing


class DimensionDecomposition:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def check(self, payload: Mapping[str, Any]) -> None:
        id_in(payload, "conflict_id")
        for name in ("existing_dimension", "new_dimension"):
            dimension_name(text_in(payload, name))

    async def look(self, deed: Deed) -> Look:
        id_ = id_in(deed.payload, "conflict_id")
        try:
            found = await find_conflict(deed.transaction, deed.space, id_)
        except NoSuchConflict:
            return Look(gone=(f"conflict:{id_}",))
        names = [str(deed.payload.get(name, "?")) for name in ("existing_dimension", "new_dimension")]
        return Look(
            versions={f"conflict:{id_}": f"{found.status}:{found.existing_parent_id}"},
            is_done=found.status != PENDING,
            payload=deed.payload,
            says=f"Lets both stand: what is there as `{names[0]}`, the new one as `{names[1]}`.",
        )

    async def apply(self, deed: Deed) -> Applied:
        verdict = Verdict(
            decision=Decision.DECOMPOSE,
            judge=Judge.PERSON,
            by=deed.by,
            existing_dimension=text_in(deed.payload, "existing_dimension"),
            new_dimension=text_in(deed.payload, "new_dimension"),
            reasoning=deed.proposal.why[:500],
        )
        id_ = id_in(deed.payload, "conflict_id")
        done = await decide(self._joined(deed), deed.space, id_, verdict)
        places: Mapping[str, Any] = done.resolution or {}
        return Applied(
            before={"conflict": str(id_), "status": PENDING, "places": places.get("before", [])},
            after={"conflict": str(id_), "status": done.status, "places": places.get("after", [])},
            changes=(f"conflict:{id_}",),
            afterwards=self._afterwards(deed),
        )

    async def undo(self, deed: Deed, applied: Applied) -> Afterwards:
        id_ = id_in(applied.after, "conflict")
        await undo(self._joined(deed), deed.space, id_, by=deed.by)
        return self._afterwards(deed)

    def _joined(self, deed: Deed) -> Desk:
        # What this process holds in memory follows once the whole is in force, not before.
        return replace(self._desk, store=Joined(deed.transaction), follow=follow_nothing)

    def _afterwards(self, deed: Deed) -> Afterwards:
        async def follow() -> None:
            await self._desk.follow(deed.space)

        return follow
