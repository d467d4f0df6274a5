"""Summarizes closed episodes and learns their lessons.

A model summarizes if there is one; if it is late, an extract of the episode is used, and a later answer
replaces it once. A caller's summary stays. Lessons are stored in the transaction of the summary, so that a
restart after a crash learns the same ones. Each lesson goes through `learn` with its turns as sources and an
idempotency key; unsupported lessons and small talk are refused with a reason. The summary becomes a memory
too. Completion is recorded in the transaction that links it all to the episode. Evaluation episodes teach
nothing.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from festinger.errors import Overloaded, ProviderRefused, Unavailable
from festinger.events.catalogue import Event
from festinger.ids import MemoryId, Origin, SpaceId
from festinger.llm.model import Model
from festinger.memory.changes import load_existing_memories
from festinger.memory.deps import MemoryDeps, log_writer_failure
from festinger.memory.edit import edit
from festinger.memory.episodes.episode import (
    BY_CALLER,
    BY_EXTRACT,
    BY_TRANSCRIPT,
    Episode,
    EpisodeState,
    EpisodeTurn,
    Lesson,
    TurnStatement,
    dialogue_turns,
    episode_from_row,
)
from festinger.memory.episodes.store import find_episode, list_statements, list_usable_turns, lock_episode
from festinger.memory.episodes.summary import (
    EpisodeSummary,
    find_skip_reason,
    is_short_conversation,
    summarize_by_extract,
    summarize_with_model,
)
from festinger.memory.jobs import SUM_UP, SUMMARISE
from festinger.memory.learn.intake import LearnRefusal, find_idempotent_result, record_refusal, run_idempotent
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import Learned
from festinger.memory.learn.statement import (
    LearnRefusalReason,
    LearnRequest,
    TurnWithTrust,
    find_refusal_reason,
    is_supported,
)
from festinger.memory.model import Kind, LearnAction
from festinger.observability.metrics import DEGRADED
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.text.overlap import build_all_shingles

Q = load_queries("festinger.memory")

DECISION = "decision"
"""Tag of decisions made in an episode."""
MOST_SOURCES = 200
"""Turns that a summary names as its sources."""

MOST_PROMPTS = 50
"""System texts of a session that lessons are compared with, newest first."""

WEAKEST_FIRST = (Origin.DOCUMENT, Origin.TOOL, Origin.MODEL, Origin.SYSTEM, Origin.PERSON)
UNWORDED = (BY_CALLER, BY_EXTRACT, BY_TRANSCRIPT)
"""Authors of summaries that no model worded."""


async def learn_lessons(deps: MemoryDeps, episode: Episode) -> Episode:
    """Learn the lessons of an episode unless done, and keep its summary memory up to date."""
    if episode.facts_at is not None:
        return await _refresh_summary_memory(deps, episode)
    async with deps.store.transaction() as transaction:
        turns = await list_usable_turns(transaction, episode.space_id, episode.id)
        prompts = await _load_prompt_shingles(transaction, episode)
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
    """Build the learn request of a lesson, with the origin and trust of its least trusted speaker."""
    sources = [turns[number] for number in lesson.turns if number in turns]
    only_model = bool(sources) and all(turn.origin is Origin.MODEL for turn in sources)
    return LearnRequest(
        text=lesson.content,
        subject=lesson.subject,
        kind=lesson.kind,
        origin=lesson_origin(sources, by_model=lesson.by_model),
        source=episode.source,
        source_confidence=lesson.confidence,
        turns=_sources(sources, trusts),
        # What only the model said already has the model's trust; rewording it takes nothing more off.
        by_model=lesson.by_model and not only_model,
        tags=(DECISION,) if lesson.is_decision else (),
        asked=False,
        episode_id=episode.id,
        turn_id=sources[0].turn_id if sources else None,
    )


def lesson_origin(turns: Sequence[EpisodeTurn], *, by_model: bool) -> Origin:
    """Return the least trusted origin among the speakers. What a model worded is not a person's word."""
    origins = {turn.origin for turn in turns}
    weakest = next((origin for origin in WEAKEST_FIRST if origin in origins), Origin.MODEL)
    return Origin.MODEL if by_model and weakest in (Origin.PERSON, Origin.SYSTEM) else weakest


def find_lesson_refusal_reason(
    lesson: Lesson, turns: Mapping[int, EpisodeTurn], *, prompts: frozenset[tuple[str, ...]]
) -> LearnRefusalReason | None:
    """Why a lesson is refused; None if it is learned."""
    contents = [turns[number].content for number in lesson.turns if number in turns]
    if not is_supported(lesson.content, contents, confidence=lesson.confidence):
        return LearnRefusalReason.UNSUPPORTED
    return find_refusal_reason(lesson.content, prompts=prompts)


async def link_to_episode(
    transaction: Transaction, episode: Episode, target: str, ids: Iterable[UUID], *, relation: str, at: datetime
) -> None:
    """Link something to an episode; idempotent."""
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


async def link_decision_to_episode(
    deps: MemoryDeps, transaction: Transaction, event: Event, *, target: str, id_: UUID
) -> None:
    """Link a decision to the episode of its session in which it was made, if any."""
    row = await transaction.maybe(Q["episode_at"], space=event.space, session=event.session, at=event.at)
    if row is not None:
        episode = await lock_episode(transaction, event.space, row["id"])
        await link_to_episode(transaction, episode, target, [id_], relation="decided", at=deps.clock())


async def _load_prompt_shingles(transaction: Transaction, episode: Episode) -> frozenset[tuple[str, ...]]:
    """Return shingles of the session's system prompts, which apply to all of its later episodes."""
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
    request = _with_key(build_lesson_request(episode, lesson, by_number, trusts=trusts), f"{episode.source}:{number}")
    reason = find_lesson_refusal_reason(lesson, by_number, prompts=prompts)
    if reason is None:
        return await learn(deps, episode.place, request)
    return await _refuse(deps, episode, request, reason)


async def _refuse(deps: MemoryDeps, episode: Episode, request: LearnRequest, reason: LearnRefusalReason) -> Learned:
    async with deps.store.transaction() as transaction:
        if (done := await find_idempotent_result(deps, transaction, episode.place, request)) is not None:
            return done
        text = deps.terms(episode.space_id).redact(request.text).text
        again = await transaction.maybe(
            Q["refused_before"], space=episode.space_id, session=episode.session_id, text=text
        )
        refusal = LearnRefusal(
            request=request,
            reason=LearnRefusalReason.DUPLICATE.value if again else reason.value,
            detail=reason.value if again else "",
        )
        write = partial(record_refusal, deps, transaction, episode.place, refusal)
        return await run_idempotent(deps, transaction, episode.place, request, write)


async def _learn_summary(deps: MemoryDeps, episode: Episode, turns: Sequence[EpisodeTurn]) -> MemoryId | None:
    """Learn the summary as a memory. Extracts are skipped: their statements were learned from the turns."""
    if episode.summarised_by in (BY_EXTRACT, BY_TRANSCRIPT):
        return None
    dialogue = dialogue_turns(turns)[:MOST_SOURCES]
    trusts = deps.terms(episode.space_id).trusts
    request = LearnRequest(
        text=episode.told,
        kind=Kind.EPISODIC,
        origin=Origin.JOB,
        source=episode.source,
        turns=_sources(dialogue, trusts),
        by_model=episode.summarised_by not in UNWORDED,
        event_time=episode.opened_at,
        episode_id=episode.id,
    )
    learned = await learn(deps, episode.place, _with_key(request, f"{episode.source}:summary"))
    return learned.memory.id if learned.memory else None


async def _refresh_summary_memory(deps: MemoryDeps, episode: Episode) -> Episode:
    """Update the memory of a summary to the current summary."""
    if episode.memory_id is None:
        return await _learn_late_summary(deps, episode)
    async with deps.store.transaction() as transaction:
        found = await load_existing_memories(transaction, episode.space_id, [episode.memory_id])
    memory = found.get(episode.memory_id)
    wanted = episode.told
    # It may belong to an earlier episode with the same words, which keeps them.
    is_own = memory is not None and memory.source == episode.source
    if memory is not None and is_own and memory.is_live and memory.content != wanted:
        await edit(deps, episode.space_id, memory.id, wanted, by=episode.summarised_by or BY_CALLER)
    return episode


async def _learn_late_summary(deps: MemoryDeps, episode: Episode) -> Episode:
    """Create the memory of a summary that was worded only after the episode was finished."""
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
    """Link what came of an episode to it and record that all was learned; idempotent."""
    now = deps.clock()
    kept = [each for each in learned if each.memory is not None and each.action is not LearnAction.ECHOED]
    async with deps.store.transaction() as transaction:
        present = await lock_episode(transaction, episode.space_id, episode.id)
        if present.facts_at is not None:
            return present
        decided = [lesson.is_decision for lesson in episode.lessons]
        ids = [
            (each.memory.id, mark) for each, mark in zip(learned, decided, strict=False) if each in kept and each.memory
        ]
        sightings = await transaction.all(
            Q["learned_from_turns"],
            space=episode.space_id,
            session=episode.session_id,
            turns=[turn.turn_id for turn in await list_usable_turns(transaction, episode.space_id, episode.id)],
        )
        ids += [(row["id"], DECISION in row["tags"]) for row in sightings]
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


def _sources(turns: Sequence[EpisodeTurn], trusts: Mapping[Origin, float]) -> tuple[TurnWithTrust, ...]:
    return tuple(TurnWithTrust(id=turn.turn_id, trust=trusts.get(turn.origin, trusts[Origin.MODEL])) for turn in turns)


def _with_key(request: LearnRequest, key: str) -> LearnRequest:
    return replace(request, key=key)


OWN_WORDS = (BY_EXTRACT, BY_TRANSCRIPT)
WRITER = "writer"
"""Degraded label for the writer model."""

LEFT_BEHIND = timedelta(minutes=10)
"""After this long an episode in progress counts as abandoned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedEpisode:
    """A closed episode with its turns and what people stated in them."""

    episode: Episode
    turns: tuple[EpisodeTurn, ...]
    stated: tuple[TurnStatement, ...]


async def enqueue_summary_jobs(deps: MemoryDeps, transaction: Transaction, event: Event) -> None:
    """Handle `episode_closed`: ask a model now, and schedule an extract for when the model's time is up."""
    episode = event.payload["episode"]
    wait = timedelta(seconds=deps.terms(event.space).episodes.model_wait_s)
    await deps.ask(transaction, SUMMARISE, space=event.space, episode=episode)
    await deps.ask(transaction, SUM_UP, at=event.at + wait, space=event.space, episode=episode)


async def summarize_episode(deps: MemoryDeps, space: SpaceId, episode: UUID) -> Episode:
    """Summarize an episode with the writer model, however long it takes, and learn its lessons."""
    ended = await _load_episode_to_summarize(deps, space, episode)
    if ended is None:
        return await _learn_lessons_if_summarized(deps, space, episode)
    model = None if is_short_conversation(ended.turns) else await deps.writer(space)
    summary = await _ask_model(deps, model, ended) if model else None
    return await _save_summary(deps, ended, summary or summarize_by_extract(ended.turns, ended.stated))


async def summarize_episode_by_extract(deps: MemoryDeps, space: SpaceId, episode: UUID) -> Episode:
    """Summarize an episode by extract, unless it has a summary, and learn its lessons."""
    ended = await _load_episode_to_summarize(deps, space, episode)
    if ended is None or ended.episode.state is EpisodeState.SUMMARISED:
        return await _learn_lessons_if_summarized(deps, space, episode)
    return await _save_summary(deps, ended, summarize_by_extract(ended.turns, ended.stated))


async def summarize_episode_within(deps: MemoryDeps, space: SpaceId, episode: UUID, *, seconds: float) -> Episode:
    """Summarize an episode now: by the model if it answers in time, else by extract."""
    try:
        async with asyncio.timeout(seconds):
            return await summarize_episode(deps, space, episode)
    except TimeoutError:
        return await summarize_episode_by_extract(deps, space, episode)


async def requeue_unfinished_episodes(deps: MemoryDeps, space: SpaceId) -> int:
    """Enqueue episodes that were abandoned by their worker; return how many."""
    before = deps.clock() - LEFT_BEHIND
    async with deps.store.transaction() as transaction:
        rows = await transaction.all(Q["unfinished_episodes"], space=space, before=before, limit=100)
        for row in rows:
            await deps.ask(transaction, SUM_UP, space=space, episode=str(row["id"]))
    return len(rows)


async def _load_episode_to_summarize(deps: MemoryDeps, space: SpaceId, episode: UUID) -> ClosedEpisode | None:
    """Load an episode that still needs a summary; None if it is done or not worth one."""
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
        stated = await list_statements(transaction, space, turns)
    return ClosedEpisode(episode=found, turns=turns, stated=stated)


async def _ask_model(deps: MemoryDeps, model: Model, ended: ClosedEpisode) -> EpisodeSummary | None:
    """Ask the model for a summary; None if it gives nothing usable."""
    most = deps.terms(ended.episode.space_id).episodes.max_facts
    try:
        return await summarize_with_model(model, ended.turns, most=most)
    except (ProviderRefused, Overloaded, Unavailable) as error:
        DEGRADED.labels(WRITER).inc()
        log_writer_failure(deps, "episode summed up without a model", model, error, episode=str(ended.episode.id))
        return None


async def _save_summary(deps: MemoryDeps, ended: ClosedEpisode, summary: EpisodeSummary) -> Episode:
    """Store a summary unless there is one, then learn the lessons."""
    deps.step("summed up")
    async with deps.store.transaction() as transaction:
        row = await transaction.maybe(Q["summarise_episode"], **_summary_params(deps, ended, summary))
        if row is None and summary.by not in OWN_WORDS:
            stated = await list_statements(transaction, ended.episode.space_id, ended.turns)
            taken = summarize_by_extract(ended.turns, stated)
            row = await transaction.maybe(Q["replace_summary"], **_summary_params(deps, ended, summary, was=taken))
    deps.step("summary kept")
    return await _learn_lessons_if_summarized(deps, ended.episode.space_id, ended.episode.id)


def _summary_params(
    deps: MemoryDeps, ended: ClosedEpisode, summary: EpisodeSummary, *, was: EpisodeSummary | None = None
) -> dict[str, object]:
    columns: dict[str, object] = {
        "space": ended.episode.space_id,
        "id": ended.episode.id,
        "title": summary.title,
        "summary": summary.summary,
        "by": summary.by,
        "outcome": summary.outcome,
        "topics": list(summary.topics),
        "prompt_hash": summary.prompt_hash,
        "at": deps.clock(),
    }
    if was is not None:
        return columns | {"was_title": was.title}
    return columns | {"lessons": json.dumps([lesson.as_json() for lesson in summary.lessons])}


async def _learn_lessons_if_summarized(deps: MemoryDeps, space: SpaceId, episode: UUID) -> Episode:
    """Return the episode once its lessons are learned."""
    async with deps.store.transaction() as transaction:
        row = await transaction.one(Q["find_episode"], space=space, id=episode)
    found = episode_from_row(row)
    return await learn_lessons(deps, found) if found.state is EpisodeState.SUMMARISED else found
