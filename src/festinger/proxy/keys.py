"""Does this request carry a key of ours, and what is sent on instead of it?

A key of ours is known by its prefix and may come in three headers. It never leaves here: the upstream gets
its own key in that place, or none. Keys without the prefix belong to the upstream and are not touched.
What a key may do is `guard`'s matter; who it belongs to is looked up by a function that is handed in.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

from festinger.errors import TooMany
from festinger.proxy.headers import RawHeaders
from festinger.proxy.routes import Protocol
from festinger.store.repositories.auth import PREFIX, ApiKey

FindKey = Callable[[str], Awaitable[ApiKey | None]]
"""The live key that has this secret, if there is one."""

IN_FLIGHT = 256
"""Requests that one key may have open at once."""

_PREFIX = PREFIX.encode()
_BEARER = b"bearer "
_KEY_HEADERS = (b"x-festinger-key", b"authorization", b"x-api-key")


def _bare(name: bytes, value: bytes) -> bytes:
    if name == b"authorization":
        return value[len(_BEARER) :].strip() if value[: len(_BEARER)].lower() == _BEARER else b""
    return value.strip()


def secret_in(headers: RawHeaders) -> str | None:
    """The key of ours that a request carries, in the order in which the headers are trusted."""
    found = {
        name: bare
        for name, value in headers
        if name in _KEY_HEADERS and (bare := _bare(name, value)).startswith(_PREFIX)
    }
    return next((found[name].decode("latin-1") for name in _KEY_HEADERS if name in found), None)


def without_ours(
    headers: list[tuple[bytes, bytes]], *, protocol: Protocol, upstream_key: str | None
) -> list[tuple[bytes, bytes]]:
    """The headers with every key of ours taken out and the upstream's put in once."""
    others = [pair for pair in headers if not _bare(*pair).startswith(_PREFIX) or pair[0] not in _KEY_HEADERS]
    if upstream_key is None or any(name in _KEY_HEADERS for name, _ in others):
        return others
    if protocol is Protocol.ANTHROPIC:
        return [*others, (b"x-api-key", upstream_key.encode())]
    return [*others, (b"authorization", b"Bearer " + upstream_key.encode())]


class InFlight:
    """How many requests each key has open now."""

    def __init__(self, limit: int = IN_FLIGHT) -> None:
        self._limit = limit
        self._open: Counter[UUID] = Counter()

    @contextmanager
    def one_more(self, key: ApiKey | None) -> Iterator[None]:
        """Counts one request of a key while it lasts. Callers without a key are on this machine: not counted."""
        if key is None:
            yield
            return
        if self._open[key.id] >= self._limit:
            raise TooMany(f"This key has {self._limit} requests open already.")
        self._open[key.id] += 1
        try:
            yield
        finally:
            self._open[key.id] -= 1
            if not self._open[key.id]:
                del self._open[key.id]
