"""Several coding agents share the memory of a repository, and none of them notices when it is not there."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import shell
from tests.cli.shell import Shell, patiently
from tests.stories.coding_agents import PATIENT, CodingAgent, counts, notes, recorded

from mcp import Client, StdioServerParameters

__all__ = ["shell"]

HARBOUR = "The harbour office of Lisgate opens at 0730"
QUESTION = "When does the harbour office of Lisgate open?"


def git(*arguments: str, cwd: Path) -> None:
    subprocess.run(["git", *arguments], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def repository(person: Path) -> Path:
    made = person / "harbour"
    made.mkdir()
    git("init", "-q", cwd=made)
    who = ("-c", "user.name=p", "-c", "user.email=p@example.org")
    git(*who, "commit", "-q", "--allow-empty", "-m", "first", cwd=made)
    return made


def until_remembered(shell: Shell, text: str) -> None:
    for _ in patiently():
        if text in shell("memories", "--json").out:
            return


@pytest.mark.requirement("I-20", "I-21", "I-22")
def test_two_tools_one_repo(shell: Shell, repository: Path):
    git("worktree", "add", "-q", "../quay", cwd=repository)
    assert shell("connect", "claude-code").code == 0
    assert shell("connect", "codex").code == 0
    claude = CodingAgent(shell=shell, tool="claude-code", cwd=repository)
    codex = CodingAgent(shell=shell, tool="codex", cwd=repository.parent / "quay")
    with shell.server() as served:
        served.wait_until("/admin/readyz", 200)
        first = claude.hook("SessionStart")
        told = claude.turn(f"Remember that {HARBOUR[0].lower()}{HARBOUR[1:]}.", "Noted.")
        ended = claude.hook("SessionEnd")
        until_remembered(shell, "0730")
        briefed = codex.hook("SessionStart")
        brief_again = codex.turn(QUESTION, "At 0730.")
        other = CodingAgent(shell=shell, tool="codex", cwd=repository, session="another")
        asked = other.hook("UserPromptSubmit", QUESTION)
        asked_again = other.hook("UserPromptSubmit", QUESTION)
        compacted = other.hook("PreCompact")
        begun_again = other.hook("SessionStart")
        elsewhere = CodingAgent(shell=shell, tool="codex", cwd=shell.home, session="elsewhere").hook("SessionStart")

    said = (first, told, ended, briefed, brief_again, asked, asked_again, compacted, begun_again, elsewhere)
    assert {(each.code, each.err) for each in said} == {(0, "")}
    assert (first.out, told.out, ended.out) == ("", "", "")
    assert "0730" in notes(briefed)
    assert "0730" not in notes(brief_again), "the brief has shown it already"
    assert "0730" in notes(asked)
    assert (asked_again.out, compacted.out) == ("", "")
    assert "0730" in notes(begun_again), "after compaction the context is empty"
    assert "0730" not in notes(elsewhere), "another folder is another agent"
    assert counts(shell, "claude-code") == {"abstained": 2, "captured": 2}
    assert counts(shell, "codex")["answered"] == 3


@pytest.mark.requirement("I-21", "I-22")
def test_hook_under_fire(shell: Shell, repository: Path):
    shell("learn", HARBOUR, "--agent", str(repository))
    shell("connect", "claude-code")
    claude = CodingAgent(shell=shell, tool="claude-code", cwd=repository)
    quick = {"FESTINGER_HOOK_SECONDS": ""}
    before = claude.hook("UserPromptSubmit", QUESTION, **quick)
    with shell.server() as served:
        served.wait_until("/admin/readyz", 200)
        answered = claude.hook("UserPromptSubmit", QUESTION)
        served.process.send_signal(signal.SIGSTOP)
        frozen = claude.hook("UserPromptSubmit", QUESTION, **quick)
        served.process.send_signal(signal.SIGCONT)
        with ThreadPoolExecutor(24) as crowd:
            crowded = list(crowd.map(lambda _: claude.hook("UserPromptSubmit", QUESTION, **quick), range(48)))
        served.wait_until("/admin/readyz", 200)
        fresh = CodingAgent(shell=shell, tool="claude-code", cwd=repository, session="fresh")
        after = fresh.hook("UserPromptSubmit", QUESTION)
        served.stop(signal.SIGKILL)
    dead = claude.hook("UserPromptSubmit", QUESTION, **quick)

    silent = (before, frozen, dead)
    assert [(each.code, each.out, each.err) for each in silent] == [(0, "", "")] * 3
    assert {(each.code, each.out, each.err) for each in crowded} == {(0, "", "")}, "late, or shown already"
    assert "0730" in notes(answered)
    assert "0730" in notes(after), "the server took no harm"
    tally = counts(shell, "claude-code")
    assert tally["answered"] == 2
    assert tally["unreached"] >= 2, "and of a crowd, whoever's connection was not taken in time"
    assert tally["late"] >= 1
    assert sum(tally.values()) == 53


@pytest.mark.requirement("I-22")
def test_our_own_block_is_never_learned(shell: Shell, repository: Path):
    shell("learn", HARBOUR, "--agent", str(repository))
    shell("connect", "claude-code")
    shell("connect", "cursor")
    claude = CodingAgent(shell=shell, tool="claude-code", cwd=repository)
    cursor = CodingAgent(shell=shell, tool="cursor", cwd=repository)
    with shell.server() as served:
        served.wait_until("/admin/readyz", 200)
        block = notes(claude.turn(QUESTION, "At 0730."))
        line = next(line for line in block.splitlines() if "0730" in line)
        claude.turn(f"{block}\n\nRemember that the quay of Lisgate is closed on Sundays.", f"{block}\n\nNoted.")
        claude.turn(f"You said:\n{line}\nRemember that the lighthouse of Lisgate is green.", "Noted.")
        briefed = cursor.hook("sessionStart")
        silent = cursor.turn(f"{notes(briefed)}\n\nRemember that the ferry of Lisgate is red.", "Noted.")
        for topic in ("Sundays", "green", "red"):
            until_remembered(shell, topic)
        learned = shell("memories", "--json").json
        captured = json.dumps(
            [shell("episodes", "show", each["id"], "--json").json for each in shell("episodes", "--json").json]
        )

    assert (silent.code, silent.out) == (0, ""), "Cursor cannot be told anything at a prompt"
    assert "0730" in notes(briefed)
    assert sum("0730" in memory["content"] for memory in learned) == 1
    assert len(learned) == 4
    assert "<recollection>" not in captured
    assert "ferry" in captured


async def ask_tools(server: dict[str, Any], cwd: Path, **environment: str) -> str:
    """What the official MCP client is told by the server that a tool's configuration names."""
    started = StdioServerParameters(**server, cwd=cwd, env={**os.environ, **environment})
    async with Client(started) as client:
        found = await client.call_tool("recall", {"cue": QUESTION})
    return str(found.content)


@pytest.mark.requirement("I-20")
def test_the_tools_of_a_connected_agent_ask_the_memory_of_its_repository(shell: Shell, repository: Path):
    shell("learn", HARBOUR, "--agent", str(repository))
    shell("connect", "codex")
    shell("connect", "claude-code", "--project", str(repository))
    server = tomllib.loads((shell.home / ".codex" / "config.toml").read_text())["mcp_servers"]["festinger"]
    placed = json.loads((repository / ".mcp.json").read_bytes())["mcpServers"]["festinger"]
    given = {**shell.environment, "FESTINGER_DATABASE_URL": shell.database or ""}
    with shell.server() as served:
        served.wait_until("/admin/readyz", 200)
        here = asyncio.run(ask_tools(server, repository, **given))
        elsewhere = asyncio.run(ask_tools(server, shell.home, **given))
        in_project = asyncio.run(ask_tools({name: placed[name] for name in ("command", "args")}, shell.home, **given))

    assert "0730" in here
    assert "0730" not in elsewhere
    assert "0730" in in_project


DRIVER = """
import { readFileSync } from "node:fs"
const { Festinger } = await import(process.argv[2])
const { directory, replies, steps } = JSON.parse(readFileSync(0))
const client = { session: { messages: async () => replies } }
const hooks = await Festinger({ client, directory })
for (const [name, given] of steps) await hooks[name.startsWith("session.") ? "event" : name](...given)
console.log(JSON.stringify(steps.map(([, given]) => given[1]?.parts?.slice(1) ?? [])))
"""


@pytest.mark.requirement("I-21", "I-22")
@pytest.mark.skipif(shutil.which("node") is None, reason="OpenCode's plugin needs Node.js to run")
def test_opencode_adds_notes_beside_the_prompt_and_has_the_exchange_captured(shell: Shell, repository: Path):
    shell("learn", HARBOUR, "--agent", str(repository))
    assert shell("connect", "opencode").code == 0
    driver = shell.home / "driver.mjs"
    driver.write_text(DRIVER)
    plugin = (shell.home / ".config/opencode/plugins/festinger.js").rename(shell.home / "festinger.mjs")

    def run(*events: str, prompt: str, reply: str, session: str) -> list[list[dict[str, str]]]:
        def fill(event: str, text: str) -> object:
            return recorded("opencode", event, session=session, text=text)

        steps = [(event, fill(event, prompt)) for event in events]
        given = {"directory": str(repository), "replies": fill("session.messages", reply), "steps": steps}
        done = subprocess.run(
            ["node", driver, plugin],
            input=json.dumps(given),
            text=True,
            capture_output=True,
            check=True,
            env={**os.environ, **PATIENT},
        )
        shown: list[list[dict[str, str]]] = json.loads(done.stdout)
        return shown

    with shell.server() as served:
        served.wait_until("/admin/readyz", 200)
        told = "Remember that the ferry of Lisgate is red."
        first = run("chat.message", "chat.message", "session.idle", prompt=told, reply="Noted.", session="ses_1")
        until_remembered(shell, "ferry")
        events = ("chat.message", "experimental.session.compacting", "chat.message", "session.deleted")
        later = run(*events, prompt="Which color has the ferry of Lisgate?", reply="", session="ses_2")
        served.stop(signal.SIGKILL)
        dead = run("chat.message", prompt=QUESTION, reply="", session="ses_3")

    [brief], *_ = first
    assert "0730" in brief["text"]
    assert brief == {**brief, "type": "text", "synthetic": True, "messageID": "msg_01", "id": "prt_01f"}
    assert "red" in later[0][0]["text"]
    assert "red" in later[2][0]["text"], "after compaction the context is empty"
    assert dead == [[]]
