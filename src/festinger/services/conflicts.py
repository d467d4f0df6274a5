"""Renders a conflict as JSON, whatever it is about.

Conflicts of edges and of memories share the same field names, so that an interface lists them together; those
of memories have both statements, who said them and how far they are trusted. What a caller may not see of a
memory is left out, not the conflict.
"""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from festinger.clock import iso
from festinger.ids import MemoryId, SpaceId
from festinger.memory.changes import load_existing_memories
from festinger.memory.model import Memory
from festinger.memory.query import MemorySighting, list_sightings
from festinger.runtime.app import App
from festinger.world.conflicts import Conflict, edge_conflict_json

MOST_CAUSES = 20

Sees = Callable[[Memory], bool]
"""Whether a caller may see a memory."""


def allow_every_memory(_memory: Memory) -> bool:
    return True


async def conflict_json(
    app: App, space: SpaceId, conflict: Conflict, *, sees: Sees = allow_every_memory
) -> dict[str, Any]:
    """Render a conflict as every interface shows it."""
    shown = await edge_conflict_json(app.world.deps, space, conflict)
    if conflict.about != "memory":
        return shown
    found = await _load_sides(app, space, [conflict.old_memory, conflict.new_memory])
    old, new = (found.get(each) if each else None for each in (conflict.old_memory, conflict.new_memory))
    named = new[0] if new else old[0] if old else None
    is_seen = named is not None and sees(named)
    return shown | {
        "concept": _about(named) if named and is_seen else None,
        "dimension": named.attribute_key if named and is_seen else None,
        "existing": _side(*old, sees=sees) if old else None,
        "incoming": _side(*new, sees=sees) if new else None,
    }


async def _load_sides(
    app: App, space: SpaceId, memories: Sequence[UUID | None]
) -> dict[UUID, tuple[Memory, tuple[MemorySighting, ...]]]:
    wanted = [each for each in memories if each is not None]
    async with app.store.transaction() as transaction:
        found = await load_existing_memories(transaction, space, wanted)
        said = {each: await list_sightings(transaction, space, each, limit=MOST_CAUSES) for each in found}
    return {UUID(int=each.int): (found[each], said[MemoryId(each)]) for each in found}


def _about(memory: Memory) -> str:
    return memory.subject or memory.content[:60]


def _side(memory: Memory, said: Sequence[MemorySighting], *, sees: Sees) -> dict[str, Any]:
    is_seen = sees(memory)
    return {
        "memory": str(memory.id),
        "content": memory.content if is_seen else None,
        "status": memory.status.value,
        "agent": memory.agent_id,
        "confidence": memory.confidence,
        "trust": memory.trust,
        "source": memory.source if is_seen else None,
        "origin": memory.origin.value,
        "last_confirmed": iso(memory.last_confirmed) if memory.last_confirmed else None,
        "created_at": iso(memory.created_at),
        "causes": [
            {"agent": each.agent, "session": each.session, "day": each.day.isoformat(), "origin": each.origin.value}
            for each in said
            if each.counted and is_seen
        ],
    }
