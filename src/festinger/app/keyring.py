"""Whose key is this?

Keys that were used lately are kept in memory, so that a request does not wait for the database, and so that
their owners still get in while it is away. Whatever is not known then is refused: it fails closed. A change
of keys anywhere empties the ring. Keys that do not exist are not kept, and only a few are looked up at a time:
whoever tries many takes neither the memory nor the connections of the others.
"""

import asyncio

from festinger.store.caches import BoundedCache
from festinger.store.keys import ApiKey, find_key, hash_of, is_ours
from festinger.store.pool import Store
from festinger.store.versions import Change

KEY_BYTES = 500
"""About what one kept key takes."""
RING_BYTES = 10_000 * KEY_BYTES

LOOKUPS = 2
"""Keys that are looked up at once; a tenth of a usual pool, and enough for a thousand new keys a second."""


class Keyring:
    """The keys that this process knows."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: BoundedCache[bytes, ApiKey] = BoundedCache(
            "keys", limit=RING_BYTES, weigh=lambda _: KEY_BYTES
        )
        self._emptied = 0
        self._lookups = asyncio.Semaphore(LOOKUPS)

    async def find(self, secret: str) -> ApiKey | None:
        """The live key that has this secret. `StoreDown` if it is not known and cannot be looked up."""
        if not is_ours(secret):
            return None
        digest = hash_of(secret)
        if (known := self._known.find(digest)) is not None:
            return known
        async with self._lookups:
            return self._known.find(digest) or await self._look_up(secret, digest)

    async def forget(self, _change: Change | None = None) -> None:
        """Let go of everything: some key was made or revoked."""
        self._emptied += 1
        for digest in list(self._known):
            self._known.drop(digest)

    async def _look_up(self, secret: str, digest: bytes) -> ApiKey | None:
        before = self._emptied
        found = await find_key(self._store, secret, hot=True)
        # A key that was revoked while it was being read would otherwise stay on the ring for good.
        if found is not None and before == self._emptied:
            self._known.keep(digest, found)
        return found
