"""The clients that people use, pointed at the whole server and nothing else changed: they get what their model says,
and their next conversation knows what was said in the last one."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.stories.clients import CLIENTS, GUESTS, TOOL, leave_after_a_piece
from tests.stories.guest import Guest, Raised
from tests.stories.model import REPLY, ToolCall, Turn
from tests.stories.stage import PATIENCE_S, stage

SAID = "gnommoweb is a repo of Glitch University."
ASKED = "Please open gnommoweb now."
NOTE = "gnommoweb: [glitch_university] repo"

STREAMING = "The repo stands open before you, with everything in it that you left there."

each_client = pytest.mark.parametrize("client", CLIENTS)


async def does(client: str, operation: str, url: str, text: str, *, guest: Guest) -> Any:
    """What a client gives back, wherever it lives."""
    if client in GUESTS:
        return await guest.ask(client, operation, url, text)
    known = CLIENTS[client]
    if operation == "stream":
        return [piece async for piece in known.stream(url, text)]
    if operation == "leave":
        return await leave_after_a_piece(known, url, text)
    if operation == "blocking":
        assert known.blocking is not None
        return await asyncio.to_thread(known.blocking, url, text)
    return await (known.say if operation == "say" else known.call)(url, text)


@each_client
@pytest.mark.requirement("P-01", "P-15", "P-33")
async def test_what_was_said_once_is_a_note_in_the_next_conversation(
    client: str, guest: Guest, database_url: str, tmp_path: Path
):
    async with stage(database_url, tmp_path) as at:
        first = await does(client, "say", at.url, SAID, guest=guest)
        untouched = at.model.heard[-1].prompt
        await at.until_known("gnommoweb")
        at.model.says(STREAMING)
        pieces = await does(client, "stream", at.url, ASKED, guest=guest)
        noted = at.model.heard[-1].newest

    assert (first, "".join(pieces)) == (REPLY, STREAMING)
    assert len([piece for piece in pieces if piece]) > 3
    assert SAID in untouched
    assert "<recollection>" not in untouched
    assert noted.count("<recollection>") == 1
    assert NOTE in noted
    assert noted.rstrip().endswith(ASKED)


@pytest.mark.parametrize("client", [name for name, client in CLIENTS.items() if client.blocking])
@pytest.mark.requirement("P-01")
async def test_a_client_without_async_gets_the_same(client: str, guest: Guest, database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path) as at:
        whole, streamed = await does(client, "blocking", at.url, SAID, guest=guest)
        await at.until_known("gnommoweb")
        await does(client, "blocking", at.url, ASKED, guest=guest)

    assert (whole, streamed) == (REPLY, REPLY)
    assert [NOTE in sent.newest for sent in at.model.heard] == [False, False, True, True]


@each_client
@pytest.mark.requirement("P-15", "P-17")
async def test_a_tool_call_comes_through_a_prompt_with_a_note(
    client: str, guest: Guest, database_url: str, tmp_path: Path
):
    call = ToolCall(name=TOOL, arguments={"name": "gnommoweb — 🙂", "deep": {"n": [1, 2.5, None]}})
    text = "" if client != "litellm-ollama" else '{"name": "look_up", "arguments": {"name": "gnommoweb"}}'
    async with stage(database_url, tmp_path) as at:
        await at.post("/iknowthat", {"fact": "gnommoweb -isa repo"})
        at.model.says(Turn(text=text, call=call))
        name, arguments = await does(client, "call", at.url, ASKED, guest=guest)
        noted = at.model.heard[-1]

    assert name == TOOL
    assert arguments == (call.arguments if client != "litellm-ollama" else {"name": "gnommoweb"})
    assert "gnommoweb: [type] repo" in noted.newest


@each_client
@pytest.mark.parametrize("status", [404, 429, 500])
@pytest.mark.requirement("P-08")
async def test_an_error_of_the_model_server_is_raised_as_without_us(
    client: str, status: int, guest: Guest, database_url: str, tmp_path: Path
):
    failing = Turn(text="model 'm' is in a bad mood", status=status)
    async with stage(database_url, tmp_path) as at:
        at.model.says(*[failing] * 12)
        directly = await raised(does(client, "say", at.upstream, ASKED, guest=guest))
        at.model.script.clear()
        at.model.says(*[failing] * 12)
        through = await raised(does(client, "say", at.url, ASKED, guest=guest))

    assert through == directly
    assert "bad mood" in through[1]


async def raised(operation: Any) -> tuple[str, str]:
    """The type and the words of the error that a client raises."""
    try:
        said = await operation
    except Raised as error:
        return error.kind, str(error)
    except Exception as error:  # noqa: BLE001 - which error it is, is the question
        return type(error).__name__, str(error)
    raise AssertionError(f"nothing was raised, but said: {said}")


@each_client
@pytest.mark.requirement("P-06")
async def test_a_model_server_that_is_away_is_an_error_that_the_client_can_read(
    client: str, guest: Guest, database_url: str, tmp_path: Path
):
    nobody = "http://127.0.0.1:9"
    async with stage(database_url, tmp_path, proxy__upstream=nobody) as at:
        _, words = await raised(does(client, "say", at.url, ASKED, guest=guest))

    assert nobody in words


@each_client
@pytest.mark.requirement("P-19")
async def test_a_client_that_leaves_takes_its_request_with_it(
    client: str, guest: Guest, database_url: str, tmp_path: Path
):
    async with stage(database_url, tmp_path) as at:
        at.model.says(Turn(text=SAID * 3, stalls=True))
        heard = await does(client, "leave", at.url, "What is gnommoweb?", guest=guest)
        if client in GUESTS:
            guest.close()  # LiteLLM holds an answer that nobody reads any more until its process ends
        async with asyncio.timeout(PATIENCE_S):
            await at.model.left.wait()
        after = await CLIENTS["ollama"].say(at.url, "And dobby?")

    assert SAID.startswith(heard)
    assert after == REPLY
