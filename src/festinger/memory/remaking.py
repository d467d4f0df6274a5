"""How is a memory made again that lost one of its sources?

Its text was worded from several memories, and one of them is forgotten or was taken back. A model words it anew from
those that are left, seeing nothing else; it is then held against all others and stands again. Without a model, or if
the answer is none, it stays locked away and is listed.
"""

from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

import structlog
from pydantic import Field

from festinger.errors import FestingerError
from festinger.ids import MemoryId, SpaceId
from festinger.llm.model import Message, Model, Shape
from festinger.llm.prompts import prompt_of
from festinger.memory.desk import Desk
from festinger.memory.kinds import Status
from festinger.memory.links import Link, linked
from festinger.memory.memory import Memory
from festinger.memory.releasing import release
from festinger.memory.revising import edit
from festinger.memory.states import find_all

log = structlog.get_logger(room="memory")

BY = "job:remake"

ModelFor = Callable[[SpaceId], Awaitable[Model | None]]


class Remade(Shape):
    """What a model answers."""

    statement: str = Field(max_length=8_000)


async def remake(desk: Desk, space: SpaceId, memory: UUID, *, model_for: ModelFor) -> bool:
    """Word a memory anew from the sources that are left; whether it stands again."""
    async with desk.store.transaction() as transaction:
        found = (await find_all(transaction, space, [memory])).get(MemoryId(memory))
        if found is None or found.status is not Status.QUARANTINED:
            return False
        sources = await linked(transaction, space, memory, Link.DERIVES_FROM)
        left = await find_all(transaction, space, sources)
    standing = [each for each in left.values() if each.status is Status.ACTIVE]
    model = await model_for(space)
    if model is None or not standing:
        return False
    text = await _worded(model, standing)
    if not text:
        return False
    await edit(desk, space, found.id, text, by=BY)
    await release(desk, space, found.id, by=BY)
    return True


async def _worded(model: Model, sources: Sequence[Memory]) -> str:
    try:
        answer = await model.answer([_question(sources)], Remade)
    except FestingerError as error:
        log.warning("a memory could not be made again", why=error.message)
        return ""
    return answer.value.statement.strip()


def _question(sources: Sequence[Memory]) -> Message:
    listed = "\n".join(f"- {each.content}" for each in sources)
    return prompt_of("festinger.memory", "remake").message(statements=listed)
