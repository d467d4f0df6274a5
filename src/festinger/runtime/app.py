"""The composition root: `open_app` builds the app.

Opens the packages in order of dependency: master key, store, migrations, settings of the table, events and
jobs, caches, providers, workers. A failure says which step it was, and what was opened before is closed
again. Packages get everything as arguments and know nothing of this file.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from festinger.agent.attention import Vector
from festinger.agent.tools import AgentTool
from festinger.consolidation.night import NightDeps
from festinger.embedding.embedder import Embedder
from festinger.embedding.reranker import Reranker
from festinger.errors import StoreDown
from festinger.events import health
from festinger.events.outbox import Outbox
from festinger.ids import Scope, SpaceId
from festinger.jobs import backpressure
from festinger.jobs.queue import JobRegistry, load_engine_migrations
from festinger.jobs.worker import run_workers
from festinger.llm.client import ModelRouter, ModelRouterDeps
from festinger.llm.endpoint import Endpoint, ResolveModel
from festinger.llm.ledger import ModelCaller
from festinger.llm.model import Model, ModelPurpose
from festinger.memory import health as memory_health
from festinger.memory.extract.classifier import ClauseEncoder
from festinger.outcomes import stats as outcomes_tally
from festinger.proposals import health as proposals_health
from festinger.retrieval import maintenance as retrieval_health
from festinger.retrieval.notes import NoteScorer
from festinger.runtime.auth import ROOM as SPACES_ROOM
from festinger.runtime.auth import Keyring, LoginService, SpaceDirectory
from festinger.runtime.consolidation import build_night_deps, register_night_jobs
from festinger.runtime.environment import SystemServices, home_of, master_key_of
from festinger.runtime.erasure import register_erasure_jobs
from festinger.runtime.jobs import JobBackedOutbox, register_housekeeping_jobs
from festinger.runtime.lifecycle import END_SECONDS, BackgroundTasks, DeferredWrites, record_start, record_stop
from festinger.runtime.memory import MemoryService, build_memory_service, close_tracked_episodes, register_memory_jobs
from festinger.runtime.proposals import (
    DecisionService,
    InboxService,
    build_decision_service,
    build_inbox_service,
    register_decision_jobs,
    register_detectors,
    register_inbox_jobs,
    register_reflection_jobs,
)
from festinger.runtime.providers import LastClientModel, open_providers, queue_missing_embeddings
from festinger.runtime.retrieval import (
    OutcomesService,
    RecallService,
    build_outcomes_service,
    build_recall_service,
    register_outcome_jobs,
    register_recall_jobs,
)
from festinger.runtime.review.webhook import register_webhook_jobs
from festinger.runtime.world import WorldService, build_world_service, register_world_jobs, start_world_sync
from festinger.settings.keys import value_at
from festinger.settings.live import LiveSettings
from festinger.settings.master_key import MasterKey, Vault
from festinger.settings.sources import ConfigTableRow
from festinger.settings.tree import LlmSettings
from festinger.store.cache_invalidation import CacheChange, CacheListener
from festinger.store.embedded.server import open_embedded_server
from festinger.store.migration import Migration, load_own_migrations, migrate
from festinger.store.paths import config_directory
from festinger.store.pool import Store, Transaction, is_in_transaction, open_store
from festinger.store.repositories.auth import ROOM as KEYS_ROOM
from festinger.store.repositories.models import StoredCallLedger, load_model_endpoint
from festinger.store.repositories.spaces import ROOM as SETTINGS_ROOM
from festinger.store.repositories.spaces import read_config_rows
from festinger.store.secrets import recover_master_key
from festinger.text.secrets import remove_secrets

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """Which parts a command needs; the others stay closed."""

    migrate: bool | None = None
    """Whether to migrate; None follows the settings."""
    providers: bool = False
    workers: bool = False


@dataclass(slots=True, kw_only=True)
class App:
    """Everything below the interfaces, open."""

    door: str
    settings: LiveSettings
    tools: SystemServices
    home: Path
    url: str = field(repr=False)
    master: MasterKey = field(repr=False)
    vault: Vault
    store: Store
    outbox: Outbox
    jobs: JobRegistry
    listener: CacheListener
    keyring: Keyring
    directory: SpaceDirectory
    switchboard: ModelRouter
    world: WorldService = field(init=False)
    memory: MemoryService = field(init=False)
    outcomes: OutcomesService = field(init=False)
    recall: RecallService = field(init=False)
    inbox: InboxService = field(init=False)
    deciding: DecisionService = field(init=False)
    nights: NightDeps = field(init=False)
    logins: LoginService = field(init=False)
    applied: tuple[str, ...] = ()
    """Migrations applied by this start."""
    background: BackgroundTasks = field(default_factory=BackgroundTasks)
    afterwards: DeferredWrites = field(default_factory=DeferredWrites)
    embedder: Embedder | None = None
    reranker: Reranker | None = None
    clause_encoder: ClauseEncoder | None = None
    own_model: LastClientModel = field(default_factory=LastClientModel)
    """The model that clients use, where settings say `auto`."""
    note_reader: NoteScorer | None = None
    agent_tools: Callable[["App", Scope], Sequence[AgentTool]] = lambda _app, _scope: ()
    """The tools that an agent may call beside its own."""
    usual_matters: dict[tuple[str, str], tuple[date, Vector | None]] = field(default_factory=dict)
    """What usually matters to each agent, by space and name, and the day on which that was found."""
    degraded: tuple[str, ...] = ()
    """Chosen parts that are unavailable in this process."""
    reading: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    """Held while the config table is read: what was read first must not be applied last."""

    async def model(self, purpose: ModelPurpose, caller: ModelCaller) -> Model | None:
        """Return the model that answers this caller for this purpose; none if none is configured."""
        chosen, resolve = self._choose_model(purpose, caller)
        return await self.switchboard.model(purpose, caller, settings=chosen, resolve=resolve)

    async def endpoint(self, purpose: ModelPurpose, caller: ModelCaller) -> Endpoint | None:
        """Return where that model is; none if none is configured."""
        chosen, resolve = self._choose_model(purpose, caller)
        return await self.switchboard.endpoint(purpose, settings=chosen, resolve=resolve)

    def _choose_model(self, purpose: ModelPurpose, caller: ModelCaller) -> tuple[LlmSettings, ResolveModel]:
        async def resolve(row: UUID) -> Endpoint:
            return await load_model_endpoint(self.store, row, space=caller.space, vault=self.vault)

        return self.own_model.applied(self.settings.for_space(caller.space).llm, purpose.value), resolve

    def has_model(self, purpose: ModelPurpose, space: SpaceId) -> bool:
        """Whether a model is configured, without opening it."""
        chosen, _ = self._choose_model(purpose, ModelCaller(space=space))
        return bool(getattr(chosen, purpose.value).strip())

    def model_for(self, purpose: ModelPurpose) -> Callable[[SpaceId], Awaitable[Model | None]]:
        """Return how a package gets the model of a space for this purpose."""
        return lambda space: self.model(purpose, ModelCaller(space=space))

    async def request_job(self, transaction: Transaction, job: str, *, at: datetime | None = None, **ids: Any) -> None:
        """Queue a job unless one with the same ids waits already."""
        name = ":".join([job, *map(str, ids.values())])
        await self.jobs.defer(transaction, job, lock=name, queueing_lock=name, at=at, **ids)

    async def reread_settings(self) -> None:
        """Apply the current rows of the config table."""
        async with self.reading:
            self.settings.apply_rows(await load_config_rows(self.store))

    async def refresh_caches(self) -> None:
        """Refresh this process's settings, spaces and keys, whatever notifications it got."""
        await self.reread_settings()
        await self.directory.reload()
        await self.keyring.forget()

    async def measure(self) -> None:
        """Update all gauges."""
        self.store.measure()
        await backpressure.update_waiting_job_gauges(self.store)
        await health.update_lag_gauges(self.store, now=self.tools.clock(), subscribers=self.outbox.everybody())
        await memory_health.update_gauges(self.memory.deps, self.directory.ids())
        await outcomes_tally.update_gauges(self.outcomes.deps, self.directory.ids())
        await proposals_health.update_gauges(self.inbox.deps, self.directory.ids())
        await retrieval_health.update_dormant_gauge(self.recall.deps, self.directory.ids())


@asynccontextmanager
async def open_app(
    settings: LiveSettings, *, door: str, progress: Progress, start: StartOptions, tools: SystemServices | None = None
) -> AsyncIterator[App]:
    """Open what `start` asks for, hold it, and close it in reverse."""
    tools = tools or SystemServices.of_this_machine()
    async with AsyncExitStack() as stack:
        home = home_of(settings)
        key = master_key_of(settings, tools)
        url = await stack.enter_async_context(open_database_url(settings, progress=progress))
        applied = await _apply_migrations(url, settings, start=start, progress=progress)
        store = await stack.enter_async_context(open_store(url, settings.now.store, door=door))
        settings.apply_rows_at_start(await load_config_rows(store))
        key = await recover_master_key(store, key)
        deliveries = JobBackedOutbox(store, tools, setting=_reader(settings), redact=remove_secrets)
        app = App(
            door=door,
            settings=settings,
            tools=tools,
            home=home,
            url=url,
            master=key,
            vault=Vault(key, tools.entropy),
            store=store,
            outbox=deliveries.outbox,
            jobs=deliveries.jobs,
            listener=CacheListener(store),
            keyring=Keyring(store, clock=tools.clock),
            directory=SpaceDirectory(store),
            switchboard=_build_model_router(store, settings, tools),
            applied=tuple(applied),
        )
        stack.push_async_callback(app.switchboard.close)
        _build_services(app)
        stack.push_async_callback(app.afterwards.finish)
        run = await record_start(app, [migration.name for migration in all_migrations()])
        stack.push_async_callback(record_stop, app, run)
        await _start_cache_sync(stack, app)
        await start_world_sync(stack, app, app.world)
        stack.push_async_callback(close_tracked_episodes, app.memory)
        if start.providers:
            await open_providers(stack, app)
        if start.workers:
            await queue_missing_embeddings(app)
            crew = run_workers(
                app.jobs, roaming=settings.now.jobs.workers, shutdown_seconds=settings.now.server.shutdown_seconds
            )
            await stack.enter_async_context(crew)
        yield app


def _build_services(app: App) -> None:
    """Build each service on those below it, then register jobs and subscribers."""
    app.logins = LoginService(app)
    app.world = build_world_service(app)
    app.memory = build_memory_service(app)
    app.outcomes = build_outcomes_service(app)
    app.recall = build_recall_service(app)
    app.inbox = build_inbox_service(app)
    app.deciding = build_decision_service(app, app.inbox.deps)
    app.nights = build_night_deps(app)
    register_housekeeping_jobs(app)
    register_world_jobs(app, app.world)
    register_memory_jobs(app, app.memory)
    register_erasure_jobs(app)
    register_outcome_jobs(app, app.outcomes)
    register_recall_jobs(app, app.recall)
    register_inbox_jobs(app, app.inbox)
    register_decision_jobs(app, app.deciding)
    register_detectors(app, app.inbox.deps)
    register_reflection_jobs(app, app.inbox.deps)
    register_webhook_jobs(app)
    register_night_jobs(app, app.nights)


@asynccontextmanager
async def open_database_url(settings: LiveSettings, *, progress: Progress) -> AsyncIterator[str]:
    """Yield the URL of the database: the configured one, or the embedded server's."""
    if settings.now.database_url is not None:
        yield settings.now.database_url.get_secret_value()
        return
    config = config_directory(person=Path.home())
    async with open_embedded_server(home_of(settings), config, settings.now.store, progress=progress) as url:
        yield url


def all_migrations() -> list[Migration]:
    return [*load_own_migrations(), *load_engine_migrations()]


async def _apply_migrations(url: str, settings: LiveSettings, *, start: StartOptions, progress: Progress) -> list[str]:
    allowed = settings.now.store.migrate == "auto" if start.migrate is None else start.migrate
    applied = await migrate(url, all_migrations(), allowed=allowed)
    if applied:
        progress(f"Brought the database to its present shape ({len(applied)} steps).")
    return applied


async def load_config_rows(store: Store) -> list[ConfigTableRow]:
    return [ConfigTableRow(space=row.space, key=row.key, value=row.value) for row in await read_config_rows(store)]


def _reader(settings: LiveSettings) -> Callable[[str], object]:
    return lambda name: value_at(settings.now, name)


def _build_model_router(store: Store, settings: LiveSettings, tools: SystemServices) -> ModelRouter:
    return ModelRouter(
        ModelRouterDeps(
            ledger=StoredCallLedger(store),
            clock=tools.clock,
            stopwatch=tools.stopwatch,
            new_id=tools.new_id,
            environment=settings.deployment.environment,
            offline=settings.now.offline,
            holds_transaction=is_in_transaction,
        )
    )


async def _start_cache_sync(stack: AsyncExitStack, app: App) -> None:
    """Follow the changes of other processes."""

    async def reload_settings(_change: CacheChange) -> None:
        await app.reread_settings()

    app.listener.on_change(SETTINGS_ROOM, reload_settings)
    app.listener.on_change(KEYS_ROOM, app.keyring.forget)
    app.listener.on_change(SPACES_ROOM, app.directory.reload)
    await app.directory.reload()
    app.background.start(app.listener.run())
    app.background.start(app.keyring.write_key_uses_forever())
    stack.push_async_callback(_write_last_uses, app)
    stack.push_async_callback(app.background.stop)


async def _write_last_uses(app: App) -> None:
    """Record the latest key uses. If the store is down, nothing is lost but a date."""
    with suppress(StoreDown, TimeoutError):
        async with asyncio.timeout(END_SECONDS):
            await app.keyring.write_key_uses(every=True)
