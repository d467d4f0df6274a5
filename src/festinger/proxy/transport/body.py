"""Reads request bodies, decompresses them within limits and checks their nesting.

A small body is read whole, so that it can be resent and, on edited routes, parsed. A larger one is streamed
through, with only one piece in memory. JSON bodies have a maximum size. Decompression bombs are stopped by
size and by a ratio that no text reaches. zstd is decoded only if this Python has a decoder; otherwise the
body passes as it is.
"""

import importlib
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from festinger.errors import TooLarge
from festinger.proxy.headers import RawHeaders, first_header

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

WHOLE_BYTES = 2**20
"""Bodies up to this size are read before forwarding."""


class ClientDisconnectedError(Exception):
    """The client left before its body was complete."""


async def read_or_stream_body(
    receive: Receive, headers: RawHeaders, *, limit: int | None, complete: Callable[[], None], whole: int = WHOLE_BYTES
) -> bytes | AsyncIterator[bytes] | None:
    """Read the body: bytes if small, an iterator if large, `None` if there is none.

    `complete` is called when the last byte has arrived, now or later.
    """
    length = _parse_content_length(headers)
    if length is None and first_header(headers, b"transfer-encoding") is None:
        complete()
        return None
    if limit is not None and length is not None and length > limit:
        raise _too_large(limit)
    read, more = await _receive_piece(receive)
    while more and length is not None and length <= whole:
        piece, more = await _receive_piece(receive)
        read += piece
    if more:
        return _iter_rest(receive, read, limit=limit, complete=complete)
    complete()
    return read


async def _iter_rest(
    receive: Receive, read: bytes, *, limit: int | None, complete: Callable[[], None]
) -> AsyncIterator[bytes]:
    size, more = len(read), True
    while True:
        if limit is not None and size > limit:
            raise _too_large(limit)
        if not more:
            complete()
        if read:
            yield read
        if not more:
            return
        read, more = await _receive_piece(receive)
        size += len(read)


async def _receive_piece(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientDisconnectedError
    return message.get("body", b""), message.get("more_body", False)


def _parse_content_length(headers: RawHeaders) -> int | None:
    length = first_header(headers, b"content-length")
    return int(length) if length is not None and length.isdigit() else None


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body is larger than {limit} bytes.", hint="`proxy.body_max_bytes` sets the limit.")


DECODED_BYTES = 20 * 2**20
RATIO = 100
SMALL_BYTES = 64 * 2**10
"""Below this size the ratio says nothing: a short text of one repeated letter exceeds it."""
GZIP_WINDOW = 16 + zlib.MAX_WBITS
ZSTD_MODULES = ("compression.zstd", "backports.zstd")


def decode_body(body: bytes, encoding: bytes, *, limit: int = DECODED_BYTES) -> bytes | None:
    """Remove the `Content-Encoding`; `None` if it is unknown, broken or too large."""
    name = encoding.strip().lower()
    if name in (b"", b"identity"):
        return body
    most = min(limit, max(SMALL_BYTES, len(body) * RATIO))
    if name in (b"gzip", b"x-gzip"):
        return _gunzip(body, most)
    if name == b"zstd" and (zstd := _import_zstd()) is not None:
        return _decompress_zstd(zstd, body, most)
    return None


def _gunzip(body: bytes, most: int) -> bytes | None:
    decoder = zlib.decompressobj(GZIP_WINDOW)
    try:
        plain = decoder.decompress(body, most + 1)
    except zlib.error:
        return None
    # Decoding would lose what follows the end: a second member, or stray bytes.
    whole = decoder.eof and not decoder.unused_data
    return plain if whole and len(plain) <= most else None


def _decompress_zstd(zstd: Any, body: bytes, most: int) -> bytes | None:
    decoder = zstd.ZstdDecompressor()
    try:
        plain: bytes = decoder.decompress(body, most + 1)
    except zstd.ZstdError:
        return None
    whole = decoder.eof and not decoder.unused_data
    return plain if whole and len(plain) <= most else None


def _import_zstd() -> Any:
    for name in ZSTD_MODULES:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


DEEPEST = 200

_NESTED = frozenset({dict, list})


def is_too_deep(tree: Any, *, deepest: int = DEEPEST) -> bool:
    """Check nesting level by level, so that depth costs no stack."""
    level = [tree]
    for _ in range(deepest):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            # Most values are strings, which one type check skips.
            if type(inner) in _NESTED
        ]
        if not level:
            return False
    return True
