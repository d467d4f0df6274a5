"""What a server does with the events of coding agents."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.server import told
from tests.stories.stage import Stage, stage

from festinger.ids import MAIN_SPACE, Scope, SessionId
from festinger.memory.episodes.store import load_page_of_episodes
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.statement import LearnRequest
from festinger.runtime.supervisor import HookEvent
from festinger.services.access import issue_key
from festinger.store.repositories.auth import AccessRole
from festinger.store.repositories.exchanges import session_messages
from festinger.text.budget import estimate_tokens

AGENT = "/home/p/harbour"
HARBOUR = "The harbour office of Lisgate opens at 0730."
QUESTION = "When does the harbour office of Lisgate open?"


@asynccontextmanager
async def hooked(database_url: str, folder: Path, **flags: Any) -> AsyncIterator[tuple[Stage, str]]:
    """A server that knows one thing, and a key for hooks."""
    async with stage(database_url, folder, **flags) as at:
        _, key = await issue_key(at.app, "hooks", role=AccessRole.HOOK, space=MAIN_SPACE, agent=None, by="test")
        await learn(at.app.memory.deps, scope(), LearnRequest(text=HARBOUR))
        yield at, key


def scope() -> Scope:
    return Scope(space=MAIN_SPACE, agent=AGENT, session=SessionId("before"))  # type: ignore[arg-type]


async def send(
    at: Stage, key: str, event: str, text: str = "", *, tool: str = "claude-code", session: str = "s"
) -> str:
    body = {"tool": tool, "event": event, "session": session, "agent": AGENT, "model": "m", "text": text}
    got = await at.post("/admin/api/hooks", body, X_Festinger_Key=key)
    assert got.status == 200, got.raw
    shown: str = got.body["text"]
    return shown


async def kept(at: Stage, session: str) -> list[tuple[str, str]]:
    await at.kept()
    found = await session_messages(at.app.store, MAIN_SPACE, SessionId(session))
    return sorted((message.origin.value, message.text) for message in found)


@pytest.mark.requirement("I-21")
async def test_a_stop_is_captured_once_as_the_proxy_captures_an_exchange(database_url: str, tmp_path: Path):
    async with hooked(database_url, tmp_path) as (at, key):
        for prompt, reply in (("Deploy it.", "Done."), ("Deploy it.", "Done.")):
            await send(at, key, "prompt", prompt)
            await send(at, key, "stop", reply)
            await send(at, key, "stop", reply)
        await send(at, key, "stop", "And one thing more.")
        words = await kept(at, "claude-code:s")
        events = await told(at.app, "session_started", "exchange_captured")

    both = [("model", "Done."), ("person", "Deploy it.")]
    assert words == sorted([*both, *both, ("model", "And one thing more.")])
    started, *captured = events
    assert started.agent == AGENT
    assert [(each.payload["ended"], each.payload["model"]) for each in captured] == [("whole", "m")] * 3


@pytest.mark.requirement("I-21")
async def test_a_brief_is_short_and_a_note_is_shown_once_until_the_session_begins_again(
    database_url: str, tmp_path: Path
):
    async with hooked(database_url, tmp_path) as (at, key):
        first = await send(at, key, "prompt", QUESTION)
        again = await send(at, key, "prompt", QUESTION)
        nothing = await send(at, key, "prompt", "Thanks!")
        brief = await send(at, key, "start")
        known = await send(at, key, "prompt", QUESTION)
        other = await send(at, key, "prompt", QUESTION, session="other")
        cursor = await send(at, key, "prompt", QUESTION, tool="cursor")

    assert "0730" in first
    assert (again, nothing, cursor) == ("", "", "")
    assert "0730" in brief
    assert estimate_tokens(brief) <= 600
    assert "0730" not in known
    assert "0730" in other


@pytest.mark.requirement("I-21")
async def test_a_note_that_came_too_late_is_not_taken_as_shown(database_url: str, tmp_path: Path):
    async def gone() -> bool:
        return True

    async with hooked(database_url, tmp_path) as (at, key):
        spoken = Scope(space=MAIN_SPACE, agent=AGENT, session=SessionId("claude-code:s"))  # type: ignore[arg-type]
        event = HookEvent(scope=spoken, kind="prompt", text=QUESTION, model="", wants_notes=True)
        assert at.server.supervisor.handle_hook is not None
        late = await at.server.supervisor.handle_hook(at.app, event, gone)
        _reader, writer = await asyncio.open_connection("127.0.0.1", int(at.url.rpartition(":")[2]))
        body = json.dumps(
            {"tool": "claude-code", "event": "prompt", "session": "s", "agent": AGENT, "text": QUESTION}
        ).encode()
        head = f"POST /admin/api/hooks HTTP/1.1\r\nHost: localhost\r\nX-Festinger-Key: {key}\r\nContent-Length: {len(body)}"
        writer.write(f"{head}\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        in_time = await send(at, key, "prompt", QUESTION)

    assert "0730" in late
    assert "0730" in in_time


@pytest.mark.requirement("I-21")
async def test_compaction_and_the_end_of_a_session_close_its_episode(database_url: str, tmp_path: Path):
    async with hooked(database_url, tmp_path) as (at, key):
        await send(at, key, "close")
        await send(at, key, "prompt", "Deploy it.")
        await send(at, key, "stop", "Done.")
        await at.kept()

        async def begun() -> bool:
            return bool(await load_page_of_episodes(at.app.memory.deps, MAIN_SPACE, limit=1))

        await at.until(begun)
        await send(at, key, "close")
        [episode] = await load_page_of_episodes(at.app.memory.deps, MAIN_SPACE, limit=5)

    assert (episode.session_id, episode.agent_id) == ("claude-code:s", AGENT)
    assert episode.closed_at is not None


@pytest.mark.requirement("I-21")
async def test_nothing_is_captured_where_capture_is_off(database_url: str, tmp_path: Path):
    async with hooked(database_url, tmp_path, proxy__capture="off") as (at, key):
        await send(at, key, "prompt", "Deploy it.")
        await send(at, key, "stop", "Done.")

        assert await kept(at, "claude-code:s") == []


@pytest.mark.requirement("I-20")
async def test_a_key_for_hooks_opens_nothing_else_and_others_do_not_serve_hooks(database_url: str, tmp_path: Path):
    async with hooked(database_url, tmp_path) as (at, key):
        _, agent = await issue_key(at.app, "agent", role=AccessRole.AGENT, space=MAIN_SPACE, agent=None, by="test")
        own = [
            await at.post("/admin/api/recall", {"cue": QUESTION}, X_Festinger_Key=key),
            await at.post("/admin/api/memories", {"text": "I am root."}, X_Festinger_Key=key),
            await at.post("/api/chat", {"model": "m", "messages": []}, X_Festinger_Key=key),
            await at.post("/admin/api/hooks", {}, X_Festinger_Key=agent),
        ]
        keyless = await at.post("/admin/api/hooks", {})
        broken = await at.post("/admin/api/hooks", {"tool": "vi"}, X_Festinger_Key=key)

    assert [got.status for got in own] == [403] * 4
    assert (keyless.status, broken.status) == (401, 422)
    assert at.model.heard == []
