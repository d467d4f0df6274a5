"""A server's end of its worker: what is sent, heard and reported, with a worker of the test's."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from tests.runtime.server import settings_of

from festinger.cli import worker as module
from festinger.cli.worker import ServerLink, WorkerProcess
from festinger.clock import system_stopwatch
from festinger.ids import AgentId, Scope, SpaceId
from festinger.memory.extract.turns import PersonTurn
from festinger.observability.metrics import DEGRADED
from festinger.proxy.statements import LearnStatus
from festinger.runtime.app import App

SCOPE = Scope(space=SpaceId("main"), agent=AgentId("default"))
TURN = PersonTurn(id=UUID(int=1), text="My cat is called Miro.")

ECHO = """
import json, sys
sys.stdin.readline()
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    said = json.loads(line)
    if said.get("wake"):
        print(json.dumps({"counts": [["festinger_degraded_total", ["test of a worker"], [3.0]]]}), flush=True)
    if "learn" in said:
        print(json.dumps({"learned": said["learn"], "things": len(said["turns"])}), flush=True)
    if "model" in said:
        sys.exit(3)
"""
DEAF = "import sys; sys.stdin.readline(); print('{\"ready\": true}', flush=True); sys.stdin.read()"


def worker(folder: Path, program: str, monkeypatch: pytest.MonkeyPatch) -> tuple[WorkerProcess, asyncio.Event]:
    monkeypatch.setattr(module, "COMMAND", (sys.executable, "-c", program))
    made, ready = WorkerProcess(settings_of(None, folder), stopwatch=system_stopwatch), asyncio.Event()
    made.on_ready = ready.set
    return made, ready


async def test_turns_are_learned_by_the_worker_and_its_counts_are_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made, ready = worker(tmp_path, ECHO, monkeypatch)
    assert made.learn(SCOPE, [TURN]) is None, "nobody is there yet"
    async with asyncio.timeout(60), made.running():
        await ready.wait()
        made.wake()
        learned = made.learn(SCOPE, [TURN])
        assert learned is not None
        things = await learned
        check = made.check()
    counted = DEGRADED.labels("test of a worker")._value.get()

    assert (things, counted, check.severity) == (1, 3.0, "ok")
    assert not made.is_running


async def test_a_signal_from_the_terminal_misses_the_worker_though_it_shares_the_session_in_which_niceness_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made, ready = worker(tmp_path, ECHO, monkeypatch)
    async with asyncio.timeout(60), made.running():
        await ready.wait()
        assert made.pid is not None
        group, session = os.getpgid(made.pid), os.getsid(made.pid)

    assert (group, session) == (made.pid, os.getsid(0))


async def test_a_worker_that_dies_is_started_again_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made, ready = worker(tmp_path, ECHO, monkeypatch)
    pauses: list[float] = []
    checks = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        checks.append(made.check())

    made._pause = pause
    async with asyncio.timeout(60), made.running():
        for _ in range(3):
            await ready.wait()
            ready.clear()
            made.use_model("ollama:m@http://127.0.0.1")
        await ready.wait()

    assert pauses == [1.0, 2.0, 4.0]
    assert {check.severity for check in checks} == {"warn"}


async def test_nobody_waits_for_a_worker_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "LEARN_SECONDS", 0.0)
    made, ready = worker(tmp_path, DEAF, monkeypatch)
    async with asyncio.timeout(60), made.running():
        await ready.wait()
        learned = made.learn(SCOPE, [TURN])
        assert learned is not None
        things = await learned

    assert things == 0


async def test_what_an_agent_hears_is_learned_in_order_and_between_the_turns_of_a_history(
    monkeypatch: pytest.MonkeyPatch,
):
    learned: list[str] = []

    async def learn(_app: App, _scope: Scope, turns: Sequence[PersonTurn]) -> LearnStatus:
        for turn in turns:
            learned.append(f"begin {turn.text}")
            await asyncio.sleep(0)
            learned.append(f"end {turn.text}")
        return LearnStatus(actions=("stored",) * len(turns))

    told: list[Mapping[str, Any]] = []
    monkeypatch.setattr(module, "learn_turns", learn)
    monkeypatch.setattr(module, "_say", told.append)
    deployment = settings_of(None, Path("unused")).deployment
    link, app = ServerLink(asyncio.StreamReader(), deployment), cast("App", None)

    async def hear(number: int, *texts: str, history: bool = False) -> None:
        turns = [{"id": str(UUID(int=number)), "text": text} for text in texts]
        await link._learn(app, {"learn": number, "scope": asdict(SCOPE), "turns": turns, "history": history})

    await asyncio.gather(hear(1, "old", "older", history=True), hear(2, "news", "more"), hear(3, "correction"))

    assert learned == [
        *("begin old", "end old"),
        *("begin news", "end news", "begin more", "end more"),
        *("begin correction", "end correction"),
        *("begin older", "end older"),
    ]
    assert sorted((each["learned"], each["things"]) for each in told) == [(1, 2), (2, 2), (3, 1)]


async def test_a_worker_that_reads_nothing_is_sent_no_more_than_it_can_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "MOST_UNSENT", 1000)
    made, ready = worker(tmp_path, "import time; print('{\"ready\": true}', flush=True); time.sleep(600)", monkeypatch)
    long = PersonTurn(id=UUID(int=2), text="x" * 200_000)
    async with asyncio.timeout(60), made.running():
        await ready.wait()
        asked = [made.learn(SCOPE, [long]) for _ in range(5)]
        done = [each is not None and each.done() for each in asked]

    assert (done[0], done[-1]) == (False, True)
