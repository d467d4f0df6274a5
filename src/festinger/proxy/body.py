"""How does the body of a request come in?

A small body is read whole, so that it can be sent again and, on edited routes, be read. A larger one is handed
through piece by piece, with no more of it in memory than one piece. A JSON body has a largest size.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from festinger.errors import TooLarge
from festinger.proxy.headers import RawHeaders, first

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

WHOLE_BYTES = 2**20
"""A body up to this size is read before it is forwarded."""


class ClientLeft(Exception):
    """The client went away before its body was complete."""


async def body_of(
    receive: Receive,
    headers: RawHeaders,
    *,
    limit: int | None,
    complete: Callable[[], None],
    whole: int = WHOLE_BYTES,
) -> bytes | AsyncIterator[bytes] | None:
    """The body of a request: bytes if it is small, an iterator if it is not, nothing if there is none.

    `complete` is called when its last byte has come, be that now or later.
    """
    told = _told_length(headers)
    if told is None and first(headers, b"transfer-encoding") is None:
        complete()
        return None
    if limit is not None and told is not None and told > limit:
        raise _too_large(limit)
    read, more = await _piece(receive)
    while more and told is not None and told <= whole:
        piece, more = await _piece(receive)
        read += piece
    if more:
        return _rest(receive, read, limit=limit, complete=complete)
    complete()
    return read


async def _rest(
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
        read, more = await _piece(receive)
        size += len(read)


async def _piece(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientLeft
    return message.get("body", b""), message.get("more_body", False)


def _told_length(headers: RawHeaders) -> int | None:
    told = first(headers, b"content-length")
    return int(told) if told is not None and told.isdigit() else None


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body is larger than {limit} bytes.", hint="`proxy.body_max_bytes` sets the limit.")
