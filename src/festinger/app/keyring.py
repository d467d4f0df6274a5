"""Whose key is this?

Keys that were used lately are kept in memory, so that a request does not wait for the database, and so that
their owners still get in while it is away. Whatever is not known then is refused: it fails closed. A change
of keys anywhere empties the ring.
"""

from festinger.store.caches import BoundedCache
from festinger.store.keys import ApiKey, find_key, hash_of, is_ours
from festinger.store.pool import Store
from festinger.store.versions import Change

KEY_BYTES = 500
"""About what one kept key takes."""
RING_BYTES = 10_000 * KEY_BYTES


class Keyring:
    """The keys that this process knows."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: BoundedCache[bytes, ApiKey] = BoundedCache(
            "keys", limit=RING_BYTES, weigh=lambda _: KEY_BYTES
        )

    async def find(self, secret: str) -> ApiKey | None:
        """The live key that has this secret. `StoreDown` if it is not known and cannot be looked up."""
        if not is_ours(secret):
            return None
        digest = hash_of(secret)
        if (known := self._known.find(digest)) is not None:
            return known
        found = await find_key(self._store, secret, hot=True)
        if found is not None:
            self._known.keep(digest, found)
        return found

    async def forget(self, _change: Change) -> None:
        """Let go of everything: some key was made or revoked."""
        for digest in list(self._known):
            self._known.drop(digest)
