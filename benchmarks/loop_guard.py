"""Drives agents and streaming replies through the real proxy and records what the loop guard does.

The transcripts and streams were written by people and models who had not read the detector; one half was for
development, the other is only measured. Everything is as a client meets it, with default settings: the three
protocols, the proxy on a port, a model server behind it. Only the clock follows the transcript.
"""

import gzip
import json
import random
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any

import aiohttp
from aiohttp import web

from benchmarks.load import HOST
from festinger.clock import system_stopwatch
from festinger.ids import MAIN_SPACE, SpaceId, id_maker
from festinger.proxy.app import Proxy
from festinger.proxy.context.build import AppWorldReader, ContextBuilder
from festinger.proxy.pipeline import RequestPipeline
from festinger.proxy.transport.server import close_sockets, open_server, open_sockets
from festinger.proxy.transport.upstream import open_upstream
from festinger.settings.tree import ProxySettings, Settings
from festinger.store.repositories.auth import ApiKey

Row = Mapping[str, Any]
Messages = list[dict[str, Any]]

NOTICE = "[Loop guard]"
PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages", "ollama": "/api/chat"}
PIECE = 16
"""Characters per frame of a stream."""
REPLY = "I am working on it."


def read_rows(name: str) -> list[Row]:
    """The rows of a packaged set."""
    packed = files("benchmarks").joinpath(f"{name}.jsonl.gz").read_bytes()
    return [json.loads(line) for line in gzip.decompress(packed).splitlines()]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopGuardResult:
    """After how many steps an agent was warned and stopped, if ever."""

    nudged: int | None = None
    stopped: int | None = None


@dataclass
class StubModel:
    """A model server. It says one text, whole or in pieces, and remembers the last prompt."""

    says: str = REPLY
    prompt: str = ""
    asked: int = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.prompt = json.dumps(body["messages"])
        self.asked += 1
        if body.get("stream"):
            return await self._stream(request)
        return web.json_response(_whole(request.path, self.says))

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await answer.prepare(request)
        for start in range(0, len(self.says), PIECE):
            content = self.says[start : start + PIECE]
            line = {"model": "m", "message": {"role": "assistant", "content": content}, "done": False}
            try:
                await answer.write(json.dumps(line).encode() + b"\n")
            except ConnectionError:
                return answer
        last = {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
        await answer.write(json.dumps(last).encode() + b"\n")
        return answer


def _whole(path: str, text: str) -> dict[str, Any]:
    if path == PATHS["anthropic"]:
        usage = {"input_tokens": 1, "output_tokens": 1}
        content = [{"type": "text", "text": text}]
        return {
            "id": "m", "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": "end_turn", "stop_sequence": None, "usage": usage,
        }  # fmt: skip
    message = {"role": "assistant", "content": text}
    if path == PATHS["ollama"]:
        return {"model": "m", "message": message, "done": True, "done_reason": "stop"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


@dataclass
class GuardedProxy:
    """The proxy with its model server and a manual clock."""

    url: str
    model: StubModel
    http: aiohttp.ClientSession
    now: list[datetime] = field(default_factory=list)

    async def treat(self, transcript: Row) -> LoopGuardResult:
        """Send the requests of a transcript one after the other."""
        nudged = stopped = None
        for number, messages in enumerate(histories(transcript)):
            if number:
                self.now[0] += timedelta(seconds=transcript["steps"][number - 1]["seconds"])
            asked = self.model.asked
            await self._ask(transcript, messages)
            if self.model.asked == asked:
                stopped = number if stopped is None else stopped
            elif NOTICE in self.model.prompt:
                nudged = number if nudged is None else nudged
        return LoopGuardResult(nudged=nudged, stopped=stopped)

    async def _ask(self, transcript: Row, messages: Messages) -> None:
        body: dict[str, Any] = {"model": "m", "messages": messages, "stream": False}
        if transcript["protocol"] == "anthropic":
            body |= {"max_tokens": 1_000, "system": transcript["system"]}
        headers = {"X-Session-ID": f"bench-{transcript['id']}"}
        async with self.http.post(self.url + PATHS[transcript["protocol"]], json=body, headers=headers) as answer:
            answer.raise_for_status()
            await answer.read()

    async def stream(self, text: str) -> int | None:
        """After how many characters the proxy cuts a reply; `None` if it reaches its end."""
        self.model.says = text
        body = {"model": "m", "messages": [{"role": "user", "content": "Go ahead, please."}], "stream": True}
        try:
            async with self.http.post(self.url + PATHS["ollama"], json=body) as answer:
                lines = [json.loads(line) async for line in answer.content]
        finally:
            self.model.says = REPLY
        said = sum(len(line["message"]["content"]) for line in lines)
        return said if lines[-1]["done_reason"] == "length" else None


def histories(transcript: Row) -> Iterator[Messages]:
    """The messages of each request of a transcript."""
    write = {"openai": _openai, "anthropic": _anthropic, "ollama": _ollama}[transcript["protocol"]]
    messages: Messages = [{"role": "user", "content": transcript["task"]}]
    if transcript["protocol"] != "anthropic":
        messages.insert(0, {"role": "system", "content": transcript["system"]})
    yield list(messages)
    for number, step in enumerate(transcript["steps"]):
        messages += write(step, f"call_{number}_")
        yield list(messages)


def _user(step: Row) -> Messages:
    return [{"role": "user", "content": step["user"]}] if step["user"] else []


def _openai(step: Row, name: str) -> Messages:
    calls = [
        {
            "id": f"{name}{at}",
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
        }
        for at, call in enumerate(step["calls"])
    ]
    said: dict[str, Any] = {"role": "assistant", "content": step["text"] or None}
    results = [
        {"role": "tool", "tool_call_id": f"{name}{at}", "content": result} for at, result in enumerate(step["results"])
    ]
    return [said | ({"tool_calls": calls} if calls else {}), *results, *_user(step)]


def _anthropic(step: Row, name: str) -> Messages:
    text = [{"type": "text", "text": step["text"]}] if step["text"] else []
    uses = [
        {"type": "tool_use", "id": f"{name}{at}", "name": call["name"], "input": call["arguments"]}
        for at, call in enumerate(step["calls"])
    ]
    results = [
        {"type": "tool_result", "tool_use_id": f"{name}{at}", "content": result, "is_error": is_error}
        for at, (result, is_error) in enumerate(zip(step["results"], step["is_error"], strict=True))
    ]
    spoken = [{"type": "text", "text": step["user"]}] if step["user"] else []
    told = [{"role": "user", "content": [*results, *spoken]}] if results or spoken else []
    return [{"role": "assistant", "content": [*text, *uses]}, *told]


def _ollama(step: Row, _name: str) -> Messages:
    calls = [{"function": dict(call)} for call in step["calls"]]
    said: dict[str, Any] = {"role": "assistant", "content": step["text"]}
    results = [
        {"role": "tool", "tool_name": call["name"], "content": result}
        for call, result in zip(step["calls"], step["results"], strict=True)
    ]
    return [said | ({"tool_calls": calls} if calls else {}), *results, *_user(step)]


@asynccontextmanager
async def guarded_proxy() -> AsyncIterator[GuardedProxy]:
    """The proxy with default settings before a model stub, without a memory behind it."""
    now = [datetime(2026, 1, 5, tzinfo=UTC)]
    model = StubModel()
    async with _served(model) as upstream, open_upstream() as way_out, aiohttp.ClientSession() as http:
        settings = Settings(proxy=ProxySettings(upstream=upstream))
        chance = random.Random(0)  # noqa: S311 - ids of sessions that nobody keeps
        new_id = id_maker(lambda: now[0], chance)
        builder = ContextBuilder(AppWorldReader(lambda: None), new_id=new_id)
        pipeline = RequestPipeline(
            clock=lambda: now[0], new_id=new_id, settings=settings.proxy, context_builder=builder
        )
        proxy = Proxy(
            settings=lambda: settings,
            own=_no_page,
            upstream=way_out,
            find_key=_no_key,
            known_space=_main_alone,
            ready=lambda: True,
            new_id=new_id,
            stopwatch=system_stopwatch,
            machine_names=(),
            process=pipeline.process,
        )
        sockets = open_sockets(HOST, 0)
        try:
            async with open_server(proxy, sockets, shutdown_seconds=1):
                url = f"http://{HOST}:{sockets[0].getsockname()[1]}"
                yield GuardedProxy(url=url, model=model, http=http, now=now)
        finally:
            close_sockets(sockets)


@asynccontextmanager
async def _served(model: StubModel) -> AsyncIterator[str]:
    pages = web.Application(client_max_size=2**26)
    for path in PATHS.values():
        pages.router.add_post(path, model.answer)
    runner = web.AppRunner(pages, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, 0).start()
        yield f"http://{HOST}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def _no_key(_secret: str) -> ApiKey | None:
    return None


def _main_alone(name: str) -> SpaceId | None:
    return MAIN_SPACE if name == str(MAIN_SPACE) else None


async def _no_page(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 404, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def treat_all(proxy: GuardedProxy, transcripts: Sequence[Row]) -> dict[str, LoopGuardResult]:
    """The result for each agent, by the transcript's id."""
    return {row["id"]: await proxy.treat(row) for row in transcripts}
