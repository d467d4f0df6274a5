"""Agents at honest work are left alone over every protocol; agents that are stuck are told so."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import anthropic
import ollama
import openai
import pytest
from tests.stories.model import Turn
from tests.stories.stage import Stage, stage

TASK = "Please do what is on the list."
NOTICE = "[Loop guard]"
ROUNDS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What an agent does before its next request: a call with its result, or an answer, and how long that takes."""

    tool: str = ""
    arguments: dict[str, Any] | None = None
    result: str = ""
    seconds: float = 1.0
    answer: str = ""


def over(tool: str, values: Sequence[object], result: str = "ok", *, name: str = "path") -> list[Step]:
    return [Step(tool=tool, arguments={name: value}, result=result) for value in values]


def again(tool: str, arguments: dict[str, Any], results: Sequence[str], *, seconds: float = 1.0) -> list[Step]:
    return [Step(tool=tool, arguments=arguments, result=each, seconds=seconds) for each in results]


HONEST: dict[str, list[Step]] = {
    "files named by uuids": over("process", [f"in/{UUID(int=n * 2**97 + n)}.json" for n in range(ROUNDS)]),
    "rows": over("delete_row", [7_300_000 + n for n in range(ROUNDS)], "1 row deleted", name="id"),
    "commits": over("git_show", [f"{n * 2654435761 % 2**32:08x}" for n in range(ROUNDS)], "no conflicts", name="rev"),
    "times": over("metrics", [f"2026-03-01T{n:02d}:00:00Z" for n in range(24)], "0 alerts", name="at"),
    "addresses": over("fetch", [f"https://shop.example/items/{n}18fb2" for n in range(ROUNDS)], "200", name="url"),
    "temporary files": over("lint", [f"/tmp/tmp{n}x8f/out.py" for n in range(ROUNDS)], "clean"),
    "offsets": over("read", [n * 65_536 for n in range(ROUNDS)], "0 bad bytes", name="offset"),
    "a queue": again("pop", {"queue": "jobs"}, [f"job {UUID(int=n * 2**97)}" for n in range(ROUNDS)]),
    "pods": again("sh", {"command": "kubectl get pods"}, ["api-0  0/1  Pending"] * ROUNDS, seconds=20),
    "a build": again("check_build", {"id": 812}, ["running"] * ROUNDS, seconds=30),
    "a run": again("sh", {"command": "gh run view 44"}, ["in progress"] * ROUNDS, seconds=15),
    "sleep": again("sh", {"command": "sleep 30"}, [""] * ROUNDS, seconds=30),
    "key presses": again("press", {"key": "Down"}, ["ok"] * ROUNDS),
    "scrolling": again("scroll", {"dy": 400}, ["Scrolled by 400."] * ROUNDS),
    "the time": again("get_time", {}, [f"12:{n:02d}:07" for n in range(15)]),
    "output of a terminal": again(
        "code_execution", {"runtime": "output", "session": 0}, ["Still running, no new output."] * ROUNDS, seconds=15
    ),
    "edits and tests": [
        step
        for n in range(12)
        for step in (
            Step(tool="edit", arguments={"line": n, "text": f"x = {n}"}, result="edited"),
            Step(tool="sh", arguments={"command": "make test"}, result="1 failed: test_main"),
        )
    ],
}  # fmt: skip

QUERIES = ("late order refund", "refund for late orders", "late orders refund rules", "rules refund late order",
    "refund rules orders", "orders late refund", "refund late order rules", "rules for late refund",
    "order refund rules", "late refund orders", "refund of late order", "late order rules")  # fmt: skip
ENDINGS = ("now", "today", "again", "here", "indeed", "already", "finally", "anyway", "still", "then", "too", "sir")

STUCK: dict[str, list[Step]] = {
    "one call": again("read", {"path": "a.py"}, ["def main(): ..."] * 12),
    "another error each time": again(
        "sh", {"command": "make"}, [f"Error: cannot make target {word}" for word in ENDINGS]
    ),
    "a comment in the command": [
        Step(tool="sh", arguments={"command": f"make all  # attempt {n}"}, result="make: *** [all] Error 2")
        for n in range(12)
    ],
    "a counter in the command": [
        Step(tool="run", arguments={"script": "sync", "try": n}, result="Error: no route to the host")
        for n in range(12)
    ],
    "searches that find nothing": [
        Step(tool="search", arguments={"query": query}, result=f'No results for "{query}".') for query in QUERIES
    ],
    "an answer with one word changed": [
        Step(answer=f"I have checked the whole list and everything on it is done {word}.") for word in ENDINGS
    ],
    "a cycle of seven": over("read", [f"{name}.py" for name in "abcdefg"] * 4, "def main(): return None"),
}


def openai_history(steps: Sequence[Step]) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": TASK}]
    for at, step in enumerate(steps):
        if step.answer:
            messages += [{"role": "assistant", "content": step.answer}, {"role": "user", "content": "Continue."}]
            continue
        function = {"name": step.tool, "arguments": json.dumps(step.arguments)}
        call = {"id": f"c{at}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{at}", "content": step.result})
    return messages


def anthropic_history(steps: Sequence[Step]) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": TASK}]
    for at, step in enumerate(steps):
        if step.answer:
            messages += [{"role": "assistant", "content": step.answer}, {"role": "user", "content": "Continue."}]
            continue
        use = {"type": "tool_use", "id": f"t{at}", "name": step.tool, "input": step.arguments}
        result = {"type": "tool_result", "tool_use_id": f"t{at}", "content": step.result}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return messages


def ollama_history(steps: Sequence[Step]) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": TASK}]
    for step in steps:
        if step.answer:
            messages += [{"role": "assistant", "content": step.answer}, {"role": "user", "content": "Continue."}]
            continue
        call = {"function": {"name": step.tool, "arguments": step.arguments}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_name": step.tool, "content": step.result})
    return messages


Ask = Callable[[str, Sequence[Step]], Awaitable[str]]


@asynccontextmanager
async def by_openai(url: str) -> AsyncIterator[Ask]:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="x", max_retries=0) as client:

        async def ask(session: str, steps: Sequence[Step]) -> str:
            answer = await client.chat.completions.create(
                model="m", messages=openai_history(steps), extra_headers={"X-Session-ID": session}
            )
            return str(answer.choices[0].message.content)

        yield ask


@asynccontextmanager
async def by_anthropic(url: str) -> AsyncIterator[Ask]:
    async with anthropic.AsyncAnthropic(base_url=url, api_key="x", max_retries=0) as client:

        async def ask(session: str, steps: Sequence[Step]) -> str:
            answer = await client.messages.create(
                model="m", max_tokens=99, messages=anthropic_history(steps), extra_headers={"X-Session-ID": session}
            )
            return "".join(block.text for block in answer.content if block.type == "text")

        yield ask


@asynccontextmanager
async def by_ollama(url: str) -> AsyncIterator[Ask]:
    async with ollama.AsyncClient(host=url) as client:

        async def ask(session: str, steps: Sequence[Step]) -> str:
            client._client.headers["X-Session-ID"] = session
            return str((await client.chat(model="m", messages=ollama_history(steps))).message.content)

        yield ask


PROTOCOLS = {"openai": by_openai, "anthropic": by_anthropic, "ollama": by_ollama}


def growing(steps: Sequence[Step]) -> Iterator[Sequence[Step]]:
    return (steps[:end] for end in range(len(steps) + 1))


async def met(at: Stage, ask: Ask, session: str, steps: Sequence[Step]) -> tuple[bool, bool]:
    """Whether an agent that takes these steps is told something, and whether it is stopped."""
    before = len(at.model.heard)
    said = []
    for done in growing(steps):
        at.hands.forward(timedelta(seconds=done[-1].seconds if done else 0.0))
        said.append(await ask(session, done))
    return any(NOTICE in sent.prompt for sent in at.model.heard[before:]), any("Stopped:" in each for each in said)


@pytest.mark.requirement("P-60", "P-61", "P-75")
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_an_agent_at_honest_work_is_never_spoken_to_nor_stopped(protocol: str, database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, proxy__capture="off") as at, PROTOCOLS[protocol](at.url) as ask:
        found = {
            name: await met(at, ask, f"honest-{number:04d}", steps)
            for number, (name, steps) in enumerate(HONEST.items())
        }

    assert {name for name, (told, stopped) in found.items() if told or stopped} == set()


@pytest.mark.requirement("P-60", "P-61")
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_an_agent_that_is_stuck_is_told_so(protocol: str, database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, proxy__capture="off") as at, PROTOCOLS[protocol](at.url) as ask:
        found = {
            name: await met(at, ask, f"stuck-{number:05d}", steps) for number, (name, steps) in enumerate(STUCK.items())
        }

    assert {name for name, (told, _) in found.items() if not told} == set()


@pytest.mark.requirement("P-66", "P-67")
async def test_a_list_that_goes_on_streams_to_its_end(database_url: str, tmp_path: Path):
    rows = "".join(f"INSERT INTO users (id, role) VALUES ({n}, 'member');\n" for n in range(400))

    async with stage(database_url, tmp_path, proxy__capture="off") as at:
        at.model.says(Turn(text=rows))
        async with ollama.AsyncClient(host=at.url) as client:
            asked = [{"role": "user", "content": "Give me the users as SQL."}]
            parts = [part async for part in await client.chat(model="m", messages=asked, stream=True)]

    assert "".join(str(part.message.content) for part in parts) == rows
    assert parts[-1].done_reason == "stop"
