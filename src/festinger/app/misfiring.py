"""What if a censor that stops things is mostly wrong?

A person is asked whether it should only warn again. The words are always the same for one censor, so that what is said
of it often is one proposal; who called the strike wrong is its cause.
"""

from uuid import UUID

from festinger.errors import NotFound
from festinger.events.event import Event
from festinger.ids import DEFAULT_AGENT, Origin, SessionId, cause
from festinger.memory.censors.censor import Force, is_mostly_wrong
from festinger.memory.censors.edit import lock_censor
from festinger.proposals.deps import Desk
from festinger.proposals.model import Type
from festinger.proposals.sightings.intake import sight_in
from festinger.proposals.sightings.model import Suggestion, detector
from festinger.store.pool import Transaction

MISFIRES = detector("censor_misfires")


async def propose_demotion(desk: Desk, transaction: Transaction, event: Event) -> None:
    """Propose that a censor which stops things, wrongly more often than not, only warns. A subscriber of
    `censor_false_positive`."""
    try:
        censor = await lock_censor(transaction, event.space, UUID(event.payload["censor"]))
    except NotFound:
        return
    if not censor.active or censor.action is not Force.BLOCK or not is_mostly_wrong(censor):
        return
    session = SessionId(event.session or f"censor:{censor.id}")
    said = Suggestion(
        category="safety",
        scope="censor",
        what=f"Let censor {censor.id} warn instead of stopping",
        why=f"{censor.false_positive_count} of its {censor.activation_count} strikes were called wrong.",
        producer=MISFIRES,
        source=str(event.id),
        cause=cause(agent=event.agent or DEFAULT_AGENT, session=session, origin=Origin.JOB, at=event.at),
        at=event.at,
        type=Type.CENSOR_ESCALATION,
        payload={"censor_id": str(censor.id), "from": Force.BLOCK.value, "to": Force.WARN.value},
        target={f"censor:{censor.id}": censor.version},
        evidence={"triggers": [event.payload["trigger"]]},
    )
    await sight_in(desk, transaction, event.space, said)
