"""A door with the loop guard, a model server that says what it is told to, and agents that repeat themselves."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from tests.proxy.proxy_server import Door, open_door
from tests.runtime.server import Hands

from festinger.events.catalogue import NewEvent
from festinger.ids import Scope, SpaceId, id_maker
from festinger.proxy.capture.recorder import NullExchangeRecorder
from festinger.proxy.context.build import ContextBuilder
from festinger.proxy.pipeline import RequestPipeline
from festinger.proxy.request import RequestContext
from festinger.settings.tree import LoopSettings, ProxySettings, Settings
from festinger.world.recall import SourceText
from festinger.world.recollection import Recollection

QUICK = (3, 4, 5, 6)
"""Thresholds that are reached in a few requests."""
PIECES = 2_000
"""So many pieces a reply has at most: one that is never cut must end, too."""


class NothingKnown:
    """A mind that knows nothing and learns nothing."""

    async def recollect(self, scope: Scope, texts: Sequence[SourceText]) -> Recollection | None:
        return Recollection()

    def learn(self, scope: Scope, texts: Sequence[SourceText]) -> None:
        return None


@dataclass
class Model:
    """A model server for every protocol. `says` are the pieces of its reply."""

    says: Sequence[str] = ("Certainly.",)
    thinks: Sequence[str] = ()
    refuses: Callable[[dict[str, Any]], int] = lambda _body: 0
    """The status with which a request is refused, if it is."""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when somebody goes before a reply is over."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body = json.loads(raw)
        self.raw.append(raw)
        self.bodies.append(body)
        if status := self.refuses(body):
            return web.json_response({"error": {"message": "no"}}, status=status)
        if body.get("stream", request.path.startswith("/api/")):
            return await self._stream(request)
        return web.json_response(whole(request.path, "".join(self.says)))

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        kind = "application/x-ndjson" if request.path.startswith("/api/") else "text/event-stream"
        response = web.StreamResponse(headers={"Content-Type": kind})
        await response.prepare(request)
        try:
            for piece in streamed(request.path, self.says, self.thinks):
                await response.write(piece)
                # The other side is to be read from, or it would never be seen to go.
                await asyncio.sleep(0)
        except ConnectionError:
            self.left.set()
        return response


def whole(path: str, text: str) -> dict[str, Any]:
    """The reply that is not streamed."""
    match path:
        case "/api/chat":
            message = {"role": "assistant", "content": text}
            return {"model": "m", "message": message, "done": True, "done_reason": "stop"}
        case "/api/generate":
            return {"model": "m", "response": text, "done": True, "done_reason": "stop"}
        case "/v1/messages":
            content = [{"type": "text", "text": text}]
            usage = {"input_tokens": 1, "output_tokens": 1}
            head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "usage": usage}
            return {**head, "content": content, "stop_reason": "end_turn", "stop_sequence": None}
        case "/v1/responses":
            part = {"type": "output_text", "text": text, "annotations": []}
            item = {"id": "i", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
            return {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m",
                    "output": [item], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}  # fmt: skip
    choice = {"index": 0, "finish_reason": "stop", "text": text}
    choice |= {"message": {"role": "assistant", "content": text}}
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def streamed(path: str, says: Iterable[str], thinks: Iterable[str]) -> Iterable[bytes]:
    match path:
        case "/api/chat" | "/api/generate":
            yield from _native(path, says, thinks)
        case "/v1/messages":
            yield from _anthropic(says, thinks)
        case "/v1/responses":
            yield from _responses(says)
        case _:
            yield from _completions(path, says, thinks)


def _native(path: str, says: Iterable[str], thinks: Iterable[str]) -> Iterable[bytes]:
    def line(said: dict[str, Any], **more: Any) -> bytes:
        held = {"message": {"role": "assistant", **said}} if path == "/api/chat" else said
        return json.dumps({"model": "m", "created_at": "2026-01-05T12:00:00Z", **held, **more}).encode() + b"\n"

    name = "content" if path == "/api/chat" else "response"
    yield from (line({name: "", "thinking": piece}, done=False) for piece in thinks)
    yield from (line({name: piece}, done=False) for piece in says)
    yield line({name: ""}, done=True, done_reason="stop", eval_count=3)


def _completions(path: str, says: Iterable[str], thinks: Iterable[str]) -> Iterable[bytes]:
    def event(said: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "finish_reason": finish, **said}
        data = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        return f"data: {json.dumps(data)}\n\n".encode()

    is_chat = path == "/v1/chat/completions"
    yield from (event({"delta": {"reasoning_content": piece}}) for piece in thinks)
    yield from (event({"delta": {"content": piece}} if is_chat else {"text": piece}) for piece in says)
    yield event({"delta": {}} if is_chat else {"text": ""}, "stop")
    yield b"data: [DONE]\n\n"


def _named(data: dict[str, Any]) -> bytes:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()


def _anthropic(says: Iterable[str], thinks: Iterable[str]) -> Iterable[bytes]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "usage": usage}
    started = {**head, "content": [], "stop_reason": None, "stop_sequence": None}
    yield _named({"type": "message_start", "message": started})
    thought = {"type": "thinking", "thinking": "", "signature": ""}
    yield _named({"type": "content_block_start", "index": 0, "content_block": thought})
    for piece in thinks:
        delta = {"type": "thinking_delta", "thinking": piece}
        yield _named({"type": "content_block_delta", "index": 0, "delta": delta})
    yield _named({"type": "content_block_stop", "index": 0})
    yield _named({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}})
    for piece in says:
        delta = {"type": "text_delta", "text": piece}
        yield _named({"type": "content_block_delta", "index": 1, "delta": delta})
    yield _named({"type": "content_block_stop", "index": 1})
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    yield _named({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 3}})
    yield _named({"type": "message_stop"})


def _responses(says: Iterable[str]) -> Iterable[bytes]:
    done = whole("/v1/responses", "".join(says))
    begun = {**done, "status": "in_progress", "output": []}
    item = {"id": "i", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    scope = {"item_id": "i", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": []}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **scope, "part": part},
        *({"type": "response.output_text.delta", **scope, "delta": piece, "logprobs": []} for piece in says),
        {"type": "response.completed", "response": done},
    ]
    for number, event in enumerate(events):
        yield _named({**event, "sequence_number": number})


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    door: Door
    model: Model
    hands: Hands
    pipeline: RequestPipeline
    happened: list[NewEvent]
    proxy: list[ProxySettings]
    """The settings of now, in a list so that a test can change them."""

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.happened]

    def set(self, **loop: Any) -> None:
        now = self.proxy[0]
        self.proxy[0] = now.model_copy(update={"loop": LoopSettings(**{"thresholds": QUICK, **loop})})


@asynccontextmanager
async def watching(model: Model | None = None, **proxy: Any) -> AsyncIterator[Watched]:
    """A door with the guard before a model server."""
    model, hands, happened = model or Model(), Hands(), list[NewEvent]()
    pages = web.Application(client_max_size=2**26)
    pages.router.add_post("/{path:.*}", model.answer)
    runner = web.AppRunner(pages, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    proxy["loop"] = {"thresholds": QUICK, **proxy.get("loop", {})}
    settings = ProxySettings(**{"upstream": f"http://127.0.0.1:{runner.addresses[0][1]}", **proxy})
    now = [settings]

    class Emitted(NullExchangeRecorder):
        def emit(self, space: SpaceId, events: Sequence[NewEvent]) -> None:
            happened.extend(events)

    new_id = id_maker(hands.clock, random.Random(3))
    pipeline = RequestPipeline(
        clock=hands.clock,
        new_id=new_id,
        settings=settings,
        context_builder=ContextBuilder(NothingKnown(), new_id=new_id),
        recorder=Emitted(),
    )

    async def process(ctx: RequestContext) -> None:
        ctx.settings = ctx.settings.model_copy(update={"proxy": now[0]})
        await pipeline.process(ctx)

    try:
        async with open_door(Settings(proxy=settings), process=process) as door:
            yield Watched(door=door, model=model, hands=hands, pipeline=pipeline, happened=happened, proxy=now)
    finally:
        await runner.cleanup()
