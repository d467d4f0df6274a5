"""Whose key is this?

Keys that were used lately are kept in memory, so that a request does not wait for the database, and so that
their owners still get in while it is away. Whatever is not known then is refused: it fails closed. A change
of keys anywhere empties the ring. Keys that do not exist are not kept, and only a few are looked up at a time:
whoever tries many takes neither the memory nor the connections of the others.

That a key was used is only noted in memory; `write_uses` writes it down beside the requests.
"""

import asyncio
from datetime import datetime
from uuid import UUID

from festinger.clock import Clock, system_clock
from festinger.errors import StoreDown
from festinger.store.cache_invalidation import BoundedCache, Change
from festinger.store.pool import Store
from festinger.store.repositories.auth import USE_NOTED_EVERY, ApiKey, find_key, hash_of, is_ours, note_use

KEY_BYTES = 500
"""About what one kept key takes."""
RING_BYTES = 10_000 * KEY_BYTES

LOOKUPS = 2
"""Keys that are looked up at once; a tenth of a usual pool, and enough for a thousand new keys a second."""

WRITE_SECONDS = 5.0
"""How often somebody looks whether a use is to be written down."""


class Keyring:
    """The keys that this process knows."""

    def __init__(self, store: Store, *, clock: Clock = system_clock) -> None:
        self._store = store
        self._clock = clock
        self._known: BoundedCache[bytes, ApiKey] = BoundedCache(
            "keys", limit=RING_BYTES, weigh=lambda _: KEY_BYTES
        )
        self._emptied = 0
        self._lookups = asyncio.Semaphore(LOOKUPS)
        self._used: dict[UUID, ApiKey] = {}
        self._written: dict[UUID, datetime] = {}

    async def find(self, secret: str) -> ApiKey | None:
        """The live key that has this secret. `StoreDown` if it is not known and cannot be looked up."""
        if not is_ours(secret):
            return None
        found = await self._found(secret, hash_of(secret))
        if found is not None:
            self._used[found.id] = found
        return found

    async def write_uses(self, *, every: bool = False) -> int:
        """Write down which keys were used, each at most once a minute (or `every` one that waits); how many."""
        now = self._clock()
        due = [key for key in self._used.values() if every or self._is_due(key, now)]
        for key in due:
            del self._used[key.id]
            try:
                await note_use(self._store, key, at=now)
            except StoreDown:
                self._used.setdefault(key.id, key)
                raise
            self._written[key.id] = now
        return len(due)

    async def write_uses_for_ever(self) -> None:
        """Write uses down while the process lives; with the store away they wait in memory."""
        while True:
            await asyncio.sleep(WRITE_SECONDS)
            try:
                await self.write_uses()
            except StoreDown:
                continue

    async def forget(self, _change: Change | None = None) -> None:
        """Let go of everything: some key was made or revoked."""
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
        found = await find_key(self._store, secret, hot=True)
        # A key that was revoked while it was being read would otherwise stay on the ring for good.
        if found is not None and before == self._emptied:
            self._known.keep(digest, found)
        return found
