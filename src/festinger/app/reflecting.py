"""How is looking back joined to the rest of the house?

An episode that ends is looked back at by the model that writes, as background work of its own: a slow model delays
nobody, and one that is not there leaves it out.
"""

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from festinger.errors import NotFound
from festinger.events.event import Event
from festinger.ids import SpaceId
from festinger.jobs.model import Queue, Run
from festinger.llm.ledger import Caller
from festinger.llm.model import Model, Purpose
from festinger.proposals.deps import Desk
from festinger.proposals.reflection import REFLECT, Mirror, ask_for_reflection, reflect
from festinger.store.pool import Transaction

if TYPE_CHECKING:
    from festinger.app.wiring import App

REFLECTING_LIMIT = timedelta(minutes=10)


def register_reflecting(app: "App", desk: Desk) -> None:
    """Make the job and its subscriber known."""

    async def writer(space: SpaceId) -> Model | None:
        return await app.model(Purpose.WRITE, Caller(space=space))

    mirror = Mirror(desk=desk, memory=app.memory.desk, writer=writer)

    async def look_back(_run: Run, *, space: str, episode: str) -> int:
        with suppress(NotFound):  # forgotten meanwhile
            return len(await reflect(mirror, SpaceId(space), UUID(episode)))
        return 0

    async def ask(transaction: Transaction, event: Event) -> None:
        await ask_for_reflection(desk, transaction, event)

    app.outbox.subscribe("episode_closed", REFLECT, ask)
    app.jobs.register(REFLECT, look_back, queue=Queue.JUDGE, limit=REFLECTING_LIMIT, low_value=True)
