"""Is there a question about something that comes up again and again?

Conflicts on one dimension of one concept that return although each was decided say that the dimension holds two
things. A person may part it; the names of the two are theirs to give.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from festinger.events.event import Event
from festinger.proposals.desk import Desk
from festinger.proposals.detectors.firing import Detector, Firing
from festinger.proposals.proposal import Type
from festinger.store.pool import Transaction
from festinger.world.conflicts import Conflict, opened_since

WINDOW = timedelta(days=30)
EDGE = "edge"


def is_of_the_world(event: Event) -> bool:
    """Whether a conflict is one of the graph; memories have no dimensions."""
    return bool(event.payload["about"] == EDGE)


async def look(desk: Desk, transaction: Transaction, event: Event) -> list[Firing]:
    """What a new conflict makes one say, if there were enough on its slot."""
    told = event.payload
    found = await opened_since(
        transaction, event.space, concept=told["concept"], dim=told["dim"], since=event.at - WINDOW
    )
    if len(found) < desk.terms(event.space).detectors.conflict_churn.threshold:
        return []
    return [firing(event, found)]


def firing(event: Event, found: Sequence[Conflict]) -> Firing:
    newest = found[-1]
    payload: dict[str, Any] = {
        "conflict_id": event.payload["conflict"],
        "concept": newest.concept,
        "dim": newest.dimension,
    }
    return Firing(
        by=Detector.CONFLICT_CHURN,
        category="knowledge",
        scope="world",
        what=f"Part the dimension {newest.dimension} of {newest.concept}",
        why=f"There were {len(found)} conflicts about it in {WINDOW.days} days.",
        how="Name a dimension for what stands and one for what was said against it.",
        at=event.at,
        agent=event.agent,
        session=event.session or "",
        source=str(event.id),
        type=Type.DIMENSION_DECOMPOSITION,
        payload=payload,
        evidence={"conflicts": [str(each.id) for each in found]},
    )
