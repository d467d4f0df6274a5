"""By what way does a request leave, and how much may come back?

One HTTP client for each endpoint. It follows no redirect, so a server cannot send our words elsewhere; it
uses a proxy of the environment only for servers beyond this machine; and it stops reading an answer that is
larger than any answer can be.
"""

from collections.abc import AsyncIterator

import httpx2

from festinger import __version__
from festinger.llm.endpoint import Endpoint, Resolve, refuse_forbidden, resolve_host

CONNECT_SECONDS = 5.0
READ_SECONDS = 3600.0
"""Longer than any time limit of a call, which the guards keep."""

LARGEST_BYTES = 64 * 2**20
"""A streamed answer has some 250 bytes of wrapping for each token; 128,000 tokens are 32 MB."""


class AnswerTooLarge(Exception):
    """The body of an answer went beyond the limit."""


class Redirected(Exception):
    """The server sent us elsewhere."""


class _Bounded(httpx2.AsyncByteStream):
    """The body of an answer, as far as the limit."""

    def __init__(self, body: httpx2.AsyncByteStream, largest: int) -> None:
        self._body = body
        self._largest = largest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._body:
            size += len(part)
            if size > self._largest:
                raise AnswerTooLarge
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()


def http_client(
    asked: Endpoint, largest: int = LARGEST_BYTES, resolve: Resolve = resolve_host
) -> httpx2.AsyncClient:
    async def introduce(request: httpx2.Request) -> None:
        await refuse_forbidden(request.url.host, resolve)
        # One name in place of the libraries' own; one of them sends its name twice, which strict servers refuse.
        request.headers["User-Agent"] = f"festinger/{__version__}"

    async def bound(response: httpx2.Response) -> None:
        if response.has_redirect_location:
            raise Redirected
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream, largest)

    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
        follow_redirects=False,
        trust_env=not asked.is_local,
        event_hooks={"request": [introduce], "response": [bound]},
    )
