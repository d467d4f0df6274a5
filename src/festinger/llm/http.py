"""HTTP clients for model endpoints, and a plain POST for webhooks.

Clients follow no redirects, so a server cannot send our words elsewhere; they use a proxy from the
environment only for servers beyond this machine, and stop reading a response that is too large.
`post_webhook` is here because this package talks HTTP to others; it raises `ProviderDown` where a retry may
help and `ProviderRefused` where it will not.
"""

from collections.abc import AsyncIterator, Mapping
from urllib.parse import urlsplit

import httpx2

from festinger import __version__
from festinger.errors import ProviderDown, ProviderRefused
from festinger.llm.endpoint import Endpoint, ResolveHost, refuse_forbidden_host, resolve_host
from festinger.text.addresses import is_loopback_url

CONNECT_SECONDS = 5.0
READ_SECONDS = 3600.0
"""Longer than any timeout of a call, which the guards enforce."""

LARGEST_BYTES = 64 * 2**20
"""A streamed answer has some 250 bytes of wrapping per token; 128,000 tokens are 32 MB."""


class AnswerTooLargeError(Exception):
    """The response body exceeded the limit."""


class RedirectError(Exception):
    """The server redirected us."""


class _LimitedBody(httpx2.AsyncByteStream):
    """A response body that stops at the limit."""

    def __init__(self, body: httpx2.AsyncByteStream, largest: int) -> None:
        self._body = body
        self._largest = largest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._body:
            size += len(part)
            if size > self._largest:
                raise AnswerTooLargeError
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()


def http_client(
    asked: Endpoint, largest: int = LARGEST_BYTES, resolve: ResolveHost = resolve_host
) -> httpx2.AsyncClient:
    async def introduce(request: httpx2.Request) -> None:
        await refuse_forbidden_host(request.url.host, resolve)
        # One name in place of the libraries' own; one of them sends its name twice, which strict servers
        # refuse.
        request.headers["User-Agent"] = f"festinger/{__version__}"
        if asked.is_local:
            # It may be our own proxy, which must not add notes to what we ask, nor learn from it.
            request.headers.update({"X-Festinger-Memory": "off", "X-Festinger-Loop": "off"})

    async def bound(response: httpx2.Response) -> None:
        if response.has_redirect_location:
            raise RedirectError
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _LimitedBody(response.stream, largest)

    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
        follow_redirects=False,
        trust_env=not asked.is_local,
        event_hooks={"request": [introduce], "response": [bound]},
    )


SECONDS = 10.0
TRY_AGAIN = frozenset({408, 425, 429})


async def post_webhook(
    url: str,
    body: bytes,
    *,
    headers: Mapping[str, str],
    offline: bool = False,
    seconds: float = SECONDS,
    resolve: ResolveHost = resolve_host,
) -> int:
    """Post a message and return the status with which it was accepted."""
    here = is_loopback_url(url)
    if offline and not here:
        raise ProviderRefused(f"`{_host(url)}` is beyond this machine, and Festinger is offline.")
    await refuse_forbidden_host(_host(url), resolve)
    sent = {**headers, "User-Agent": f"festinger/{__version__}"}
    try:
        async with (
            httpx2.AsyncClient(follow_redirects=False, timeout=seconds, trust_env=not here) as client,
            client.stream("POST", url, content=body, headers=sent) as answer,
        ):
            status = answer.status_code
    except httpx2.HTTPError as error:
        raise ProviderDown(f"`{_host(url)}` cannot be reached: {type(error).__name__}.") from error
    if 200 <= status < 300:
        return status
    if status >= 500 or status in TRY_AGAIN:
        raise ProviderDown(f"`{_host(url)}` answered {status}.")
    raise ProviderRefused(f"`{_host(url)}` answered {status}.")


def _host(url: str) -> str:
    """Return the part of an address that may be shown: its path may hold a secret."""
    return urlsplit(url).hostname or "?"
