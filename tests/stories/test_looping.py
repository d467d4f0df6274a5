"""An agent that goes round in circles is warned, shaken, shortened and stopped; a person lets it go on."""

import asyncio
import json
from pathlib import Path
from typing import Any

import openai
import pytest
from tests.runtime.server import told
from tests.stories.model import Turn
from tests.stories.stage import PATIENCE_S, Got, Stage, stage

from festinger.ids import EVERY_SPACE, MAIN_SPACE
from festinger.observability.checks import CheckSeverity
from festinger.services.access import issue_key
from festinger.store.repositories.auth import AccessRole
from festinger.store.repositories.request_log import find_request

NAMES = ("loop_detected", "loop_recovered", "loop_cut", "breaker_opened", "breaker_closed")
ROUND: list[dict[str, Any]] = [
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "read_file", "arguments": {"path": "build.py"}}}],
    },
    {"role": "tool", "content": "error: no such file"},
]
PHRASE = "I will try that once more. "


def circling(count: int, *more: dict[str, Any]) -> dict[str, Any]:
    """An agent that has read the same missing file so often."""
    messages = [{"role": "user", "content": "Please mend the build."}, *ROUND * count, *more]
    return {"model": "m", "messages": messages, "stream": False}


async def asks(at: Stage, body: dict[str, Any]) -> Got:
    return await at.post("/api/chat", body, X_Session_ID="agent-12345")


async def loops(at: Stage) -> list[dict[str, Any]]:
    """What was told of loops, the oldest first."""
    await at.kept()
    return [{"name": event.name, **event.payload} for event in await told(at.app, *NAMES)]


async def reviewer_of(at: Stage) -> str:
    """A reviewer's key."""
    _, key = await issue_key(at.app, "ann", role=AccessRole.REVIEWER, space=EVERY_SPACE, agent=None, by="test")
    return key


async def reviewed(at: Stage, key: str, method: str, path: str) -> Any:
    """What a reviewer is told."""
    async with at.http.request(method, at.url + path, headers={"X-Festinger-Key": key}) as answer:
        return await answer.json()


@pytest.mark.requirement("P-61", "P-70", "P-75", "P-76")
async def test_a_circling_agent_is_stopped_and_a_person_lets_it_go_on(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path) as at:
        said = [await asks(at, circling(count)) for count in range(1, 18)]
        key = await reviewer_of(at)
        seen = await reviewed(at, key, "GET", "/admin/api/loops")
        reset = await reviewed(at, key, "POST", "/admin/api/loops/agent-12345/reset")
        after = await asks(at, circling(18))
        events = await loops(at)
        logged = await find_request(at.app.store, MAIN_SPACE, said[15].headers["x-festinger-request"])

    assert [got.headers["x-festinger-loop"].partition("; did=")[2] for got in said] == [
        *[""] * 3,
        *["nudge"] * 2,
        *["nudge,temperature"] * 2,
        *["nudge,temperature,prune"] * 8,
        *["breaker"] * 2,
    ]
    assert len(at.model.heard) == 15 + 1
    assert "16 times" in said[15].body["message"]["content"]
    assert "To continue, send a message" in said[15].body["message"]["content"]
    assert [(loop["session"], loop["count"], loop["is_stopped"]) for loop in seen["live"]] == [
        ("agent-12345", 16, True)
    ]
    assert reset == {"reset": "agent-12345"}
    assert after.headers["x-festinger-loop"] == "level=0"
    assert [(event["name"], event.get("level")) for event in events] == [
        ("loop_detected", 1),
        ("loop_detected", 2),
        ("loop_detected", 3),
        ("loop_detected", 4),
        ("breaker_opened", None),
        ("loop_recovered", 4),
        ("breaker_closed", None),
    ]
    assert events[-1]["by"] == "key:ann"
    assert logged is not None
    assert "breaker" in json.dumps(logged.details)


@pytest.mark.requirement("P-63")
async def test_an_agent_that_finds_another_way_is_left_alone(database_url: str, tmp_path: Path):
    other: list[dict[str, Any]] = [{"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "list", "arguments": {}}}]},
             {"role": "tool", "content": "Makefile"}]  # fmt: skip

    async with stage(database_url, tmp_path) as at:
        for count in range(1, 7):
            await asks(at, circling(count))
        found = await asks(at, circling(6, *other))
        events = await loops(at)

    assert found.headers["x-festinger-loop"] == "level=0"
    assert at.model.heard[-1].body == circling(6, *other)
    assert [event["name"] for event in events] == ["loop_detected", "loop_detected", "loop_recovered"]


@pytest.mark.requirement("P-74", "P-76")
async def test_a_reply_that_never_ends_is_cut_and_its_tail_is_sent_once_from_then_on(database_url: str, tmp_path: Path):
    asked: list[Any] = [{"role": "user", "content": "Mend the build."}]

    async with stage(database_url, tmp_path) as at:
        at.model.says(Turn(text=PHRASE * 300, stalls=True), "Done.")
        async with openai.AsyncOpenAI(base_url=f"{at.url}/v1", api_key="x") as client:
            stream = await client.chat.completions.create(model="m", messages=asked, stream=True)
            parts = [part.choices[0] async for part in stream]
            reply = "".join(part.delta.content or "" for part in parts)
            later: list[Any] = [{"role": "assistant", "content": reply}, {"role": "user", "content": "Go on."}]
            await client.chat.completions.create(model="m", messages=[*asked, *later])
        events = await loops(at)
    sent = at.model.heard[-1].body

    assert parts[-1].finish_reason == "length"
    assert 2000 <= len(reply) < 3000
    assert [(event["name"], event["rule"], event["channel"]) for event in events] == [("loop_cut", "stale", "text")]
    assert len(sent["messages"][1]["content"]) < 4 * len(PHRASE)
    assert sent["max_tokens"] == 4096


@pytest.mark.requirement("P-70", "P-78")
async def test_new_thresholds_in_the_file_hold_from_the_next_request_on(database_url: str, tmp_path: Path):
    file = tmp_path / "festinger.yaml"

    async with stage(database_url, tmp_path) as at:
        settings = at.server.supervisor.settings
        before = await asks(at, circling(2))
        file.write_text("proxy: {loop: {thresholds: [2, 7, 8, 9]}}\n")
        await until(lambda: settings.now.proxy.loop.thresholds == (2, 7, 8, 9))
        after = await asks(at, circling(3))
        file.write_text("proxy: {loop: {thresholds: [2, 1]}}\n")
        await until(lambda: settings.problem is not None)
        still = await asks(at, circling(4))
        checks = await at.server.supervisor.checks()

    assert before.headers["x-festinger-loop"] == "level=0"
    assert after.headers["x-festinger-loop"] == "level=1; rule=same_call; count=3; did=nudge"
    assert still.headers["x-festinger-loop"] == "level=1; rule=same_call; count=4; did=nudge"
    assert any("proxy.loop.thresholds" in str(check) and check.severity is not CheckSeverity.OK for check in checks)


async def until(holds: Any) -> None:
    """Wait until the file was read."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - the file is watched by others, who tell nobody here
            await asyncio.sleep(0.01)
