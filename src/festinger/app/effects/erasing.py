"""How is it asked that something be forgotten, and what does a yes to that do?

An agent may only ask, of what it sees itself, and names it by its id: a request must not say again what is to be
forgotten. A yes forgets, with the person who said it as author. That cannot be taken back, and what is kept of it are
ids alone.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from festinger.app.effects.naming import ids_in, look_at
from festinger.errors import UndoBlocked
from festinger.memory.changes import find, find_all
from festinger.memory.deps import Desk
from festinger.memory.erasure.erase import Eraser, forget_in
from festinger.memory.erasure.selector import Selector, reach
from festinger.memory.model import Place
from festinger.memory.query import seen_by
from festinger.proposals.model import Type
from festinger.proposals.verdicts.effects import Afterwards, Applied, Deed, Look, text_in
from festinger.store.pool import Joined

CATEGORY, SCOPE = "safety", "memory"


async def request_to_forget(desk: Desk, place: Place, memory: UUID, *, reason: str) -> dict[str, Any]:
    """What is to be proposed so that a memory is forgotten. One that this agent does not see is `NotFound`."""
    async with desk.store.transaction() as transaction:
        found = seen_by(place, await find(transaction, place.space, memory))
    return {
        "what": f"Forget memory {found.id}",
        "category": CATEGORY,
        "scope": SCOPE,
        "type": Type.FORGET_REQUEST.value,
        "why": reason,
        "payload": {"memory_ids": [str(found.id)], "reason": reason},
    }


class ForgetRequest:
    def __init__(self, eraser: Eraser) -> None:
        self._eraser = eraser

    def check(self, payload: Mapping[str, Any]) -> None:
        ids_in(payload, "memory_ids")
        text_in(payload, "reason")

    async def look(self, deed: Deed) -> Look:
        ids = ids_in(deed.payload, "memory_ids")
        found = await find_all(deed.transaction, deed.space, ids)
        says = "Forgets these memories and all that derives from them. This cannot be undone."
        seen = look_at(ids, found, payload=deed.payload, says=says)
        return replace(seen, is_forgotten=not found, gone=seen.gone if not found else ())

    async def apply(self, deed: Deed) -> Applied:
        ids = tuple(ids_in(deed.payload, "memory_ids"))
        meant = await reach(deed.transaction, deed.space, Selector(ids=ids))
        joined = replace(self._eraser.desk, store=Joined(deed.transaction))
        plan = await forget_in(
            replace(self._eraser, desk=joined),
            deed.transaction,
            deed.space,
            meant,
            reason=text_in(deed.payload, "reason"),
            by=deed.by,
        )
        return Applied(after=plan.as_json())

    async def undo(self, deed: Deed, applied: Applied) -> Afterwards:
        raise UndoBlocked(
            "What was forgotten cannot be brought back.",
            hint="Say it again, if it is to be known.",
            changes=[],
        )
