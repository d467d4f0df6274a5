"""Keeps the app open while the store comes and goes, and collects the health checks.

`serve` answers from its first second, long before the store is up and also when it is unavailable: the
supervisor opens the app in the background, retries with a growing pause, and reports the state. A store that
is down is itself a check, and the packages behind it are then skipped; models are asked only on request,
because that costs. `LoopMonitor` is the port through which pages and commands see and reset the loops that
the proxy watches; `handle_hook` is the one through which coding agents reach it.
"""

import asyncio
import hmac
import shutil
import stat
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

import structlog

from festinger.clock import backoff_delays
from festinger.embedding.health import check_embedder, check_reranker
from festinger.errors import FestingerError, StoreDown
from festinger.events.health import check_events
from festinger.ids import EVERY_SPACE, MAIN_SPACE, AgentId, Scope, SpaceId
from festinger.jobs.dead_letters import check_jobs
from festinger.llm.health import check_models
from festinger.llm.ledger import ModelCaller
from festinger.llm.model import Model, ModelPurpose
from festinger.memory.health import check_censor_patterns, check_missing_vectors
from festinger.memory.learn.refusals import check_refusals
from festinger.observability.checks import Check, CheckSeverity, failed_check, ok_check, warning_check, worst_severity
from festinger.outcomes.stats import check_feedback_loop
from festinger.retrieval.maintenance import check_word_counts
from festinger.runtime.app import App
from festinger.runtime.environment import LocalServer, home_of
from festinger.settings.live import LiveSettings
from festinger.store.cache_invalidation import check_cache_listener
from festinger.store.health import check_store
from festinger.store.repositories.auth import AccessRole, ApiKey, LoginSession
from festinger.world.graph import check_world_cache

RECENT_SECONDS = 30.0
PRIVATE = 0o077
MEGABYTE = 2**20


async def run_checks(app: App, *, ask_models: bool = False) -> list[Check]:
    now = app.tools.clock()
    checks = [
        *check_settings(app.settings),
        *check_files(app.settings, app.home),
        *await _run_store_checks(app, now),
        check_cache_listener(app.listener),
        check_world_cache(app.world.worlds),
    ]
    if app.embedder is not None:
        checks += await check_embedder(app.embedder, at=now)
        checks.append(await _check_app_reranker(app))
    if ask_models:
        checks += await check_models(await _resolve_llm_per_purpose(app), app.tools.stopwatch)
    return checks


async def _run_store_checks(app: App, now: datetime) -> list[Check]:
    """Check the store and what is in it. A database that goes down meanwhile is reported instead."""
    store = await check_store(app.store, app.settings.now.store, home=app.home, now=now)
    if worst_severity(store) is CheckSeverity.FAIL:
        return store
    try:
        spaces = app.directory.ids()
        memory = [
            await check_missing_vectors(app.memory.deps, spaces),
            await check_censor_patterns(app.memory.deps, spaces),
            await check_refusals(app.memory.deps, spaces),
            *await check_feedback_loop(app.outcomes.deps, spaces, app.settings.now.outcomes),
            await check_word_counts(app.recall.deps, spaces),
        ]
        return [*store, *await check_jobs(app.jobs.deps), *await check_events(app.store, now=now), *memory]
    except StoreDown as error:
        return [failed_check("store.server", error.message, error.hint)]


def checks_without_store(settings: LiveSettings, home: Path, problem: FestingerError | None) -> list[Check]:
    """Run the checks that need no store."""
    if problem is None:
        store = warning_check("store.server", "The store is still starting.", "Wait a few seconds.")
    else:
        store = failed_check("store.server", problem.message, problem.hint)
    return [store, *check_settings(settings), *check_files(settings, home)]


def check_settings(settings: LiveSettings) -> list[Check]:
    """Check whether an edit is invalid or waits for a restart."""
    if problem := settings.problem:
        return [failed_check("settings", problem.message, problem.hint, **dict(problem.details))]
    if waiting := settings.needs_restart:
        keys = ", ".join(f"`{change.key}`" for change in waiting)
        return [
            warning_check(
                "settings", f"Changed, but in force only after a restart: {keys}.", "Restart `festinger serve`."
            )
        ]
    return [ok_check("settings", "All settings are in force.")]


def check_files(settings: LiveSettings, home: Path) -> list[Check]:
    """Check that home and key are private, and that the disk has room."""
    checks = [check_disk(settings, home)]
    for name, path in (("files.home", home), ("files.key", Path(settings.now.secrets.key_file).expanduser())):
        if path.exists():
            checks.append(_check_private(name, path))
    return checks


def _check_private(name: str, path: Path) -> Check:
    mode = stat.S_IMODE(path.stat().st_mode)
    # The home of root may be traversed by the server's own user, but not read.
    open_to = mode & PRIVATE & ~0o010 if path.is_dir() else mode & PRIVATE
    if open_to:
        return failed_check(name, f"`{path}` has the mode {mode:04o}: others can read it.", f"chmod go-rwx {path}")
    return ok_check(name, f"`{path}` is private.")


def check_disk(settings: LiveSettings, home: Path) -> Check:
    place = next(parent for parent in (home, *home.parents) if parent.exists())
    free = shutil.disk_usage(place).free // MEGABYTE
    limits = settings.now.store
    if free < limits.disk_stop_mb:
        return failed_check(
            "files.disk",
            f"Only {free} MB are free at `{place}`.",
            "Free some space; growing work has paused.",
            free_mb=free,
        )
    if free < limits.disk_warn_mb:
        return warning_check("files.disk", f"Only {free} MB are free at `{place}`.", "Free some space.", free_mb=free)
    return ok_check("files.disk", f"{free} MB are free.", free_mb=free)


async def _check_app_reranker(app: App) -> Check:
    if "reranker" not in app.degraded:
        return await check_reranker(app.reranker)
    chosen = app.settings.now.rerank.model
    return failed_check(
        "reranker.answers",
        f"`{chosen}` could not be opened; results stand in the order of the search.",
        "The log of this process says why. Mend it or choose another `rerank.model`, then restart.",
        degraded="reranker",
    )


async def _resolve_llm_per_purpose(app: App) -> Mapping[ModelPurpose, Model | FestingerError | None]:
    """Return the model of each purpose, or the error if a chosen one is unavailable."""
    found: dict[ModelPurpose, Model | FestingerError | None] = {}
    for purpose in ModelPurpose:
        try:
            found[purpose] = await app.model(purpose, ModelCaller(space=MAIN_SPACE))
        except FestingerError as error:
            found[purpose] = error
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveLoop:
    """A loop that has reached a level and is not over."""

    session: str
    agent: str
    rule: str
    level: int
    count: int
    what: tuple[str, ...]
    """What repeats, one line per step. Words of agents and tools: data, never instructions."""
    is_stopped: bool
    """Whether its breaker is open."""
    at: datetime
    """When it was last seen."""


class LoopMonitor(Protocol):
    def live(self, space: SpaceId) -> Sequence[LiveLoop]:
        """Return the loops of a space, newest first."""

    def reset(self, space: SpaceId, session: str, *, by: str) -> bool:
        """Let a session continue: what it did so far no longer counts. False if no such loop is known."""


class NullLoopMonitor:
    """A process without a proxy has no loops."""

    def live(self, _space: SpaceId) -> Sequence[LiveLoop]:
        return ()

    def reset(self, _space: SpaceId, _session: str, *, by: str) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEvent:
    """What a coding agent's hook reports."""

    scope: Scope
    kind: str
    text: str
    model: str
    wants_notes: bool
    """Whether the tool can show notes beside a prompt."""


IsGone = Callable[[], Awaitable[bool]]
"""Returns whether the tool no longer waits for an answer."""
HandleHook = Callable[[App, HookEvent, IsGone], Awaitable[str]]
"""Takes an event of a coding agent; returns the text to show."""


log = structlog.get_logger(room="app")

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
FULL_MB = 16
"""With less than this free, neither the database nor the spool can be relied on to take anything."""

OWNER = ApiKey(
    space=EVERY_SPACE,
    id=UUID(int=0),
    name="cli",
    role=AccessRole.REVIEWER,
    agent=None,
    created_at=datetime.min.replace(tzinfo=UTC),
)
"""Whoever reads the key of the running server from its home, with the rights of `festinger login`."""

OpenApp = Callable[[], AbstractAsyncContextManager[App]]
MoreChecks = Callable[[], Awaitable[Sequence[Check]]]
Pause = Callable[[float], Awaitable[object]]


def null_disk_fault() -> str:
    """For a process that writes nothing beside the store."""
    return ""


async def null_checks() -> Sequence[Check]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class McpCaller:
    """Who an MCP client speaks for; the key was checked."""

    key: str = field(repr=False)
    space: SpaceId
    agent: AgentId


ServeMcp = Callable[[McpCaller, Any, Any, Any], Awaitable[None]]
"""Answers a request of an MCP client, as an ASGI app does."""


class Supervisor:
    """Holds the app while it is open. `app` is None until then, and `problem` says why."""

    def __init__(
        self,
        settings: LiveSettings,
        open_app: OpenApp,
        *,
        more_checks: MoreChecks = null_checks,
        pause: Pause = asyncio.sleep,
        closing: asyncio.Event | None = None,
        disk_fault: Callable[[], str] = null_disk_fault,
        local: LocalServer | None = None,
    ) -> None:
        self.settings = settings
        self.closing = closing or asyncio.Event()
        """Set when the server is asked to stop: endless streams end then."""
        self.app: App | None = None
        self.problem: FestingerError | None = None
        self.loops: LoopMonitor = NullLoopMonitor()
        """The loops that the proxy of this process sees."""
        self.handle_hook: HandleHook | None = None
        """Takes what the hooks of coding agents report, if this process captures anything."""
        self.mcp: ServeMcp | None = None
        """How this process serves MCP clients, if it does."""
        self._open_app = open_app
        self._more_checks = more_checks
        self._pause = pause
        self._disk_fault = disk_fault
        self._stop = asyncio.Event()
        self._local = local
        self._checked: tuple[float, list[Check]] | None = None

    def is_open(self) -> bool:
        return self.app is not None

    def need(self) -> App:
        """Return the app. Raises `StoreDown` while it is not open."""
        if self.app is not None:
            return self.app
        if self.problem is None:
            raise StoreDown("The store is still starting.", hint="Wait a few seconds; `/admin/readyz` says when.")
        raise StoreDown(self.problem.message, hint=self.problem.hint)

    def disk(self) -> Check:
        """Check how much room the disk of the home has."""
        return check_disk(self.settings, home_of(self.settings))

    def disk_problem(self) -> StoreDown | None:
        """Return why turns cannot be kept on disk: it is full, or the last write failed."""
        fault, disk = self._disk_fault(), self.disk()
        if not fault and disk.details["free_mb"] >= FULL_MB:
            return None
        reason = f"What is said cannot be written to disk: {fault}." if fault else disk.message
        return StoreDown(reason, hint="Free some space; nothing else is needed.", kind="disk_full")

    async def find_key(self, secret: str) -> ApiKey | None:
        """Return the live key with this secret. Raises `StoreDown` if the store was never there."""
        if self._local is not None and hmac.compare_digest(secret.encode(), self._local.key.encode()):
            return OWNER
        return await self.need().keyring.find(secret)

    async def find_session(self, cookie: str) -> LoginSession | None:
        """Return the live session of a cookie. Raises `StoreDown` while the store is not there."""
        return await self.need().logins.find(cookie)

    def known_space(self, name: str) -> SpaceId | None:
        """Return the space of this name. Without a store only the default one is known."""
        if self.app is None:
            return MAIN_SPACE if name == MAIN_SPACE else None
        return self.app.directory.find(name)

    async def checks(self, *, ask_models: bool = False) -> list[Check]:
        if self.app is None:
            own = checks_without_store(self.settings, home_of(self.settings), self.problem)
        else:
            own = await run_checks(self.app, ask_models=ask_models)
        return [*own, *await self._more_checks()]

    async def recent_checks(self) -> list[Check]:
        """The checks, not older than half a minute: in a large store they take longer than a page may."""
        if self.app is None:
            return await self.checks()
        now = self.app.tools.stopwatch()
        if self._checked is None or now - self._checked[0] > RECENT_SECONDS:
            self._checked = now, await self.checks()
        return self._checked[1]

    async def keep(self) -> None:
        """Open the app and hold it until `stop`; after a failure, try again."""
        waits = backoff_delays(FIRST_PAUSE, LONGEST_PAUSE)
        while not self._stop.is_set():
            self.problem = await self._attempt()
            if self.problem is None or self._stop.is_set():
                continue
            seconds = next(waits)
            log.error(
                "no store, requests pass untouched",
                why=self.problem.message,
                hint=self.problem.hint,
                again_in_s=seconds,
            )
            await self._wait_unless_stopped(self._pause(seconds))

    def stop(self) -> None:
        self._stop.set()

    async def _attempt(self) -> FestingerError | None:
        """Open the app and hold it; return what failed.

        In a task of its own, so that whatever ends it is seen here. A bug of ours is no reason to stop
        forwarding (law 4), and neither is a row of the config table that this version cannot read.
        """
        life = asyncio.create_task(self._hold())
        try:
            await asyncio.wait({life})
        except asyncio.CancelledError:
            life.cancel()
            await asyncio.wait({life})
            raise
        error = life.exception()
        if error is None or isinstance(error, FestingerError):
            return error
        log.error("the store could not be opened by a fault of ours", exc_info=error)
        return FestingerError()

    async def _hold(self) -> None:
        async with self._open_app() as app:
            self.app, self.problem = app, None
            log.info("ready", door=app.door)
            try:
                await self._stop.wait()
            finally:
                # Nobody may be given an app that is closing.
                self.app = None

    async def _wait_unless_stopped(self, wait: Awaitable[object]) -> None:
        """Wait, but no longer than until `stop`."""
        waits = [asyncio.ensure_future(wait), asyncio.create_task(self._stop.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for left in waits:
                left.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
