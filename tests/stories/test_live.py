"""A tiny real model behind the whole server: what was said once is in the prompt of the next conversation, and the model's
own words come through, in the proxy and from the agent. `make test-live` runs this."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from tests.llama import llama_server
from tests.mcp.clients import make_key
from tests.stories.stage import Stage, stage

from festinger.store.repositories.auth import AccessRole

pytestmark = pytest.mark.live

SAID = "gnommoweb is a repo of Glitch University."
ASKED = "What is gnommoweb?"
FEW = 8
"""Tokens of an answer: enough to come in pieces."""
A_BLOCK = 20
"""Tokens that a block with one line has at least."""


@pytest.fixture(scope="module")
def llama() -> Iterator[str]:
    with llama_server() as address:
        yield address


async def completed(base: str, text: str, **headers: str) -> Any:
    """What the model says to a text, greedily, with the headers of the answer."""
    async with openai.AsyncOpenAI(base_url=f"{base}/v1", api_key="none", max_retries=0) as client:
        return await client.chat.completions.with_raw_response.create(
            model="smollm2",
            messages=[{"role": "user", "content": text}],
            max_tokens=FEW,
            temperature=0,
            extra_headers=headers,
        )


async def streamed(base: str, text: str) -> str:
    async with openai.AsyncOpenAI(base_url=f"{base}/v1", api_key="none", max_retries=0) as client:
        stream = await client.chat.completions.create(
            model="smollm2", messages=[{"role": "user", "content": text}], max_tokens=FEW, temperature=0, stream=True
        )
        return "".join([part.choices[0].delta.content or "" async for part in stream if part.choices])


async def tokens(at: Stage, text: str, *, memory: str) -> tuple[int, str]:
    """How many tokens the model read, and what the server says of its memory."""
    answer = await completed(at.url, text, **{"X-Festinger-Memory": memory})
    return answer.parse().usage.prompt_tokens, answer.headers["x-festinger-memory"]


async def test_a_real_model_reads_the_note_of_what_was_said_once(llama: str, database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, proxy__upstream=llama) as at:
        directly = (await completed(llama, SAID)).parse().choices[0].message.content
        through = await streamed(at.url, SAID)
        await at.until_known("gnommoweb")
        noted, on = await tokens(at, ASKED, memory="on")
        plain, off = await tokens(at, ASKED, memory="off")

    assert through == directly
    assert off == "off; reason=asked"
    assert on.startswith("injected; notes=1;")
    assert noted >= plain + A_BLOCK


async def test_an_agent_talks_with_a_real_model_and_knows_in_the_next_conversation(
    llama: str, database_url: str, tmp_path: Path
):
    async with stage(database_url, tmp_path, proxy__upstream=llama, agent__tools=False) as at:
        headers = {"X-Festinger-Key": await make_key(at, AccessRole.REVIEWER)}
        replies = []
        for text in (SAID, ASKED):
            said = {"text": text, "new": True}
            async with at.http.post(f"{at.url}/admin/api/agents/default/say", json=said, headers=headers) as got:
                replies.append(await got.json())

    told, asked = replies
    assert (told["action"], asked["action"]) == ("said", "said")
    assert asked["reply"]
    assert asked["notes"] == told["learned"]
    assert told["session"] != asked["session"]
