"""What was learnt through any door stands in the next prompt that it answers, is kept true there, and leaves with its memory."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.jobs.deps import rows
from tests.runtime.server import opened
from tests.stories.clients import completions_say, ollama_say
from tests.stories.plot import note_in
from tests.stories.stage import Got, Stage, stage

from festinger.client.memory import Memory
from festinger.ids import DEFAULT_AGENT, EVERY_SPACE, MAIN_SPACE, SessionId
from festinger.runtime.app import App
from festinger.services.access import issue_key
from festinger.store.repositories.auth import AccessRole

PRINTER = "The printer's driver is Gutenprint."
OTHER = "The printer's driver is Foomatic."


def library(app: App, session: str | None = None) -> Memory:
    """The handle that a Python program has."""
    named = SessionId(session) if session else None
    return Memory(space=MAIN_SPACE, agent=DEFAULT_AGENT, session=named, _app=app)


def chat(*said: str) -> list[dict[str, Any]]:
    """A conversation whose user said these things, each answered."""
    messages = [{"role": "user", "content": said[0]}]
    for text in said[1:]:
        messages += [{"role": "assistant", "content": "Certainly."}, {"role": "user", "content": text}]
    return messages


async def talk(at: Stage, *said: str) -> Got:
    return await at.post("/api/chat", {"model": "m", "messages": chat(*said), "stream": False})


def note(at: Stage) -> str:
    """The lines of the block in the newest words of the user, as the model server got them."""
    return note_in(at.model.heard[-1].newest)


async def key_of(at: Stage) -> dict[str, str]:
    """With what somebody comes in at the API."""
    _, secret = await issue_key(at.app, "root", role=AccessRole.ADMIN, space=EVERY_SPACE, agent=None, by="the test")
    return {"X-Festinger-Key": secret}


async def read(at: Stage, path: str, key: dict[str, str]) -> dict[str, Any]:
    async with at.http.get(f"{at.url}/admin/api/{path}", headers=key) as answer:
        found: dict[str, Any] = await answer.json()
    return found


async def logged(at: Stage, got: Got, key: dict[str, str]) -> dict[str, Any]:
    """What the log says of a request."""
    await at.kept()
    return await read(at, f"requests/{got.headers['x-festinger-request']}", key)


@pytest.mark.requirement("P-30", "P-31", "P-56")
async def test_what_was_learnt_by_http_stands_in_the_next_prompt_of_every_client(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path) as at:
        key = await key_of(at)
        await talk(at, "Where is the printer?")
        before = note(at)
        learnt = (await at.post("/admin/api/memories", {"text": PRINTER}, **key)).body["memory"]["id"]
        await ollama_say(at.url, "Where is the printer today?")
        by_ollama = note(at)
        await completions_say(at.url, "Is the printer there?")
        by_openai = note(at)
        got = await talk(at, "Take this to the printer.")
        once = note(at)
        await talk(at, "Take this to the printer.", "Is the printer on?")
        again = note(at)
        await talk(at, "How are you?")
        elsewhere = note(at)
        log = await logged(at, got, key)
        recall = log["details"]["recall"]
        await at.until(lambda: rows(at.app.store, "select id from recall where id = %(id)s", id=recall))
        asked = await read(at, f"recalls/{recall}", key)

    assert (before, elsewhere, again) == ("", "", "")
    assert by_ollama == by_openai == once == f"- {PRINTER}"
    assert got.memory.startswith("injected; notes=1")
    assert log["details"]["notes"] == [{"kind": "memory", "id": learnt, "version": 1, "why": "recalled"}]
    assert (asked["door"], [hit["id"] for hit in asked["hits"] if hit["shown"]]) == ("proxy", [learnt])


@pytest.mark.requirement("P-30")
async def test_what_another_process_learnt_stands_there_too_after_what_the_world_knows(
    database_url: str, tmp_path: Path
):
    async with stage(database_url, tmp_path) as at:
        async with opened(database_url, tmp_path / "other") as app:
            await library(app).learn("gnommoweb restarts with the script bounce.sh.")
        await at.post("/iknowthat", {"fact": "gnommoweb -isa website"})
        await talk(at, "How does gnommoweb restart?")
        lines = note(at).splitlines()

    assert lines == ["gnommoweb: [type] website", "- gnommoweb restarts with the script bounce.sh."]


@pytest.mark.requirement("P-36", "M-46")
async def test_a_disputed_memory_is_marked_the_held_text_never_shown_and_the_decision_told(
    database_url: str, tmp_path: Path
):
    said = ["Where is the printer?"]
    async with stage(database_url, tmp_path) as at:
        memory = library(at.app)
        await memory.learn(PRINTER, subject="printer")
        await talk(at, *said)
        first = note(at)
        held = await memory.learn(OTHER, subject="printer", origin="model")
        said.append("Thanks.")
        await talk(at, *said)
        disputed = note(at)
        elsewhere = await talk(at, "Which driver has the printer?")
        marked = note(at)
        (conflict,) = await rows(at.app.store, "select id from resolution_queue where status = 'pending'")
        await memory.settle(conflict["id"], decision="update", by="reviewer")
        said.append("Bye.")
        await talk(at, *said)
        decided = note(at)
        sent = at.model.heard

    assert held.action == "conflicted"
    assert first == f"- {PRINTER}"
    assert disputed == marked == f"- {PRINTER} (disputed)"
    assert elsewhere.memory.startswith("injected")
    assert decided == f"- {OTHER}"
    assert all("Foomatic" not in each.prompt for each in sent[:-1])


@pytest.mark.requirement("P-36")
async def test_a_forgotten_memory_leaves_the_blocks_of_every_history_at_once(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path) as at:
        memory = library(at.app)
        await memory.learn("The stapler is in the drawer.")
        printer = (await memory.learn(PRINTER)).memory
        assert printer is not None
        await talk(at, "Where are the printer and the stapler?")
        both = set(note(at).splitlines())
        await at.kept()
        await memory.forget(printer.id)
        got = await talk(at, "Where are the printer and the stapler?", "Thanks.")
        last = at.model.heard[-1].prompt
        await at.kept()
        blocks = await rows(at.app.store, "select block, notes from injection")

    assert both == {f"- {PRINTER}", "- The stapler is in the drawer."}
    assert "Gutenprint" not in last
    assert "- The stapler is in the drawer." in last
    assert got.memory.startswith("reused")
    assert len(blocks) == 1
    assert "Gutenprint" not in blocks[0]["block"]
    assert str(printer.id) not in str(blocks[0]["notes"])


@pytest.mark.requirement("P-30")
async def test_what_was_locked_away_replaced_or_another_agents_own_never_comes(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path) as at:
        memory = library(at.app)
        await memory.learn(OTHER, subject="printer")
        await memory.learn(PRINTER, subject="printer")
        await memory.for_agent("dobby").learn("The printer is called Gustav.", shared=False)
        kept = (await memory.learn("The printer eats paper.")).memory
        assert kept is not None
        await memory.archive(kept.id)
        await talk(at, "Tell me everything about the printer.")
        lines = note(at).splitlines()
        surfaced: list[UUID] = [row["memory_id"] for row in await rows(at.app.store, "select memory_id from surfacing")]

    assert lines == [f"- {PRINTER}"]
    assert surfaced == []
