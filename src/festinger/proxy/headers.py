"""Filters request and response headers, parses client options and formats statuses.

Hop-by-hop headers, and those that a `Connection` header names, never cross. Cookies, forwarding headers, our
own headers and our keys never reach the upstream. All others pass unchanged, in order, duplicates included.
Responses carry the request id, the session, what memory and the loop guard did, and the overhead. An absent
memory is always distinguishable from an empty one. No remembered content appears in a header.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote

from festinger.proxy.routes import RouteTreatment

RawHeaders = Sequence[tuple[bytes, bytes]]
"""Names in lowercase, as ASGI provides them."""

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


def filter_request_headers(headers: RawHeaders) -> list[tuple[bytes, bytes]]:
    """Request headers to send upstream; Host is set separately."""
    named = _connection_tokens(headers)
    return [
        (name, value)
        for name, value in headers
        if name not in NOT_UP and not name.startswith(NOT_UP_PREFIXES) and name not in named
    ]


def update_content_length(headers: list[tuple[bytes, bytes]], length: int) -> list[tuple[bytes, bytes]]:
    """Update an existing Content-Length to the present body size."""
    written = b"%d" % length
    return [(name, written if name == b"content-length" else value) for name, value in headers]


def disable_compression(headers: list[tuple[bytes, bytes]], *, is_plain: bool) -> list[tuple[bytes, bytes]]:
    """Ask for an uncompressed response, because it is read here.

    `is_plain` means that the request itself is forwarded uncompressed, however it arrived.
    """
    return [
        (name, b"identity" if name == b"accept-encoding" else value)
        for name, value in headers
        if not (is_plain and name == b"content-encoding")
    ]


def filter_response_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    lowered = [(name.lower(), value) for name, value in headers]
    named = _connection_tokens(lowered)
    chunked = any(name == b"transfer-encoding" for name, _ in lowered)
    kept = [
        (name, value)
        for name, value in lowered
        if name not in NOT_DOWN
        and name not in named
        # If both are present, the chunked encoding was true and the length was not.
        and not (chunked and name == b"content-length")
        and not name.startswith(OUR_PREFIX)
    ]
    is_stream = (first_header(kept, b"content-type") or b"").lower().startswith(STREAMS)
    if is_stream and all(name != NOT_BUFFERED[0] for name, _ in kept):
        kept.append(NOT_BUFFERED)
    return kept


def header_values(headers: RawHeaders, name: bytes) -> list[bytes]:
    return [value for given, value in headers if given == name]


def first_header(headers: RawHeaders, name: bytes) -> bytes | None:
    return next((value for given, value in headers if given == name), None)


def _connection_tokens(headers: RawHeaders) -> set[bytes]:
    return {token.strip().lower() for name, value in headers if name == b"connection" for token in value.split(b",")}


class MemoryMode(StrEnum):
    """How one request may use memory."""

    ON = "on"
    READ = "read"
    WRITE = "write"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """Options from the `X-Festinger-…` headers; invalid values are ignored and listed."""

    memory: MemoryMode = MemoryMode.ON
    watch_loops: bool = True
    space: str | None = None
    agent: str | None = None
    ignored: tuple[str, ...] = ()


NO_OPTIONS = RequestOptions()
_MODES = {mode.value: mode for mode in MemoryMode}
_NAME = re.compile(r"[A-Za-z0-9._-]{1,63}")


def parse_request_options(headers: RawHeaders) -> RequestOptions:
    ours = [(name, value) for name, value in headers if name.startswith(OUR_PREFIX)]
    if not ours:
        return NO_OPTIONS
    given = {name[len(OUR_PREFIX) :].decode("latin-1"): value.decode("latin-1").strip() for name, value in ours}
    ignored = []
    memory = _MODES.get(given.get("memory", "on").lower())
    if memory is None:
        ignored.append("memory")
    loop = given.get("loop", "on").lower()
    if loop not in ("on", "off"):
        ignored.append("loop")
    names = {}
    for header in ("space", "agent"):
        if header in given and not is_valid_name(given[header]):
            ignored.append(header)
        else:
            names[header] = given.get(header)
    return RequestOptions(memory=memory or MemoryMode.ON, watch_loops=loop != "off", ignored=tuple(ignored), **names)


def is_valid_name(text: str) -> bool:
    """Whether this is a valid name for a space or an agent."""
    return _NAME.fullmatch(text) is not None


class MemoryResult(StrEnum):
    INJECTED = "injected"
    REUSED = "reused"
    EMPTY = "empty"
    LATE = "late"
    NOT_READY = "not-ready"
    FAILED = "failed"
    OFF = "off"


class MemoryReason(StrEnum):
    NONE = ""
    ROUTE = "route"
    """This route is never edited."""
    ASKED = "asked"
    """The client opted out of memory."""
    STORE = "store"
    """The store is not open (yet)."""
    FAULT = "fault"
    """An internal error; the log has the details."""
    ABSENT = "absent"
    """This proxy runs without memory."""
    RECALL = "recall"
    """The world answered in time, but memory did not."""
    WORDS = "words"
    """Memory was searched by words alone; vector results follow in the next turn."""
    BUSY = "busy"
    """Memory had too many open queries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStatus:
    result: MemoryResult
    reason: str = MemoryReason.NONE
    """One of a closed set, or the class of the error; used as a metric label."""
    notes: int = 0
    tokens: int = 0
    recollection: str = ""
    """Id of the block that is new in the request."""

    def __str__(self) -> str:
        reason = f"; reason={self.reason}" if self.reason else ""
        size = f"; notes={self.notes}; tokens={self.tokens}" if self.notes else ""
        block = f"; recollection={self.recollection}" if self.recollection else ""
        return f"{self.result}{reason}{size}{block}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStatus:
    id: str
    how: StrEnum
    """How the session was recognized."""

    def __str__(self) -> str:
        # Clients choose session names, in any characters.
        return f"{quote(self.id, safe=_PLAIN)}; how={self.how}"


_PLAIN = "!#$&'()*+,/:=?@[]~ "


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopStatus:
    """Level of a loop and what was done about it."""

    level: int = 0
    rule: str = ""
    count: int = 0
    did: tuple[str, ...] = ()
    off: bool = False
    """Whether the client opted out of loop detection."""

    def __str__(self) -> str:
        if self.off:
            return f"off; reason={MemoryReason.ASKED}"
        what = f"; rule={self.rule}; count={self.count}" if self.rule else ""
        did = f"; did={','.join(self.did)}" if self.did else ""
        return f"level={self.level}{what}{did}"


def status_without_memory(treatment: RouteTreatment, options: RequestOptions, *, ready: bool) -> MemoryStatus:
    """Why memory added nothing to a request that passes through."""
    if treatment is not RouteTreatment.EDITED:
        return MemoryStatus(result=MemoryResult.OFF, reason=MemoryReason.ROUTE)
    if options.memory is MemoryMode.OFF:
        return MemoryStatus(result=MemoryResult.OFF, reason=MemoryReason.ASKED)
    if not ready:
        return MemoryStatus(result=MemoryResult.NOT_READY, reason=MemoryReason.STORE)
    return MemoryStatus(result=MemoryResult.OFF, reason=MemoryReason.ABSENT)
