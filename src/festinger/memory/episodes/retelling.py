"""What becomes of a summary when something that it sums up was forgotten or taken back?

A model may have put it into other words, which no cut finds. So the summary of every episode in which it was said is
written anew at once, in what is left of the episode's own words, and so is the memory of that summary; a model is then
asked again. What a caller wrote of an episode is that person's, and is only cut. What the episode taught is not learnt
a second time.
"""

from collections.abc import Iterable
from uuid import UUID

from festinger.ids import SpaceId
from festinger.memory.desk import Desk
from festinger.memory.episodes.episode import BY_CALLER, BY_EXTRACT, Episode, State, episode_of
from festinger.memory.episodes.keeping import lock_episode
from festinger.memory.episodes.listing import turns_left
from festinger.memory.episodes.summary import in_its_own_words
from festinger.memory.gist import fold_mark, gist_mark
from festinger.memory.storing import EMBED
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.text.blocks import Cut

Q = queries_of("festinger.memory")

SUMMARISE = "summarise_episode"
"""The job that asks a model."""


async def turns_with(transaction: Transaction, space: SpaceId, cuts: Iterable[Cut]) -> dict[UUID, UUID]:
    """The turns in which some words were said, before they are cut out, each with its episode."""
    found: dict[UUID, UUID] = {}
    for cut in cuts:
        rows = await transaction.all(Q["turns_that_said"], space=space, pattern=cut.pattern)
        found |= {row["turn_id"]: row["episode_id"] for row in rows}
    return found


async def retell(desk: Desk, transaction: Transaction, space: SpaceId, episode: UUID) -> bool:
    """Sum an episode up anew from what is left of its words; whether there was a summary to write anew."""
    found = await lock_episode(transaction, space, episode)
    turns = await turns_left(transaction, space, episode)
    if found.state is not State.SUMMARISED or found.summarised_by == BY_CALLER or not turns:
        return False
    said = in_its_own_words(turns)
    row = await transaction.one(
        Q["retell_episode"],
        space=space,
        id=episode,
        title=said.title,
        summary=said.summary,
        by=said.by,
        at=desk.clock(),
    )
    await reword_memory(desk, transaction, episode_of(row))
    if said.by == BY_EXTRACT:
        await desk.ask(transaction, SUMMARISE, space=space, episode=str(episode))
    return True


async def reword_memory(desk: Desk, transaction: Transaction, episode: Episode) -> None:
    """Give the memory of a summary the words that the summary has now."""
    changed = await transaction.run(
        Q["reword_summary"],
        space=episode.space_id,
        id=episode.memory_id,
        source=episode.source,
        content=episode.told,
        fold=fold_mark(episode.told),
        gist=gist_mark(episode.told),
        at=desk.clock(),
    )
    if changed:
        await transaction.run(Q["erase_vectors"], space=episode.space_id, memories=[episode.memory_id])
        await desk.ask(transaction, EMBED, space=episode.space_id)
