"""What should come to mind by itself now?

What has a cycle or presses more the longer it is left alone, and is strong enough at this moment. Everything else fades
so slowly that it would always be due. How strength moves with time is `outcomes`' matter.
"""

from festinger.memory.changes import find_all
from festinger.memory.model import Place
from festinger.outcomes.store import Strong, load_states, strength_of
from festinger.retrieval.desk import Desk
from festinger.retrieval.wish import Wish
from festinger.store.queries import queries_of

Q = queries_of("festinger.retrieval")

ANYTHING = Wish(cue="")
"""No filter at all."""
MOST_MEASURED = 10_000


async def due(desk: Desk, place: Place, *, limit: int = 5, wish: Wish = ANYTHING) -> list[Strong]:
    """Memories that are due, strongest first; of a wish only its filters count. Raises `StoreDown`."""
    terms, now = desk.terms(place.space).outcomes, desk.clock()
    async with desk.store.transaction() as transaction:
        rows = await transaction.all(
            Q["may_be_due"], space=place.space, agent=place.agent, limit=MOST_MEASURED, **wish.parameters()
        )
        found = await find_all(transaction, place.space, [row["id"] for row in rows])
        states = await load_states(transaction, place.space, found, terms=terms)
    measured = [
        Strong(memory=memory, strength=strength_of(memory, states[id_], now=now, terms=terms))
        for id_, memory in found.items()
    ]
    strong = [each for each in measured if each.strength >= terms.surfacing_threshold]
    return sorted(strong, key=lambda each: (-each.strength, each.memory.id))[:limit]
