"""Did a memory mislead, more than once?

Outcomes say so: somebody found it contradicted. From two causes on it should perhaps be put away, which a person
decides.
"""

from collections.abc import Collection
from uuid import UUID

from festinger.events.event import Event
from festinger.ids import Cause, MemoryId
from festinger.outcomes.stats import contradicting_causes
from festinger.proposals.desk import Desk
from festinger.proposals.detectors.firing import Detector, Firing
from festinger.proposals.proposal import Type
from festinger.store.pool import Transaction
from festinger.world.model import Outcome


def is_contradicted(event: Event) -> bool:
    return bool(event.payload["outcome"] == Outcome.CONTRADICTED.value)


async def look(desk: Desk, transaction: Transaction, event: Event) -> list[Firing]:
    """What a contradiction makes one say, if enough causes stand behind it."""
    memory = MemoryId(UUID(event.payload["memory"]))
    causes = await contradicting_causes(transaction, event.space, memory)
    if len(causes) < desk.terms(event.space).detectors.misleading.threshold:
        return []
    return [firing(event, memory, causes)]


def firing(event: Event, memory: MemoryId, causes: Collection[Cause]) -> Firing:
    return Firing(
        by=Detector.MISLEADING,
        category="knowledge",
        scope="memory",
        what=f"Put memory {memory} away",
        why=f"It was found contradicted from {len(causes)} causes.",
        at=event.at,
        agent=event.agent,
        session=event.session or "",
        source=str(event.id),
        type=Type.MEMORY_CHANGE,
        payload={"op": "archive", "ids": [str(memory)]},
        evidence={"memories": [str(memory)], "events": [str(event.id)]},
    )
