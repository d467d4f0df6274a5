"""A real door on a port of its own, and a client that speaks raw bytes to it."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from festinger.clock import Stopwatch, system_clock, system_stopwatch
from festinger.ids import MAIN_SPACE, SpaceId, id_maker
from festinger.proxy.app import ASGIApp, ProcessRequest, Proxy
from festinger.proxy.request import RequestContext
from festinger.proxy.transport.server import ProxyServer, open_server, open_sockets
from festinger.proxy.transport.streams import ReplyListener
from festinger.proxy.transport.upstream import CONNECT_SECONDS, open_upstream
from festinger.settings.tree import ProxySettings, Settings
from festinger.store.repositories.auth import ApiKey

SPACES = {"main": MAIN_SPACE, "team": SpaceId("team")}


async def no_key(_secret: str) -> ApiKey | None:
    return None


async def own_pages(scope: Any, receive: Any, send: Any) -> None:
    body = f"own {scope['method']} {scope['path']}".encode()
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    port: int
    server: ProxyServer

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def settings_for(upstream: str, **proxy: Any) -> Settings:
    return Settings(proxy=ProxySettings(upstream=upstream, **proxy))


@asynccontextmanager
async def open_door(
    upstream: str | Settings | Callable[[], Settings],
    *,
    own: ASGIApp = own_pages,
    find_key: Callable[[str], Awaitable[ApiKey | None]] = no_key,
    ready: bool = True,
    exposed: bool = False,
    insecure: bool = False,
    listen: Callable[[RequestContext], ReplyListener | None] | None = None,
    process: ProcessRequest | None = None,
    shutdown_seconds: int = 1,
    connect_seconds: float = CONNECT_SECONDS,
    stopwatch: Stopwatch = system_stopwatch,
) -> AsyncIterator[Door]:
    given = settings_for(upstream) if isinstance(upstream, str) else upstream

    async def only_listen(ctx: RequestContext) -> None:
        ctx.listener = listen(ctx) if listen is not None else None

    async with open_upstream(connect_seconds=connect_seconds) as way_out:
        proxy = Proxy(
            settings=(lambda: given) if isinstance(given, Settings) else given,
            own=own,
            upstream=way_out,
            find_key=find_key,
            known_space=SPACES.get,
            ready=lambda: ready,
            new_id=id_maker(system_clock, random.Random(7)),
            stopwatch=stopwatch,
            machine_names=frozenset({"workbench"}),
            exposed=exposed,
            insecure=insecure,
            process=process if listen is None else only_listen,
        )
        sockets = open_sockets("127.0.0.1", 0)
        async with open_server(proxy, sockets, shutdown_seconds=shutdown_seconds, stopwatch=stopwatch) as server:
            yield Door(port=sockets[0].getsockname()[1], server=server)


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    """An answer as it came over the wire."""

    line: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""
    whole: bool = True
    """Whether it ended as its head said."""

    @property
    def status(self) -> int:
        return int(self.line.split(b" ")[1])

    def value(self, name: str) -> str | None:
        return next((value.decode() for given, value in self.headers if given == name.lower().encode()), None)


PATIENCE = 60.0
"""So that an answer that never ends is a failed test and not a stuck one."""

NOTHING = Got(line=b"", whole=False)


def request(
    method: str = "GET", target: str = "/", *headers: str, body: bytes | None = None, host: str = "localhost"
) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", *headers]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


async def exchange(port: int, sent: bytes) -> Got:
    """Send these bytes on a connection of their own and read one answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
    try:
        writer.write(sent)
        async with asyncio.timeout(PATIENCE):
            return await read_answer(reader, head_only=sent.startswith(b"HEAD "))
    finally:
        writer.close()


async def read_answer(reader: asyncio.StreamReader, *, head_only: bool = False) -> Got:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        while head.startswith(b"HTTP/1.1 1"):
            head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return NOTHING
    line, *fields = head[:-4].split(b"\r\n")
    headers = tuple((name.lower(), value.strip()) for name, _, value in (field.partition(b":") for field in fields))
    body, whole = (b"", True) if head_only else await _body(reader, dict(headers), int(line.split(b" ")[1]))
    return Got(line=line, headers=headers, body=body, whole=whole)


async def _body(reader: asyncio.StreamReader, headers: dict[bytes, bytes], status: int) -> tuple[bytes, bool]:
    body = b""
    if status in (204, 304):
        return body, True
    try:
        if headers.get(b"transfer-encoding") == b"chunked":
            while size := int(await reader.readuntil(b"\r\n"), 16):
                body += await reader.readexactly(size)
                await reader.readexactly(2)
            await reader.readexactly(2)
            return body, True
        if b"content-length" in headers:
            return await reader.readexactly(int(headers[b"content-length"])), True
        return await reader.read(), True
    except asyncio.IncompleteReadError as error:
        return body + error.partial, False
    except (ConnectionError, ValueError):
        return body, False
