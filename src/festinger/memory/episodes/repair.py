"""What becomes of episodes of which a part came from a source that turned out to be bad?

What was heard from there is left out of their words, and so is what it taught, wherever that was said. A turn keeps
all that was said, and beside it what is left; summaries are made of that from then on. Those that were made of the
whole are made again at once, and a model is asked. All of it can be given back.

What becomes of a summary when something that it sums up was forgotten or taken back?

A model may have put it into other words, which no cut finds. So the summary of every episode in which it was said is
written anew at once, in what is left of the episode's own words, and so is the memory of that summary; a model is then
asked again. What a caller wrote of an episode is that person's, and is only cut. What the episode taught is not learnt
a second time.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from festinger.ids import SpaceId
from festinger.memory.changes import find_memories
from festinger.memory.deps import MemoryDeps
from festinger.memory.episodes.episode import BY_CALLER, BY_EXTRACT, Episode, EpisodeState, episode_from_row
from festinger.memory.episodes.store import list_usable_turns, lock_episode
from festinger.memory.episodes.summary import summarise_without_model
from festinger.memory.erasure.selector import Selector
from festinger.memory.learn.statement import fold_hash, gist_hash
from festinger.memory.learn.store import EMBED
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.text.blocks import ErasurePattern

Q = queries_of("festinger.memory")

SUMMARISE = "summarise_episode"
"""The job that asks a model."""


async def find_turns_by_words(
    transaction: Transaction, space: SpaceId, cuts: Iterable[ErasurePattern]
) -> dict[UUID, UUID]:
    """The turns in which some words were said, before they are cut out, each with its episode."""
    found: dict[UUID, UUID] = {}
    for cut in cuts:
        rows = await transaction.all(Q["turns_that_said"], space=space, pattern=cut.pattern)
        found |= {row["turn_id"]: row["episode_id"] for row in rows}
    return found


async def rebuild_summary(deps: MemoryDeps, transaction: Transaction, space: SpaceId, episode: UUID) -> bool:
    """Sum an episode up anew from what is left of its words; whether there was a summary to write anew."""
    found = await lock_episode(transaction, space, episode)
    turns = await list_usable_turns(transaction, space, episode)
    if found.state is not EpisodeState.SUMMARISED or found.summarised_by == BY_CALLER or not turns:
        return False
    said = summarise_without_model(turns)
    row = await transaction.one(
        Q["retell_episode"],
        space=space,
        id=episode,
        title=said.title,
        summary=said.summary,
        by=said.by,
        at=deps.clock(),
    )
    await update_summary_memory(deps, transaction, episode_from_row(row))
    if said.by == BY_EXTRACT:
        await deps.ask(transaction, SUMMARISE, space=space, episode=str(episode))
    return True


async def update_summary_memory(deps: MemoryDeps, transaction: Transaction, episode: Episode) -> None:
    """Give the memory of a summary the words that the summary has now."""
    changed = await transaction.run(
        Q["reword_summary"],
        space=episode.space_id,
        id=episode.memory_id,
        source=episode.source,
        content=episode.told,
        fold=fold_hash(episode.told),
        gist=gist_hash(episode.told),
        at=deps.clock(),
    )
    if changed:
        await transaction.run(Q["erase_vectors"], space=episode.space_id, memories=[episode.memory_id])
        await deps.ask(transaction, EMBED, space=episode.space_id)


Image = Mapping[str, Any]
"""A row as it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnExclusionResult:
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


async def exclude_turns(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, selector: Selector, cuts: Sequence[ErasurePattern]
) -> TurnExclusionResult:
    """Let turns that came from somewhere, and words that were learnt from there, be summed up no more."""
    rows = await transaction.all(Q["turns_there"], space=space, **selector.place_and_time)
    whole = {row["turn_id"]: row["episode_id"] for row in rows}
    touched = await find_turns_by_words(transaction, space, cuts) | whole
    for cut in cuts:
        await transaction.run(Q["leave_words_out"], space=space, pattern=cut.pattern)
    await transaction.run(Q["leave_turns_out"], space=space, turns=sorted(whole))
    episodes: list[Image] = []
    memories: list[Image] = []
    for episode in sorted(set(touched.values())):
        was = await transaction.one(Q["image_episode"], space=space, id=episode)
        said = await transaction.all(Q["image_memories"], space=space, memories=[was["memory_id"]])
        if await rebuild_summary(deps, transaction, space, episode):
            episodes.append(was["image"])
            memories += [row["image"] for row in said]
    return TurnExclusionResult(turns=tuple(sorted(touched)), episodes=tuple(episodes), memories=tuple(memories))


async def reinstate_turns(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, kept: Mapping[str, Any], *, change: UUID
) -> None:
    """Let it be summed up again. A summary becomes what it was, unless another repair leaves something out of it."""
    await transaction.run(Q["bring_turns_back"], space=space, turns=kept.get("turns", []), change=change)
    memories = {image["id"]: image for image in kept.get("memories", ())}
    for image in kept.get("episodes", ()):
        present = await lock_episode(transaction, space, UUID(image["id"]))
        if await transaction.value(Q["is_left_out"], space=space, episode=present.id):
            await rebuild_summary(deps, transaction, space, present.id)
        else:
            await _restore_summary(deps, transaction, present, image, memory=memories.get(str(present.memory_id)))


async def _restore_summary(
    deps: MemoryDeps, transaction: Transaction, present: Episode, image: Image, *, memory: Image | None
) -> None:
    space = present.space_id
    row = await transaction.one(Q["put_back_episode"], space=space, image=json.dumps(image))
    found = await find_memories(transaction, space, [present.memory_id] if present.memory_id else [])
    # What a person wrote into the memory of a summary meanwhile stays.
    if memory is not None and any(each.content == present.told for each in found.values()):
        await update_summary_memory(deps, transaction, episode_from_row(row))
        await transaction.run(Q["put_back_memory"], space=space, image=json.dumps(memory))
