"""Small servers on this machine that speak the embedding protocols of Ollama, OpenAI and Gemini."""

import hashlib
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

DIMENSIONS = 16

Spoil = Callable[[Sequence[str]], web.StreamResponse | None]
Row = Callable[[str], Any]
Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]


def row_of(text: str) -> list[float]:
    """A vector that depends on every letter of `text`."""
    digest = hashlib.sha256(text.encode()).digest()[:DIMENSIONS]
    return [byte / 255 + 0.01 for byte in digest]


def served_unfit(row: Row) -> Row:
    """`row`, for texts that say `bad`; a good row for all others."""
    return lambda text: row(text) if "bad" in text else row_of(text)


@dataclass(slots=True)
class Served:
    """What a server was asked, and how it answers. `spoil` may give another answer for some texts."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    row: Row = row_of
    answering: Answering | None = None
    spoil: Spoil = lambda texts: None

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if self.answering is not None:
            return await self.answering(request)
        body = await request.json()
        self.asked.append(body)
        self.paths.append(request.path)
        self.headers.append(dict(request.headers))
        return self.spoil(_texts(body)) or web.json_response(self._answer(request.path, body))

    def _answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if path.endswith("/api/embed"):
            return {"model": body["model"], "embeddings": [self.row(text) for text in body["input"]]}
        if path.endswith("/v1/embeddings"):
            data = [
                {"object": "embedding", "index": index, "embedding": self.row(text)}
                for index, text in enumerate(body["input"])
            ]
            return {"object": "list", "model": body["model"], "data": data[::-1]}
        return {"embeddings": [{"values": self.row(_gemini_voice(asked))} for asked in body["requests"]]}


def _texts(body: dict[str, Any]) -> list[str]:
    if "requests" in body:
        return [asked["content"]["parts"][0]["text"] for asked in body["requests"]]
    return list(body["input"])


def _gemini_voice(asked: dict[str, Any]) -> str:
    """Gemini gives another vector for another task or title."""
    text: str = asked["content"]["parts"][0]["text"]
    return f"{asked.get('taskType')}|{asked.get('title')}|{text}"


@asynccontextmanager
async def serving() -> AsyncIterator[Served]:
    served = Served()
    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_post("/{tail:.*}", served.answer)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    served.url = f"http://{host}:{port}"
    yield served
    await runner.cleanup()


def length(vector: Any) -> float:
    return math.sqrt(float((vector * vector).sum()))
