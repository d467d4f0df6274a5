"""What waits for a person in the other rooms?

Conflicts that nothing but a person decides, pairs that no judge was sure of, statements and memories in quarantine,
sessions that are held, proposals that may be one, and open tasks. Each is decided where it lives; here it is counted
and named, with the page that leads there.
"""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from festinger.app.questions import questions
from festinger.ids import DEFAULT_AGENT, SpaceId
from festinger.memory.changes import Op, list_changes
from festinger.memory.health import waiting_of
from festinger.memory.model import Memory, Place, Status
from festinger.memory.query import Wanted, page
from festinger.proposals.deps import Desk
from festinger.proposals.inbox import Item, Sources, Waiting
from festinger.proposals.pairs import suggested
from festinger.proposals.verdicts.tasks import tasks
from festinger.world.conflicts import PENDING, Conflict, conflicts, count_pending
from festinger.world.quarantine import held_sessions, quarantined

if TYPE_CHECKING:
    from festinger.app.wiring import App

MOST = 200
"""Things of one kind that are counted one by one; where there are more, this many are said."""

CONFLICTS, WORLD, MEMORIES, INBOX = "/admin/conflicts", "/admin/world", "/admin/memories", "/admin/inbox"


def sources_of(app: "App", desk: Desk) -> Sources:
    """Who is asked, in the order in which it is shown."""
    return (
        partial(_conflicts, app),
        partial(_questions, app),
        partial(_unvouched, app),
        partial(_held_sessions, app),
        partial(_suspect_memories, app),
        partial(_pairs, desk),
        partial(_tasks, desk),
    )


async def _conflicts(app: "App", space: SpaceId, limit: int) -> Waiting:
    found = await conflicts(app.world.desk, space, statuses=(PENDING,), limit=limit)
    count = await count_pending(app.world.desk, space)
    return Waiting(kind="conflicts", count=count, items=tuple(map(_conflict, found)))


async def _questions(app: "App", space: SpaceId, limit: int) -> Waiting:
    items = (
        Item(
            id=each["id"],
            title=f"{each['old']['content']} / {each['new']['content']}",
            why="no judge was sure",
            link=CONFLICTS,
        )
        for each in await questions(app, space, limit=MOST)
    )
    return _some("questions", items, limit=limit)


async def _unvouched(app: "App", space: SpaceId, limit: int) -> Waiting:
    items = (
        Item(
            id=str(each.id),
            title=f"{each.concept} {'is' if each.is_isa else 'is part of'} {each.parent} ({each.dim})",
            why=f"nobody vouches for it; it comes from {each.origin}",
            link=WORLD,
        )
        for each in await quarantined(app.world.desk, space, limit=MOST)
    )
    return _some("quarantined statements", items, limit=limit)


async def _held_sessions(app: "App", space: SpaceId, limit: int) -> Waiting:
    items = (
        Item(
            id=each.session_id,
            title=f"session {each.session_id}",
            why=f"contradicted {each.collisions} well-established facts",
            link=WORLD,
        )
        for each in await held_sessions(app.world.desk, space)
    )
    return _some("held sessions", items, limit=limit)


async def _pairs(desk: Desk, space: SpaceId, limit: int) -> Waiting:
    items = (
        Item(
            id=str(row["id"]),
            title=f"{row['a_what']} / {row['b_what']}",
            why="these may be one" if row["relation"] == "same" else "these oppose each other",
            link=INBOX,
        )
        for row in await suggested(desk, space, limit=MOST)
    )
    return _some("pairs", items, limit=limit)


async def _tasks(desk: Desk, space: SpaceId, limit: int) -> Waiting:
    found = await tasks(desk, space, limit=MOST)
    items = (Item(id=str(each.id), title=each.title, why="approved advice", link=INBOX) for each in found)
    return _some("tasks", items, limit=limit)


async def _suspect_memories(app: "App", space: SpaceId, limit: int) -> Waiting:
    """Memories in quarantine, each with the reason for which it was locked away."""
    place = Place(space=space, agent=DEFAULT_AGENT)
    wanted = Wanted(statuses=(Status.QUARANTINED,), everybodys=True)
    found = await page(app.memory.desk, place, wanted, limit=limit)
    count = (await waiting_of(app.memory.desk, space))["quarantined"]
    items = [await _suspect(app, space, each) for each in found]
    return Waiting(kind="quarantined memories", count=count, items=tuple(items))


async def _suspect(app: "App", space: SpaceId, memory: Memory) -> Item:
    changes = await list_changes(app.memory.desk, space, ops=(Op.QUARANTINE,), memory=memory.id, limit=1)
    why = changes[0].reason if changes else ""
    return Item(id=str(memory.id), title=memory.content, why=why, link=f"{MEMORIES}/{memory.id}")


def _conflict(conflict: Conflict) -> Item:
    if conflict.about == "memory":
        title = f"two memories: {conflict.old_memory} / {conflict.new_memory}"
    else:
        title = f"{conflict.concept} ({conflict.dimension}): {conflict.existing_parent} / {conflict.incoming_parent}"
    return Item(
        id=str(conflict.id),
        title=title,
        why=conflict.reason or conflict.collision_type,
        link=f"{CONFLICTS}/{conflict.id}",
    )


def _some(kind: str, items: Iterable[Item], *, limit: int) -> Waiting:
    listed = tuple(items)
    return Waiting(kind=kind, count=len(listed), items=listed[:limit])
