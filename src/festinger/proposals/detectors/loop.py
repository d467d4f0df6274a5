"""Does an agent go round in circles?

The guard of the proxy says so with an event, once for each step up. It tells the rule and no words; which tool it was
is read from the calls of the last exchanges of the session.
"""

from collections import Counter
from collections.abc import Sequence

from festinger.events.event import Event
from festinger.ids import SessionId
from festinger.proposals.desk import Desk
from festinger.proposals.detectors.firing import Detector, Firing, scope_of
from festinger.store.pool import Transaction
from festinger.store.repositories.exchanges import PastExchange, recent_exchanges

CHAT = "chat"
"""What repeats where no tool is called: the talk itself."""
LOOKED_BACK = 6
"""Exchanges among whose calls the repeated one is looked for."""


async def look(desk: Desk, transaction: Transaction, event: Event) -> list[Firing]:
    """What a loop makes one say, if it has come far enough."""
    told = event.payload
    if told["level"] < desk.terms(event.space).detectors.loop.threshold:
        return []
    session = SessionId(told["session"])
    past = await recent_exchanges(transaction, event.space, session, limit=LOOKED_BACK)
    return [firing(event, tool=repeated(past))]


def repeated(exchanges: Sequence[PastExchange]) -> str:
    """The tool that is called most; the talk itself if none is."""
    names = [str(call.get("name", "")) for each in exchanges for call in each.tool_calls]
    counted = Counter(name for name in names if name)
    return min(counted, key=lambda name: (-counted[name], name)) if counted else CHAT


def firing(event: Event, *, tool: str) -> Firing:
    rule = event.payload["rule"]
    scope = scope_of(tool, otherwise=CHAT)
    return Firing(
        by=Detector.LOOP,
        category="reliability",
        scope=scope,
        what=f"Break the {rule} repeat of {scope}",
        why=f"It repeated {event.payload['count']} times and reached level {event.payload['level']}.",
        at=event.at,
        agent=event.agent,
        session=event.payload["session"],
        source=str(event.id),
        evidence={"events": [str(event.id)]},
    )
