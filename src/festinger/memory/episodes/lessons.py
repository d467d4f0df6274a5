"""What is learnt from an episode, and tied to it?

Each lesson goes through `learn` like everything else, with its turns as sources and a key of its own, so that doing
it twice does nothing twice. What its turns do not support, and what is only talk, is refused by name. The summary
becomes a memory too. That all of it was learnt is noted in the transaction that ties it to the episode. A trial
teaches nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from festinger.events.event import Event
from festinger.ids import MemoryId, Origin
from festinger.memory.decision import Action
from festinger.memory.desk import Desk
from festinger.memory.episodes.episode import (
    BY_CALLER,
    BY_EXTRACT,
    BY_TRANSCRIPT,
    Episode,
    Lesson,
    Turn,
    episode_of,
)
from festinger.memory.episodes.keeping import lock_episode
from festinger.memory.episodes.listing import turns_left
from festinger.memory.episodes.transcript import spoken
from festinger.memory.given import Given
from festinger.memory.given import Turn as Source
from festinger.memory.hygiene import Reason, is_supported, unworthy
from festinger.memory.intake import Refusal, refuse
from festinger.memory.keys import earlier, once
from festinger.memory.kinds import Kind
from festinger.memory.learn import learn
from festinger.memory.learned import Learned
from festinger.memory.revising import edit
from festinger.memory.states import find_all
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
