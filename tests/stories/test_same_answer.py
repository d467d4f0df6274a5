"""Same answer everywhere: the library, REST, the command line and MCP say the same of the same, but for ids and times."""

import asyncio
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.mcp.clients import client_at, make_key
from tests.stories.stage import Stage, stage

from festinger.client.memory import Memory
from festinger.ids import NO_SESSION, AgentId
from festinger.services.access import add_space

HARBOUR = "The harbour office of Lisgate opens at 0730."
LATER = "The harbour office of Lisgate opens at 0900."
CUE = "When does the harbour office of Lisgate open?"
SPOKEN = ("session", "session_id", "agent", "by", "source", "space_id", "door", "took", "change", "episode_id")
"""Fields that say through which interface and where something was said."""

Answers = dict[str, Any]
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z?")


def plain(value: Any) -> Any:
    """The document without ids, times and speakers."""
    if isinstance(value, dict):
        return {ID.sub("id", key): plain(each) for key, each in value.items() if key not in SPOKEN}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return TIME.sub("time", ID.sub("id", value)) if isinstance(value, str) else value


async def by_library(at: Stage, _key: str, _home: Path) -> Answers:
    memory = Memory(space=at.app.directory.need("library"), agent=AgentId("default"), session=NO_SESSION, _app=at.app)
    first = await memory.learn(HARBOUR, origin="model")
    assert first.memory is not None
    found = await memory.recall(CUE)
    again = await memory.learn(LATER, origin="model")
    whys = await memory.why(first.memory.id)
    observed = await memory.observe({found.items[0].id: "dismissed"}, recall=found.id)
    told: dict[str, Any] = {"learn": first, "recall": found, "observe": observed, "contradict": again, "why": whys}
    return {name: json.loads(json.dumps(each.as_json(), default=str)) for name, each in told.items()}


async def by_rest(at: Stage, key: str, _home: Path) -> Answers:
    async def ask(path: str, body: Any = None) -> Any:
        headers = {"x-festinger-key": key, "content-type": "application/json"}
        method = "GET" if body is None else "POST"
        url = f"{at.url}/admin/api/{path}?space=rest"
        async with at.http.request(method, url, json=body, headers=headers) as answer:
            return await answer.json()

    first = await ask("memories", {"text": HARBOUR})
    found = await ask("recall", {"cue": CUE})
    again = await ask("memories", {"text": LATER})
    whys = await ask(f"memories/{first['memory']['id']}/why")
    observed = await ask("outcomes", {"recall": found["id"], "outcomes": {found["items"][0]["id"]: "dismissed"}})
    return {"learn": first, "recall": found, "observe": observed, "contradict": again, "why": whys}


async def by_command(at: Stage, key: str, home: Path) -> Answers:
    async def run(*words: str) -> Any:
        where = ("--server", at.url, "--space", "command", "--json")
        environment = {**os.environ, "HOME": str(home), "FESTINGER_KEY": key}
        running = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "festinger", *words, *where, stdout=asyncio.subprocess.PIPE, env=environment
        )
        out, _ = await running.communicate()
        return json.loads(out)

    first = await run("learn", HARBOUR)
    found = await run("recall", CUE)
    again = await run("learn", LATER)
    whys = await run("why", first["memory"]["id"])
    observed = await run("observe", found["id"], "--dismissed", found["items"][0]["id"][:18])
    return {"learn": first, "recall": found, "observe": observed, "contradict": again, "why": whys}


async def by_mcp(at: Stage, key: str, home: Path) -> Answers:
    async with client_at(at, "http", home, key=key, query="?space=mcp") as client:

        async def call(name: str, **given: Any) -> Any:
            return (await client.call_tool(name, given)).structured_content

        first = await call("learn", text=HARBOUR)
        found = await call("recall", cue=CUE)
        again = await call("learn", text=LATER)
        whys = await call("why", id=first["id"])
        observed = await call("observe", recall=found["recall"], dismissed=found["notes"][0]["id"])
    return {"learn": first, "recall": found, "observe": observed, "contradict": again, "why": whys}


def as_tool(told: Answers) -> Answers:
    """The part of the whole documents that the tools show."""
    return {
        "learn": (told["learn"]["action"], told["learn"]["said"]),
        "contradict": (told["contradict"]["action"], told["contradict"]["said"]),
        "recall": [(each["text"], each["origin"], each["disputed"]) for each in told["recall"]["items"]],
        "why": (told["why"]["memory"]["status"], told["why"]["memory"]["confidence"], len(told["why"]["said"])),
    }


@pytest.mark.requirement("I-10", "R-02")
async def test_the_same_answer_everywhere(database_url: str, tmp_path: Path):
    interfaces: dict[str, Callable[[Stage, str, Path], Awaitable[Answers]]] = {
        "library": by_library,
        "rest": by_rest,
        "command": by_command,
        "mcp": by_mcp,
    }
    async with stage(database_url, tmp_path) as at:
        key = await make_key(at)
        for name in interfaces:
            await add_space(at.app, name)
        told = {name: plain(await tell(at, key, tmp_path)) for name, tell in interfaces.items()}

    library, mcp = told["library"], told.pop("mcp")
    for name in library:
        assert (name, told["rest"][name]) == (name, library[name])
        assert (name, told["command"][name]) == (name, library[name])
    shown = as_tool(library)
    assert (mcp["learn"]["action"], mcp["learn"]["said"]) == shown["learn"]
    assert (mcp["contradict"]["action"], mcp["contradict"]["said"]) == shown["contradict"]
    assert [(each["text"], each["origin"], each["disputed"]) for each in mcp["recall"]["notes"]] == shown["recall"]
    assert (mcp["why"]["status"], mcp["why"]["confidence"], len(mcp["why"]["said"])) == shown["why"]
    effects = {
        each: {key: value for key, value in effect.items() if key in ("outcome", "confidence")}
        for each, effect in library["observe"]["effects"].items()
    }
    assert mcp["observe"]["moved"] == effects
