"""Is the house open yet, and if not, why?

`serve` answers from its first second, long before the store is up and also when it cannot be had. The keeper
opens the app in the background, tries again with a growing pause, and tells whoever asks how far it is.
What the doors do meanwhile is theirs to decide.
"""

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from uuid import UUID

import structlog

from festinger.app.doctor import check_disk, examine, without_store
from festinger.app.home import home_of
from festinger.app.local_server import LocalServer
from festinger.app.loops import LoopDesk, NoLoops
from festinger.app.wiring import App
from festinger.errors import FestingerError, StoreDown
from festinger.ids import EVERY_SPACE, MAIN_SPACE, SpaceId
from festinger.observability.checks import Check
from festinger.settings.live import LiveSettings
from festinger.store.repositories.auth import ApiKey, Role, Session

log = structlog.get_logger(room="app")

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
FULL_MB = 16
"""With less than this free, neither the database nor the spool can be relied on to take anything."""

OWNER = ApiKey(
    space=EVERY_SPACE,
    id=UUID(int=0),
    name="cli",
    role=Role.REVIEWER,
    agent=None,
    created_at=datetime.min.replace(tzinfo=UTC),
)
"""Whoever reads the key of the running server from its home, with the rights of `festinger login`."""

OpenApp = Callable[[], AbstractAsyncContextManager[App]]
MoreChecks = Callable[[], Awaitable[Sequence[Check]]]
Pause = Callable[[float], Awaitable[object]]


def no_fault() -> str:
    """For a process that writes nothing beside the store."""
    return ""


async def no_more_checks() -> Sequence[Check]:
    return ()


def pauses() -> Iterator[float]:
    """Seconds to wait before each next try."""
    pause = FIRST_PAUSE
    while True:
        yield pause
        pause = min(pause * 2, LONGEST_PAUSE)


class Keeper:
    """Holds the app while it is open. `app` is None until then, and `problem` says what is in the way."""

    def __init__(
        self,
        settings: LiveSettings,
        open_app: OpenApp,
        *,
        more_checks: MoreChecks = no_more_checks,
        pause: Pause = asyncio.sleep,
        closing: asyncio.Event | None = None,
        disk_fault: Callable[[], str] = no_fault,
        local: LocalServer | None = None,
    ) -> None:
        self.settings = settings
        self.closing = closing or asyncio.Event()
        """Set when the server is asked to stop: what would go on for ever ends then."""
        self.app: App | None = None
        self.problem: FestingerError | None = None
        self.loops: LoopDesk = NoLoops()
        """What the door of this process sees going round in circles."""
        self._open_app = open_app
        self._more_checks = more_checks
        self._pause = pause
        self._disk_fault = disk_fault
        self._stop = asyncio.Event()
        self._local = local

    def is_open(self) -> bool:
        return self.app is not None

    def need(self) -> App:
        """The app, for whoever cannot go on without it."""
        if self.app is not None:
            return self.app
        if self.problem is None:
            raise StoreDown(
                "The store is still starting.", hint="Wait a few seconds; `/admin/readyz` says when."
            )
        raise StoreDown(self.problem.message, hint=self.problem.hint)

    def disk(self) -> Check:
        """How much room the disk of the home has."""
        return check_disk(self.settings, home_of(self.settings))

    def disk_problem(self) -> StoreDown | None:
        """Why what is said cannot be kept on disk: it is full, or writing to it failed the last time."""
        fault, disk = self._disk_fault(), self.disk()
        if not fault and disk.details["free_mb"] >= FULL_MB:
            return None
        reason = f"What is said cannot be written to disk: {fault}." if fault else disk.message
        return StoreDown(reason, hint="Free some space; nothing else is needed.", kind="disk_full")

    async def find_key(self, secret: str) -> ApiKey | None:
        """The live key that has this secret; nobody is known while the store was never there."""
        if self._local is not None and hmac.compare_digest(secret.encode(), self._local.key.encode()):
            return OWNER
        return await self.need().keyring.find(secret)

    async def find_session(self, cookie: str) -> Session | None:
        """The live session of a cookie; nobody is logged in while the store is not there."""
        return await self.need().logins.find(cookie)

    def known_space(self, name: str) -> SpaceId | None:
        """The space that is called so. Without a store only the default one is known."""
        if self.app is None:
            return MAIN_SPACE if name == MAIN_SPACE else None
        return self.app.directory.find(name)

    async def checks(self, *, ask_models: bool = False) -> list[Check]:
        """How everything is, as data."""
        if self.app is None:
            own = without_store(self.settings, home_of(self.settings), self.problem)
        else:
            own = await examine(self.app, ask_models=ask_models)
        return [*own, *await self._more_checks()]

    async def keep(self) -> None:
        """Open the app and hold it until `stop`; after a failure, try again."""
        waits = pauses()
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
            await self._unless_stopped(self._pause(seconds))

    def stop(self) -> None:
        self._stop.set()

    async def _attempt(self) -> FestingerError | None:
        """Open the app and hold it; what was in the way.

        In a task of its own, so that whatever ends it is seen here. A fault of ours is no reason to stop
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

    async def _unless_stopped(self, wait: Awaitable[object]) -> None:
        """Wait, but no longer than until `stop`."""
        waits = [asyncio.ensure_future(wait), asyncio.create_task(self._stop.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for left in waits:
                left.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
