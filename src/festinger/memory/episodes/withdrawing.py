"""What becomes of episodes of which a part came from a source that turned out to be bad?

What was heard from there is left out of their words, and so is what it taught, wherever that was said. A turn keeps
all that was said, and beside it what is left; summaries are made of that from then on. Those that were made of the
whole are made again at once, and a model is asked. All of it can be given back.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from festinger.ids import SpaceId
from festinger.memory.desk import Desk
from festinger.memory.episodes.episode import Episode, episode_of
from festinger.memory.episodes.keeping import lock_episode
from festinger.memory.episodes.retelling import retell, reword_memory, turns_with
from festinger.memory.selector import Selector
from festinger.memory.states import find_all
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.text.blocks import Cut

Q = queries_of("festinger.memory")

Image = Mapping[str, Any]
"""A row as it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Turns of which something is left out, and the episodes whose summary was made again, as they were."""

    turns: tuple[UUID, ...] = ()
    episodes: tuple[Image, ...] = ()
    memories: tuple[Image, ...] = ()
    """The memories of those summaries."""

    @property
    def summaries(self) -> tuple[UUID, ...]:
        return tuple(UUID(image["id"]) for image in self.episodes)

    def as_json(self) -> dict[str, Any]:
        """As a change keeps it. What was said in turns is kept by them alone."""
        return {
            "turns": [str(each) for each in self.turns],
            "episodes": list(self.episodes),
            "memories": list(self.memories),
        }


async def leave_out(
    desk: Desk, transaction: Transaction, space: SpaceId, selector: Selector, cuts: Sequence[Cut]
) -> LeftOut:
    """Let turns that came from somewhere, and words that were learnt from there, be summed up no more."""
    rows = await transaction.all(Q["turns_there"], space=space, **selector.place_and_time)
    whole = {row["turn_id"]: row["episode_id"] for row in rows}
    touched = await turns_with(transaction, space, cuts) | whole
    for cut in cuts:
        await transaction.run(Q["leave_words_out"], space=space, pattern=cut.pattern)
    await transaction.run(Q["leave_turns_out"], space=space, turns=sorted(whole))
    episodes: list[Image] = []
    memories: list[Image] = []
    for episode in sorted(set(touched.values())):
        was = await transaction.one(Q["image_episode"], space=space, id=episode)
        said = await transaction.all(Q["image_memories"], space=space, memories=[was["memory_id"]])
        if await retell(desk, transaction, space, episode):
            episodes.append(was["image"])
            memories += [row["image"] for row in said]
    return LeftOut(turns=tuple(sorted(touched)), episodes=tuple(episodes), memories=tuple(memories))


async def bring_back(
    desk: Desk, transaction: Transaction, space: SpaceId, kept: Mapping[str, Any], *, change: UUID
) -> None:
    """Let it be summed up again. A summary becomes what it was, unless another repair leaves something out of it."""
    await transaction.run(Q["bring_turns_back"], space=space, turns=kept.get("turns", []), change=change)
    memories = {image["id"]: image for image in kept.get("memories", ())}
    for image in kept.get("episodes", ()):
        present = await lock_episode(transaction, space, UUID(image["id"]))
        if await transaction.value(Q["is_left_out"], space=space, episode=present.id):
            await retell(desk, transaction, space, present.id)
        else:
            await _put_back(desk, transaction, present, image, memory=memories.get(str(present.memory_id)))


async def _put_back(
    desk: Desk, transaction: Transaction, present: Episode, image: Image, *, memory: Image | None
) -> None:
    space = present.space_id
    row = await transaction.one(Q["put_back_episode"], space=space, image=json.dumps(image))
    found = await find_all(transaction, space, [present.memory_id] if present.memory_id else [])
    # What a person wrote into the memory of a summary meanwhile stays.
    if memory is not None and any(each.content == present.told for each in found.values()):
        await reword_memory(desk, transaction, episode_of(row))
        await transaction.run(Q["put_back_memory"], space=space, image=json.dumps(memory))
