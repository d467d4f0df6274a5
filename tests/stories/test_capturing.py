"""What is said through the door is kept once, word for word, and told to whoever listens."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.server import told
from tests.stories.model import Turn
from tests.stories.stage import Stage, stage

from festinger.events.catalogue import Event
from festinger.ids import MAIN_SPACE, Origin, SessionId
from festinger.store.repositories.exchanges import session_messages
from festinger.store.repositories.request_log import find_request, list_requests

PATIENT: dict[str, Any] = {
    "proxy__memory_deadline_ms": 10_000,
    "store__hot_timeout_ms": 10_000,
    "store__statement_timeout_ms": 60_000,
}
"""So that a slow machine does not make memory late."""


def chat(*said: str, replies: Sequence[str] = (), stream: bool = False) -> dict[str, Any]:
    """A chat in which the user said these things and the model gave these replies between them."""
    messages = [{"role": "user", "content": said[0]}]
    for reply, text in zip(replies, said[1:], strict=True):
        messages += [{"role": "assistant", "content": reply}, {"role": "user", "content": text}]
    return {"model": "m", "messages": messages, "stream": stream}


async def kept(at: Stage, session: str) -> set[tuple[str, str]]:
    """Who said what in a session, as it is kept."""
    await at.kept()
    found = await session_messages(at.app.store, MAIN_SPACE, SessionId(session))
    said = [(message.origin.value, message.text) for message in found]
    assert len(said) == len(set(said))
    return set(said)


async def captured(at: Stage) -> list[Event]:
    await at.kept()
    return await told(at.app, "exchange_captured")


@pytest.mark.requirement("P-43")
async def test_both_sides_of_a_conversation_are_kept_and_told(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, **PATIENT) as at:
        at.model.says("Certainly.", "It is.")
        first = await at.post("/api/chat", chat("Deploy gnommoweb."))
        await at.post("/api/chat", chat("Deploy gnommoweb.", "Is it done?", replies=["Certainly."]))
        words = await kept(at, first.session)
        events = await told(at.app, "session_started", "exchange_captured")

    assert words == {
        ("person", "Deploy gnommoweb."),
        ("model", "Certainly."),
        ("person", "Is it done?"),
        ("model", "It is."),
    }
    started, one, two = events
    assert started.name == "session_started"
    assert started.payload == {"session": first.session, "agent": "default", "how": "new", "parent_session": None}
    assert (one.trace, one.session) == (first.headers["x-festinger-request"], first.session)
    assert [message["origin"] for message in one.payload["messages"]] == ["person"]
    assert one.payload["reply"] not in (None, two.payload["reply"])
    assert (one.payload["ended"], one.payload["model"]) == ("whole", "m")
    assert one.payload["tokens"] == {"read": 3, "written": 6}


@pytest.mark.requirement("P-44")
async def test_a_retry_and_a_regeneration_with_the_same_words_add_nothing(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, **PATIENT) as at:
        at.model.says("Certainly.", "It is.", "It is.", "It is.")
        await at.post("/api/chat", chat("Deploy gnommoweb."))
        for _ in range(3):
            last = await at.post("/api/chat", chat("Deploy gnommoweb.", "Is it done?", replies=["Certainly."]))
        words = await kept(at, last.session)
        events = await captured(at)

    assert words == {
        ("person", "Deploy gnommoweb."),
        ("model", "Certainly."),
        ("person", "Is it done?"),
        ("model", "It is."),
    }
    assert len(events) == 2


@pytest.mark.requirement("P-44")
async def test_a_regeneration_with_other_words_adds_only_those(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, **PATIENT) as at:
        at.model.says("Certainly.", "It is.", "By all means.")
        await at.post("/api/chat", chat("Deploy gnommoweb."))
        for _ in range(2):
            last = await at.post("/api/chat", chat("Deploy gnommoweb.", "Is it done?", replies=["Certainly."]))
        words = await kept(at, last.session)
        *_, again = await captured(at)

    assert {("model", "It is."), ("model", "By all means.")} <= words
    assert again.payload["messages"] == []


@pytest.mark.requirement("P-44")
async def test_a_history_that_is_replayed_after_a_restart_adds_nothing(database_url: str, tmp_path: Path):
    history = chat("Deploy gnommoweb.", "Is it done?", replies=["Certainly."])
    async with stage(database_url, tmp_path, **PATIENT) as at:
        at.model.says("Certainly.", "It is.")
        await at.post("/api/chat", chat("Deploy gnommoweb."))
        first = await at.post("/api/chat", history)
        before = await kept(at, first.session)
        counted = dict(at.app.world.encounters.waiting(MAIN_SPACE))
    async with stage(database_url, tmp_path, **PATIENT) as at:
        at.model.says("It is.")
        again = await at.post("/api/chat", history)
        after = await kept(at, first.session)
        events = await captured(at)
        counted_again = dict(at.app.world.encounters.waiting(MAIN_SPACE))

    assert again.session == first.session
    assert (after, len(events)) == (before, 2)
    assert "gnommoweb" in counted
    assert counted_again == {}


@pytest.mark.requirement("P-43")
async def test_secrets_and_long_outputs_of_tools_are_not_kept(database_url: str, tmp_path: Path):
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"
    body = {
        "model": "m",
        "stream": False,
        "messages": [
            {"role": "user", "content": f"My key is {secret}, use it."},
            {"role": "assistant", "tool_calls": [{"function": {"name": "look", "arguments": {}}}]},
            {"role": "tool", "content": "x" * 5000},
        ],
    }
    async with stage(database_url, tmp_path, **PATIENT) as at:
        at.model.says(f"I will use {secret}.")
        got = await at.post("/api/chat", body)
        words = await kept(at, got.session)

    by_origin = dict(words)
    assert len(by_origin["tool"]) == 2000
    assert secret not in json.dumps(by_origin)
    assert "[redacted" in by_origin["person"]
    assert "[redacted" in by_origin["model"]


@pytest.mark.requirement("P-43")
async def test_nothing_is_kept_where_capture_is_off(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, **PATIENT, proxy__capture="off") as at:
        got = await at.post("/api/chat", chat("Deploy gnommoweb."))
        words = await kept(at, got.session)
        events = await captured(at)

    assert (words, events) == (set(), [])


@pytest.mark.requirement("P-43")
async def test_what_was_said_where_nothing_may_be_learnt_is_not_learnt_later(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, **PATIENT) as at:
        at.model.says("Certainly.", "It is.")
        await at.post("/api/chat", chat("My secret name is Rumpel."), X_Festinger_Memory="read")
        more = chat("My secret name is Rumpel.", "Is it done?", replies=["Certainly."])
        got = await at.post("/api/chat", more)
        words = await kept(at, got.session)

    assert ("person", "My secret name is Rumpel.") not in words
    assert ("person", "Is it done?") in words


async def test_what_a_person_said_is_kept_though_the_answer_was_an_error(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, **PATIENT) as at:
        at.model.says(Turn(status=500, text="out of memory"), "Certainly.")
        await at.post("/api/chat", chat("Deploy gnommoweb."))
        got = await at.post("/api/chat", chat("Deploy gnommoweb."))
        words = await kept(at, got.session)

    assert words == {("person", "Deploy gnommoweb."), ("model", "Certainly.")}


async def leave(at: Stage, body: dict[str, Any]) -> None:
    """Ask, read what has come once the model has been asked, and leave."""
    begun = asyncio.Event()

    async def ask() -> None:
        async with at.http.post(f"{at.url}/api/chat", json=body) as answer:
            await answer.content.readany()
            begun.set()
            await answer.read()

    task = asyncio.create_task(ask())

    async def is_asked() -> bool:
        return begun.is_set() or (not body["stream"] and bool(at.model.heard))

    await at.until(is_asked)
    task.cancel()
    await asyncio.wait({task})


@pytest.mark.requirement("P-19", "P-44")
@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "awaited"])
async def test_a_client_that_goes_leaves_behind_what_was_said_so_far(streamed: bool, database_url: str, tmp_path: Path):
    reply = "It is deployed and it answers on every port."
    async with stage(database_url, tmp_path, **PATIENT) as at:
        at.model.says(Turn(text=reply, stalls=True))
        await leave(at, chat("Deploy gnommoweb.", stream=streamed))

        async def is_captured() -> bool:
            return bool(await captured(at))

        await at.until(is_captured)
        [event] = await captured(at)
        found = await session_messages(at.app.store, MAIN_SPACE, SessionId(event.payload["session"]))

    said = {message.origin: message.text for message in found}
    assert event.payload["ended"] == "client"
    assert said[Origin.PERSON] == "Deploy gnommoweb."
    assert (Origin.MODEL in said) == streamed
    assert reply.startswith(said.get(Origin.MODEL, ""))


async def test_a_request_can_be_looked_up_by_the_id_that_its_answer_carried(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, **PATIENT) as at:
        got = await at.post("/api/chat", chat("Deploy gnommoweb."))
        await at.kept()
        found = await find_request(at.app.store, MAIN_SPACE, got.headers["x-festinger-request"])
        listed = await list_requests(at.app.store, MAIN_SPACE)

    assert listed == [found]
    assert (found.session, found.route, found.model) == (got.session, "/api/chat", "m")
    assert (found.status, found.ended, found.memory) == (200, "whole", got.memory.partition(";")[0])
    assert found.details["how"] == "new"
    assert "Deploy" not in json.dumps(found.details)


async def test_the_log_holds_words_only_where_somebody_has_set_so(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, **PATIENT, proxy__log_text=True) as at:
        at.model.says("Certainly.")
        await at.post("/api/chat", chat("Deploy gnommoweb."))
        await at.kept()
        [found] = await list_requests(at.app.store, MAIN_SPACE)

    assert found.details["words"] == ["Deploy gnommoweb.", "Certainly."]


def tool(says: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "tool", "description": says, "parameters": {}}}


@pytest.mark.requirement("M-91")
async def test_what_tools_say_of_themselves_is_kept_once_in_a_session_and_again_when_it_changes(
    database_url: str, tmp_path: Path
):
    weather, time = "Tells the weather of a city.", "Tells the time of a city."
    async with stage(database_url, tmp_path, **PATIENT) as at:
        at.model.says("Certainly.", "It is.", "It was.")
        first = await at.post("/api/chat", {**chat("Is it warm?"), "tools": [tool(weather)]})
        more = chat("Is it warm?", "Is it late?", replies=["Certainly."])
        await at.post("/api/chat", {**more, "tools": [tool(weather)]})
        last = chat("Is it warm?", "Is it late?", "Thanks.", replies=["Certainly.", "It is."])
        await at.post("/api/chat", {**last, "tools": [tool(weather), tool(time)]})
        words = await kept(at, first.session)
        said = [[message["role"] for message in event.payload["messages"]] for event in await captured(at)]

    assert {text for origin, text in words if origin == "system"} == {weather, f"{weather}\n{time}"}
    assert said == [["system", "user"], ["user"], ["system", "user"]]
