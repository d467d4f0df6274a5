"""A model server for stories: it says what it was told to say, in every protocol, and keeps what it was sent.

Written apart from the code under test, from what Ollama, OpenAI and Anthropic document, so that the door is held
against somebody else's idea of a legal answer.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

REPLY = "Certainly, that is done — mostly. 🙂"
AT = "2026-01-05T12:00:00Z"
NATIVE_COUNTS = {
    "total_duration": 9,
    "load_duration": 1,
    "prompt_eval_count": 3,
    "prompt_eval_duration": 2,
    "eval_count": 6,
    "eval_duration": 5,
}
USAGE = {"prompt_tokens": 3, "completion_tokens": 6, "total_tokens": 9}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the model does with one request."""

    text: str = REPLY
    call: ToolCall | None = None
    status: int = 200
    """Beyond 200 the text is the error's message."""
    stalls: bool = False
    """Says everything but its end, and then nothing more until the other side leaves."""

    @property
    def pieces(self) -> list[str]:
        """The text, a few characters at a time; words and characters are cut wherever it falls."""
        return [self.text[start : start + 7] for start in range(0, len(self.text), 7)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A request as the model server got it."""

    path: str
    raw: bytes
    headers: dict[str, str]

    @property
    def body(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self.raw)
        return read

    @property
    def prompt(self) -> str:
        """All the text in it that the model reads, in its order."""
        return "\n".join(_texts(self.body))

    @property
    def newest(self) -> str:
        """The text of its newest message of the user."""
        messages = self.body.get("messages") or self.body.get("input") or []
        if isinstance(messages, str) or not messages:
            return "\n".join(_texts(self.body))
        return "\n".join(_texts([message for message in messages if message.get("role") == "user"][-1]))


@dataclass
class Model:
    received: list[Sent] = field(default_factory=list)
    script: deque[Turn] = field(default_factory=deque)
    """What it does with the next requests; after them it gives its usual reply."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when somebody left an answer that stalls."""

    @property
    def heard(self) -> list[Sent]:
        """What it was sent to answer; questions about the model itself left out."""
        return [sent for sent in self.received if sent.path in WRITERS]

    def says(self, *turns: str | Turn) -> None:
        self.script.extend(Turn(text=turn) if isinstance(turn, str) else turn for turn in turns)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        sent = Sent(path=request.path, raw=await request.read(), headers=dict(request.headers))
        self.received.append(sent)
        if request.path not in WRITERS:
            return web.json_response(PAGES.get(request.path, {"path": request.path}))
        asked = sent.body
        if request.path in ("/api/chat", "/api/generate") and not (asked.get("messages") or asked.get("prompt")):
            return web.json_response(_loaded(asked, chat=request.path == "/api/chat"))
        turn = self.script.popleft() if self.script else Turn()
        if turn.status != 200:
            return web.json_response(_error(request.path, turn), status=turn.status)
        native = request.path.startswith("/api/")
        if not asked.get("stream", native):
            if turn.stalls:
                await self._wait_for_the_end()
            return web.json_response(WRITERS[request.path](asked, turn, streamed=False)[0])
        return await self._stream(request, turn, WRITERS[request.path](asked, turn, streamed=True))

    async def _stream(self, request: web.Request, turn: Turn, pieces: list[dict[str, Any]]) -> web.StreamResponse:
        native = request.path.startswith("/api/")
        kind = "application/x-ndjson" if native else "text/event-stream"
        response = web.StreamResponse(headers={"Content-Type": kind})
        await response.prepare(request)
        for number, piece in enumerate(pieces):
            if turn.stalls and number == len(pieces) - 1:
                await self._wait_for_the_end()
            await response.write(_framed(piece, request.path))
        if request.path == "/v1/chat/completions":
            await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    async def _wait_for_the_end(self) -> None:
        """Until the other side has left, which cancels this."""
        try:
            await asyncio.Event().wait()
        finally:
            self.left.set()


def _texts(value: Any) -> Iterator[str]:
    """Every text under the keys that models read."""
    if isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        for key in ("system", "instructions", "prompt", "messages", "input", "content", "text"):
            if isinstance(value.get(key), str):
                yield value[key]
            else:
                yield from _texts(value.get(key))


def _framed(piece: dict[str, Any], path: str) -> bytes:
    data = json.dumps(piece, ensure_ascii=False)
    if path.startswith("/api/"):
        return f"{data}\n".encode()
    event = f"event: {piece['type']}\n" if "type" in piece else ""
    return f"{event}data: {data}\n\n".encode()


def _error(path: str, turn: Turn) -> dict[str, Any]:
    if path.startswith("/api/"):
        return {"error": turn.text}
    if path == "/v1/messages":
        return {"type": "error", "error": {"type": "api_error", "message": turn.text}}
    return {"error": {"message": turn.text, "type": "api_error", "param": None, "code": None}}


def _loaded(asked: dict[str, Any], *, chat: bool) -> dict[str, Any]:
    done = "unload" if asked.get("keep_alive") == 0 else "load"
    said: dict[str, Any] = {"message": {"role": "assistant", "content": ""}} if chat else {"response": ""}
    return {"model": asked["model"], "created_at": AT, **said, "done": True, "done_reason": done}


def _native(asked: dict[str, Any], turn: Turn, *, streamed: bool) -> list[dict[str, Any]]:
    common = {"model": asked["model"], "created_at": AT}
    ending = {"done": True, "done_reason": "stop", **NATIVE_COUNTS}
    if "messages" not in asked:
        whole = [{"response": piece} for piece in turn.pieces]
        last: dict[str, Any] = {"response": "" if streamed else turn.text}
    else:
        whole = [{"message": {"role": "assistant", "content": piece}} for piece in turn.pieces]  # type: ignore[dict-item]
        calls = [{"function": {"name": turn.call.name, "arguments": turn.call.arguments}}] if turn.call else []
        if calls:
            whole.append({"message": {"role": "assistant", "content": "", "tool_calls": calls}})  # type: ignore[dict-item]
        last = {"message": {"role": "assistant", "content": "" if streamed else turn.text}}
        if calls and not streamed:
            last["message"]["tool_calls"] = calls
    if not streamed:
        return [{**common, **last, **ending}]
    return [*({**common, **piece, "done": False} for piece in whole), {**common, **last, **ending}]


def _completions(asked: dict[str, Any], turn: Turn, *, streamed: bool) -> list[dict[str, Any]]:
    common: dict[str, Any] = {"id": "chatcmpl-1", "created": 1767614400, "model": asked["model"]}
    finish = "tool_calls" if turn.call else "stop"
    calls = [_openai_call(turn.call)] if turn.call else None
    if not streamed:
        message = {"role": "assistant", "content": turn.text, **({"tool_calls": calls} if calls else {})}
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return [common | {"object": "chat.completion", "choices": [choice], "usage": USAGE}]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in turn.pieces]
    if calls:
        deltas += [{"tool_calls": [{"index": 0, **calls[0]}]}]
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices += [{"index": 0, "delta": {}, "finish_reason": finish}]
    return [{**common, "object": "chat.completion.chunk", "choices": [choice]} for choice in choices]


def _openai_call(call: ToolCall) -> dict[str, Any]:
    return {
        "id": "call_1",
        "type": "function",
        "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
    }


def _messages(asked: dict[str, Any], turn: Turn, *, streamed: bool) -> list[dict[str, Any]]:
    usage = {"input_tokens": 3, "output_tokens": 6}
    stop = {"stop_reason": "tool_use" if turn.call else "end_turn", "stop_sequence": None}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked["model"], "usage": usage}
    blocks: list[dict[str, Any]] = [{"type": "text", "text": turn.text}]
    if turn.call:
        blocks.append({"type": "tool_use", "id": "toolu_1", "name": turn.call.name, "input": turn.call.arguments})
    if not streamed:
        return [{**message, "content": blocks, **stop}]
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
            for piece in turn.pieces
        ),
        {"type": "content_block_stop", "index": 0},
    ]
    if turn.call:
        delta = {"type": "input_json_delta", "partial_json": json.dumps(turn.call.arguments)}
        events += [
            {"type": "content_block_start", "index": 1, "content_block": {**blocks[1], "input": {}}},
            {"type": "content_block_delta", "index": 1, "delta": delta},
            {"type": "content_block_stop", "index": 1},
        ]
    return [*events, {"type": "message_delta", "delta": stop, "usage": usage}, {"type": "message_stop"}]


def _responses(asked: dict[str, Any], turn: Turn, *, streamed: bool) -> list[dict[str, Any]]:
    part = {"type": "output_text", "text": turn.text, "annotations": []}
    item = {"id": "item_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    output: list[dict[str, Any]] = [item]
    if turn.call:
        arguments = json.dumps(turn.call.arguments)
        output.append(
            {
                "id": "item_2",
                "type": "function_call",
                "call_id": "call_1",
                "name": turn.call.name,
                "arguments": arguments,
                "status": "completed",
            }
        )
    whole = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1767614400,
        "model": asked["model"],
        "status": "completed",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    if not streamed:
        return [whole]
    begun = {**whole, "status": "in_progress", "output": []}
    at = {"item_id": "item_1", "output_index": 0, "content_index": 0}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.content_part.added", **at, "part": {**part, "text": ""}},
        *({"type": "response.output_text.delta", **at, "delta": piece} for piece in turn.pieces),
        {"type": "response.output_text.done", **at, "text": turn.text},
        {"type": "response.content_part.done", **at, "part": part},
        *(
            {"type": "response.output_item.done", "output_index": number, "item": each}
            for number, each in enumerate(output)
        ),
        {"type": "response.completed", "response": whole},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


WRITERS = {
    "/api/chat": _native,
    "/api/generate": _native,
    "/v1/chat/completions": _completions,
    "/v1/messages": _messages,
    "/v1/responses": _responses,
}

PAGES: dict[str, Any] = {
    "/api/version": {"version": "0.31.0"},
    "/api/ps": {"models": []},
    "/api/tags": {"models": [{"name": "m:latest", "model": "m:latest", "size": 1, "digest": "ab"}]},
    "/api/show": {"details": {"family": "llama"}, "capabilities": ["completion"], "model_info": {}},
}


@asynccontextmanager
async def serving_model() -> AsyncIterator[tuple[str, Model]]:
    """A model server: its address, and the model behind it."""
    model, pages = Model(), web.Application(client_max_size=2**26)
    pages.router.add_route("*", "/{path:.*}", model.answer)
    runner = web.AppRunner(pages, access_log=None, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", model
    finally:
        await runner.cleanup()
