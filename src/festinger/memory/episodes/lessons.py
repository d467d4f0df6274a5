"""What is learnt from an episode, and tied to it?

Each lesson goes through `learn` like everything else, with its turns as sources and a key of its own, so that doing
it twice does nothing twice. What its turns do not support, and what is only talk, is refused by name. The summary
becomes a memory too. That all of it was learnt is noted in the transaction that ties it to the episode. A trial
teaches nothing.

How does an episode that has ended get its title and summary, in time and once?

A model is asked if there is one; if it does not answer in time, the episode's own words are taken, and a later answer
takes their place once. What a caller said of the episode stands. What is to be learnt is kept in the same transaction
as the summary, so that whoever goes on after a crash learns the same things; learning them is left to `lessons`.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from festinger.errors import Overloaded, ProviderRefused, Unavailable
from festinger.events.event import Event
from festinger.ids import MemoryId, Origin, SpaceId
from festinger.llm.model import Model
from festinger.memory.changes import find_all
from festinger.memory.deps import Desk
from festinger.memory.edit import edit
from festinger.memory.episodes.episode import (
    BY_CALLER,
    BY_EXTRACT,
    BY_TRANSCRIPT,
    Episode,
    Lesson,
    State,
    Turn,
    episode_of,
    spoken,
)
from festinger.memory.episodes.repair import SUMMARISE
from festinger.memory.episodes.store import SUM_UP, find_in, lock_episode, turns_left
from festinger.memory.episodes.summary import (
    Summary,
    in_its_own_words,
    in_the_words_of,
    is_its_own_summary,
    skipped,
)
from festinger.memory.learn.decision import Action
from festinger.memory.learn.intake import Refusal, earlier, once, refuse
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import Learned
from festinger.memory.learn.statement import Given, Reason, is_supported, unworthy
from festinger.memory.learn.statement import Turn as Source
from festinger.memory.model import Kind
from festinger.observability.metrics import DEGRADED
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.text.overlap import all_shingles

Q = queries_of("festinger.memory")

DECISION = "decision"
"""The tag of what was decided in an episode."""
MOST_SOURCES = 200
"""Turns that a summary names as its sources."""

MOST_PROMPTS = 50
"""System texts of a session that lessons are held against, the newest first."""

WEAKEST_FIRST = (Origin.DOCUMENT, Origin.TOOL, Origin.MODEL, Origin.SYSTEM, Origin.PERSON)
UNWORDED = (BY_CALLER, BY_EXTRACT, BY_TRANSCRIPT)
"""Summaries that no model put into words."""


async def teach(desk: Desk, episode: Episode) -> Episode:
    """Learn what an episode teaches, unless that is done; keep the memory of its summary as the summary is."""
    if episode.facts_at is not None:
        return await _refresh(desk, episode)
    async with desk.store.transaction() as transaction:
        turns = await turns_left(transaction, episode.space_id, episode.id)
        prompts = await _prompts(transaction, episode)
    learned: list[Learned] = []
    memory = None
    if not episode.evaluation:
        learned = [
            await _learn(desk, episode, turns, number, lesson, prompts=prompts)
            for number, lesson in enumerate(episode.lessons)
        ]
        desk.step("lessons learnt")
        memory = await _remember(desk, episode, turns)
    return await _finish(desk, episode, learned, memory)


def given_of(
    episode: Episode, lesson: Lesson, turns: Mapping[int, Turn], *, trusts: Mapping[Origin, float]
) -> Given:
    """A lesson as it is handed in: said by the weakest of those who said it, and trusted no more than they are."""
    said = [turns[number] for number in lesson.turns if number in turns]
    only_model = bool(said) and all(turn.origin is Origin.MODEL for turn in said)
    return Given(
        text=lesson.content,
        subject=lesson.subject,
        kind=lesson.kind,
        origin=speaker(said, by_model=lesson.by_model),
        source=episode.source,
        source_confidence=lesson.confidence,
        turns=_sources(said, trusts),
        # What only the model said has the model's trust; who words it again takes nothing more off.
        by_model=lesson.by_model and not only_model,
        tags=(DECISION,) if lesson.is_decision else (),
        asked=False,
        episode_id=episode.id,
        turn_id=said[0].turn_id if said else None,
    )


def speaker(said: Sequence[Turn], *, by_model: bool) -> Origin:
    """Whose word a lesson is: that of the least trusted who said it. What a model worded is no person's word."""
    origins = {turn.origin for turn in said}
    weakest = next((origin for origin in WEAKEST_FIRST if origin in origins), Origin.MODEL)
    return Origin.MODEL if by_model and weakest in (Origin.PERSON, Origin.SYSTEM) else weakest


def refusal_of(
    lesson: Lesson, turns: Mapping[int, Turn], *, prompts: frozenset[tuple[str, ...]]
) -> Reason | None:
    """Why a lesson is not learnt; none if it is."""
    said = [turns[number].content for number in lesson.turns if number in turns]
    if not is_supported(lesson.content, said, confidence=lesson.confidence):
        return Reason.UNSUPPORTED
    return unworthy(lesson.content, prompts=prompts)


async def tie(
    transaction: Transaction,
    episode: Episode,
    target: str,
    ids: Iterable[UUID],
    *,
    relation: str,
    at: datetime,
) -> None:
    """Tie something to an episode, once."""
    if wanted := list(ids):
        await transaction.run(
            Q["link_episode"],
            space=episode.space_id,
            episode=episode.id,
            target=target,
            ids=wanted,
            relation=relation,
            at=at,
        )


async def tie_decision(desk: Desk, transaction: Transaction, event: Event, *, target: str, id_: UUID) -> None:
    """Tie a decision to the episode of its session that it was made in, if there was one."""
    row = await transaction.maybe(Q["episode_at"], space=event.space, session=event.session, at=event.at)
    if row is not None:
        episode = await lock_episode(transaction, event.space, row["id"])
        await tie(transaction, episode, target, [id_], relation="decided", at=desk.clock())


async def _prompts(transaction: Transaction, episode: Episode) -> frozenset[tuple[str, ...]]:
    """What the agent was told to be and of its tools, in shingles. It is told once in a session, and counts in every
    later episode of it."""
    rows = await transaction.all(
        Q["prompts_of_session"],
        space=episode.space_id,
        agent=episode.agent_id,
        session=episode.session_id,
        limit=MOST_PROMPTS,
    )
    return all_shingles(row["content"] for row in rows)


async def _learn(
    desk: Desk,
    episode: Episode,
    turns: Sequence[Turn],
    number: int,
    lesson: Lesson,
    *,
    prompts: frozenset[tuple[str, ...]],
) -> Learned:
    by_number = {turn.seq: turn for turn in turns}
    trusts = desk.terms(episode.space_id).trusts
    given = _keyed(given_of(episode, lesson, by_number, trusts=trusts), f"{episode.source}:{number}")
    reason = refusal_of(lesson, by_number, prompts=prompts)
    if reason is None:
        return await learn(desk, episode.place, given)
    return await _refuse(desk, episode, given, reason)


async def _refuse(desk: Desk, episode: Episode, given: Given, reason: Reason) -> Learned:
    async with desk.store.transaction() as transaction:
        if (done := await earlier(desk, transaction, episode.place, given)) is not None:
            return done
        text = desk.terms(episode.space_id).redact(given.text).text
        again = await transaction.maybe(
            Q["refused_before"], space=episode.space_id, session=episode.session_id, text=text
        )
        named = (
            Refusal(reason=Reason.DUPLICATE.value, detail=reason.value)
            if again
            else Refusal(reason=reason.value)
        )

        async def deed() -> Learned:
            return await refuse(desk, transaction, episode.place, given, named, at=desk.clock())

        return await once(desk, transaction, episode.place, given=given, write=deed)


async def _remember(desk: Desk, episode: Episode, turns: Sequence[Turn]) -> MemoryId | None:
    """The summary as a memory of its own. Words cut out of a transcript make none: what they state was learned from the
    turns already, and the rest is questions and small talk."""
    if episode.summarised_by in (BY_EXTRACT, BY_TRANSCRIPT):
        return None
    said = spoken(turns)[:MOST_SOURCES]
    trusts = desk.terms(episode.space_id).trusts
    given = Given(
        text=episode.told,
        kind=Kind.EPISODIC,
        origin=Origin.JOB,
        source=episode.source,
        turns=_sources(said, trusts),
        by_model=episode.summarised_by not in UNWORDED,
        event_time=episode.opened_at,
        episode_id=episode.id,
    )
    learned = await learn(desk, episode.place, _keyed(given, f"{episode.source}:summary"))
    return learned.memory.id if learned.memory else None


async def _refresh(desk: Desk, episode: Episode) -> Episode:
    """Give the memory of a summary the words that the summary has now."""
    if episode.memory_id is None:
        return await _remember_late(desk, episode)
    async with desk.store.transaction() as transaction:
        found = await find_all(transaction, episode.space_id, [episode.memory_id])
    memory = found.get(episode.memory_id)
    wanted = episode.told
    # It may be the memory of an earlier episode that was told in the same words; that keeps them.
    is_own = memory is not None and memory.source == episode.source
    if memory is not None and is_own and memory.is_live and memory.content != wanted:
        await edit(desk, episode.space_id, memory.id, wanted, by=episode.summarised_by or BY_CALLER)
    return episode


async def _remember_late(desk: Desk, episode: Episode) -> Episode:
    """Make the memory of a summary that a model or a caller worded only after the episode was finished."""
    if episode.evaluation:
        return episode
    async with desk.store.transaction() as transaction:
        turns = await turns_left(transaction, episode.space_id, episode.id)
    if (memory := await _remember(desk, episode, turns)) is None:
        return episode
    async with desk.store.transaction() as transaction:
        row = await transaction.one(
            Q["give_episode_memory"], space=episode.space_id, id=episode.id, memory=memory
        )
    return episode_of(row)


async def _finish(
    desk: Desk, episode: Episode, learned: Sequence[Learned], memory: MemoryId | None
) -> Episode:
    """Tie what came of an episode to it, and note that all was learnt; once."""
    now = desk.clock()
    kept = [each for each in learned if each.memory is not None and each.action is not Action.ECHOED]
    async with desk.store.transaction() as transaction:
        present = await lock_episode(transaction, episode.space_id, episode.id)
        if present.facts_at is not None:
            return present
        decided = [lesson.is_decision for lesson in episode.lessons]
        ids = [
            (each.memory.id, mark)
            for each, mark in zip(learned, decided, strict=False)
            if each in kept and each.memory
        ]
        said = await transaction.all(
            Q["learned_from_turns"],
            space=episode.space_id,
            session=episode.session_id,
            turns=[turn.turn_id for turn in await turns_left(transaction, episode.space_id, episode.id)],
        )
        ids += [(row["id"], DECISION in row["tags"]) for row in said]
        await tie(
            transaction, present, "memory", [id_ for id_, mark in ids if not mark], relation="learnt", at=now
        )
        await tie(
            transaction, present, "memory", [id_ for id_, mark in ids if mark], relation="decided", at=now
        )
        replaced = await transaction.all(
            Q["supersessions_of_session"],
            space=episode.space_id,
            session=episode.session_id,
            since=episode.opened_at,
            until=now,
        )
        await tie(
            transaction, present, "change", [row["id"] for row in replaced], relation="superseded", at=now
        )
        row = await transaction.one(
            Q["finish_episode"], space=episode.space_id, id=episode.id, at=now, memory=memory
        )
        await _tell(desk, transaction, present, facts=len(kept), memory=memory)
    return episode_of(row)


async def _tell(
    desk: Desk, transaction: Transaction, episode: Episode, *, facts: int, memory: MemoryId | None
) -> None:
    await desk.outbox.emit(
        transaction,
        "episode_summarised",
        space=episode.space_id,
        subject=f"episode:{episode.id}",
        payload={
            "episode": str(episode.id),
            "memory": str(memory) if memory else None,
            "by": episode.summarised_by or BY_CALLER,
            "facts": facts,
        },
        agent=episode.agent_id,
        session=episode.session_id,
    )


def _sources(said: Sequence[Turn], trusts: Mapping[Origin, float]) -> tuple[Source, ...]:
    return tuple(
        Source(id=turn.turn_id, trust=trusts.get(turn.origin, trusts[Origin.MODEL])) for turn in said
    )


def _keyed(given: Given, key: str) -> Given:
    return replace(given, key=key)


log = structlog.get_logger(room="memory")

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
