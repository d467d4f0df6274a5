"""Wires memory, episodes and censors into the app.

Pairs that wait for a model are judged by a job, retried when due, answered by people at the interfaces, and
settled by a nightly job after some days; missing vectors are filled in by jobs. Captured exchanges go into episodes; closed ones are summarized by a
job that asks the model, and by a second one that extracts their own words if the model takes too long. Idle
episodes are closed each minute, and those of this process when it ends. Censors are cached and reloaded on
any change.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from cachetools import LRUCache

from festinger.errors import NotFound, StoreDown, Unavailable
from festinger.events.catalogue import Event
from festinger.ids import DEFAULT_AGENT, AgentId, Origin, Scope, SessionId, SpaceId
from festinger.jobs.model import JobRun, Queue
from festinger.judge.cascade import CascadeConfig, retry_waiting_pairs
from festinger.judge.records import JudgeDeps
from festinger.llm.model import ModelPurpose
from festinger.memory.censors.check import ROOM, CensorCache
from festinger.memory.censors.escalation import escalate_if_due, is_warning_trigger
from festinger.memory.deps import EffectiveMemorySettings, MemoryCascade, MemoryDeps
from festinger.memory.episodes.episode import EpisodeCloseReason, EpisodeState
from festinger.memory.episodes.lessons import (
    enqueue_summary_jobs,
    link_decision_to_episode,
    requeue_unfinished_episodes,
    summarize_episode,
    summarize_episode_by_extract,
)
from festinger.memory.episodes.store import (
    append_exchanges,
    close_episode,
    close_stale_episodes,
    erase_old_turn_texts,
    load_page_of_episodes,
    retention_cutoff,
)
from festinger.memory.extract.model_reader import correct_turn_with_model
from festinger.memory.extract.turns import PersonTurn, learn_turn
from festinger.memory.health import prune_idempotency_keys
from festinger.memory.jobs import EMBED, INDEX, JUDGE, RECHECK, SUM_UP, SUMMARISE
from festinger.memory.late_judgements import (
    apply_pair_judgement,
    embed_missing_memories,
    judge_pending_pairs,
    load_waiting_pair,
    recheck_memory,
    settle_overdue_pairs,
)
from festinger.memory.model import LearnAction
from festinger.outcomes.replay import replay_outcomes
from festinger.outcomes.stats import outcomes_of
from festinger.outcomes.surface import load_recently_surfaced
from festinger.retrieval.maintenance import unindex_expired_turns
from festinger.runtime.erasure import build_is_forgotten, build_reinstate
from festinger.runtime.lifecycle import END_SECONDS
from festinger.store.pool import Transaction
from festinger.store.repositories.exchanges import clear_old_message_texts, load_messages
from festinger.store.vectors import EmbeddingModelSpec, ensure_index
from festinger.text.blocks import BlockMarker, strip_blocks

if TYPE_CHECKING:
    from festinger.runtime.app import App


CLOSE_IDLE = "close_idle_episodes"
KEEP = "keep_episode"
LEARN_TURN = "learn_turn"
READ_TURN = "read_turn"
TIE = "tie_decision"
ESCALATE = "escalate_censor"
CUT = "cut_episode_turns"

READ_AT_ONCE = 20
"""Turns that one job has a model read."""
READ_WITHIN_HOURS = 24
"""How long a turn waits for a model that is away or has reached its limit; what rules read of it stands."""
EACH_MINUTE = "* * * * *"
EPISODES_NIGHTLY = "57 3 * * *"
MOST_SESSIONS = 1_000
"""The most sessions that are closed with a process."""
WRITING_LIMIT = timedelta(minutes=10)


def register_episode_jobs(app: "App", room: "MemoryService") -> None:
    """Register the jobs and subscribers of episodes and censors."""
    _register_episodes(app, room)
    _register_turns(app, room)
    app.outbox.subscribe("censor_triggered", ESCALATE, partial(escalate_if_due, room.deps), wants=is_warning_trigger)
    app.listener.on_change(ROOM, room.watch.changed)


def _register_episodes(app: "App", room: "MemoryService") -> None:
    deps = room.deps

    async def keep_all(transaction: Transaction, events: Sequence[Event]) -> None:
        await append_exchanges(deps, transaction, events)
        for event in events:
            track_session(room, event.space, event.session or "")

    async def keep(transaction: Transaction, event: Event) -> None:
        await keep_all(transaction, [event])

    async def tie(transaction: Transaction, event: Event) -> None:
        conflict = UUID(event.payload["conflict"])
        await link_decision_to_episode(deps, transaction, event, target="conflict", id_=conflict)

    async def by_model(_run: JobRun, *, space: str, episode: str) -> None:
        with suppress(NotFound):  # forgotten meanwhile
            await summarize_episode(deps, SpaceId(space), UUID(episode))

    async def by_words(_run: JobRun, *, space: str, episode: str) -> None:
        with suppress(NotFound):
            await summarize_episode_by_extract(deps, SpaceId(space), UUID(episode))

    async def close_idle(_run: JobRun) -> None:
        for space in app.directory.ids():
            await close_stale_episodes(deps, space)
            await requeue_unfinished_episodes(deps, space)

    async def cut(_run: JobRun) -> None:
        for space in app.directory.ids():
            if before := retention_cutoff(deps, space):
                await erase_old_turn_texts(deps, space)
                await unindex_expired_turns(app.recall.deps, space)
                await clear_old_message_texts(app.store, space, before=before)

    app.outbox.subscribe("exchange_captured", KEEP, keep, is_first=True, batch=keep_all)
    app.outbox.subscribe("episode_closed", SUMMARISE, partial(enqueue_summary_jobs, deps))
    app.outbox.subscribe("conflict_decided", TIE, tie, wants=has_session)
    # A model may take minutes; the extract must not wait behind it.
    app.jobs.register(SUMMARISE, by_model, queue=Queue.JUDGE, limit=WRITING_LIMIT)
    app.jobs.register(SUM_UP, by_words, queue=Queue.LEARN)
    app.jobs.register(CLOSE_IDLE, close_idle, queue=Queue.SLEEP, schedule=EACH_MINUTE)
    app.jobs.register(CUT, cut, queue=Queue.SLEEP, schedule=EPISODES_NIGHTLY)


def _register_turns(app: "App", room: "MemoryService") -> None:
    """Learn what persons state in captured turns, unless the proxy did so when it was said."""
    deps = room.deps

    async def learn_all_later(transaction: Transaction, events: Sequence[Event]) -> None:
        has_model = bool(events) and app.has_model(ModelPurpose.WRITE, events[0].space)
        said: dict[str, list[str]] = {"agent": [], "session": [], "turn": []}
        for event in events:
            where = {"agent": event.agent or DEFAULT_AGENT, "session": event.payload["session"]}
            for turn in [each["id"] for each in event.payload["messages"] if each["origin"] == Origin.PERSON]:
                if (event.space, UUID(turn)) not in room.turns:
                    await deps.ask(transaction, LEARN_TURN, space=event.space, **where, turn=turn)
                for name, value in (*where.items(), ("turn", turn)):
                    said[name].append(value)
        for at in range(0, len(said["turn"]) if has_model else 0, READ_AT_ONCE):
            ids: dict[str, Any] = {name: values[at : at + READ_AT_ONCE] for name, values in said.items()}
            lock = f"{READ_TURN}:{events[0].space}"
            await app.jobs.defer(transaction, READ_TURN, lock=lock, space=events[0].space, **ids)

    async def learn_later(transaction: Transaction, event: Event) -> None:
        await learn_all_later(transaction, [event])

    async def said(space: SpaceId, turns: Sequence[str]) -> dict[str, PersonTurn]:
        found = await load_messages(app.store, space, [UUID(turn) for turn in turns])
        return {str(message.id): PersonTurn(id=message.id, text=message.text) for message in found.values()}

    async def learn_now(_run: JobRun, *, space: str, agent: str, session: str, turn: str) -> None:
        scope = Scope(space=SpaceId(space), agent=AgentId(agent), session=SessionId(session))
        found = (await said(scope.space, [turn])).get(turn)
        if found is not None and room.claim_turn(scope.space, found.id):
            await learn_turn(deps, scope, found)

    async def read_again(
        run: JobRun,
        *,
        space: str,
        agent: list[str] | str,
        session: list[str] | str,
        turn: list[str] | str,
        hours: int = 0,
    ) -> None:
        # Jobs of an earlier version have one turn each.
        agents, sessions, turns = (each if isinstance(each, list) else [each] for each in (agent, session, turn))
        found = await said(SpaceId(space), turns)
        for at, (who, where, each) in enumerate(zip(agents, sessions, turns, strict=True)):
            if each not in found:
                continue
            scope = Scope(space=SpaceId(space), agent=AgentId(who), session=SessionId(where))
            try:
                await correct_turn_with_model(deps, scope, found[each])
            except Unavailable:
                await run.report(at, note=f"{len(turns) - at} turns wait for a model")
                if hours < READ_WITHIN_HOURS:
                    rest: dict[str, Any] = {"agent": agents[at:], "session": sessions[at:], "turn": turns[at:]}
                    lock, later = f"{READ_TURN}:{space}", deps.clock() + timedelta(hours=1)
                    await app.jobs.defer(None, READ_TURN, lock=lock, at=later, space=space, hours=hours + 1, **rest)
                return

    app.outbox.subscribe("exchange_captured", LEARN_TURN, learn_later, is_first=True, batch=learn_all_later)
    app.jobs.register(LEARN_TURN, learn_now, queue=Queue.LEARN)
    # A model may take minutes; reading by rules must not wait behind it.
    app.jobs.register(READ_TURN, read_again, queue=Queue.JUDGE, limit=WRITING_LIMIT)


def track_session(room: "MemoryService", space: SpaceId, session: str) -> None:
    """Note a session whose episode this process keeps; past the limit, idle closing handles the oldest."""
    room.sessions[space, session] = None


def has_session(event: Event) -> bool:
    """Whether something was decided within a conversation."""
    return bool(event.session)


async def close_tracked_episodes(room: "MemoryService") -> None:
    """Close the episodes of this process. If the store is down, idle closing does it later."""
    with suppress(StoreDown, TimeoutError):
        async with asyncio.timeout(END_SECONDS):
            for space, session in sorted(room.sessions):
                await close_session_episodes(room, SpaceId(space), session)


async def close_session_episodes(room: "MemoryService", space: SpaceId, session: str) -> None:
    """Close the open episodes of a session because the process ends."""
    for episode in await load_page_of_episodes(room.deps, space, session=session, state=EpisodeState.OPEN):
        await close_episode(room.deps, space, episode.id, by=EpisodeCloseReason.SHUTDOWN)


EMBED_EVERYWHERE = "embed_everywhere"
RETRY = "retry_judgements"
TEND = "tend_memory"
EACH_FIVE_MINUTES = "*/5 * * * *"
MEMORY_NIGHTLY = "51 3 * * *"

TABLE = "memory_vector"
SEARCHED = "store"
"""The purpose whose vectors are searched."""

MOST_TURNS = 10_000

JUDGING_LIMIT = timedelta(minutes=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryService:
    """The memory of every space, as this process opens it."""

    deps: MemoryDeps
    judges: MemoryCascade
    watch: CensorCache
    """The censors in force."""
    sessions: LRUCache[tuple[SpaceId, str], None] = field(default_factory=lambda: LRUCache(MOST_SESSIONS))
    """Sessions whose episodes this process keeps."""
    turns: LRUCache[tuple[SpaceId, UUID], None] = field(default_factory=lambda: LRUCache(MOST_TURNS))
    """Turns that this process has read statements from, so that none is read twice."""

    def claim_turn(self, space: SpaceId, turn: UUID) -> bool:
        """Claim a turn for reading; false if it was claimed before."""
        if (space, turn) in self.turns:
            return False
        self.turns[space, turn] = None
        return True

    def release_turn(self, space: SpaceId, turn: UUID) -> None:
        """Release a turn after reading it failed."""
        self.turns.pop((space, turn), None)


def build_judge_cascade(app: "App") -> MemoryCascade:
    """Build the judges: rules, and the model that a space chose."""

    def judge_terms(space: SpaceId) -> CascadeConfig:
        chosen = app.settings.for_space(space).judge
        return CascadeConfig(accept=chosen.accept, calls_per_hour=chosen.calls_per_hour)

    return MemoryCascade(
        JudgeDeps(
            store=app.store,
            outbox=app.outbox,
            clock=app.tools.clock,
            new_id=app.tools.new_id,
            max_tries=lambda space: app.settings.for_space(space).judge.max_tries,
        ),
        stopwatch=app.tools.stopwatch,
        terms=judge_terms,
        model_for=app.model_for(ModelPurpose.JUDGE),
    )


def build_memory_service(app: "App") -> MemoryService:

    def terms(space: SpaceId) -> EffectiveMemorySettings:
        chosen = app.settings.for_space(space)
        return EffectiveMemorySettings(
            memory=chosen.memory,
            accept=chosen.judge.accept,
            initial_confidence=chosen.outcomes.initial_confidence,
            settle_days=chosen.judge.settle_days,
            episodes=chosen.episodes,
        )

    def without_ours(text: str) -> str:
        return strip_blocks(text, BlockMarker(label=app.settings.now.proxy.label))

    judges = build_judge_cascade(app)
    deps = MemoryDeps(
        store=app.store,
        outbox=app.outbox,
        clock=app.tools.clock,
        stopwatch=app.tools.stopwatch,
        new_id=app.tools.new_id,
        terms=terms,
        embedder=lambda: app.embedder,
        panel=judges,
        world=app.world.deps,
        surfaced=lambda scope, turns: load_recently_surfaced(app.outcomes.deps, scope, turns),
        outcomes_of=lambda space, memory: outcomes_of(app.outcomes.deps, space, memory),
        give_back=build_reinstate(app),
        replay_outcomes=lambda transaction, space, memory: replay_outcomes(
            app.outcomes.deps, transaction, space, memory
        ),
        on_read=lambda scope, memories: app.afterwards.write(app.outcomes.record_reads_safely(scope, memories)),
        ask=app.request_job,
        without_blocks=without_ours,
        stored=lambda space: app.recall.holdings.stored(space),
        writer=app.model_for(ModelPurpose.WRITE),
        encoder=lambda: app.clause_encoder,
        is_forgotten=build_is_forgotten(app),
    )
    return MemoryService(deps=deps, judges=judges, watch=CensorCache(deps=deps))


def register_memory_jobs(app: "App", room: MemoryService) -> None:
    deps = room.deps

    async def judge(_run: JobRun, *, space: str, memory: str) -> None:
        await judge_pending_pairs(deps, SpaceId(space), UUID(memory))

    async def look_again(_run: JobRun, *, space: str, memory: str) -> None:
        await recheck_memory(deps, SpaceId(space), UUID(memory))

    async def embed_space(run: JobRun, *, space: str) -> int:
        async def report(done: int) -> None:
            await run.report(done, note="memories embedded")

        return await embed_missing_memories(deps, SpaceId(space), report=report)

    async def embed_everywhere(run: JobRun) -> None:
        for space in app.directory.ids():
            await embed_space(run, space=space)

    async def index(_run: JobRun, *, model: str, dims: int) -> None:
        await ensure_index(app.store, TABLE, EmbeddingModelSpec(name=model, dims=dims), purpose=SEARCHED)

    async def tend(_run: JobRun) -> None:
        for space in app.directory.ids():
            await prune_idempotency_keys(deps, space)
            await settle_overdue_pairs(deps, space)

    app.jobs.register(JUDGE, judge, queue=Queue.JUDGE, limit=JUDGING_LIMIT)
    app.jobs.register(RECHECK, look_again)
    app.jobs.register(EMBED, embed_space)
    app.jobs.register(EMBED_EVERYWHERE, embed_everywhere, queue=Queue.SLEEP, schedule=EACH_FIVE_MINUTES)
    app.jobs.register(INDEX, index, queue=Queue.INDEX, limit=timedelta(hours=6))
    app.jobs.register(TEND, tend, queue=Queue.SLEEP, schedule=MEMORY_NIGHTLY)
    _register_pair_judging(app, room)
    register_episode_jobs(app, room)


def _register_pair_judging(app: "App", room: MemoryService) -> None:
    """Register the judging of waiting pairs: at once in a job, and again when due."""

    async def ask_judges(transaction: Transaction, event: Event) -> None:
        await room.deps.ask(transaction, JUDGE, space=event.space, memory=event.payload["memory"])

    async def try_again(_run: JobRun) -> None:
        for space in app.directory.ids():
            settle = partial(apply_pair_judgement, room.deps)
            await retry_waiting_pairs(room.judges, space, load=partial(load_waiting_pair, room.deps), settle=settle)

    app.outbox.subscribe("fact_learned", JUDGE, ask_judges, wants=needs_judge)
    app.jobs.register(RETRY, try_again, queue=Queue.JUDGE, schedule=EACH_MINUTE, limit=JUDGING_LIMIT)


def needs_judge(event: Event) -> bool:
    """Whether what was learned still needs a judge."""
    return bool(event.payload["action"] == LearnAction.PENDING.value)
