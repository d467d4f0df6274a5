"""Which headers go on, which stay here, and which are meant for us?

Hop-by-hop headers belong to one connection and never cross it, nor does what a `Connection` header names.
Cookies, forwarding headers and our own never reach the upstream, nor does a key of ours. All others
go through as they came, in order, doubled ones too.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

RawHeaders = Sequence[tuple[bytes, bytes]]
"""Names in lower case, as ASGI gives them."""

HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
NOT_UP = HOP_BY_HOP | {b"host", b"expect", b"cookie", b"forwarded"}
NOT_UP_PREFIXES = (b"x-festinger-", b"x-forwarded-")
NOT_DOWN = HOP_BY_HOP | {b"set-cookie"}
OUR_PREFIX = b"x-festinger-"

STREAMS = (b"text/event-stream", b"application/x-ndjson")
NOT_BUFFERED = (b"x-accel-buffering", b"no")


def going_up(headers: RawHeaders) -> list[tuple[bytes, bytes]]:
    """What the upstream is sent of a request's headers; Host is its own."""
    named = _named_by_connection(headers)
    return [
        (name, value)
        for name, value in headers
        if name not in NOT_UP and not name.startswith(NOT_UP_PREFIXES) and name not in named
    ]


def sized(headers: list[tuple[bytes, bytes]], length: int) -> list[tuple[bytes, bytes]]:
    """The headers with the length that the body has now, in its place; a body without one goes without."""
    written = b"%d" % length
    return [(name, written if name == b"content-length" else value) for name, value in headers]


def readable(headers: list[tuple[bytes, bytes]], *, is_plain: bool) -> list[tuple[bytes, bytes]]:
    """The headers of a request whose answer is to be read here: it is asked for uncompressed.

    `is_plain` says that the request itself goes on uncompressed, however it came.
    """
    return [
        (name, b"identity" if name == b"accept-encoding" else value)
        for name, value in headers
        if not (is_plain and name == b"content-encoding")
    ]


def coming_down(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """What the client is sent of an answer's headers."""
    lowered = [(name.lower(), value) for name, value in headers]
    named = _named_by_connection(lowered)
    chunked = any(name == b"transfer-encoding" for name, _ in lowered)
    kept = [
        (name, value)
        for name, value in lowered
        if name not in NOT_DOWN
        and name not in named
        # Where both stand, the chunks were the truth and the length was not.
        and not (chunked and name == b"content-length")
        and not name.startswith(OUR_PREFIX)
    ]
    if _streams(kept) and all(name != NOT_BUFFERED[0] for name, _ in kept):
        kept.append(NOT_BUFFERED)
    return kept


def values_of(headers: RawHeaders, name: bytes) -> list[bytes]:
    return [value for given, value in headers if given == name]


def first(headers: RawHeaders, name: bytes) -> bytes | None:
    return next((value for given, value in headers if given == name), None)


def _named_by_connection(headers: RawHeaders) -> set[bytes]:
    return {
        token.strip().lower()
        for name, value in headers
        if name == b"connection"
        for token in value.split(b",")
    }


def _streams(headers: RawHeaders) -> bool:
    kind = first(headers, b"content-type")
    return kind is not None and kind.lower().startswith(STREAMS)


class MemoryWish(StrEnum):
    """What a client asks of memory for one request."""

    ON = "on"
    READ = "read"
    WRITE = "write"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the `X-Festinger-…` headers of a request ask for; a value that means nothing is only noted."""

    memory: MemoryWish = MemoryWish.ON
    watch_loops: bool = True
    space: str | None = None
    agent: str | None = None
    ignored: tuple[str, ...] = ()


NO_WISHES = Wishes()
_WISHES = {wish.value: wish for wish in MemoryWish}
_NAME = re.compile(r"[A-Za-z0-9._-]{1,63}")


def wishes_in(headers: RawHeaders) -> Wishes:
    ours = [(name, value) for name, value in headers if name.startswith(OUR_PREFIX)]
    if not ours:
        return NO_WISHES
    given = {
        name[len(OUR_PREFIX) :].decode("latin-1"): value.decode("latin-1").strip() for name, value in ours
    }
    ignored = []
    memory = _WISHES.get(given.get("memory", "on").lower())
    if memory is None:
        ignored.append("memory")
    loop = given.get("loop", "on").lower()
    if loop not in ("on", "off"):
        ignored.append("loop")
    names = {}
    for header in ("space", "agent"):
        if header in given and not is_name(given[header]):
            ignored.append(header)
        else:
            names[header] = given.get(header)
    return Wishes(
        memory=memory or MemoryWish.ON,
        watch_loops=loop != "off",
        ignored=tuple(ignored),
        **names,
    )


def is_name(text: str) -> bool:
    """Whether a space or an agent could be called so."""
    return _NAME.fullmatch(text) is not None
