"""One memory through the library's door, with answers that are plain values and can cross to another process.

Jobs are done at the end of every operation that changes something, so that nothing happens later by chance.

`python -m tests.model.door` serves the same over its standard input and output, a line of JSON for each request and each
answer: first the URL and the settings, then names of operations with their arguments.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from tests.jobs.deps import drain

import festinger
from festinger.client.memory import Memory
from festinger.errors import FestingerError
from festinger.ids import read_id
from festinger.memory.edit import MemoryEditResult
from festinger.memory.query import MemoryFilter, load_page_of_memories
from festinger.services.access import add_space
from festinger.world.conflicts import load_conflicts
from festinger.world.decisions import undo_conflict_decision

SPACES = ("main", "other")
READING = {"facts", "conflicts", "held", "recall", "history", "current", "why", "changes"}
EVERY_STATUS = MemoryFilter(statuses=None)


@dataclass(frozen=True, slots=True)
class Door:
    """Two spaces of one installation, as one process sees them."""

    memories: Mapping[str, Memory]

    async def ask(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Do one operation; an error of the product is its answer."""
        memory = self.memories[arguments.get("space", "main")]
        given = {name: value for name, value in arguments.items() if name != "space"}
        try:
            return await getattr(self, operation)(memory, **given)
        except FestingerError as error:
            return {"error": error.name}
        finally:
            await memory._app.afterwards.written()
            if operation not in READING:
                await drain(memory._app.jobs)

    async def learn(self, memory: Memory, text: str, subject: str | None, key: str | None) -> Any:
        learned = await memory.learn(text, subject=subject, key=key)
        return {
            "action": learned.action.value,
            "memory": str(learned.memory.id) if learned.memory else None,
            "superseded": sorted(map(str, learned.superseded)),
            "conflict": learned.conflict is not None,
            "change": str(learned.change) if learned.change else None,
        }

    async def edit(self, memory: Memory, id: str, content: str) -> Any:  # noqa: A002
        return _change(await memory.edit(id, content=content))

    async def archive(self, memory: Memory, id: str) -> Any:  # noqa: A002
        return _change(await memory.archive(id))

    async def restore(self, memory: Memory, id: str) -> Any:  # noqa: A002
        return _change(await memory.restore(id))

    async def supersede(self, memory: Memory, old: str, new: str) -> Any:
        return _change(await memory.supersede(old, new=new))

    async def undo(self, memory: Memory, change: str) -> Any:
        return str((await memory.undo(change)).change.id)

    async def forget(self, memory: Memory, id: str) -> Any:  # noqa: A002
        planned = await memory.forget(id, dry_run=True)
        done = await memory.forget(id)
        assert planned.erased == done.erased, "a plan says what will be done"
        return sorted(map(str, done.erased))

    async def settle(self, memory: Memory, conflict: str, decision: str) -> Any:
        return (await memory.settle(conflict, decision=decision, by="ada")).status

    async def reopen(self, memory: Memory, conflict: str) -> Any:
        """Take a decision back, as the page of conflicts and its API do."""
        return (await undo_conflict_decision(memory._app.world.deps, memory.space, read_id(conflict), by="ada")).status

    async def facts(self, memory: Memory) -> Any:
        """All memories as every list shows them, the oldest first."""
        found = await load_page_of_memories(memory._deps, memory._place, EVERY_STATUS, limit=200)
        names = ("content", "status", "pending")
        return [
            {
                "id": str(each.id),
                "successor": str(each.superseded_by) if each.superseded_by else None,
                **{name: getattr(each, name) for name in names},
            }
            for each in reversed(found)
        ]

    async def conflicts(self, memory: Memory) -> Any:
        found = await load_conflicts(memory._app.world.deps, memory.space, statuses=["pending"], limit=200)
        return sorted([str(each.old_memory), str(each.new_memory), str(each.id)] for each in found)

    async def held(self, memory: Memory) -> Any:
        return (await memory.status())["memory"]["held"]

    async def recall(self, memory: Memory, cue: str) -> Any:
        return [[str(each.id), each.text, each.disputed] for each in (await memory.recall(cue)).items]

    async def history(self, memory: Memory, id: str) -> Any:  # noqa: A002
        """The chain of a memory, and all that is said of it as one text."""
        found = await memory.history(id)
        return {
            "memories": sorted(str(each.id) for each in found.memories),
            "words": json.dumps([[each.as_json() for each in part] for part in (found.memories, found.changes)]),
        }

    async def changes(self, memory: Memory, id: str) -> Any:  # noqa: A002
        """The changes of a memory that are not undone, with all that they touched, the oldest first."""
        found = (await memory.history(id)).changes
        return [
            [str(each.id), each.op.value, sorted(map(str, each.memory_ids))] for each in found if not each.undone_at
        ]

    async def current(self, memory: Memory, id: str) -> Any:  # noqa: A002
        return str((await memory.current(id)).id)

    async def why(self, memory: Memory, id: str) -> Any:  # noqa: A002
        found = await memory.why(id)
        return {
            "supersedes": sorted(str(each.id) for each in found.supersedes),
            "superseded_by": str(found.superseded_by.id) if found.superseded_by else None,
        }


def _change(done: MemoryEditResult) -> str | None:
    return str(done.change) if done.change else None


@asynccontextmanager
async def opened(url: str, settings: Mapping[str, Any]) -> AsyncIterator[Door]:
    """The door to a database, on which the second space is made if it is not there."""
    async with festinger.open(dict(settings), database=url) as main:
        directory = main._app.directory
        if directory.find("other") is None:
            await add_space(main._app, "other")
            await directory.reload()
        yield Door({name: replace(main, space=directory.need(name)) for name in SPACES})


async def serve() -> None:
    """Open what a line names and answer the lines up to an empty list; then the same again."""
    while opening := await heard():
        url, settings = opening
        async with opened(url, settings) as door:
            while request := await heard():
                say(await door.ask(*request))
        say("closed")


async def heard() -> Any:
    """The next line, while what this process does besides goes on; nothing at the end."""
    return json.loads(await asyncio.to_thread(sys.stdin.readline) or "[]")


def say(value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(serve())
