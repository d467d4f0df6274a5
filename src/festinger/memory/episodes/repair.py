"""Rebuilds episodes whose content was erased or came from a bad source.

Turns keep their full text and, beside it, the usable rest; summaries are made from that rest. A model may
have paraphrased what has to go, which no text cut finds, so the summary of every affected episode and its
memory are rewritten at once by extract, and a model is asked again. A caller's summary is only cut. Lessons
are not learned a second time. Exclusions can be undone.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from festinger.ids import SpaceId
from festinger.memory.changes import load_existing_memories
from festinger.memory.deps import MemoryDeps
from festinger.memory.episodes.episode import BY_CALLER, BY_EXTRACT, Episode, EpisodeState, episode_from_row
from festinger.memory.episodes.store import list_statements, list_usable_turns, lock_episode
from festinger.memory.episodes.summary import summarize_by_extract
from festinger.memory.erasure.selector import ErasureSelector
from festinger.memory.jobs import EMBED, SUMMARISE
from festinger.memory.learn.statement import fold_hash, gist_hash
from festinger.records import record_json
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.text.blocks import ErasurePattern

Q = load_queries("festinger.memory")


async def find_turns_by_words(
    transaction: Transaction, space: SpaceId, cuts: Iterable[ErasurePattern]
) -> dict[UUID, UUID]:
    """Find the turns that contain some words, each with its episode; call before the words are cut."""
    found: dict[UUID, UUID] = {}
    for cut in cuts:
        rows = await transaction.all(Q["turns_that_said"], space=space, pattern=cut.pattern)
        found |= {row["turn_id"]: row["episode_id"] for row in rows}
    return found


async def rebuild_summary(deps: MemoryDeps, transaction: Transaction, space: SpaceId, episode: UUID) -> bool:
    """Rebuild the summary of an episode from its usable turns; return whether there was one to rebuild."""
    found = await lock_episode(transaction, space, episode)
    turns = await list_usable_turns(transaction, space, episode)
    if found.state is not EpisodeState.SUMMARISED or found.summarised_by == BY_CALLER or not turns:
        return False
    summary = summarize_by_extract(turns, await list_statements(transaction, space, turns))
    row = await transaction.one(
        Q["retell_episode"],
        space=space,
        id=episode,
        title=summary.title,
        summary=summary.summary,
        by=summary.by,
        at=deps.clock(),
    )
    await update_summary_memory(deps, transaction, episode_from_row(row))
    if summary.by == BY_EXTRACT:
        await deps.ask(transaction, SUMMARISE, space=space, episode=str(episode))
    return True


async def update_summary_memory(deps: MemoryDeps, transaction: Transaction, episode: Episode) -> None:
    """Update the memory of a summary to the current summary."""
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
"""A stored copy of a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnExclusionResult:
    """The turns partly or fully excluded, and copies of the episodes whose summaries were rebuilt."""

    turns: tuple[UUID, ...] = ()
    episodes: tuple[Image, ...] = ()
    memories: tuple[Image, ...] = ()
    """The memories of those summaries."""

    @property
    def summaries(self) -> tuple[UUID, ...]:
        return tuple(UUID(image["id"]) for image in self.episodes)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON kept in the change. The text of turns is kept by the turns alone."""
        return record_json(self)


async def exclude_turns(
    deps: MemoryDeps,
    transaction: Transaction,
    space: SpaceId,
    selector: ErasureSelector,
    cuts: Sequence[ErasurePattern],
) -> TurnExclusionResult:
    """Exclude turns from a source, and words learned from it, from summaries."""
    rows = await transaction.all(Q["turns_there"], space=space, **selector.provenance_parameters)
    whole = {row["turn_id"]: row["episode_id"] for row in rows}
    touched = await find_turns_by_words(transaction, space, cuts) | whole
    for cut in cuts:
        await transaction.run(Q["leave_words_out"], space=space, pattern=cut.pattern)
    await transaction.run(Q["leave_turns_out"], space=space, turns=sorted(whole))
    episodes: list[Image] = []
    memories: list[Image] = []
    for episode in sorted(set(touched.values())):
        was = await transaction.one(Q["image_episode"], space=space, id=episode)
        images = await transaction.all(Q["image_memories"], space=space, memories=[was["memory_id"]])
        if await rebuild_summary(deps, transaction, space, episode):
            episodes.append(was["image"])
            memories += [row["image"] for row in images]
    return TurnExclusionResult(turns=tuple(sorted(touched)), episodes=tuple(episodes), memories=tuple(memories))


async def reinstate_turns(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, kept: Mapping[str, Any], *, change: UUID
) -> None:
    """Undo an exclusion. A summary is restored unless another repair still excludes part of it."""
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
    found = await load_existing_memories(transaction, space, [present.memory_id] if present.memory_id else [])
    # What a person wrote into the memory of a summary in the meantime stays.
    if memory is not None and any(each.content == present.told for each in found.values()):
        await update_summary_memory(deps, transaction, episode_from_row(row))
        await transaction.run(Q["put_back_memory"], space=space, image=json.dumps(memory))
