"""`ollama run` with nothing changed but `OLLAMA_HOST`: it looks the model up, loads it with an empty request, and chats,
each time with the whole history."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.stories.model import REPLY
from tests.stories.plot import DECIDED, FACT, KNOWN, PENDING, note_in, played
from tests.stories.stage import Stage, stage


class Terminal:
    """One `ollama run`: what its user types, and what its user reads."""

    def __init__(self, at: Stage) -> None:
        self._at = at
        self._history: list[dict[str, str]] = []

    async def begin(self) -> None:
        await self._at.get("/")
        await self._at.post("/api/show", {"model": "m", "name": "m"})
        await self._at.post("/api/generate", {"model": "m", "prompt": "", "options": {}})

    async def type(self, text: str) -> str:
        self._history.append({"role": "user", "content": text})
        body: dict[str, Any] = {"model": "m", "messages": self._history, "options": {}}
        got = await self._at.post("/api/chat", body, user_agent="ollama/0.31.0 (amd64 linux)")
        said = "".join(json.loads(line)["message"]["content"] for line in got.raw.splitlines())
        self._history.append({"role": "assistant", "content": said})
        return said


@pytest.mark.requirement("P-33")
async def test_a_fact_is_remembered_a_contradiction_marked_and_decided_over_night(database_url: str, tmp_path: Path):
    answers = []
    async with stage(database_url, tmp_path) as at:

        async def new_terminal(text: str) -> None:
            terminal = Terminal(at)
            await terminal.begin()
            answers.append(await terminal.type(text))

        said, asked, contradicted, after = await played(at, new_terminal)
        empty = [sent.raw for sent in at.model.received if sent.path == "/api/generate"]

    assert set(answers) == {REPLY}
    assert said == FACT
    assert (note_in(asked), note_in(contradicted), note_in(after)) == (KNOWN, PENDING, DECIDED)
    assert set(empty) == {b'{"model": "m", "prompt": "", "options": {}}'}


@pytest.mark.requirement("P-36")
async def test_in_one_long_conversation_a_note_that_changed_is_told_again_and_no_other(
    database_url: str, tmp_path: Path
):
    async with stage(database_url, tmp_path) as at:
        terminal = Terminal(at)
        await terminal.begin()

        async def same_terminal(text: str) -> None:
            await terminal.type(text)

        notes = [note_in(text) for text in await played(at, same_terminal)]
        await terminal.type("And gnommoweb once more?")
        again = at.model.heard[-1].newest

    assert notes == ["", KNOWN, PENDING, DECIDED]
    assert note_in(again) == ""
