"""How much may a process keep in memory, and what if it is not enough?

A `BoundedCache` keeps what a room has loaded, by key, within a number of bytes. The longest unused gives way.
What would not fit even alone is not kept: the room then asks the database each time and says `degraded:
cache`. When something must be dropped because it changed is told by `listening`.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

import structlog

from festinger.observability.metrics import DEGRADED

log = structlog.get_logger(room="store")

DEGRADATION = "cache"
MEGABYTE = 2**20

K = TypeVar("K")
V = TypeVar("V")


def shares(megabytes: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Bytes for each cache of a process, by weight; together never more than `megabytes`."""
    whole = sum(weights.values())
    return {name: megabytes * MEGABYTE * weight // whole for name, weight in weights.items()}


class BoundedCache(Generic[K, V]):
    """What one room keeps in memory. `weigh` says how many bytes a value takes."""

    def __init__(self, name: str, *, limit: int, weigh: Callable[[V], int]) -> None:
        self.name = name
        self.limit = limit
        self.size = 0
        self._weigh = weigh
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._too_large: set[K] = set()

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, key: K) -> bool:
        return key in self._kept

    def __iter__(self) -> Iterator[K]:
        return iter(self._kept)

    def find(self, key: K) -> V | None:
        """What is kept under `key`, which counts as a use."""
        if key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key][0]

    def keep(self, key: K, value: V) -> bool:
        """Keep a value in place of an older one; whether it is kept."""
        self._release(key)
        size = self._weigh(value)
        if size > self.limit:
            self._refuse(key, size)
            return False
        self._too_large.discard(key)
        self._kept[key] = (value, size)
        self.size += size
        self._make_room()
        return True

    def drop(self, key: K) -> None:
        """Forget what is kept under `key`, and that it was too large."""
        self._too_large.discard(key)
        self._release(key)

    def resize(self, limit: int) -> None:
        """Take another limit; what no longer fits gives way."""
        self.limit = limit
        self._too_large.clear()
        self._make_room()

    def degraded(self, key: K) -> tuple[str, ...]:
        """What a result that had to do without the cache says: `cache`, or nothing."""
        return (DEGRADATION,) if key in self._too_large else ()

    def _release(self, key: K) -> None:
        _, size = self._kept.pop(key, (None, 0))
        self.size -= size

    def _make_room(self) -> None:
        while self.size > self.limit:
            self._release(next(iter(self._kept)))

    def _refuse(self, key: K, size: int) -> None:
        DEGRADED.labels(DEGRADATION).inc()
        if key not in self._too_large:
            log.warning("cache too small", cached=self.name, size_bytes=size, limit_bytes=self.limit)
        self._too_large.add(key)
