"""Speaks to an ASGI app without a server: whole answers, and streams that are read line by line."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from festinger.store.connection import cancel_tasks

HERE = "127.0.0.1"
BEYOND = "203.0.113.9"
SOON = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What the door leaves in the scope, as far as our pages read it."""

    request_id: str
    space: str = "main"


async def ask(
    app: Any,
    method: str,
    target: str,
    *,
    key: str | None = None,
    body: Any = None,
    caller: str | None = HERE,
    authorized: Visit | None = None,
    headers: Mapping[str, str] | None = None,
) -> Got:
    sent = b"" if body is None else body if isinstance(body, bytes) else orjson.dumps(body)
    messages: list[Any] = []
    given = iter([{"type": "http.request", "body": sent, "more_body": False}])

    async def receive() -> Any:
        if (message := next(given, None)) is None:
            # The caller waits for the whole answer and never leaves before.
            await asyncio.Event().wait()
        return message

    async def send(message: Any) -> None:
        messages.append(message)

    await app(_scope(method, target, key=key, caller=caller, authorized=authorized, headers=headers), receive, send)
    return _got(messages)


def _got(messages: list[Any]) -> Got:
    head = messages[0]
    return Got(
        status=head["status"],
        headers={name.decode(): value.decode() for name, value in head["headers"]},
        body=b"".join(message.get("body", b"") for message in messages[1:]),
    )


def _scope(
    method: str,
    target: str,
    *,
    key: str | None,
    caller: str | None,
    authorized: Visit | None,
    headers: Mapping[str, str] | None,
) -> dict[str, Any]:
    path, _, query = target.partition("?")
    given = {"host": "localhost:11435", **({"x-festinger-key": key} if key else {}), **(headers or {})}
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        "client": (caller, 50_000) if caller else None,
        "server": ("127.0.0.1", 11435),
        "state": {"festinger.visit": authorized} if authorized else {},
    }


@dataclass
class Stream:
    """An answer that goes on. The reader takes each part when it likes; until then the writer waits."""

    status: int = 0
    parts: "asyncio.Queue[str | None]" = field(default_factory=lambda: asyncio.Queue(1))

    async def next(self) -> str | None:
        """The next part; none when the answer has ended."""
        return await asyncio.wait_for(self.parts.get(), SOON)


@asynccontextmanager
async def streamed(
    app: Any, target: str, *, key: str | None = None, headers: Mapping[str, str] | None = None
) -> AsyncIterator[Stream]:
    """Begin to read a stream, and leave it at the end of the block."""
    stream, begun, gone = Stream(), asyncio.Event(), asyncio.Event()

    async def receive() -> Any:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            stream.status = message["status"]
            begun.set()
        elif message["body"]:
            await stream.parts.put(message["body"].decode())
        if message["type"] == "http.response.body" and not message.get("more_body"):
            await stream.parts.put(None)

    scope = _scope("GET", target, key=key, caller=HERE, authorized=None, headers=headers)
    task = asyncio.create_task(app(scope, receive, send))
    try:
        await asyncio.wait_for(begun.wait(), SOON)
        yield stream
    finally:
        gone.set()
        await cancel_tasks([task])
