"""The clients that people use, pointed at the door and nothing else changed."""

import asyncio
from collections.abc import AsyncIterator

import ollama
import openai
import pytest
from anthropic import AsyncAnthropic
from tests.proxy.proxy_server import Door, open_door
from tests.upstream import WORDS, answering

TEXT = "".join(WORDS)
ASKED = [{"role": "user", "content": "why is the sky blue?"}]


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    async with answering() as upstream, open_door(upstream) as opened:
        yield opened


@pytest.mark.requirement("P-01")
async def test_ollama_chats_and_generates(door: Door):
    async with ollama.AsyncClient(host=door.url) as client:
        whole = await client.chat(model="m", messages=ASKED)
        parts = [part.message.content async for part in await client.chat(model="m", messages=ASKED, stream=True)]
        made = await client.generate(model="m", prompt="x")

    assert (whole.message.content, "".join(parts), made.response) == (TEXT, TEXT, TEXT)
    assert parts[:-1] == list(WORDS)


@pytest.mark.requirement("P-01")
async def test_ollama_without_async_chats_too(door: Door):
    def chat() -> tuple[str, str]:
        with ollama.Client(host=door.url) as client:
            streamed = "".join(str(part.message.content) for part in client.chat("m", ASKED, stream=True))
            return str(client.chat("m", ASKED).message.content), streamed

    assert await asyncio.to_thread(chat) == (TEXT, TEXT)


@pytest.mark.requirement("P-01")
async def test_openai_completes(door: Door):
    async with openai.AsyncOpenAI(base_url=f"{door.url}/v1", api_key="ollama") as client:
        whole = await client.chat.completions.create(model="m", messages=ASKED)  # type: ignore[arg-type]
        stream = await client.chat.completions.create(model="m", messages=ASKED, stream=True)  # type: ignore[arg-type]
        parts = [part.choices[0].delta.content or "" async for part in stream]  # type: ignore[union-attr]

    assert (whole.choices[0].message.content, "".join(parts)) == (TEXT, TEXT)


@pytest.mark.requirement("P-05")
async def test_openai_names_a_space_by_its_base_url(door: Door):
    async with openai.AsyncOpenAI(base_url=f"{door.url}/@team/dobby/v1", api_key="ollama") as client:
        whole = await client.chat.completions.create(model="m", messages=ASKED)  # type: ignore[arg-type]

    assert whole.choices[0].message.content == TEXT


@pytest.mark.requirement("P-06")
async def test_openai_reads_our_refusals():
    async with open_door("http://127.0.0.1:9") as door:
        async with openai.AsyncOpenAI(base_url=f"{door.url}/v1", api_key="ollama", max_retries=0) as client:
            with pytest.raises(openai.InternalServerError) as refused:
                await client.chat.completions.create(model="m", messages=ASKED)  # type: ignore[arg-type]

    assert refused.value.code == "upstream_unreachable"


@pytest.mark.requirement("P-01")
async def test_anthropic_sends_messages(door: Door):
    async with AsyncAnthropic(base_url=door.url, api_key="sk") as client:
        whole = await client.messages.create(model="m", messages=ASKED, max_tokens=9)  # type: ignore[arg-type]
        async with client.messages.stream(model="m", messages=ASKED, max_tokens=9) as stream:  # type: ignore[arg-type]
            streamed = "".join([text async for text in stream.text_stream])

    assert ([getattr(block, "text", "") for block in whole.content], streamed) == ([TEXT], TEXT)


@pytest.mark.requirement("P-01", "P-02")
@pytest.mark.parametrize(
    "arguments",
    [
        ("/api/chat", "-d", '{"model":"m","messages":[]}'),
        ("/api/chat", "-d", '{"model":"m","messages":[],"stream":false}', "--http2"),
        ("/api/version", "-I"),
        ("/api/delete", "-X", "DELETE", "-d", '{"model":"m"}'),
        ("/api/chat", "-H", "Transfer-Encoding: chunked", "-d", '{"model":"m","messages":[]}'),
        ("/api/blobs/sha256:0", "--data-binary", "@/proc/self/exe", "-H", "Expect: 100-continue"),
        ("/api/tags", "--http1.0"),
    ],
)
async def test_curl_gets_the_same_with_and_without_the_door(arguments: tuple[str, ...]):
    async with answering() as upstream, open_door(upstream) as opened:
        direct = await curl(upstream, arguments)
        through = await curl(opened.url, arguments)

    assert direct
    assert through == direct


async def curl(base: str, arguments: tuple[str, ...]) -> bytes:
    command = ["curl", "-sS", "--fail-with-body", "-N", base + arguments[0], *arguments[1:]]
    running = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    said, _ = await running.communicate()
    hidden = (b"x-festinger", b"date", b"connection", b"transfer-encoding")
    lines = [line for line in said.split(b"\r\n") if not line.lower().startswith(hidden)]
    head = [line.lower() if b": " in line and not line.startswith(b"{") else line for line in lines]
    return b"\r\n".join(head) + b" %d" % (running.returncode or 0)
