"""How does what passed through the proxy become part of an episode?

Each captured exchange is told as an event. Its messages, and the answer, go into the episode of their session in
their order, each once, with the memories that were put before the model; they are read from their rows, because an
event holds ids alone. Told twice, nothing is kept twice.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from festinger.events.event import Event
from festinger.events.feed import history
from festinger.ids import DEFAULT_AGENT, MemoryId, SessionId
from festinger.memory.desk import Desk
from festinger.memory.episodes.episode import Role
from festinger.memory.episodes.keeping import Saying, append_in
from festinger.memory.memory import Place
from festinger.store.pool import Transaction
from festinger.store.repositories.exchanges import Message, messages

MEMORY_NOTE = "memory"
"""The kind of a note that shows a memory."""
LOOKED_BACK = 10
"""Events of a session among which the one that told of its notes is looked for; it stands just before."""


async def keep_exchange(desk: Desk, transaction: Transaction, event: Event) -> int:
    """Take a captured exchange into the episode of its session; how many turns are new."""
    said = event.payload
    ids = [UUID(each["id"]) for each in said["messages"]]
    ids += [UUID(said["reply"])] if said["reply"] else []
    kept = await messages(transaction, event.space, ids)
    found = [kept[each] for each in ids if each in kept]
    if not found:
        return 0
    place = Place(space=event.space, agent=event.agent or DEFAULT_AGENT, session=SessionId(said["session"]))
    surfaced = await _surfaced(transaction, event)
    carrier = _carrier(found)
    new = 0
    for message in found:
        brought = surfaced if message.id == carrier else ()
        done = await append_in(desk, transaction, place, _saying(message, brought))
        new += done.turn is not None
    return new


def _saying(message: Message, surfaced: tuple[MemoryId, ...]) -> Saying:
    return Saying(
        role=Role(message.role),
        content=message.text,
        origin=message.origin,
        at=message.at,
        turn_id=message.id,
        surfaced=surfaced,
    )


def _carrier(found: list[Message]) -> UUID:
    """The message that was read beside what was brought to mind: the last one of the user, or the answer."""
    asked = [message for message in found if message.role == Role.USER]
    return (asked or found)[-1].id


async def _surfaced(transaction: Transaction, event: Event) -> tuple[MemoryId, ...]:
    """The memories that were put into this exchange, as the event that told of it says."""
    recollection = event.payload["recollection"]
    if not recollection:
        return ()
    told = await history(
        transaction,
        space=event.space,
        subject=event.subject,
        names=["recollection_injected"],
        before=event.seq,
        limit=LOOKED_BACK,
    )
    same = [each.payload["notes"] for each in told if each.payload["recollection"] == recollection]
    return tuple(memory for notes in same[:1] for note in notes for memory in _memory(note))


def _memory(note: Mapping[str, Any]) -> tuple[MemoryId, ...]:
    if note["kind"] != MEMORY_NOTE:
        return ()
    try:
        return (MemoryId(UUID(note["id"])),)
    except ValueError:
        return ()
