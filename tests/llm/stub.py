"""A server on loopback that speaks like a model provider, and misbehaves when told to.

`Stub` answers OpenAI chat completions (which Ollama speaks too), Anthropic messages and Gemini's
`generateContent`, whole and streamed. What it answers next is a queue of `Turn`s; what it was sent is kept.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    text: str = "ready"
    finish: str = "stop"
    status: int = 200
    body: bytes | None = None
    """Sent as it is, in place of an answer."""
    headers: dict[str, str] = field(default_factory=dict)
    breaks_off: bool = False
    hangs: bool = False
    usage: bool = True
    calls: tuple[tuple[str, str], ...] = ()
    """Tools that are called, each with its arguments as JSON; only in OpenAI's protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    path: str
    headers: dict[str, str]
    json: dict[str, Any]


FINISH_OF_CLAUDE = {"stop": "end_turn", "length": "max_tokens"}
FINISH_OF_GEMINI = {"stop": "STOP", "length": "MAX_TOKENS"}
HALVES = 2


class Stub:
    def __init__(self) -> None:
        self.turns: deque[Turn] = deque()
        self.heard: list[Heard] = []
        self.released = asyncio.Event()
        self.address = ""

    def says(self, *turns: Turn) -> None:
        self.turns.extend(turns)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        sent = await request.json()
        self.heard.append(Heard(path=request.path, headers=dict(request.headers), json=sent))
        turn = self.turns.popleft() if self.turns else Turn()
        if turn.hangs:
            await self.released.wait()
        if turn.body is not None or turn.status != 200:
            body = turn.body if turn.body is not None else json.dumps({"error": {"message": "no"}}).encode()
            headers = {"Content-Type": "application/json", **turn.headers}
            return web.Response(status=turn.status, body=body, headers=headers)
        if request.path.endswith("/messages"):
            return await self._claude(request, turn, streamed=bool(sent.get("stream")))
        if "generateContent" in request.path.replace("streamGenerateContent", "generateContent"):
            return await self._gemini(request, turn, streamed="stream" in request.path)
        return await self._openai(request, turn, streamed=bool(sent.get("stream")))

    async def _openai(self, request: web.Request, turn: Turn, *, streamed: bool) -> web.StreamResponse:
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        usage["prompt_tokens_details"] = {"cached_tokens": 3}  # type: ignore[assignment]
        common = {"id": "c1", "created": 1, "model": "stub"}
        if not streamed:
            message = {"role": "assistant", "content": turn.text}
            whole = {"index": 0, "message": message, "finish_reason": turn.finish}
            told = {"usage": usage} if turn.usage else {}
            return web.json_response({**common, "object": "chat.completion", "choices": [whole], **told})
        events = [
            {
                **common,
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
            }
            for delta in ({"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces(turn.text)))
        ]
        for at, (name, arguments) in enumerate(turn.calls):
            # The arguments come in two pieces, as servers send them.
            first = {"index": at, "id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": ""}}
            for part in (first, {"index": at, "function": {"arguments": arguments}}):
                choice = {"index": 0, "delta": {"tool_calls": [part]}, "finish_reason": None}
                events.append({**common, "object": "chat.completion.chunk", "choices": [choice]})
        if not turn.breaks_off:
            finish = "tool_calls" if turn.calls else turn.finish
            last = {"index": 0, "delta": {}, "finish_reason": finish}
            events.append({**common, "object": "chat.completion.chunk", "choices": [last]})
            if turn.usage:
                events.append({**common, "object": "chat.completion.chunk", "choices": [], "usage": usage})
        lines = [f"data: {json.dumps(event)}\n\n" for event in events]
        return await self._stream(request, [*lines, "data: [DONE]\n\n"], breaks_off=turn.breaks_off)

    async def _claude(self, request: web.Request, turn: Turn, *, streamed: bool) -> web.StreamResponse:
        usage = {"input_tokens": 11, "output_tokens": 7, "cache_read_input_tokens": 0}
        message = {
            "id": "m1",
            "type": "message",
            "role": "assistant",
            "model": "stub",
            "content": [{"type": "text", "text": turn.text}] if turn.text else [],
            "stop_reason": FINISH_OF_CLAUDE[turn.finish],
            "stop_sequence": None,
            "usage": usage,
        }
        if not streamed:
            return web.json_response(message)
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            *(
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
                for piece in pieces(turn.text)
            ),
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": FINISH_OF_CLAUDE[turn.finish], "stop_sequence": None},
                "usage": {"output_tokens": 7},
            },
            {"type": "message_stop"},
        ]
        lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
        return await self._stream(request, lines, breaks_off=turn.breaks_off)

    async def _gemini(self, request: web.Request, turn: Turn, *, streamed: bool) -> web.StreamResponse:
        def piece(text: str, finish: str | None) -> dict[str, Any]:
            content = {"role": "model", "parts": [{"text": text}] if text else []}
            candidate = {"index": 0, "content": content} | ({"finishReason": finish} if finish else {})
            usage = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}
            return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "stub", "responseId": "r"}

        finish = FINISH_OF_GEMINI[turn.finish]
        if not streamed:
            return web.json_response(piece(turn.text, finish))
        *most, last = pieces(turn.text) or [""]
        events = [*(piece(text, None) for text in most), piece(last, finish)]
        lines = [f"data: {json.dumps(event)}\r\n\r\n" for event in events]
        return await self._stream(request, lines, breaks_off=turn.breaks_off)

    async def _stream(self, request: web.Request, lines: Iterable[str], *, breaks_off: bool) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        sent = list(lines)
        for line in sent[: len(sent) // HALVES] if breaks_off else sent:
            await response.write(line.encode())
        if breaks_off:
            assert request.transport is not None
            request.transport.abort()
            return response
        await response.write_eof()
        return response


def pieces(text: str) -> list[str]:
    return [text[at : at + 4] for at in range(0, len(text), 4)]


@asynccontextmanager
async def running_stub() -> AsyncIterator[Stub]:
    stub = Stub()
    app = web.Application(client_max_size=2**26)
    app.router.add_post("/{path:.*}", stub.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    stub.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield stub
    finally:
        stub.released.set()
        await runner.cleanup()
