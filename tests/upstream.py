"""Upstreams that tests put behind the door: one that plays any script byte by byte, one that answers well.

`ScriptedUpstream` speaks raw bytes, so it can misbehave exactly, and keeps what it received. `model_server`
answers the usual routes of Ollama, OpenAI and Anthropic as their clients expect it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A request as it came over the wire."""

    line: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    connection: int
    """Which of the connections it came on, counted from 0."""

    def values(self, name: bytes) -> list[bytes]:
        return [value for given, value in self.headers if given.lower() == name.lower()]


class Peer:
    """The other side of a connection, as a script sees it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def left(self) -> None:
        """Waits until the other side has gone."""
        try:
            while await self._reader.read(65_536):
                pass
        except ConnectionError:
            return

    def reset(self) -> None:
        """Breaks the connection off, as a killed process does."""
        self._writer.transport.abort()


Script = Callable[[Received, Peer], Awaitable[bool | None]]
"""Answers one request; `False` closes the connection."""


def reply(status: str = "200 OK", body: bytes = b"{}", *headers: tuple[str, str]) -> bytes:
    """A whole answer with a length."""
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


def chunked(*chunks: bytes, kind: str = "application/x-ndjson") -> bytes:
    """A whole answer in chunks."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    return head + b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"


def always(answer: bytes) -> Script:
    async def script(_request: Received, peer: Peer) -> None:
        await peer.write(answer)

    return script


@dataclass(slots=True)
class ScriptedUpstream:
    script: Script
    received: list[Received] = field(default_factory=list)
    connections: int = 0
    open: int = 0
    port: int = 0
    reads_bodies: bool = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, self.connections, self.open = self.connections, self.connections + 1, self.open + 1
        try:
            while (request := await self._request(reader, number)) is not None:
                self.received.append(request)
                if await self.script(request, Peer(reader, writer)) is False:
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open -= 1
            writer.close()

    async def _request(self, reader: asyncio.StreamReader, connection: int) -> Received | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        line, *fields = head[:-4].split(b"\r\n")
        pairs = [field.partition(b":") for field in fields]
        headers = tuple((name, value.removeprefix(b" ")) for name, _, value in pairs)
        body = await _body(reader, {name.lower(): value for name, value in headers}) if self.reads_bodies else b""
        return Received(line=line, headers=headers, body=body, connection=connection)


async def _body(reader: asyncio.StreamReader, headers: dict[bytes, bytes]) -> bytes:
    if headers.get(b"transfer-encoding") == b"chunked":
        body = b""
        while size := int((await reader.readline()).split(b";")[0], 16):
            body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
        return body
    return await reader.readexactly(int(headers.get(b"content-length", b"0")))


@asynccontextmanager
async def scripted(script: Script, *, reads_bodies: bool = True) -> AsyncIterator[ScriptedUpstream]:
    upstream = ScriptedUpstream(script=script, reads_bodies=reads_bodies)
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", 0, limit=2**20)
    upstream.port = server.sockets[0].getsockname()[1]
    try:
        yield upstream
    finally:
        server.close()


WORDS = ("The ", "sky ", "is ", "blue ", "— ", "mostly.")


async def _stream(request: web.Request, kind: str, pieces: list[str]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": kind, "X-Stub": "streamed"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    for piece in pieces:
        await response.write(piece.encode())
    await response.write_eof()
    return response


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def _event(value: object, name: str = "") -> str:
    return (f"event: {name}\n" if name else "") + f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


async def chat(request: web.Request) -> web.StreamResponse:
    asked = await request.json()
    common = {"model": asked["model"], "created_at": "2026-01-05T12:00:00Z"}
    ending = {"done": True, "done_reason": "stop", "eval_count": 6, "prompt_eval_count": 3, "total_duration": 9}

    def said(text: str) -> dict[str, object]:
        if request.path == "/api/generate":
            return {"response": text}
        return {"message": {"role": "assistant", "content": text}}

    if asked.get("stream") is False:
        return web.json_response({**common, **said("".join(WORDS)), **ending})
    pieces = [_line({**common, **said(word), "done": False}) for word in WORDS]
    return await _stream(request, "application/x-ndjson", [*pieces, _line({**common, **said(""), **ending})])


async def completions(request: web.Request) -> web.StreamResponse:
    asked = await request.json()
    common = {"id": "chatcmpl-1", "created": 1767614400, "model": asked["model"]}
    if not asked.get("stream"):
        message = {"role": "assistant", "content": "".join(WORDS)}
        choice = {"index": 0, "message": message, "text": "".join(WORDS), "finish_reason": "stop"}
        usage = {"prompt_tokens": 3, "completion_tokens": 6, "total_tokens": 9}
        return web.json_response({**common, "object": "chat.completion", "choices": [choice], "usage": usage})
    common["object"] = "chat.completion.chunk"
    deltas = [{"index": 0, "delta": {"content": word}, "finish_reason": None} for word in WORDS]
    last = {"index": 0, "delta": {}, "finish_reason": "stop"}
    pieces = [_event({**common, "choices": [choice]}) for choice in [*deltas, last]]
    return await _stream(request, "text/event-stream", [*pieces, "data: [DONE]\n\n"])


async def messages(request: web.Request) -> web.StreamResponse:
    asked = await request.json()
    usage = {"input_tokens": 3, "output_tokens": 6}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked["model"], "usage": usage}
    if not asked.get("stream"):
        content = [{"type": "text", "text": "".join(WORDS)}]
        return web.json_response({**message, "content": content, "stop_reason": "end_turn", "stop_sequence": None})
    started = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    events: list[dict[str, object]] = [
        {"type": "message_start", "message": started},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}} for word in WORDS),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
        {"type": "message_stop"},
    ]
    return await _stream(request, "text/event-stream", [_event(event, str(event["type"])) for event in events])


async def anything(request: web.Request) -> web.StreamResponse:
    body = await request.read()
    return web.json_response(
        {"method": request.method, "target": request.raw_path, "bytes": len(body)}, headers={"X-Stub": "other"}
    )


def model_server() -> web.Application:
    app = web.Application(client_max_size=2**30)
    app.router.add_post("/api/chat", chat)
    app.router.add_post("/api/generate", chat)
    app.router.add_post("/v1/chat/completions", completions)
    app.router.add_post("/v1/completions", completions)
    app.router.add_post("/v1/messages", messages)
    app.router.add_route("*", "/{anything:.*}", anything)
    return app


@asynccontextmanager
async def answering() -> AsyncIterator[str]:
    """The address of a model server that answers well."""
    runner = web.AppRunner(model_server(), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
