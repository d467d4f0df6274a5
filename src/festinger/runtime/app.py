"""The one file where names become objects.

`open_app` opens the rooms in the order in which they stand on each other: master key, store, migrations,
settings of the table, events and jobs, caches, providers, workers. What fails says which step it was; what was
opened before is closed again. Rooms below get everything as arguments and know nothing of this file.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from festinger.embedding.embedder import Embedder
from festinger.embedding.reranker import Reranker
from festinger.errors import StoreDown
from festinger.events import health
from festinger.events.outbox import Outbox
from festinger.jobs import load
from festinger.jobs.engine import job_migrations
from festinger.jobs.queue import Jobs
from festinger.jobs.worker import working
from festinger.llm.endpoint import Endpoint
from festinger.llm.ledger import Caller
from festinger.llm.model import Model, Purpose
from festinger.llm.router import Outside, Switchboard
from festinger.memory import health as memory_health
from festinger.memory.extract.classifier import ClauseEncoder
from festinger.outcomes import stats as outcomes_tally
from festinger.proposals import health as proposals_health
from festinger.retrieval import maintenance as retrieval_health
from festinger.retrieval.notes import NoteReader
from festinger.runtime.auth import ROOM as SPACES_ROOM
from festinger.runtime.auth import Directory, Keyring, Logins
from festinger.runtime.environment import Tools, home_of, master_key_of
from festinger.runtime.erasure import register_forgetting
from festinger.runtime.jobs import Deliveries, register_housekeeping
from festinger.runtime.lifecycle import END_SECONDS, Afterwards, Background, begin_life, end_life
from festinger.runtime.memory import MemoryRoom, build_memory, keep_conversing, register_memory
from festinger.runtime.proposals import (
    DecidingRoom,
    InboxRoom,
    build_deciding,
    build_inbox,
    register_deciding,
    register_detectors,
    register_inbox,
    register_reflecting,
)
from festinger.runtime.providers import OwnModel, notice_other_model, open_providers
from festinger.runtime.retrieval import (
    OutcomesRoom,
    RecallRoom,
    build_outcomes,
    build_recall,
    register_outcomes,
    register_recall,
)
from festinger.runtime.review.files import Folder
from festinger.runtime.review.webhook import register_webhook
from festinger.runtime.world import WorldRoom, build_world, keep_world, register_world
from festinger.settings.keys import value_at
from festinger.settings.live import LiveSettings
from festinger.settings.master_key import MasterKey
from festinger.settings.sources import Row
from festinger.settings.vault import Vault
from festinger.store.cache_invalidation import Change, Listener
from festinger.store.embedded.server import embedded_server
from festinger.store.migration import Migration, migrate, own_migrations
from festinger.store.paths import config_directory
from festinger.store.pool import Store, in_transaction, open_store
from festinger.store.repositories.auth import ROOM as KEYS_ROOM
from festinger.store.repositories.models import StoredLedger, model_endpoint
from festinger.store.repositories.spaces import ROOM as SETTINGS_ROOM
from festinger.store.repositories.spaces import config_rows
from festinger.store.secrets import settled
from festinger.text.secrets import without_secrets

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Which parts a command needs; the others are left closed."""

    migrate: bool | None = None
    """Whether to migrate; as the settings say if None."""
    providers: bool = False
    workers: bool = False


@dataclass(slots=True, kw_only=True)
class App:
    """Everything below the doors, open."""

    door: str
    settings: LiveSettings
    tools: Tools
    home: Path
    url: str = field(repr=False)
    master: MasterKey = field(repr=False)
    vault: Vault
    store: Store
    outbox: Outbox
    jobs: Jobs
    listener: Listener
    keyring: Keyring
    directory: Directory
    switchboard: Switchboard
    world: WorldRoom = field(init=False)
    memory: MemoryRoom = field(init=False)
    outcomes: OutcomesRoom = field(init=False)
    recall: RecallRoom = field(init=False)
    inbox: InboxRoom = field(init=False)
    deciding: DecidingRoom = field(init=False)
    logins: Logins = field(init=False)
    applied: tuple[str, ...] = ()
    """Migrations that this start brought."""
    background: Background = field(default_factory=Background)
    afterwards: Afterwards = field(default_factory=Afterwards)
    embedder: Embedder | None = None
    reranker: Reranker | None = None
    clause_encoder: ClauseEncoder | None = None
    own_model: OwnModel = field(default_factory=OwnModel)
    """The model that clients use, where settings say `auto`."""
    note_reader: NoteReader | None = None
    degraded: tuple[str, ...] = ()
    """What this process goes on without, although it was chosen."""
    reading: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    """Held while the config table is read: what was read first must not be taken into force last."""

    async def model(self, purpose: Purpose, caller: Caller) -> Model | None:
        """The model that answers this caller for this purpose; none if none is configured."""

        async def resolve(row: UUID) -> Endpoint:
            return await model_endpoint(self.store, row, space=caller.space, vault=self.vault)

        chosen = self.own_model.applied(self.settings.for_space(caller.space).llm, purpose.value)
        return await self.switchboard.model(purpose, caller, settings=chosen, resolve=resolve)

    async def reread_settings(self) -> None:
        """Take into force what the config table holds now."""
        async with self.reading:
            self.settings.apply_rows(await table_rows(self.store))

    async def reread(self) -> None:
        """Bring what this process keeps of settings, spaces and keys up to date, whatever it was told."""
        await self.reread_settings()
        await self.directory.reload()
        await self.keyring.forget()

    async def measure(self) -> None:
        """Move the gauges to what is now."""
        self.store.measure()
        await load.measure(self.store)
        await health.measure(self.store, now=self.tools.clock(), subscribers=self.outbox.everybody())
        await memory_health.measure(self.memory.desk, self.directory.ids())
        await outcomes_tally.measure(self.outcomes.desk, self.directory.ids())
        await proposals_health.measure(self.inbox.desk, self.directory.ids())
        await retrieval_health.measure(self.recall.desk, self.directory.ids())


@asynccontextmanager
async def open_app(
    settings: LiveSettings, *, door: str, progress: Progress, start: Start, tools: Tools | None = None
) -> AsyncIterator[App]:
    """Open what `start` asks for, hold it, and close it in reverse."""
    tools = tools or Tools.of_this_machine()
    async with AsyncExitStack() as stack:
        home = home_of(settings)
        key = master_key_of(settings, tools)
        url = await stack.enter_async_context(open_database(settings, progress=progress))
        applied = await _migrated(url, settings, start=start, progress=progress)
        store = await stack.enter_async_context(open_store(url, settings.now.store, door=door))
        settings.start_with(await table_rows(store))
        key = await settled(store, key)
        deliveries = Deliveries(store, tools, setting=_reader(settings), redact=without_secrets)
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
            listener=Listener(store),
            keyring=Keyring(store, clock=tools.clock),
            directory=Directory(store),
            switchboard=_switchboard(store, settings, tools),
            applied=tuple(applied),
        )
        stack.push_async_callback(app.switchboard.close)
        _build_rooms(app)
        stack.push_async_callback(app.afterwards.finish)
        run = await begin_life(app, [migration.name for migration in every_migration()])
        stack.push_async_callback(end_life, app, run)
        await _keep_true(stack, app)
        await keep_world(stack, app, app.world)
        keep_conversing(stack, app, app.memory)
        if start.providers:
            await open_providers(stack, app)
        if start.workers:
            await notice_other_model(app)
            crew = working(
                app.jobs,
                roaming=settings.now.jobs.workers,
                shutdown_seconds=settings.now.server.shutdown_seconds,
            )
            await stack.enter_async_context(crew)
            app.background.start(Folder(app).watch())
        yield app


def _build_rooms(app: App) -> None:
    """Each room on those below it, and then its jobs and subscribers."""
    app.logins = Logins(app)
    app.world = build_world(app)
    app.memory = build_memory(app)
    app.outcomes = build_outcomes(app)
    app.recall = build_recall(app)
    app.inbox = build_inbox(app)
    app.deciding = build_deciding(app, app.inbox.desk)
    register_housekeeping(app)
    register_world(app, app.world)
    register_memory(app, app.memory)
    register_forgetting(app)
    register_outcomes(app, app.outcomes)
    register_recall(app, app.recall)
    register_inbox(app, app.inbox)
    register_deciding(app, app.deciding)
    register_detectors(app, app.inbox.desk)
    register_reflecting(app, app.inbox.desk)
    register_webhook(app)


@asynccontextmanager
async def open_database(settings: LiveSettings, *, progress: Progress) -> AsyncIterator[str]:
    """The URL of the database, whatever its shape: the one that was set, or the embedded server's."""
    if settings.now.database_url is not None:
        yield settings.now.database_url.get_secret_value()
        return
    config = config_directory(person=Path.home())
    async with embedded_server(home_of(settings), config, settings.now.store, progress=progress) as url:
        yield url


def every_migration() -> list[Migration]:
    return [*own_migrations(), *job_migrations()]


async def _migrated(url: str, settings: LiveSettings, *, start: Start, progress: Progress) -> list[str]:
    allowed = settings.now.store.migrate == "auto" if start.migrate is None else start.migrate
    applied = await migrate(url, every_migration(), allowed=allowed)
    if applied:
        progress(f"Brought the database to its present shape ({len(applied)} steps).")
    return applied


async def table_rows(store: Store) -> list[Row]:
    """What the config table holds now."""
    return [Row(space=row.space, key=row.key, value=row.value) for row in await config_rows(store)]


def _reader(settings: LiveSettings) -> Callable[[str], object]:
    return lambda name: value_at(settings.now, name)


def _switchboard(store: Store, settings: LiveSettings, tools: Tools) -> Switchboard:
    return Switchboard(
        Outside(
            ledger=StoredLedger(store),
            clock=tools.clock,
            stopwatch=tools.stopwatch,
            new_id=tools.new_id,
            environment=settings.deployment.environment,
            offline=settings.now.offline,
            holds_transaction=in_transaction,
        )
    )


async def _keep_true(stack: AsyncExitStack, app: App) -> None:
    """Follow the changes of other processes and of the settings file."""

    async def reload_settings(_change: Change) -> None:
        await app.reread_settings()

    app.listener.on_change(SETTINGS_ROOM, reload_settings)
    app.listener.on_change(KEYS_ROOM, app.keyring.forget)
    app.listener.on_change(SPACES_ROOM, app.directory.reload)
    await app.directory.reload()
    app.background.start(app.listener.run())
    app.background.start(app.keyring.write_uses_for_ever())
    stack.push_async_callback(_write_last_uses, app)
    stack.push_async_callback(app.background.stop)


async def _write_last_uses(app: App) -> None:
    """Write down which keys were used since the last look. With the store away nothing is lost but a date."""
    with suppress(StoreDown, TimeoutError):
        async with asyncio.timeout(END_SECONDS):
            await app.keyring.write_uses(every=True)
