"""Does a warning strike so often that it should stop things?

By default that is a person's decision, and this proposes it; where the settings let it happen by itself there is
nothing to propose. Each further strike is one more sighting, for the session in which it was.
"""

from uuid import UUID

from festinger.errors import NotFound
from festinger.events.event import Event
from festinger.memory.censors.censor import Censor, Force
from festinger.memory.censors.edit import lock_censor
from festinger.proposals.desk import Desk
from festinger.proposals.detectors.firing import Detector, Firing
from festinger.proposals.proposal import Type
from festinger.store.pool import Transaction

USUAL = 5
"""How often a censor that names no number of its own strikes before it should stop things."""


async def look(desk: Desk, transaction: Transaction, event: Event) -> list[Firing]:
    """What a strike makes one say, if there were enough. Nothing of a censor that is gone."""
    try:
        censor = await lock_censor(transaction, event.space, UUID(event.payload["censor"]))
    except NotFound:
        return []
    usual = desk.terms(event.space).detectors.censor_hits.threshold
    return [firing(event, censor)] if is_due(censor, usual=usual) else []


def is_due(censor: Censor, *, usual: int) -> bool:
    """Whether a warning has struck often enough; its own number counts before the usual one."""
    needed = usual if censor.escalation_threshold == USUAL else censor.escalation_threshold
    return censor.active and censor.action is Force.WARN and censor.counted >= needed


def firing(event: Event, censor: Censor) -> Firing:
    return Firing(
        by=Detector.CENSOR_HITS,
        category="safety",
        scope="censor",
        what=f"Let censor {censor.id} stop instead of warning",
        why=f"It struck {censor.counted} times, and nobody called that wrong.",
        at=event.at,
        agent=event.agent,
        session=event.session or "",
        source=str(event.id),
        type=Type.CENSOR_ESCALATION,
        payload={"censor_id": str(censor.id), "from": Force.WARN.value, "to": Force.BLOCK.value},
        evidence={"triggers": [event.payload["trigger"]]},
    )
