"""Corrects and confirms memories on behalf of a person.

A correction is learned like any statement of that person, and replaces what it corrects whatever a judge would
say: the person has seen both. Words that say the same as before reword the memory in place. Either way there is
one change to undo.
"""

from uuid import UUID

from festinger.errors import Refused
from festinger.ids import DEFAULT_AGENT, Origin, Scope, SessionId, SpaceId
from festinger.memory.changes import find_memory
from festinger.memory.edit import MemoryEditResult, edit, supersede
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import Learned, build_refused_error
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import Action, Memory, Status
from festinger.runtime.app import App


async def correct_memory(app: App, space: SpaceId, memory: UUID, text: str, *, by: str) -> MemoryEditResult:
    """Put other words in the place of a memory. Raises `NotFound`, `BadInput`, `Refused`."""
    old = await _load_live(app, space, memory)
    learned = await _learn(app, old, text, by=by, corrects=old)
    new = learned.memory
    if new is None or new.id == old.id:
        return await edit(app.memory.deps, space, old.id, text, by=by)
    if old.id in learned.superseded:
        return MemoryEditResult(memory=new, change=learned.change)
    if new.status is not Status.ACTIVE:
        raise Refused(
            f"The correction itself is {new.status.value} now.", hint=f"Decide it first: `/admin/memories/{new.id}`."
        )
    cause = _scope(old, by).cause(Origin.PERSON, app.memory.deps.clock())
    return await supersede(app.memory.deps, space, old.id, new.id, by=by, reason="corrected by a person", cause=cause)


async def confirm_memory(app: App, space: SpaceId, memory: UUID, *, by: str) -> MemoryEditResult:
    """Let a person vouch for a memory: it is said again. Raises `NotFound`, `Refused`."""
    old = await _load_live(app, space, memory)
    learned = await _learn(app, old, old.content, by=by)
    return MemoryEditResult(memory=learned.memory or old, change=learned.change)


async def _load_live(app: App, space: SpaceId, memory: UUID) -> Memory:
    async with app.store.transaction() as transaction:
        found = await find_memory(transaction, space, memory)
    if not found.is_live:
        raise Refused(f"This memory is {found.status.value}.", hint="Restore it first, or look at what replaced it.")
    return found


async def _learn(app: App, old: Memory, text: str, *, by: str, corrects: Memory | None = None) -> Learned:
    request = LearnRequest(
        text=text,
        subject=old.subject,
        kind=old.kind,
        origin=Origin.PERSON,
        source=f"correction of {old.id}" if corrects else None,
        event_time=old.event_time,
        tags=old.tags,
        shared=old.agent_id is None,
        corrects=corrects.id if corrects else None,
    )
    learned = await learn(app.memory.deps, _scope(old, by), request)
    if learned.action is Action.REFUSED:
        raise build_refused_error(learned)
    return learned


def _scope(memory: Memory, by: str) -> Scope:
    return Scope(space=memory.space_id, agent=memory.agent_id or DEFAULT_AGENT, session=SessionId(by))
