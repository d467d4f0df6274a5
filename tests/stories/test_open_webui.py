"""Open WebUI with nothing changed but its address: chats that stream, side requests for titles and tags, models that
are loaded and unloaded."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.stories.model import REPLY
from tests.stories.plot import CONTRADICTION, DECIDED, FACT, KNOWN, PENDING, note_in, played
from tests.stories.stage import Stage, parents, stage

LONG = (
    "The website gnommoweb is served by two machines, and both of them were restarted in the night because the "
    "disk of the first one had run full; nothing was lost, and the second one has taken over the load meanwhile."
)
TITLE = (
    "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n"
    "### Guidelines:\n- The title should clearly represent the main theme.\n### Output:\n"
    'JSON format: {{ "title": "your concise title here" }}\n### Chat History:\n<chat_history>\n{history}\n'
    "</chat_history>"
)
TAGS = (
    "### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history.\n"
    "### Chat History:\n<chat_history>\n{history}\n</chat_history>"
)


def chat(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], "stream": True, **more}


async def ask(at: Stage, text: str) -> str:
    """A chat as the front end sends it; what its user reads."""
    got = await at.post("/api/chat", chat(text, options={}), user_agent="Python/3.11 aiohttp/3.12")
    return "".join(json.loads(line)["message"]["content"] for line in got.raw.splitlines())


@pytest.mark.requirement("P-33")
async def test_a_fact_is_remembered_a_contradiction_marked_and_decided_over_night(database_url: str, tmp_path: Path):
    answers = []
    async with stage(database_url, tmp_path) as at:

        async def new_chat(text: str) -> None:
            answers.append(await ask(at, text))

        said, asked, contradicted, after = await played(at, new_chat)

    assert set(answers) == {REPLY}
    assert said == FACT
    assert (note_in(asked), note_in(contradicted), note_in(after)) == (KNOWN, PENDING, DECIDED)
    assert contradicted.endswith(CONTRADICTION)


@pytest.mark.parametrize("task", [TITLE, TAGS], ids=["title", "tags"])
@pytest.mark.requirement("P-26")
async def test_what_it_asks_for_itself_gets_no_notes_and_teaches_nothing(task: str, database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path) as at:
        await at.post("/iknowthat", {"fact": "gnommoweb -isa website"})
        side = json.dumps(chat(task.format(history="USER: dobby is an agent. ASSISTANT: Yes."))).encode()
        got = await at.post("/api/chat", side)
        forwarded = at.model.heard[-1].raw
        about_it = await at.post("/api/chat", chat(task.format(history="USER: Tell me of gnommoweb.")))
        await ask(at, "ramanujan is a server.")
        await at.until_known("ramanujan")
        learnt = parents(await at.world(), "dobby")

    assert forwarded == side
    assert (got.memory, about_it.memory) == ("off; reason=side", "off; reason=side")
    assert learnt == {}


@pytest.mark.requirement("P-26")
async def test_a_request_that_quotes_what_was_just_answered_is_a_side_request(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path) as at:
        await at.post("/iknowthat", {"fact": "gnommoweb -isa website"})
        at.model.says(LONG)
        await ask(at, "What happened last night?")
        await at.kept()
        quoting = await at.post("/api/chat", chat(f"Give three questions that could follow this: {LONG}"))

    assert quoting.memory == "off; reason=side"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/generate", {"model": "m", "keep_alive": 0}),
        ("/api/generate", {"model": "m", "prompt": "", "keep_alive": 0}),
        ("/api/generate", {"model": "m"}),
        ("/api/chat", {"model": "m", "messages": [], "keep_alive": 0}),
        ("/api/chat", {"model": "m", "messages": []}),
    ],
    ids=["unload", "unload-empty-prompt", "load", "unload-chat", "load-chat"],
)
@pytest.mark.requirement("P-39")
async def test_loading_and_unloading_a_model_passes_byte_for_byte(
    path: str, body: dict[str, Any], database_url: str, tmp_path: Path
):
    sent = json.dumps(body, indent=1).encode()
    async with stage(database_url, tmp_path) as at:
        await at.post("/iknowthat", {"fact": "gnommoweb -isa website"})
        got = await at.post(path, sent)

    assert at.model.received[-1].raw == sent
    assert got.body["done_reason"] == ("unload" if "keep_alive" in body else "load")
    assert got.memory == "off; reason=empty"
