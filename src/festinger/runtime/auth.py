"""Resolves API keys, console logins and space names.

Recently used keys are cached, so that a request does not wait for the database and known owners still get in
while it is down; unknown keys are then refused (fail closed). Any change of keys empties the cache. Unknown
keys are not cached and only a few are looked up at once, so that guessing exhausts neither memory nor
connections. Console logins take a one-time link or a key that is not proxy-only, with a pause after repeated
failures. Spaces are cached because every request names one.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from cachetools import LRUCache

from festinger.clock import Clock, system_clock
from festinger.errors import NotAuthenticated, NotAuthorised, NotFound, StoreDown, TooMany
from festinger.ids import EVERY_SPACE, MAIN_SPACE, SpaceId
from festinger.store.cache_invalidation import BoundedCache, CacheChange
from festinger.store.pool import Store
from festinger.store.repositories.auth import (
    USE_NOTED_EVERY,
    AccessRole,
    ApiKey,
    LoginSession,
    create_login_link,
    end_login_session,
    find_api_key,
    find_login_session,
    has_any_login,
    hash_secret,
    is_api_key,
    new_cookie,
    new_link_token,
    open_session,
    record_key_use,
    redeem_login_link,
)
from festinger.store.repositories.spaces import load_spaces

if TYPE_CHECKING:
    from festinger.runtime.app import App


KEY_BYTES = 500
"""Approximate size of one cached key."""
RING_BYTES = 10_000 * KEY_BYTES

LOOKUPS = 2
"""Concurrent lookups; a tenth of a usual pool, and enough for a thousand new keys a second."""

WRITE_SECONDS = 5.0
"""How often to check for uses that are due to be written."""


class Keyring:
    """The keys that this process knows."""

    def __init__(self, store: Store, *, clock: Clock = system_clock) -> None:
        self._store = store
        self._clock = clock
        self._known: BoundedCache[bytes, ApiKey] = BoundedCache("keys", limit=RING_BYTES, weigh=lambda _: KEY_BYTES)
        self._emptied = 0
        self._lookups = asyncio.Semaphore(LOOKUPS)
        self._used: dict[UUID, ApiKey] = {}
        self._written: dict[UUID, datetime] = {}

    async def find(self, secret: str) -> ApiKey | None:
        """Return the live key with this secret. Raises `StoreDown` if it is not cached and no store is up."""
        if not is_api_key(secret):
            return None
        found = await self._found(secret, hash_secret(secret))
        if found is not None:
            self._used[found.id] = found
        return found

    async def write_key_uses(self, *, every: bool = False) -> int:
        """Record which keys were used, each at most once a minute unless `every`; return how many."""
        now = self._clock()
        due = [key for key in self._used.values() if every or self._is_due(key, now)]
        for key in due:
            del self._used[key.id]
            try:
                await record_key_use(self._store, key, at=now)
            except StoreDown:
                self._used.setdefault(key.id, key)
                raise
            self._written[key.id] = now
        return len(due)

    async def write_key_uses_forever(self) -> None:
        """Record uses while the process lives; while the store is down they wait in memory."""
        while True:
            await asyncio.sleep(WRITE_SECONDS)
            try:
                await self.write_key_uses()
            except StoreDown:
                continue

    async def forget(self, _change: CacheChange | None = None) -> None:
        """Empty the cache: some key was made or revoked."""
        self._emptied += 1
        for digest in list(self._known):
            self._known.drop(digest)

    def _is_due(self, key: ApiKey, now: datetime) -> bool:
        written = self._written.get(key.id)
        return written is None or now - written > USE_NOTED_EVERY

    async def _found(self, secret: str, digest: bytes) -> ApiKey | None:
        if (known := self._known.find(digest)) is not None:
            return known
        async with self._lookups:
            return self._known.find(digest) or await self._look_up(secret, digest)

    async def _look_up(self, secret: str, digest: bytes) -> ApiKey | None:
        before = self._emptied
        found = await find_api_key(self._store, secret, hot=True)
        # A key revoked while it was being read would otherwise stay cached for good.
        if found is not None and before == self._emptied:
            self._known.keep(digest, found)
        return found


WRONG_TRIES = 5
PAUSE = timedelta(minutes=1)
MOST_ADDRESSES = 1_000
"""Addresses whose failures are remembered; the one that was quiet the longest is dropped."""


@dataclass(slots=True, kw_only=True)
class LoginThrottle:
    """Recent failed logins per address."""

    wrong: LRUCache[str, tuple[int, datetime]] = field(default_factory=lambda: LRUCache(MOST_ADDRESSES))

    def check(self, address: str, now: datetime) -> None:
        count, last = self.wrong.get(address, (0, now))
        if count < WRONG_TRIES:
            return
        if now - last < PAUSE:
            raise TooMany("There were too many wrong tries.", hint="Wait a minute, then try again.")
        del self.wrong[address]

    def note(self, address: str, now: datetime) -> int:
        """Record a failure; return how many there are by now."""
        count, _ = self.wrong.get(address, (0, now))
        self.wrong[address] = (count + 1, now)
        return count + 1


class LoginService:
    """Console logins of one app."""

    def __init__(self, app: "App") -> None:
        self._app = app
        self._tries = LoginThrottle()

    async def invite(self, name: str, *, space: SpaceId = EVERY_SPACE) -> str:
        """Create a one-time link for a person, who will be able to decide."""
        link, now = new_link_token(self._app.tools.entropy), self._app.tools.clock()
        until = now + timedelta(minutes=self._app.settings.now.auth.login_link_minutes)
        guest = LoginSession(
            space=space, id=self._app.tools.new_id(), name=name[:100], role=AccessRole.REVIEWER, seen_at=now
        )
        await create_login_link(self._app.store, guest, link=link, until=until)
        return link

    async def is_first(self) -> bool:
        """Whether nobody ever logged in."""
        return not await has_any_login(self._app.store)

    async def enter(self, secret: str, *, address: str) -> tuple[LoginSession, str]:
        """Open a session for this link or key; return it with its cookie."""
        now = self._app.tools.clock()
        self._tries.check(address, now)
        cookie = new_cookie(self._app.tools.entropy)
        session = await self._open_login_session(secret.strip(), cookie=cookie, address=address, now=now)
        if session is None:
            await self._refuse(address, now)
        assert session is not None, "refusing raises"
        self._tries.wrong.pop(address, None)
        return session, cookie

    async def find(self, cookie: str) -> LoginSession | None:
        idle = timedelta(hours=self._app.settings.now.auth.session_hours)
        return await find_login_session(self._app.store, cookie, now=self._app.tools.clock(), idle=idle)

    async def leave(self, session: LoginSession) -> None:
        await end_login_session(self._app.store, session, at=self._app.tools.clock())

    async def _open_login_session(
        self, secret: str, *, cookie: str, address: str, now: datetime
    ) -> LoginSession | None:
        key = await self._app.keyring.find(secret) if is_api_key(secret) else None
        async with self._app.store.transaction() as transaction:
            if key is None:
                session = await redeem_login_link(transaction, secret, cookie=cookie, at=now)
            else:
                session = self._session_for_key(key, now)
                await open_session(transaction, session, cookie=cookie, key=key.id)
            if session is not None:
                await self._app.outbox.emit(
                    transaction,
                    "login",
                    space=_event_space(session.space),
                    subject=f"login:{session.id}",
                    payload={"reviewer": session.name, "address": address},
                )
        return session

    def _session_for_key(self, key: ApiKey, now: datetime) -> LoginSession:
        if key.role in (AccessRole.PROXY, AccessRole.HOOK):
            raise NotAuthorised(f"A key of role `{key.role}` opens no console.")
        return LoginSession(space=key.space, id=self._app.tools.new_id(), name=key.name, role=key.role, seen_at=now)

    async def _refuse(self, address: str, now: datetime) -> None:
        count = self._tries.note(address, now)
        async with self._app.store.transaction() as transaction:
            await self._app.outbox.emit(
                transaction,
                "login_refused",
                space=MAIN_SPACE,
                subject=f"login:{address}"[:200],
                payload={"address": address, "count": count},
            )
        raise NotAuthenticated(
            "This is no link or key that opens the console; a link works once and not for long.",
            hint="Get a new link with `festinger login`.",
        )


def _event_space(space: SpaceId) -> SpaceId:
    return MAIN_SPACE if space == EVERY_SPACE else space


ROOM = "spaces"
"""The name under which changes of the list are counted."""


class SpaceDirectory:
    """The spaces by name and by id."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ids: dict[str, SpaceId] = {}

    def find(self, name: str) -> SpaceId | None:
        return self._ids.get(name)

    def need(self, name: str) -> SpaceId:
        """Return the id of the space of this name. Raises `NotFound`."""
        found = self.find(name)
        if found is None:
            raise NotFound(f"There is no space `{name[:80]}`.", hint="`festinger spaces list` shows them.")
        return found

    def ids(self) -> list[SpaceId]:
        return sorted(set(self._ids.values()))

    async def reload(self, _change: CacheChange | None = None) -> None:
        found = await load_spaces(self._store)
        self._ids = {space.id: space.id for space in found} | {space.name: space.id for space in found}
