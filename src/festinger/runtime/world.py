"""Wires the world into the app: its dependencies, jobs, caches and counts.

Concepts that stand out are explained by the write model, within its calls per hour; conflicts are resolved on
the schedule of the settings, one run at a time per space.
"""

import asyncio
from collections.abc import Collection, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from festinger.consolidation.resolution import begin_run, judge_memories, run_conflict_resolution
from festinger.errors import AlreadyRunning
from festinger.ids import MemoryId, SpaceId
from festinger.jobs.model import JobPriority, JobRun, Queue
from festinger.llm.ledger import ModelCaller
from festinger.llm.model import Model, ModelPurpose
from festinger.memory.conflicts import apply_verdict, undo_verdict
from festinger.memory.erasure.repair import SourceWithdrawalResult
from festinger.memory.erasure.selector import ErasureSelector, find_source_message_ids
from festinger.store.pool import Transaction
from festinger.store.repositories.models import StoredCallLedger
from festinger.text.vocabulary import is_common
from festinger.world.conflicts import Conflict, count_pending
from festinger.world.counts import EncounterBuffer, flush_all_counts
from festinger.world.decisions import ConflictVerdict
from festinger.world.erase import forget_withdrawn_triples, prune_world_data
from festinger.world.explain import ask_and_write_explanation
from festinger.world.graph import ROOM, World, WorldCache, world_version
from festinger.world.learn import write_claims
from festinger.world.model import REPAIR, WorldDeps
from festinger.world.recall import Recollector
from festinger.world.repair import SourceFilter, reinstate_source, withdraw_source
from festinger.world.write import bootstrap_dimensions

if TYPE_CHECKING:
    from festinger.runtime.app import App

WRITE_CONCEPT = "write_concept"
WRITE_CLAIMS = "write_claims"
RESOLVE = "resolve_conflicts"
RESOLVE_SPACE = "resolve_space"
TEND = "tend_world"

NIGHTLY = "41 3 * * *"
REST_SECONDS = 0.1
"""Between two reloads of a world that others change in a burst."""
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldService:
    """The world of every space, as this process holds it."""

    deps: WorldDeps
    worlds: WorldCache
    encounters: EncounterBuffer
    recollector: Recollector
    warming: set[SpaceId] = field(default_factory=set)
    """Spaces that are being preloaded."""

    async def need(self, space: SpaceId) -> World:
        """Return the world of a space, loaded, and initialized if it is new."""
        await self.begin(space)
        return await self.worlds.need(space)

    async def begin(self, space: SpaceId) -> None:
        """Give a new space the initial dimensions of every world."""
        if not await world_version(self.deps.store, space):
            await bootstrap_dimensions(self.deps, space)

    async def take_back(
        self, transaction: Transaction, space: SpaceId, selector: ErasureSelector, _bad: Collection[MemoryId]
    ) -> SourceWithdrawalResult:
        """Withdraw what a source contributed to the world, within the transaction of the repair."""
        source = selector.source
        whence = SourceFilter(
            session=selector.session,
            agent=selector.agent,
            origin=selector.origin,
            messages=await find_source_message_ids(transaction, space, source) if source else None,
            since=selector.since,
            until=selector.until,
        )
        taken = await withdraw_source(self.deps, transaction, space, whence)

        async def erase() -> int:
            done = await forget_withdrawn_triples(
                self.deps, transaction, space, triples=taken.triples, messages=taken.messages, by=REPAIR
            )
            return done.edges + done.others

        return SourceWithdrawalResult(rows=taken.rows, kept=taken.as_json(), erase=erase if taken.rows else None)

    async def give_back(self, transaction: Transaction, space: SpaceId, kept: Mapping[str, Any]) -> None:
        """Reinstate what was withdrawn, within the transaction that undoes the repair."""
        await reinstate_source(self.deps, transaction, space, kept)

    async def write_counts(self) -> int:
        return await flush_all_counts(self.deps, self.encounters, self.worlds.find)


def build_world_service(app: "App") -> WorldService:
    worlds = WorldCache(
        app.store, clock=app.tools.clock, stopwatch=app.tools.stopwatch, settings=app.settings.now.world
    )

    async def ask_to_write(
        transaction: Transaction, space: SpaceId, concept: int, *, tries: int = 1, at: datetime | None = None
    ) -> None:
        lock = f"{WRITE_CONCEPT}:{space}:{concept}"
        await app.jobs.defer(transaction, WRITE_CONCEPT, lock=lock, at=at, space=space, concept=concept, tries=tries)

    async def ask_to_learn(transaction: Transaction, space: SpaceId, message: str) -> None:
        await app.jobs.defer(transaction, WRITE_CLAIMS, lock=f"{WRITE_CLAIMS}:{space}", space=space, message=message)

    async def settle_memory(
        transaction: Transaction, space: SpaceId, conflict: Conflict, verdict: ConflictVerdict
    ) -> dict[str, Any]:
        return await apply_verdict(app.memory.deps, transaction, space, conflict=conflict, verdict=verdict)

    async def unsettle_memory(transaction: Transaction, space: SpaceId, conflict: Conflict, by: str) -> None:
        await undo_verdict(app.memory.deps, transaction, space, conflict=conflict, by=by)

    deps = WorldDeps(
        store=app.store,
        outbox=app.outbox,
        clock=app.tools.clock,
        new_id=app.tools.new_id,
        terms=lambda space: app.settings.for_space(space).world,
        is_common=is_common,
        ask_to_write=ask_to_write,
        has_writer=lambda space: app.has_model(ModelPurpose.WRITE, space),
        ask_to_learn=ask_to_learn,
        follow=worlds.follow,
        settle_memory=settle_memory,
        unsettle_memory=unsettle_memory,
    )
    encounters = EncounterBuffer()
    return WorldService(
        deps=deps, worlds=worlds, encounters=encounters, recollector=Recollector(deps, worlds, encounters)
    )


def register_world_jobs(app: "App", room: WorldService) -> None:

    async def write_concept(run: JobRun, *, space: str, concept: int, tries: int) -> int:
        return await _explain_within_budget(app, room, run, space=SpaceId(space), concept=concept, tries=tries)

    async def write_message(_run: JobRun, *, space: str, message: str) -> int:
        return len(await write_claims(room.deps, SpaceId(space), message))

    async def resolve_everywhere(_run: JobRun) -> None:
        for space in await _spaces_with_conflicts(app, room):
            with suppress(AlreadyRunning):
                await request_resolution(app, room, space)

    async def resolve_space(run: JobRun, *, space: str, run_id: str) -> None:
        async def model_for(within: SpaceId) -> Model | None:
            return await app.model(ModelPurpose.RESOLVE, ModelCaller(space=within, job=run.job))

        judge = partial(judge_memories, app.memory.deps)
        await run_conflict_resolution(
            room.deps, SpaceId(space), UUID(run_id), model_for=model_for, judge_memories=judge
        )

    async def tend_world(run: JobRun) -> None:
        for number, space in enumerate(app.directory.ids()):
            await prune_world_data(room.deps, space)
            await run.report(number + 1, note="spaces tended")

    app.jobs.register(WRITE_CONCEPT, write_concept, queue=Queue.JUDGE)
    app.jobs.register(WRITE_CLAIMS, write_message, priority=JobPriority.NEW_STATEMENT)
    app.jobs.register(
        RESOLVE,
        resolve_everywhere,
        queue=Queue.SLEEP,
        schedule="world.resolution_schedule",
        timezone="world.resolution_timezone",
    )
    app.jobs.register(RESOLVE_SPACE, resolve_space, queue=Queue.SLEEP)
    app.jobs.register(TEND, tend_world, queue=Queue.SLEEP, schedule=NIGHTLY)


async def start_world_sync(stack: AsyncExitStack, app: "App", room: WorldService) -> None:
    """Follow the changes of other processes, and write counts periodically and at exit."""
    app.listener.on_change(ROOM, room.worlds.changed, rest=REST_SECONDS)

    async def write_counts_for_ever() -> None:
        while True:
            await asyncio.sleep(app.settings.now.world.count_flush_seconds)
            await room.write_counts()

    app.background.start(write_counts_for_ever())
    stack.push_async_callback(room.write_counts)


def preload_world(app: "App", space: SpaceId) -> None:
    """Start to load a space that is not in memory; returns at once."""
    room = app.world
    if room.worlds.find(space) is not None or room.worlds.is_too_large(space) or space in room.warming:
        return
    room.warming.add(space)

    async def load() -> None:
        try:
            await room.need(space)
        finally:
            room.warming.discard(space)

    app.background.start(load())


async def request_resolution(
    app: "App", room: WorldService, space: SpaceId, *, dry_run: bool = False
) -> tuple[UUID, int]:
    """Request to resolve a space's conflicts; return the run and how many wait. Raises `AlreadyRunning`."""
    async with app.store.transaction() as transaction:
        run = await begin_run(room.deps, transaction, space, dry_run=dry_run)
        await app.jobs.defer(transaction, RESOLVE_SPACE, lock=f"resolve:{space}", space=space, run_id=str(run))
    return run, await count_pending(room.deps, space)


async def _spaces_with_conflicts(app: "App", room: WorldService) -> list[SpaceId]:
    return [space for space in app.directory.ids() if await count_pending(room.deps, space)]


async def _explain_within_budget(
    app: "App", room: WorldService, run: JobRun, *, space: SpaceId, concept: int, tries: int
) -> int:
    model = await app.model(ModelPurpose.WRITE, ModelCaller(space=space, job=run.job))
    now = app.tools.clock()
    if model is not None and await _is_budget_spent(app, now):
        # It waits in the queue, where people see it.
        async with app.store.transaction() as transaction:
            await room.deps.ask_to_write(transaction, space, concept, tries=tries, at=now + HOUR)
        return 0
    return await ask_and_write_explanation(room.deps, space, concept, model=model, tries=tries)


async def _is_budget_spent(app: "App", now: datetime) -> bool:
    tally = await StoredCallLedger(app.store).tally(now - HOUR, ModelPurpose.WRITE)
    return tally.calls >= app.settings.now.world.write_calls_per_hour
