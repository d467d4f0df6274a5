"""How does an episode that has ended get its title and summary, in time and once?

A model is asked if there is one; if it does not answer in time, the episode's own words are taken, and a later answer
takes their place once. What a caller said of the episode stands. What is to be learnt is kept in the same transaction
as the summary, so that whoever goes on after a crash learns the same things; learning them is left to `lessons`.
"""

import asyncio
import json
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import structlog

from festinger.errors import Overloaded, ProviderRefused, Unavailable
from festinger.events.event import Event
from festinger.ids import SpaceId
from festinger.llm.model import Model
from festinger.memory.desk import Desk
from festinger.memory.episodes.episode import BY_EXTRACT, BY_TRANSCRIPT, Episode, State, Turn, episode_of
from festinger.memory.episodes.extract import is_its_own_summary, skipped
from festinger.memory.episodes.keeping import SUM_UP, find_in
from festinger.memory.episodes.lessons import teach
from festinger.memory.episodes.listing import turns_left
from festinger.memory.episodes.retelling import SUMMARISE
from festinger.memory.episodes.summary import Summary, in_its_own_words, in_the_words_of
from festinger.observability.metrics import DEGRADED
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

log = structlog.get_logger(room="memory")

Q = queries_of("festinger.memory")

OWN_WORDS = (BY_EXTRACT, BY_TRANSCRIPT)
WRITER = "writer"
"""What goes on without: the model that writes."""

LEFT_BEHIND = timedelta(minutes=10)
"""After this long nobody is at work on an episode any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """An episode that has ended, and what was said in it."""

    episode: Episode
    turns: tuple[Turn, ...]


async def ask_for_summary(desk: Desk, transaction: Transaction, event: Event) -> None:
    """Have an episode that has ended summed up: by a model at once, and by its own words when that has had its
    time. A subscriber of `episode_closed`."""
    episode = event.payload["episode"]
    wait = timedelta(seconds=desk.terms(event.space).episodes.model_wait_s)
    await desk.ask(transaction, SUMMARISE, space=event.space, episode=episode)
    await desk.ask(transaction, SUM_UP, at=event.at + wait, space=event.space, episode=episode)


async def summarise(desk: Desk, space: SpaceId, episode: UUID) -> Episode:
    """Sum an episode up with the model that writes, however long it takes, and learn what it teaches."""
    ended = await _ended(desk, space, episode)
    if ended is None:
        return await _finished(desk, space, episode)
    model = None if is_its_own_summary(ended.turns) else await desk.writer(space)
    said = await _asked(desk, model, ended) if model else None
    return await _kept(desk, ended, said or _own_words(ended))


async def sum_up(desk: Desk, space: SpaceId, episode: UUID) -> Episode:
    """Sum an episode up in its own words, unless that is done, and learn what it teaches."""
    ended = await _ended(desk, space, episode)
    if ended is None or ended.episode.state is State.SUMMARISED:
        return await _finished(desk, space, episode)
    return await _kept(desk, ended, _own_words(ended))


async def summarise_within(desk: Desk, space: SpaceId, episode: UUID, *, seconds: float) -> Episode:
    """Sum an episode up at once: by the model if it answers in time, else in its own words."""
    try:
        async with asyncio.timeout(seconds):
            return await summarise(desk, space, episode)
    except TimeoutError:
        return await sum_up(desk, space, episode)


async def take_up(desk: Desk, space: SpaceId) -> int:
    """Have those episodes summed up that were left behind by whoever was at work on them; how many."""
    before = desk.clock() - LEFT_BEHIND
    async with desk.store.transaction() as transaction:
        rows = await transaction.all(Q["unfinished_episodes"], space=space, before=before, limit=100)
        for row in rows:
            await desk.ask(transaction, SUM_UP, space=space, episode=str(row["id"]))
    return len(rows)


async def _ended(desk: Desk, space: SpaceId, episode: UUID) -> Ended | None:
    """An episode of which something is still to be said; none if all is said, or nothing is worth saying."""
    async with desk.store.transaction() as transaction:
        found = await find_in(transaction, space, episode)
        is_open = found.state is State.OPEN
        is_said = found.state is State.SUMMARISED and found.summarised_by != BY_EXTRACT
        if is_open or is_said or found.skipped:
            return None
        turns = await turns_left(transaction, space, episode)
        if (reason := skipped(turns)) is not None:
            await transaction.maybe(
                Q["skip_episode"], space=space, id=episode, reason=reason, at=desk.clock()
            )
            return None
    return Ended(episode=found, turns=turns)


def _own_words(ended: Ended) -> Summary:
    return in_its_own_words(ended.turns)


async def _asked(desk: Desk, model: Model, ended: Ended) -> Summary | None:
    """What a model says; none if it says nothing that can be used."""
    most = desk.terms(ended.episode.space_id).episodes.max_facts
    try:
        return await in_the_words_of(model, ended.turns, most=most)
    except (ProviderRefused, Overloaded, Unavailable) as error:
        DEGRADED.labels(WRITER).inc()
        log.warning("episode summed up without a model", episode=str(ended.episode.id), why=error.message)
        return None


async def _kept(desk: Desk, ended: Ended, said: Summary) -> Episode:
    """Write down what was said of an episode, if nobody said it before, and go on to what it teaches."""
    desk.step("summed up")
    async with desk.store.transaction() as transaction:
        row = await transaction.maybe(Q["summarise_episode"], **_columns(desk, ended, said))
        if row is None and said.by not in OWN_WORDS:
            taken = _own_words(ended)
            row = await transaction.maybe(Q["replace_summary"], **_columns(desk, ended, said, was=taken))
    desk.step("summary kept")
    return await _finished(desk, ended.episode.space_id, ended.episode.id)


def _columns(desk: Desk, ended: Ended, said: Summary, *, was: Summary | None = None) -> dict[str, object]:
    columns: dict[str, object] = {
        "space": ended.episode.space_id,
        "id": ended.episode.id,
        "title": said.title,
        "summary": said.summary,
        "by": said.by,
        "outcome": said.outcome,
        "topics": list(said.topics),
        "prompt_hash": said.prompt_hash,
        "at": desk.clock(),
    }
    if was is not None:
        return columns | {"was_title": was.title}
    return columns | {"lessons": json.dumps([lesson.as_json() for lesson in said.lessons])}


async def _finished(desk: Desk, space: SpaceId, episode: UUID) -> Episode:
    """The episode, once what it teaches was learnt."""
    async with desk.store.transaction() as transaction:
        row = await transaction.one(Q["find_episode"], space=space, id=episode)
    found = episode_of(row)
    return await teach(desk, found) if found.state is State.SUMMARISED else found
