"""The clients that people use, each as the few things that a conversation needs of it.

Each says a text, whole or in pieces, and has a tool called. What the libraries want for it is written here as their
users write it: only the address is ours. Those that keep loops, threads and connections of their own are imported
only where they are used, which is in a process of their own (`guest`).
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anthropic
import ollama
import openai

TOOL = "look_up"
PARAMETERS = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
FUNCTION = {"name": TOOL, "description": "Look a name up.", "parameters": PARAMETERS}
TOOLS: list[Any] = [{"type": "function", "function": FUNCTION}]

Called = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    say: Callable[[str, str], Awaitable[str]]
    """Says a text to the server at an address; the whole answer."""
    stream: Callable[[str, str], AsyncIterator[str]]
    """The same, piece by piece as it comes."""
    call: Callable[[str, str], Awaitable[Called]]
    """Says a text and offers a tool; the call that came back."""
    blocking: Callable[[str, str], tuple[str, str]] | None = None
    """Says a text without async: the whole answer, and the pieces of a second one put together."""


def asked(said: Any) -> list[Any]:
    """One text of the user, or the messages that were given."""
    return said if isinstance(said, list) else [{"role": "user", "content": said}]


# ollama


async def ollama_say(url: str, text: str) -> str:
    async with ollama.AsyncClient(host=url) as client:
        return str((await client.chat(model="m", messages=asked(text))).message.content)


async def ollama_stream(url: str, text: str) -> AsyncIterator[str]:
    async with ollama.AsyncClient(host=url) as client:
        async for part in await client.chat(model="m", messages=asked(text), stream=True):
            yield str(part.message.content)


async def ollama_call(url: str, text: str) -> Called:
    async with ollama.AsyncClient(host=url) as client:
        answer = await client.chat(model="m", messages=asked(text), tools=TOOLS)
    (call,) = answer.message.tool_calls or []
    return call.function.name, dict(call.function.arguments)


# openai


@asynccontextmanager
async def openai_at(url: str) -> AsyncIterator[Any]:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="ollama", max_retries=0) as client:
        yield client


async def completions_say(url: str, text: str) -> str:
    async with openai_at(url) as client:
        answer = await client.chat.completions.create(model="m", messages=asked(text))
    return str(answer.choices[0].message.content)


async def completions_stream(url: str, text: str) -> AsyncIterator[str]:
    async with openai_at(url) as client:
        async with await client.chat.completions.create(model="m", messages=asked(text), stream=True) as parts:
            async for part in parts:
                yield part.choices[0].delta.content or ""


async def completions_call(url: str, text: str) -> Called:
    async with openai_at(url) as client:
        answer = await client.chat.completions.create(model="m", messages=asked(text), tools=TOOLS)
    (call,) = answer.choices[0].message.tool_calls
    return call.function.name, json.loads(call.function.arguments)


async def responses_say(url: str, text: str) -> str:
    async with openai_at(url) as client:
        return str((await client.responses.create(model="m", input=text)).output_text)


async def responses_stream(url: str, text: str) -> AsyncIterator[str]:
    async with openai_at(url) as client:
        async with await client.responses.create(model="m", input=asked(text), stream=True) as events:
            async for event in events:
                if event.type == "response.output_text.delta":
                    yield event.delta


async def responses_call(url: str, text: str) -> Called:
    tools = [{"type": "function", "strict": False, **FUNCTION}]
    async with openai_at(url) as client:
        answer = await client.responses.create(model="m", input=text, tools=tools)
    (call,) = [item for item in answer.output if item.type == "function_call"]
    return call.name, json.loads(call.arguments)


# anthropic


@asynccontextmanager
async def anthropic_at(url: str) -> AsyncIterator[Any]:
    async with anthropic.AsyncAnthropic(base_url=url, api_key="sk", max_retries=0) as client:
        yield client


async def anthropic_say(url: str, text: str) -> str:
    async with anthropic_at(url) as client:
        answer = await client.messages.create(model="m", messages=asked(text), max_tokens=99)
    return "".join(block.text for block in answer.content)


async def anthropic_stream(url: str, text: str) -> AsyncIterator[str]:
    async with anthropic_at(url) as client:
        async with client.messages.stream(model="m", messages=asked(text), max_tokens=99) as stream:
            async for piece in stream.text_stream:
                yield piece


async def anthropic_call(url: str, text: str) -> Called:
    tools = [{"name": TOOL, "description": "Look a name up.", "input_schema": PARAMETERS}]
    async with anthropic_at(url) as client:
        answer = await client.messages.create(model="m", messages=asked(text), max_tokens=99, tools=tools)
    (call,) = [block for block in answer.content if block.type == "tool_use"]
    return call.name, call.input


# langchain


def langchain_at(url: str) -> Any:
    from langchain_ollama import ChatOllama

    return ChatOllama(model="m", base_url=url)


async def langchain_say(url: str, text: str) -> str:
    return str((await langchain_at(url).ainvoke(text)).content)


async def langchain_stream(url: str, text: str) -> AsyncIterator[str]:
    async with aclosing(langchain_at(url).astream(text)) as parts:
        async for part in parts:
            yield str(part.content)


async def langchain_call(url: str, text: str) -> Called:
    answer = await langchain_at(url).bind_tools(TOOLS).ainvoke(text)
    (call,) = answer.tool_calls
    return call["name"], call["args"]


def langchain_blocking(url: str, text: str) -> tuple[str, str]:
    model = langchain_at(url)
    return str(model.invoke(text).content), "".join(str(part.content) for part in model.stream(text))


# litellm, by the two ways that it knows to Ollama


def litellm_by(provider: str) -> Client:
    def given(url: str, text: str) -> dict[str, Any]:
        return {"model": f"{provider}/m", "messages": asked(text), "api_base": url, "max_retries": 0}

    async def say(url: str, text: str) -> str:
        import litellm

        answer: Any = await litellm.acompletion(**given(url, text))
        return str(answer.choices[0].message.content)

    async def stream(url: str, text: str) -> AsyncIterator[str]:
        import litellm

        parts: Any = await litellm.acompletion(**given(url, text), stream=True)
        async with aclosing(parts):
            async for part in parts:
                yield part.choices[0].delta.content or ""

    async def call(url: str, text: str) -> Called:
        import litellm

        answer: Any = await litellm.acompletion(**given(url, text), tools=TOOLS)
        (made,) = answer.choices[0].message.tool_calls
        return made.function.name, json.loads(made.function.arguments)

    def blocking(url: str, text: str) -> tuple[str, str]:
        import litellm

        whole: Any = litellm.completion(**given(url, text))
        parts: Any = litellm.completion(**given(url, text), stream=True)
        return whole.choices[0].message.content, "".join(p.choices[0].delta.content or "" for p in parts)

    return Client(say=say, stream=stream, call=call, blocking=blocking)


# without async


def ollama_blocking(url: str, text: str) -> tuple[str, str]:
    with ollama.Client(host=url) as client:
        whole = client.chat(model="m", messages=asked(text)).message.content
        parts = [part.message.content for part in client.chat(model="m", messages=asked(text), stream=True)]
    return str(whole), "".join(map(str, parts))


def openai_blocking(url: str, text: str) -> tuple[str, str]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="ollama", max_retries=0) as client:
        whole: Any = client.chat.completions.create(model="m", messages=asked(text))
        with client.chat.completions.create(model="m", messages=asked(text), stream=True) as parts:
            said = "".join(part.choices[0].delta.content or "" for part in parts)
    return whole.choices[0].message.content, said


def anthropic_blocking(url: str, text: str) -> tuple[str, str]:
    given: Any = {"model": "m", "messages": asked(text), "max_tokens": 99}
    with anthropic.Anthropic(base_url=url, api_key="sk", max_retries=0) as client:
        whole: Any = client.messages.create(**given)
        with client.messages.stream(**given) as stream:
            said = "".join(stream.text_stream)
    return whole.content[0].text, said


CLIENTS = {
    "ollama": Client(say=ollama_say, stream=ollama_stream, call=ollama_call, blocking=ollama_blocking),
    "openai-completions": Client(
        say=completions_say, stream=completions_stream, call=completions_call, blocking=openai_blocking
    ),
    "openai-responses": Client(say=responses_say, stream=responses_stream, call=responses_call),
    "anthropic": Client(say=anthropic_say, stream=anthropic_stream, call=anthropic_call, blocking=anthropic_blocking),
    "langchain-ollama": Client(
        say=langchain_say, stream=langchain_stream, call=langchain_call, blocking=langchain_blocking
    ),
    "litellm-ollama": litellm_by("ollama"),
    "litellm-ollama-chat": litellm_by("ollama_chat"),
}

GUESTS = ("langchain-ollama", "litellm-ollama", "litellm-ollama-chat")
"""Those that live in a process of their own."""


async def leave_after_a_piece(client: Client, url: str, text: str) -> str:
    """Read the first piece of an answer that says something, and go."""
    async with aclosing(client.stream(url, text)) as pieces:  # type: ignore[type-var]
        async for piece in pieces:
            if piece:
                return piece
    return ""
