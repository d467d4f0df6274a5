"""Answers of our own, read by the libraries that people use."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import ollama
import openai
import orjson
import pytest
from aiohttp import web
from anthropic import AsyncAnthropic
from tests.proxy.protocols.wire import LIMIT, RULES, request_of

from festinger.proxy.protocols.messages import ChatRequest, RequestKind
from festinger.proxy.protocols.parse import parse_request
from festinger.proxy.protocols.replies import build_reply_parser
from festinger.proxy.protocols.synthetic import DONE, SyntheticFinish, build_cut_ending, build_synthetic_response
from festinger.proxy.transport.streams import NdjsonReader, SseReader

TEXT = "The same call was tried 6 times – a person is needed. 🙂"
AT = datetime(2026, 5, 4, 12, 30, 15, 250000, tzinfo=UTC)
ASKED = [{"role": "user", "content": "go on"}]


@asynccontextmanager
async def speaking(finish: SyntheticFinish) -> AsyncIterator[str]:
    """A server that gives every request an answer of our own."""

    async def answer(request: web.Request) -> web.StreamResponse:
        asked = parse_request(await request.read(), RequestKind(request.path), rules=RULES, limit=LIMIT)
        assert isinstance(asked, ChatRequest)
        own = build_synthetic_response(asked, TEXT, finish=finish, answer_id="own-1", at=AT)
        response = web.StreamResponse(headers={"content-type": dict(own.headers)[b"content-type"].decode()})
        await response.prepare(request)
        for chunk in own.chunks:
            await response.write(chunk)
        return response

    app = web.Application()
    app.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.mark.requirement("P-20")
@pytest.mark.parametrize("finish", SyntheticFinish)
async def test_ollama_reads_chat_and_generate(finish: SyntheticFinish):
    async with speaking(finish) as url, ollama.AsyncClient(host=url) as client:
        whole = await client.chat(model="m", messages=ASKED)
        parts = [part async for part in await client.chat(model="m", messages=ASKED, stream=True)]
        made = await client.generate(model="m", prompt="x")
        pieces = [part async for part in await client.generate(model="m", prompt="x", stream=True)]

    assert (whole.message.content, whole.done_reason, whole.done) == (TEXT, finish, True)
    assert [(part.message.content, part.done) for part in parts] == [(TEXT, False), ("", True)]
    assert parts[-1].done_reason == finish
    assert (parts[-1].eval_count or 0) > 0
    assert (made.response, made.done_reason) == (TEXT, finish)
    assert [(part.response, part.done) for part in pieces] == [(TEXT, False), ("", True)]


@pytest.mark.requirement("P-20")
@pytest.mark.parametrize("finish", SyntheticFinish)
async def test_openai_reads_chat_completions(finish: SyntheticFinish):
    async with speaking(finish) as url, openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="x") as client:
        whole = await client.chat.completions.create(model="m", messages=ASKED)  # type: ignore[arg-type]
        counted: Any = {"stream_options": {"include_usage": True}}
        stream: Any = await client.chat.completions.create(model="m", messages=ASKED, stream=True, **counted)  # type: ignore[arg-type]
        parts = [part async for part in stream]

    assert (whole.choices[0].message.content, whole.choices[0].finish_reason) == (TEXT, finish)
    assert "".join(part.choices[0].delta.content or "" for part in parts if part.choices) == TEXT
    assert parts[0].choices[0].delta.role == "assistant"
    assert parts[-2].choices[0].finish_reason == finish
    assert parts[-1].usage is not None
    assert parts[-1].usage.completion_tokens > 0


@pytest.mark.requirement("P-20")
async def test_openai_gets_no_counts_that_it_did_not_ask_for():
    async with speaking(SyntheticFinish.STOP) as url, openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="x") as client:
        stream: Any = await client.chat.completions.create(model="m", messages=ASKED, stream=True)  # type: ignore[arg-type]
        parts = [part async for part in stream]
        made = await client.completions.create(model="m", prompt="x")

    assert all(part.choices and part.usage is None for part in parts)
    assert made.choices[0].text == TEXT


@pytest.mark.requirement("P-20")
@pytest.mark.parametrize(
    ("finish", "status"), [(SyntheticFinish.STOP, "completed"), (SyntheticFinish.LENGTH, "incomplete")]
)
async def test_openai_reads_responses(finish: SyntheticFinish, status: str):
    async with speaking(finish) as url, openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="x") as client:
        whole = await client.responses.create(model="m", input="x")
        async with client.responses.stream(model="m", input="x") as stream:
            events = [event async for event in stream]
            final = await stream.get_final_response() if finish is SyntheticFinish.STOP else None

    assert (whole.output_text, whole.status) == (TEXT, status)
    assert events[-1].type == f"response.{status}"
    assert final is None or final.output_text == TEXT


@pytest.mark.requirement("P-20")
@pytest.mark.parametrize(
    ("finish", "reason"), [(SyntheticFinish.STOP, "end_turn"), (SyntheticFinish.LENGTH, "max_tokens")]
)
async def test_anthropic_reads_messages(finish: SyntheticFinish, reason: str):
    async with speaking(finish) as url, AsyncAnthropic(base_url=url, api_key="x") as client:
        whole = await client.messages.create(model="m", max_tokens=9, messages=ASKED)  # type: ignore[arg-type]
        async with client.messages.stream(model="m", max_tokens=9, messages=ASKED) as stream:  # type: ignore[arg-type]
            text = "".join([piece async for piece in stream.text_stream])
            final = await stream.get_final_message()

    assert (whole.content[0].text, whole.stop_reason) == (TEXT, reason)  # type: ignore[union-attr]
    assert (text, final.stop_reason) == (TEXT, reason)
    assert final.usage.output_tokens > 0


CUTS = {
    RequestKind.CHAT: [b'{"model":"m","message":{"role":"assistant","content":"half"},"done":false}\n'],
    RequestKind.GENERATE: [b'{"model":"m","response":"half","done":false}\n'],
    RequestKind.COMPLETIONS: [b'data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"half"}}]}\n\n'],
    RequestKind.MESSAGES: [
        b'event: message_start\ndata: {"type":"message_start","message":{"id":"c","model":"m"}}\n\n',
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half"}}\n\n',
    ],
    RequestKind.RESPONSES: [
        b'event: response.created\ndata: {"type":"response.created","response":{"id":"c","model":"m"}}\n\n',
        b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"half"}\n\n',
    ],
}
ENDS = {
    RequestKind.CHAT: "length",
    RequestKind.GENERATE: "length",
    RequestKind.COMPLETIONS: "length",
    RequestKind.MESSAGES: "max_tokens",
    RequestKind.RESPONSES: "max_output_tokens",
}


@pytest.mark.requirement("P-20")
@pytest.mark.parametrize("kind", CUTS)
def test_an_answer_that_is_cut_ends_as_its_protocol_ends(kind: RequestKind):
    reader, ear = NdjsonReader() if kind.is_native else SseReader(), build_reply_parser(kind)
    for chunk in CUTS[kind]:
        for frame in reader.feed(chunk):
            ear.feed(frame)

    ending = build_cut_ending(kind, ear.content(), at=AT)
    for frame in reader.feed(b"".join(ending)):
        ear.feed(frame)

    assert (ear.content().finish, ear.content().text, ear.content().model) == (ENDS[kind], "half", "m")
    assert (ending[-1] == DONE) is (kind is RequestKind.COMPLETIONS)
    assert reader.unreadable == 0


@pytest.mark.requirement("P-20")
def test_a_native_stream_says_its_text_before_its_end():
    request = request_of({"model": "m", "messages": ASKED}, RequestKind.CHAT)

    lines = build_synthetic_response(request, TEXT, finish=SyntheticFinish.STOP, answer_id="i", at=AT).chunks

    assert [orjson.loads(line)["done"] for line in lines] == [False, True]
    assert orjson.loads(lines[0])["created_at"] == "2026-05-04T12:30:15.250000Z"
