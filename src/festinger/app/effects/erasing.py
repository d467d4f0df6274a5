"""What does a yes to a request to forget do?

It forgets, with the person who said yes as author. That cannot be taken back, and what is kept of it are ids alone.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from festinger.app.effects.naming import ids_in, look_at
from festinger.errors import UndoBlocked
from festinger.memory.forgetting import Eraser, forget_in
from festinger.memory.selector import Selector, reach
from festinger.memory.states import find_all
from festinger.proposals.effects import Afterwards, Applied, Deed, Look, text_in
from festinger.store.joined import Joined


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
