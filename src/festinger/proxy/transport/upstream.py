"""Sends requests upstream over one pool of kept-alive connections.

The pool is unlimited. Bytes pass unchanged: nothing is decompressed, redirected, stored or added. A request
is resent only if a kept connection died before the first byte of a response and its body can be sent again.
"""

import functools
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler
from aiohttp.payload import AsyncIterablePayload
from yarl import URL

from festinger.embedding.address_check import ForbiddenAddressError, open_checked_socket
from festinger.errors import FestingerError, TooLarge
from festinger.proxy.headers import RawHeaders
from festinger.proxy.routes import ApiProtocol
from festinger.settings.tree import ProxySettings

CONNECT_SECONDS = 5.0
READ_BUFFER = 48 * 1024
"""aiohttp pauses at twice this, the server's transport at 64 KiB: together below 256 KiB per stream."""

HEAD_BYTES = 256 * 1024
HEAD_LINES = 1000
"""Larger than anything seen in practice, so that the limits of the client's own library decide."""

_ADDED_UNASKED = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


HEAD_END = b"\r\n\r\n"


class UpstreamFailure(StrEnum):
    REFUSED = "refused"
    UNRESOLVED = "unresolved"
    TIMEOUT = "timeout"
    INSECURE = "insecure"
    CLOSED = "closed"
    GARBLED = "garbled"
    FORBIDDEN = "forbidden"


_EXPLANATIONS: dict[UpstreamFailure, str] = {
    UpstreamFailure.REFUSED: "it refuses the connection",
    UpstreamFailure.UNRESOLVED: "its name cannot be resolved",
    UpstreamFailure.TIMEOUT: "it did not take the connection in time",
    UpstreamFailure.INSECURE: "no secure connection could be made",
    UpstreamFailure.CLOSED: "it closed the connection without an answer",
    UpstreamFailure.GARBLED: "its answer is not HTTP",
    UpstreamFailure.FORBIDDEN: "its name leads to a link-local or metadata address, which is never connected to",
}


class UpstreamUnreachableError(FestingerError):
    """The upstream gave no answer."""

    default_hint = "Check that it runs, and that `proxy.upstream` names it."

    def __init__(self, kind: UpstreamFailure, *, base: str) -> None:
        super().__init__(
            f"The upstream `{base}` cannot be reached: {_EXPLANATIONS[kind]}.", code="upstream_unreachable"
        )
        self.kind = kind
        self.base = base

    @property
    def status(self) -> int:
        return 504 if self.kind is UpstreamFailure.TIMEOUT else 502


def find_upstream_base(protocol: ApiProtocol, settings: ProxySettings) -> str:
    """The configured upstream of a protocol. Nothing in a request influences it."""
    chosen = {
        ApiProtocol.NATIVE: settings.upstreams.ollama,
        ApiProtocol.OPENAI: settings.upstreams.openai,
        ApiProtocol.ANTHROPIC: settings.upstreams.anthropic,
    }[protocol]
    return chosen or settings.upstream


def find_upstream_key(base: str, settings: ProxySettings) -> str | None:
    if settings.upstream_key is None or base != settings.upstream:
        return None
    return settings.upstream_key.get_secret_value()


class _UpstreamConnection(ResponseHandler):
    """An upstream connection that tracks how often it was used and whether it was answered."""

    turn = 0
    answered = False

    def set_response_params(self, **params: Any) -> None:
        self.turn += 1
        self.answered = False
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        if not self.answered:
            self.answered = True
            # Parse head and body separately: aiohttp drops a good head if the bytes right behind it are bad.
            end = data.find(HEAD_END) + len(HEAD_END)
            if len(HEAD_END) <= end < len(data):
                super().data_received(data[:end])
                data = data[end:]
        super().data_received(data)

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        super().set_exception(exc, *cause)
        # aiohttp reports a body that turns to garbage only to the connection; its reader would wait forever.
        if self._payload is not None and not self._payload.is_eof():
            self._payload.set_exception(aiohttp.ClientPayloadError(str(exc)), exc)

    def close(self) -> None:
        # A plain close first flushes; to an upstream that no longer reads, that never ends.
        if self.transport is not None and self.transport.get_write_buffer_size():
            self.abort()
        else:
            super().close()


class _Request(aiohttp.ClientRequest):
    line: _UpstreamConnection | None = None
    again = False


class _Pool(aiohttp.TCPConnector):
    def __init__(self, resolver: AbstractResolver | None) -> None:
        super().__init__(limit=0, resolver=resolver, socket_factory=open_checked_socket)
        self._factory = functools.partial(_UpstreamConnection, loop=self._loop)  # type: ignore[assignment]

    async def connect(self, req: Any, traces: Any, timeout: Any) -> Any:
        connection: Any = await super().connect(req, traces, timeout)
        # A retry needs a new connection: the others in the pool may be as dead as the first.
        while req.again and connection.protocol.turn:
            connection.close()
            connection = await super().connect(req, traces, timeout)
        req.line = connection.protocol
        return connection


_DEAD = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, aiohttp.ClientConnectionResetError)


async def _retry_once(request: Any, send: Any) -> Any:
    """Send a request, and resend it once if a kept connection died unanswered."""
    try:
        return await send(request)
    except _DEAD as error:
        if not _can_retry(request):
            raise _ConnectionDiedError from error
    request.again = True
    try:
        return await send(request)
    except _DEAD as error:
        raise _ConnectionDiedError from error


def _can_retry(request: _Request) -> bool:
    line = request.line
    was_kept = line is not None and line.turn > 1 and not line.answered
    return was_kept and not isinstance(request.body, AsyncIterablePayload)


class _ConnectionDiedError(aiohttp.ClientError):
    """Hides a broken connection from aiohttp, which would resend some methods by its own rules."""


class UpstreamClient:
    """The proxy's only way to reach upstreams."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._bases: dict[str, URL] = {}

    async def send(
        self,
        method: str,
        base: str,
        target: bytes,
        *,
        headers: RawHeaders = (),
        body: bytes | AsyncIterator[bytes] | None = None,
    ) -> aiohttp.ClientResponse:
        """Return the head of the response; its body is still to come. Raises `UpstreamUnreachableError`.

        A body that is an iterator can be sent only once.
        """
        try:
            return await self._session.request(
                method,
                self._url(base, target),
                headers=[(name.decode("ascii"), value.decode()) for name, value in headers],
                data=body,
                allow_redirects=False,
            )
        except (aiohttp.ClientError, TimeoutError, ValueError, OSError) as error:
            if isinstance(error.__cause__, TooLarge):
                raise error.__cause__ from None  # raised by the body while it was being sent
            raise UpstreamUnreachableError(_classify_failure(error), base=base) from error

    def _url(self, base: str, target: bytes) -> URL:
        """Append the target to the base without re-quoting it (the query is part of the path)."""
        if (known := self._bases.get(base)) is None:
            known = self._bases.setdefault(base, URL(base))
        return known.with_path(known.raw_path.rstrip("/") + target.decode("ascii"), encoded=True)


def _classify_failure(error: BaseException) -> UpstreamFailure:
    cause = error.__cause__ if isinstance(error, _ConnectionDiedError) and error.__cause__ is not None else error
    if isinstance(getattr(cause, "os_error", None), ForbiddenAddressError):
        return UpstreamFailure.FORBIDDEN
    for types, kind in _KINDS:
        if isinstance(cause, types):
            return kind
    return UpstreamFailure.GARBLED


_KINDS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], UpstreamFailure], ...] = (
    ((TimeoutError, aiohttp.ServerTimeoutError), UpstreamFailure.TIMEOUT),
    (aiohttp.ClientConnectorDNSError, UpstreamFailure.UNRESOLVED),
    ((aiohttp.ClientSSLError, ssl.SSLError), UpstreamFailure.INSECURE),
    (aiohttp.ClientConnectorError, UpstreamFailure.REFUSED),
    ((aiohttp.ClientOSError, aiohttp.ServerDisconnectedError, aiohttp.ClientConnectionError), UpstreamFailure.CLOSED),
)


@asynccontextmanager
async def open_upstream(
    *, connect_seconds: float = CONNECT_SECONDS, resolver: AbstractResolver | None = None
) -> AsyncIterator[UpstreamClient]:
    # No total or read timeout: loading a model may be silent for minutes, a pull takes hours.
    timeout = aiohttp.ClientTimeout(total=None, connect=connect_seconds, sock_connect=connect_seconds, sock_read=None)
    async with aiohttp.ClientSession(
        connector=_Pool(resolver),
        request_class=_Request,
        middlewares=(_retry_once,),
        timeout=timeout,
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=_ADDED_UNASKED,
        read_bufsize=READ_BUFFER,
        max_line_size=HEAD_BYTES,
        max_field_size=HEAD_BYTES,
        max_headers=HEAD_LINES,
        trust_env=False,
    ) as session:
        yield UpstreamClient(session)


async def iter_chunks(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Yield the body as it arrives. If it breaks off, raise `UpstreamUnreachableError` after what came."""
    try:
        async for chunk in answer.content.iter_any():
            yield chunk
    except (aiohttp.ClientError, OSError) as error:
        # aiohttp raises at once and keeps what it had read; a direct client would have seen these bytes.
        if rest := answer.content._read_nowait(-1):  # noqa: SLF001
            yield rest
        raise UpstreamUnreachableError(_classify_failure(error), base=str(answer.url.origin())) from error
