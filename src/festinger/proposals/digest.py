"""What waits for a person, in a few numbers?

An optional reminder: how many proposals are open, since when the oldest waits, and the first of them in the order in
which they would be promoted. It is told as an event, to whoever wants to pass it on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from festinger.clock import iso
from festinger.ids import SpaceId
from festinger.proposals.desk import Desk
from festinger.proposals.inbox import Standing, standing
from festinger.proposals.proposal import Priority, Proposal, State
from festinger.proposals.shelf import MOST, Wanted, page

DIGEST = "send_inbox_digest"
TOP = 5
STATES = (State.PROMOTED, State.DEEPENING, State.DEFERRED)
_FIRST = {Priority.HIGH: 0, Priority.NORMAL: 1, Priority.LOW: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    open: int
    oldest: datetime | None
    top: tuple[Proposal, ...]

    def as_json(self) -> dict[str, Any]:
        """As the event tells it: ids and numbers, no words."""
        top = [
            {"proposal": str(each.id), "priority": each.priority.value, "seen_count": each.seen_count}
            for each in self.top
        ]
        return {"open": self.open, "oldest": iso(self.oldest) if self.oldest else None, "top": top}


def digest_of(waiting: Sequence[Proposal]) -> Digest:
    """The numbers of what waits."""
    since = [each.promoted_at for each in waiting if each.promoted_at]
    ranked = sorted(waiting, key=lambda each: (_FIRST[each.priority], -each.seen_count, str(each.id)))
    return Digest(open=len(waiting), oldest=min(since, default=None), top=tuple(ranked[:TOP]))


async def remind(desk: Desk, space: SpaceId) -> Digest:
    """Tell what waits in a space; nothing is told where nothing waits."""
    now, quiet = desk.clock(), desk.terms(space).quiet_days
    found = await page(desk, space, Wanted(states=STATES, limit=MOST))
    waiting = [each for each in found if standing(each, now=now, quiet_days=quiet) is Standing.OPEN]
    digest = digest_of(waiting)
    if waiting:
        async with desk.store.transaction() as transaction:
            await desk.outbox.emit(
                transaction, "inbox_digest", space=space, subject="inbox", payload=digest.as_json()
            )
    return digest
