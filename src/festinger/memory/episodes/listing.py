"""How are episodes found and read?"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.clock import iso
from festinger.ids import SpaceId
from festinger.memory.desk import Desk
from festinger.memory.episodes.episode import Episode, State, Turn, episode_of, turn_of
from festinger.memory.episodes.keeping import find_in
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """Something that was learnt, decided or replaced in an episode."""

    target: str
    target_id: UUID
    relation: str
    at: datetime

    def as_json(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "id": str(self.target_id),
            "relation": self.relation,
            "at": iso(self.at),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """An episode with everything that was said in it and came of it."""

    episode: Episode
    turns: tuple[Turn, ...]
    ties: tuple[Tie, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "episode": self.episode.as_json(),
            "turns": [turn.as_json() for turn in self.turns],
            "links": [tie.as_json() for tie in self.ties],
        }


async def find(desk: Desk, space: SpaceId, episode: UUID) -> Episode:
    """One episode. Raises `NotFound`."""
    async with desk.store.transaction() as transaction:
        return await find_in(transaction, space, episode)


async def tell(desk: Desk, space: SpaceId, episode: UUID) -> Told:
    """One episode as a whole. Raises `NotFound`."""
    async with desk.store.transaction() as transaction:
        found = await find_in(transaction, space, episode)
        links = await transaction.all(Q["links_of_episode"], space=space, episode=episode)
        return Told(
            episode=found,
            turns=await turns_of(transaction, space, episode),
            ties=tuple(Tie(**row) for row in links),
        )


async def turns_of(transaction: Transaction, space: SpaceId, episode: UUID) -> tuple[Turn, ...]:
    """What was said in an episode, in its order."""
    return tuple(map(turn_of, await transaction.all(Q["turns_of"], space=space, episode=episode)))


async def turns_left(transaction: Transaction, space: SpaceId, episode: UUID) -> tuple[Turn, ...]:
    """The same without what came from a source that was taken back: what an episode is summed up by."""
    return tuple(map(turn_of, await transaction.all(Q["turns_left"], space=space, episode=episode)))


async def page(
    desk: Desk,
    space: SpaceId,
    *,
    agent: str | None = None,
    session: str | None = None,
    state: State | None = None,
    before: int | None = None,
    limit: int = 50,
) -> list[Episode]:
    """Episodes, the newest first; `before` is the `seq` of the last one that was shown."""
    wanted: Mapping[str, Any] = {"agent": agent, "session": session, "state": state.value if state else None}
    rows = await desk.store.all(Q["episodes"], space=space, **wanted, before=before, limit=limit)
    return [episode_of(row) for row in rows]
