"""How does the body of a request come in?

A small body is read whole, so that it can be sent again and, on edited routes, be read. A larger one is handed
through piece by piece, with no more of it in memory than one piece. A JSON body has a largest size.

What does a compressed body say, if that can be found out within limits?

A bomb is a small body that grows: the growth is stopped at a size, and at a ratio that no text reaches.
A decoder for zstd is used where the Python that runs has one; without, the body passes as it is.

Is a body nested deeper than anybody means?
"""

import importlib
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from festinger.errors import TooLarge
from festinger.proxy.headers import RawHeaders, first_header

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

WHOLE_BYTES = 2**20
"""A body up to this size is read before it is forwarded."""


class ClientDisconnectedError(Exception):
    """The client went away before its body was complete."""


async def read_body(
    receive: Receive, headers: RawHeaders, *, limit: int | None, complete: Callable[[], None], whole: int = WHOLE_BYTES
) -> bytes | AsyncIterator[bytes] | None:
    """The body of a request: bytes if it is small, an iterator if it is not, nothing if there is none.

    `complete` is called when its last byte has come, be that now or later.
    """
    told = _parse_content_length(headers)
    if told is None and first_header(headers, b"transfer-encoding") is None:
        complete()
        return None
    if limit is not None and told is not None and told > limit:
        raise _too_large(limit)
    read, more = await _receive_piece(receive)
    while more and told is not None and told <= whole:
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
    told = first_header(headers, b"content-length")
    return int(told) if told is not None and told.isdigit() else None


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body is larger than {limit} bytes.", hint="`proxy.body_max_bytes` sets the limit.")


DECODED_BYTES = 20 * 2**20
RATIO = 100
SMALL_BYTES = 64 * 2**10
"""Below this size a ratio says nothing: a short text of one letter compresses beyond it."""
GZIP_WINDOW = 16 + zlib.MAX_WBITS
ZSTD_MODULES = ("compression.zstd", "backports.zstd")


def decode_body(body: bytes, encoding: bytes, *, limit: int = DECODED_BYTES) -> bytes | None:
    """The body without its `Content-Encoding`; nothing if it is unknown, broken or grows too large."""
    name = encoding.strip().lower()
    if name in (b"", b"identity"):
        return body
    most = min(limit, max(SMALL_BYTES, len(body) * RATIO))
    if name in (b"gzip", b"x-gzip"):
        return _gunzip(body, most)
    if name == b"zstd" and (zstd := _zstd()) is not None:
        return _decompress_zstd(zstd, body, most)
    return None


def _gunzip(body: bytes, most: int) -> bytes | None:
    decoder = zlib.decompressobj(GZIP_WINDOW)
    try:
        plain = decoder.decompress(body, most + 1)
    except zlib.error:
        return None
    # What follows the end would be lost by decoding: a second member, or bytes that mean nothing here.
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


def _zstd() -> Any:
    for name in ZSTD_MODULES:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


DEEPEST = 200

_NESTED = frozenset({dict, list})


def is_too_deep(tree: Any, *, deepest: int = DEEPEST) -> bool:
    """Looks at the tree level by level, so that its depth costs no stack."""
    level = [tree]
    for _ in range(deepest):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            # Most values are texts, which one look at their type sorts out.
            if type(inner) in _NESTED
        ]
        if not level:
            return False
    return True
