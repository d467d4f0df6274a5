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
from festinger.memory.changes import find_memories
from festinger.memory.deps import MemoryDeps
from festinger.memory.edit import edit
from festinger.memory.episodes.episode import (
    BY_CALLER,
    BY_EXTRACT,
    BY_TRANSCRIPT,
    Episode,
    EpisodeState,
    EpisodeTurn,
    Lesson,
    dialogue_turns,
    episode_from_row,
)
from festinger.memory.episodes.repair import SUMMARISE
from festinger.memory.episodes.store import SUM_UP, find_episode, list_usable_turns, lock_episode
from festinger.memory.episodes.summary import (
    Summary,
    find_skip_reason,
    is_short_conversation,
    summarise_with_model,
    summarise_without_model,
)
from festinger.memory.learn.decision import Action
from festinger.memory.learn.intake import RefusalDetail, find_idempotent_result, record_refusal, run_idempotent
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import Learned
from festinger.memory.learn.statement import (
    LearnRefusalReason,
    LearnRequest,
    SourceTurn,
    find_refusal_reason,
    is_supported,
)
from festinger.memory.model import Kind
from festinger.observability.metrics import DEGRADED
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.text.overlap import build_all_shingles

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


async def learn_lessons(deps: MemoryDeps, episode: Episode) -> Episode:
    """Learn what an episode teaches, unless that is done; keep the memory of its summary as the summary is."""
    if episode.facts_at is not None:
        return await _refresh_summary_memory(deps, episode)
    async with deps.store.transaction() as transaction:
        turns = await list_usable_turns(transaction, episode.space_id, episode.id)
        prompts = await _prompts(transaction, episode)
    learned: list[Learned] = []
    memory = None
    if not episode.evaluation:
        learned = [
            await _learn(deps, episode, turns, number, lesson, prompts=prompts)
            for number, lesson in enumerate(episode.lessons)
        ]
        deps.step("lessons learnt")
        memory = await _learn_summary(deps, episode, turns)
    return await _finish(deps, episode, learned, memory)


def build_lesson_request(
    episode: Episode, lesson: Lesson, turns: Mapping[int, EpisodeTurn], *, trusts: Mapping[Origin, float]
) -> LearnRequest:
    """A lesson as it is handed in: said by the weakest of those who said it, and trusted no more than they are."""
    said = [turns[number] for number in lesson.turns if number in turns]
    only_model = bool(said) and all(turn.origin is Origin.MODEL for turn in said)
    return LearnRequest(
        text=lesson.content,
        subject=lesson.subject,
        kind=lesson.kind,
        origin=lesson_origin(said, by_model=lesson.by_model),
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


def lesson_origin(said: Sequence[EpisodeTurn], *, by_model: bool) -> Origin:
    """Whose word a lesson is: that of the least trusted who said it. What a model worded is no person's word."""
    origins = {turn.origin for turn in said}
    weakest = next((origin for origin in WEAKEST_FIRST if origin in origins), Origin.MODEL)
    return Origin.MODEL if by_model and weakest in (Origin.PERSON, Origin.SYSTEM) else weakest


def find_lesson_refusal(
    lesson: Lesson, turns: Mapping[int, EpisodeTurn], *, prompts: frozenset[tuple[str, ...]]
) -> LearnRefusalReason | None:
    """Why a lesson is not learnt; none if it is."""
    said = [turns[number].content for number in lesson.turns if number in turns]
    if not is_supported(lesson.content, said, confidence=lesson.confidence):
        return LearnRefusalReason.UNSUPPORTED
    return find_refusal_reason(lesson.content, prompts=prompts)


async def link_to_episode(
    transaction: Transaction, episode: Episode, target: str, ids: Iterable[UUID], *, relation: str, at: datetime
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


async def link_decision(deps: MemoryDeps, transaction: Transaction, event: Event, *, target: str, id_: UUID) -> None:
    """Tie a decision to the episode of its session that it was made in, if there was one."""
    row = await transaction.maybe(Q["episode_at"], space=event.space, session=event.session, at=event.at)
    if row is not None:
        episode = await lock_episode(transaction, event.space, row["id"])
        await link_to_episode(transaction, episode, target, [id_], relation="decided", at=deps.clock())


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
    return build_all_shingles(row["content"] for row in rows)


async def _learn(
    deps: MemoryDeps,
    episode: Episode,
    turns: Sequence[EpisodeTurn],
    number: int,
    lesson: Lesson,
    *,
    prompts: frozenset[tuple[str, ...]],
) -> Learned:
    by_number = {turn.seq: turn for turn in turns}
    trusts = deps.terms(episode.space_id).trusts
    given = _with_key(build_lesson_request(episode, lesson, by_number, trusts=trusts), f"{episode.source}:{number}")
    reason = find_lesson_refusal(lesson, by_number, prompts=prompts)
    if reason is None:
        return await learn(deps, episode.place, given)
    return await _refuse(deps, episode, given, reason)


async def _refuse(deps: MemoryDeps, episode: Episode, given: LearnRequest, reason: LearnRefusalReason) -> Learned:
    async with deps.store.transaction() as transaction:
        if (done := await find_idempotent_result(deps, transaction, episode.place, given)) is not None:
            return done
        text = deps.terms(episode.space_id).redact(given.text).text
        again = await transaction.maybe(
            Q["refused_before"], space=episode.space_id, session=episode.session_id, text=text
        )
        named = (
            RefusalDetail(reason=LearnRefusalReason.DUPLICATE.value, detail=reason.value)
            if again
            else RefusalDetail(reason=reason.value)
        )

        async def deed() -> Learned:
            return await record_refusal(deps, transaction, episode.place, given, named, at=deps.clock())

        return await run_idempotent(deps, transaction, episode.place, given=given, write=deed)


async def _learn_summary(deps: MemoryDeps, episode: Episode, turns: Sequence[EpisodeTurn]) -> MemoryId | None:
    """The summary as a memory of its own. Words cut out of a transcript make none: what they state was learned from the
    turns already, and the rest is questions and small talk."""
    if episode.summarised_by in (BY_EXTRACT, BY_TRANSCRIPT):
        return None
    said = dialogue_turns(turns)[:MOST_SOURCES]
    trusts = deps.terms(episode.space_id).trusts
    given = LearnRequest(
        text=episode.told,
        kind=Kind.EPISODIC,
        origin=Origin.JOB,
        source=episode.source,
        turns=_sources(said, trusts),
        by_model=episode.summarised_by not in UNWORDED,
        event_time=episode.opened_at,
        episode_id=episode.id,
    )
    learned = await learn(deps, episode.place, _with_key(given, f"{episode.source}:summary"))
    return learned.memory.id if learned.memory else None


async def _refresh_summary_memory(deps: MemoryDeps, episode: Episode) -> Episode:
    """Give the memory of a summary the words that the summary has now."""
    if episode.memory_id is None:
        return await _learn_late_summary(deps, episode)
    async with deps.store.transaction() as transaction:
        found = await find_memories(transaction, episode.space_id, [episode.memory_id])
    memory = found.get(episode.memory_id)
    wanted = episode.told
    # It may be the memory of an earlier episode that was told in the same words; that keeps them.
    is_own = memory is not None and memory.source == episode.source
    if memory is not None and is_own and memory.is_live and memory.content != wanted:
        await edit(deps, episode.space_id, memory.id, wanted, by=episode.summarised_by or BY_CALLER)
    return episode


async def _learn_late_summary(deps: MemoryDeps, episode: Episode) -> Episode:
    """Make the memory of a summary that a model or a caller worded only after the episode was finished."""
    if episode.evaluation:
        return episode
    async with deps.store.transaction() as transaction:
        turns = await list_usable_turns(transaction, episode.space_id, episode.id)
    if (memory := await _learn_summary(deps, episode, turns)) is None:
        return episode
    async with deps.store.transaction() as transaction:
        row = await transaction.one(Q["give_episode_memory"], space=episode.space_id, id=episode.id, memory=memory)
    return episode_from_row(row)


async def _finish(deps: MemoryDeps, episode: Episode, learned: Sequence[Learned], memory: MemoryId | None) -> Episode:
    """Tie what came of an episode to it, and note that all was learnt; once."""
    now = deps.clock()
    kept = [each for each in learned if each.memory is not None and each.action is not Action.ECHOED]
    async with deps.store.transaction() as transaction:
        present = await lock_episode(transaction, episode.space_id, episode.id)
        if present.facts_at is not None:
            return present
        decided = [lesson.is_decision for lesson in episode.lessons]
        ids = [
            (each.memory.id, mark) for each, mark in zip(learned, decided, strict=False) if each in kept and each.memory
        ]
        said = await transaction.all(
            Q["learned_from_turns"],
            space=episode.space_id,
            session=episode.session_id,
            turns=[turn.turn_id for turn in await list_usable_turns(transaction, episode.space_id, episode.id)],
        )
        ids += [(row["id"], DECISION in row["tags"]) for row in said]
        await link_to_episode(
            transaction, present, "memory", [id_ for id_, mark in ids if not mark], relation="learnt", at=now
        )
        await link_to_episode(
            transaction, present, "memory", [id_ for id_, mark in ids if mark], relation="decided", at=now
        )
        replaced = await transaction.all(
            Q["supersessions_of_session"],
            space=episode.space_id,
            session=episode.session_id,
            since=episode.opened_at,
            until=now,
        )
        await link_to_episode(
            transaction, present, "change", [row["id"] for row in replaced], relation="superseded", at=now
        )
        row = await transaction.one(Q["finish_episode"], space=episode.space_id, id=episode.id, at=now, memory=memory)
        await _emit_summarised(deps, transaction, present, facts=len(kept), memory=memory)
    return episode_from_row(row)


async def _emit_summarised(
    deps: MemoryDeps, transaction: Transaction, episode: Episode, *, facts: int, memory: MemoryId | None
) -> None:
    await deps.outbox.emit(
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


def _sources(said: Sequence[EpisodeTurn], trusts: Mapping[Origin, float]) -> tuple[SourceTurn, ...]:
    return tuple(SourceTurn(id=turn.turn_id, trust=trusts.get(turn.origin, trusts[Origin.MODEL])) for turn in said)


def _with_key(given: LearnRequest, key: str) -> LearnRequest:
    return replace(given, key=key)


log = structlog.get_logger(room="memory")

OWN_WORDS = (BY_EXTRACT, BY_TRANSCRIPT)
WRITER = "writer"
"""What goes on without: the model that writes."""

LEFT_BEHIND = timedelta(minutes=10)
"""After this long nobody is at work on an episode any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedEpisode:
    """An episode that has ended, and what was said in it."""

    episode: Episode
    turns: tuple[EpisodeTurn, ...]


async def request_summary(deps: MemoryDeps, transaction: Transaction, event: Event) -> None:
    """Have an episode that has ended summed up: by a model at once, and by its own words when that has had its
    time. A subscriber of `episode_closed`."""
    episode = event.payload["episode"]
    wait = timedelta(seconds=deps.terms(event.space).episodes.model_wait_s)
    await deps.ask(transaction, SUMMARISE, space=event.space, episode=episode)
    await deps.ask(transaction, SUM_UP, at=event.at + wait, space=event.space, episode=episode)


async def summarise(deps: MemoryDeps, space: SpaceId, episode: UUID) -> Episode:
    """Sum an episode up with the model that writes, however long it takes, and learn what it teaches."""
    ended = await _load_closed_episode(deps, space, episode)
    if ended is None:
        return await _finish_lessons(deps, space, episode)
    model = None if is_short_conversation(ended.turns) else await deps.writer(space)
    said = await _ask_model(deps, model, ended) if model else None
    return await _save_summary(deps, ended, said or _extract_summary(ended))


async def summarise_by_extract(deps: MemoryDeps, space: SpaceId, episode: UUID) -> Episode:
    """Sum an episode up in its own words, unless that is done, and learn what it teaches."""
    ended = await _load_closed_episode(deps, space, episode)
    if ended is None or ended.episode.state is EpisodeState.SUMMARISED:
        return await _finish_lessons(deps, space, episode)
    return await _save_summary(deps, ended, _extract_summary(ended))


async def summarise_with_timeout(deps: MemoryDeps, space: SpaceId, episode: UUID, *, seconds: float) -> Episode:
    """Sum an episode up at once: by the model if it answers in time, else in its own words."""
    try:
        async with asyncio.timeout(seconds):
            return await summarise(deps, space, episode)
    except TimeoutError:
        return await summarise_by_extract(deps, space, episode)


async def requeue_unfinished_episodes(deps: MemoryDeps, space: SpaceId) -> int:
    """Have those episodes summed up that were left behind by whoever was at work on them; how many."""
    before = deps.clock() - LEFT_BEHIND
    async with deps.store.transaction() as transaction:
        rows = await transaction.all(Q["unfinished_episodes"], space=space, before=before, limit=100)
        for row in rows:
            await deps.ask(transaction, SUM_UP, space=space, episode=str(row["id"]))
    return len(rows)


async def _load_closed_episode(deps: MemoryDeps, space: SpaceId, episode: UUID) -> ClosedEpisode | None:
    """An episode of which something is still to be said; none if all is said, or nothing is worth saying."""
    async with deps.store.transaction() as transaction:
        found = await find_episode(transaction, space, episode)
        is_open = found.state is EpisodeState.OPEN
        is_said = found.state is EpisodeState.SUMMARISED and found.summarised_by != BY_EXTRACT
        if is_open or is_said or found.skipped:
            return None
        turns = await list_usable_turns(transaction, space, episode)
        if (reason := find_skip_reason(turns)) is not None:
            await transaction.maybe(Q["skip_episode"], space=space, id=episode, reason=reason, at=deps.clock())
            return None
    return ClosedEpisode(episode=found, turns=turns)


def _extract_summary(ended: ClosedEpisode) -> Summary:
    return summarise_without_model(ended.turns)


async def _ask_model(deps: MemoryDeps, model: Model, ended: ClosedEpisode) -> Summary | None:
    """What a model says; none if it says nothing that can be used."""
    most = deps.terms(ended.episode.space_id).episodes.max_facts
    try:
        return await summarise_with_model(model, ended.turns, most=most)
    except (ProviderRefused, Overloaded, Unavailable) as error:
        DEGRADED.labels(WRITER).inc()
        log.warning("episode summed up without a model", episode=str(ended.episode.id), why=error.message)
        return None


async def _save_summary(deps: MemoryDeps, ended: ClosedEpisode, said: Summary) -> Episode:
    """Write down what was said of an episode, if nobody said it before, and go on to what it teaches."""
    deps.step("summed up")
    async with deps.store.transaction() as transaction:
        row = await transaction.maybe(Q["summarise_episode"], **_columns(deps, ended, said))
        if row is None and said.by not in OWN_WORDS:
            taken = _extract_summary(ended)
            row = await transaction.maybe(Q["replace_summary"], **_columns(deps, ended, said, was=taken))
    deps.step("summary kept")
    return await _finish_lessons(deps, ended.episode.space_id, ended.episode.id)


def _columns(deps: MemoryDeps, ended: ClosedEpisode, said: Summary, *, was: Summary | None = None) -> dict[str, object]:
    columns: dict[str, object] = {
        "space": ended.episode.space_id,
        "id": ended.episode.id,
        "title": said.title,
        "summary": said.summary,
        "by": said.by,
        "outcome": said.outcome,
        "topics": list(said.topics),
        "prompt_hash": said.prompt_hash,
        "at": deps.clock(),
    }
    if was is not None:
        return columns | {"was_title": was.title}
    return columns | {"lessons": json.dumps([lesson.as_json() for lesson in said.lessons])}


async def _finish_lessons(deps: MemoryDeps, space: SpaceId, episode: UUID) -> Episode:
    """The episode, once what it teaches was learnt."""
    async with deps.store.transaction() as transaction:
        row = await transaction.one(Q["find_episode"], space=space, id=episode)
    found = episode_from_row(row)
    return await learn_lessons(deps, found) if found.state is EpisodeState.SUMMARISED else found
