"""Replies that repeat themselves while they stream, read by real clients through the real door."""

import asyncio
import json
from typing import Any

import ollama
import openai
import pytest
from anthropic import AsyncAnthropic
from tests.proxy.loop_scene import PIECES, Model, Watched, streamed, watching
from tests.proxy.proxy_server import exchange, request
from tests.upstream import Peer, Received, scripted

from festinger.proxy.loops.stream import remove_repeated_end

PHRASE = "I will try that once more. "
ENDLESS = ("Let me see. ", *[PHRASE] * PIECES)
ASKED: Any = [{"role": "user", "content": "Mend the build."}]
PATIENCE = 60.0


async def gone(model: Model) -> None:
    """Waits until the model server has seen that its reader left."""
    async with asyncio.timeout(PATIENCE):
        await model.left.wait()


def is_short(text: str) -> bool:
    """Whether a reply was cut long before its end, and nothing of it was lost until then."""
    return 400 <= len(text) < 4000 and "".join(ENDLESS).startswith(text)


@pytest.mark.requirement("P-74", "P-20")
async def test_ollama_reads_a_reply_that_is_cut():
    async with watching(Model(says=ENDLESS)) as at, ollama.AsyncClient(host=at.door.url) as client:
        chat = [part async for part in await client.chat(model="m", messages=ASKED, stream=True)]
        await gone(at.model)
        at.model.left.clear()
        made = [part async for part in await client.generate(model="m", prompt="Go.", stream=True)]
        await gone(at.model)

    assert is_short("".join(str(part.message.content) for part in chat))
    assert [(part.done, part.done_reason) for part in chat[-2:]] == [(False, None), (True, "length")]
    assert (chat[-1].eval_count or 0) > 0
    assert is_short("".join(part.response for part in made))
    assert (made[-1].done, made[-1].done_reason) == (True, "length")
    assert [(each.name, each.payload["rule"], each.payload["channel"]) for each in at.happened] == [
        ("loop_cut", "stale", "text")
    ] * 2


@pytest.mark.requirement("P-74", "P-20")
async def test_openai_reads_a_completion_that_is_cut():
    async with watching(Model(says=ENDLESS)) as at:
        async with openai.AsyncOpenAI(base_url=f"{at.door.url}/v1", api_key="x") as client:
            counted: Any = {"stream_options": {"include_usage": True}}
            stream: Any = await client.chat.completions.create(model="m", messages=ASKED, stream=True, **counted)
            parts = [part async for part in stream]
            await gone(at.model)
            plain = [part async for part in await client.completions.create(model="m", prompt="Go.", stream=True)]

    assert is_short("".join(part.choices[0].delta.content or "" for part in parts if part.choices))
    assert [part.choices[0].finish_reason for part in parts if part.choices][-2:] == [None, "length"]
    assert parts[-1].usage.completion_tokens > 0
    assert is_short("".join(part.choices[0].text for part in plain))
    assert plain[-1].choices[0].finish_reason == "length"


@pytest.mark.requirement("P-74", "P-20")
async def test_anthropic_reads_a_message_that_is_cut():
    async with watching(Model(says=ENDLESS)) as at:
        async with AsyncAnthropic(base_url=at.door.url, api_key="x") as client:
            async with client.messages.stream(model="m", max_tokens=9999, messages=ASKED) as stream:
                text = "".join([piece async for piece in stream.text_stream])
                final = await stream.get_final_message()
        await gone(at.model)

    assert is_short(text)
    assert (final.stop_reason, [block.type for block in final.content]) == ("max_tokens", ["thinking", "text"])


@pytest.mark.requirement("P-74", "P-20")
async def test_openai_reads_a_response_that_is_cut():
    async with watching(Model(says=ENDLESS)) as at:
        async with openai.AsyncOpenAI(base_url=f"{at.door.url}/v1", api_key="x") as client:
            async with client.responses.stream(model="m", input="Go.") as stream:
                events: list[Any] = [event async for event in stream]
        await gone(at.model)
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")

    assert is_short(text)
    assert events[-1].type == "response.incomplete"
    assert events[-1].response.output_text == text
    assert [event.sequence_number for event in events] == sorted(event.sequence_number for event in events)
    assert events[-1].sequence_number == events[-2].sequence_number + 1


@pytest.mark.requirement("P-66")
async def test_a_loop_in_thinking_is_cut_and_its_open_block_closed():
    model = Model(thinks=ENDLESS, says=("Done.",))

    async with watching(model) as at, AsyncAnthropic(base_url=at.door.url, api_key="x") as client:
        async with client.messages.stream(model="m", max_tokens=9999, messages=ASKED) as stream:
            events = [event.type async for event in stream]
            final = await stream.get_final_message()

    assert [block.type for block in final.content] == ["thinking"]
    assert events.count("content_block_start") == events.count("content_block_stop") == 1
    assert at.happened[0].payload["channel"] == "thinking"


@pytest.mark.requirement("P-66")
async def test_a_reply_that_is_not_streamed_is_noticed_and_never_cut():
    async with watching(Model(says=ENDLESS)) as at, ollama.AsyncClient(host=at.door.url) as client:
        whole = await client.chat(model="m", messages=ASKED)

    assert whole.message.content == "".join(ENDLESS)
    assert [(each.name, each.payload["did"]) for each in at.happened] == [("loop_detected", "notice")]


@pytest.mark.requirement("P-70")
async def test_a_guard_that_is_off_cuts_nothing():
    model = Model(says=ENDLESS)

    async with watching(model, loop={"enabled": False}) as at, ollama.AsyncClient(host=at.door.url) as client:
        parts = [part async for part in await client.chat(model="m", messages=ASKED, stream=True)]

    assert "".join(str(part.message.content) for part in parts) == "".join(ENDLESS)
    assert at.names == ["loop_detected"]


@pytest.mark.requirement("P-67")
@pytest.mark.parametrize(
    "more",
    [
        {"messages": [{"role": "user", "content": f"Repeat it {PIECES} times."}]},
        {"messages": ASKED, "headers": {"X-Festinger-Loop": "off"}},
    ],
    ids=["asked for", "not watched"],
)
async def test_a_repetition_that_is_wanted_passes(more: dict[str, Any]):
    async with watching(Model(says=ENDLESS)) as at:
        headers = [f"{name}: {value}" for name, value in more.get("headers", {}).items()]
        body = json.dumps({"model": "m", "messages": more["messages"]}).encode()
        got = await exchange(at.door.port, request("POST", "/api/chat", *headers, body=body))

    assert len(got.body.splitlines()) == len(ENDLESS) + 1
    assert b'"done_reason": "stop"' in got.body


@pytest.mark.requirement("P-67")
async def test_where_a_schema_is_enforced_more_is_borne():
    pieces = 9

    async with watching(Model(says=[f'{{"text": "{PHRASE * 3}"}}, '] * pieces)) as at:
        async with ollama.AsyncClient(host=at.door.url) as client:
            parts = [part async for part in await client.chat(model="m", messages=ASKED, stream=True, format="json")]

    assert parts[-1].done_reason == "stop"
    assert len(parts) == pieces + 1


@pytest.mark.requirement("P-74")
async def test_later_requests_send_the_repeated_tail_once_and_the_next_reply_is_limited():
    async with watching(Model(says=ENDLESS)) as at, ollama.AsyncClient(host=at.door.url) as client:
        parts = [part async for part in await client.chat(model="m", messages=ASKED, stream=True)]
        said = "".join(str(part.message.content) for part in parts)
        at.model.says = ("Certainly.",)
        history: Any = [*ASKED, {"role": "assistant", "content": said}, {"role": "user", "content": "Go on."}]
        await client.chat(model="m", messages=history)
        longer: Any = [*history, {"role": "assistant", "content": "Certainly."}, {"role": "user", "content": "More."}]
        await client.chat(model="m", messages=longer, options={"seed": 1})
    _, second, third = at.model.bodies

    assert second["messages"][1]["content"] == remove_repeated_end(said)
    assert len(remove_repeated_end(said)) < len("Let me see. " + PHRASE * 4)
    assert second["options"] == {"num_predict": 4096}
    assert third["messages"][1]["content"] == remove_repeated_end(said)
    assert third["messages"][2:] == longer[2:]
    assert third["options"] == {"seed": 1}


@pytest.mark.requirement("P-74")
@pytest.mark.parametrize(
    ("given", "sent"),
    [({"num_predict": 100}, 100), ({"num_predict": -1}, 4096), ({"num_ctx": 2048}, 4096)],
    ids=["limited", "unlimited", "unsaid"],
)
async def test_a_limit_of_the_clients_own_stays(given: dict[str, int], sent: int):
    async with watching(Model(says=ENDLESS)) as at, ollama.AsyncClient(host=at.door.url) as client:
        async for _ in await client.chat(model="m", messages=ASKED, stream=True):
            pass
        at.model.says = ("Certainly.",)
        await client.chat(model="m", messages=[*ASKED, *ASKED], options=given)

    assert at.model.bodies[1]["options"] == {**given, "num_predict": sent}


@pytest.mark.requirement("P-74")
async def test_a_cut_reply_can_be_sent_as_it_was():
    async with watching(Model(says=ENDLESS), loop={"collapse_cut_text": False}) as at:
        async with ollama.AsyncClient(host=at.door.url) as client:
            parts = [part async for part in await client.chat(model="m", messages=ASKED, stream=True)]
            said = "".join(str(part.message.content) for part in parts)
            history: Any = [*ASKED, {"role": "assistant", "content": said}, *ASKED]
            await client.chat(model="m", messages=history)

    assert at.model.bodies[1]["messages"] == history


async def answers(at: Watched, *said: str) -> str:
    """What is told of a request whose agent gave these answers and was spoken to by its framework in between."""
    history = [*ASKED]
    for words in said:
        warned = {"role": "user", "content": json.dumps({"system_warning": "Go on."})}
        history += [{"role": "assistant", "content": words}, warned]
    body = json.dumps({"model": "m", "messages": history, "stream": False}).encode()
    got = await exchange(at.door.port, request("POST", "/api/chat", "X-Session-ID: s-12345678", body=body))
    return got.value("x-festinger-loop") or ""


@pytest.mark.requirement("P-66")
async def test_a_noticed_reply_counts_as_one_more_equal_answer():
    text = "I have done all that I can do here for now."

    async with watching(Model(says=[PHRASE] * 60)) as at:
        await answers(at)
        noticed = await answers(at, text, text)
        at.model.says = ("Certainly.",)
        quiet = await answers(at, text, text, text)

    assert noticed == "level=1; rule=same_answer; count=3; did=nudge"
    assert quiet.startswith("level=2; rule=same_answer; count=4")


@pytest.mark.requirement("P-18")
async def test_a_reply_that_breaks_off_in_a_loop_counts_as_noticed():
    text = "I have done all that I can do here for now."
    line = json.dumps({"model": "m", "message": {"content": PHRASE}, "done": False}).encode() + b"\n"

    async def script(_request: Received, peer: Peer) -> bool:
        await peer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n" + line * 10)
        return False

    async with scripted(script) as upstream, watching(upstream=upstream.url) as at:
        await answers(at)
        told = await answers(at, text, text)

    assert told == "level=1; rule=same_answer; count=3; did=nudge"


@pytest.mark.requirement("P-52")
async def test_a_detector_that_breaks_lets_the_reply_through(monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("festinger.proxy.loops.stream.RepetitionDetector.feed", broken)
    async with watching(Model(says=ENDLESS[:200])) as at, ollama.AsyncClient(host=at.door.url) as client:
        parts = [part async for part in await client.chat(model="m", messages=ASKED, stream=True)]

    assert "".join(str(part.message.content) for part in parts) == "".join(ENDLESS[:200])
    assert at.happened == []


@pytest.mark.requirement("P-74", "P-16")
@pytest.mark.parametrize("size", [7, 64, 1000])
@pytest.mark.parametrize("path", ["/api/chat", "/v1/chat/completions", "/v1/messages"])
async def test_a_cut_falls_between_frames_however_the_bytes_are_cut(path: str, size: int):
    whole = b"".join(streamed(path, ENDLESS[:400], ()))
    kind = b"application/x-ndjson" if path == "/api/chat" else b"text/event-stream"

    async def script(_request: Received, peer: Peer) -> bool:
        await peer.write(b"HTTP/1.1 200 OK\r\nContent-Type: " + kind + b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        for start in range(0, len(whole), size):
            piece = whole[start : start + size]
            await peer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await asyncio.sleep(0)
        await peer.write(b"0\r\n\r\n")
        return False

    async with scripted(script) as upstream, watching(upstream=upstream.url) as at:
        body = json.dumps({"model": "m", "messages": ASKED, "stream": True, "max_tokens": 9}).encode()
        got = await exchange(at.door.port, request("POST", path, body=body))

    assert got.whole
    assert frames(path, got.body)[-1] in ({"type": "message_stop"}, "[DONE]", {"length": True})
    assert len(got.body) < len(whole) // 2


def frames(path: str, body: bytes) -> list[Any]:
    """Every frame of a streamed answer; none may be broken."""
    if path == "/api/chat":
        lines = [json.loads(line) for line in body.splitlines()]
        return [{"length": line.get("done_reason") == "length"} for line in lines]
    found = []
    for event in body.decode().split("\n\n")[:-1]:
        data = event.rpartition("data: ")[2]
        found.append(data if data == "[DONE]" else json.loads(data))
    return found
