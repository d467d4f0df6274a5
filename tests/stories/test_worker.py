"""The server and its worker as real processes: either may die at any moment, and nobody notices but `doctor`."""

import asyncio
import json
import signal
import urllib.request
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from tests.cli.shell import Served, Shell, patiently
from tests.stories.model import Model, serving_model
from tests.stories.test_nothing_lost import said_in

PATIENT = {
    "FESTINGER_EMBEDDING__MODEL": "hashed:",
    "FESTINGER_PROXY__MEMORY_DEADLINE_MS": "10000",
    "FESTINGER_PROXY__FIRST_MEMORY_DEADLINE_MS": "10000",
}
"""What a story tells must not hang on how quick the machine is."""
LEARNED = "select content from memory where status = 'active' and kind <> 'episodic'"


def chat(served: Served, *said: str) -> dict[str, str]:
    """One request; the headers of its answer."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": text} for text in said]
    body = json.dumps({"model": "m", "messages": messages, "stream": False}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{served.port}/api/chat", data=body, method="POST")
    with urllib.request.urlopen(request, timeout=60) as answer:
        answer.read()
        return {name.lower(): value for name, value in answer.headers.items()}


def worker_of(served: Served) -> psutil.Process | None:
    # One that was just killed is still a child, without a command line, until the server has seen it end.
    children = psutil.Process(served.process.pid).children()
    return next((child for child in children if "worker" in _command_of(child)), None)


def _command_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def is_working(shell: Shell) -> bool:
    """What `doctor` says of the worker."""
    server = json.loads((shell.home / "festinger" / "server.json").read_text())
    request = urllib.request.Request(f"{server['url']}/admin/api/doctor", headers={"X-Festinger-Key": server["key"]})
    with urllib.request.urlopen(request, timeout=60) as answer:
        checks = {check["name"]: check for check in json.load(answer)["checks"]}
    return bool(checks["worker.process"]["message"] == "The worker process works.")


async def until_working(served: Served, shell: Shell, *, not_pid: int = 0) -> psutil.Process:
    await asyncio.to_thread(served.wait_until, "/admin/readyz", 200)
    for _ in patiently():
        found = worker_of(served)
        if found is not None and found.pid != not_pid and await asyncio.to_thread(is_working, shell):
            return found
    raise AssertionError(served.log.read_text())


async def notes(served: Served, model: Model, question: str) -> str:
    await asyncio.to_thread(chat, served, question)
    return model.heard[-1].newest.removesuffix(question)


def learned_in(database_url: str) -> list[str]:
    with psycopg.connect(database_url) as connection:
        return [row[0] for row in connection.execute(LEARNED)]


@pytest.mark.requirement("P-30", "P-43", "F-14")
async def test_what_is_said_in_one_chat_is_known_in_the_next_and_a_dead_worker_loses_nothing(
    person: Path, database_url: str
):
    shell = Shell(home=person, database=database_url, environment=PATIENT)
    async with serving_model() as (upstream, model):
        with shell.server("--upstream", upstream) as served:
            worker = await until_working(served, shell)
            await asyncio.to_thread(chat, served, "I'm allergic to peanuts. What snack would you take on a hike?")
            for _ in patiently():
                if "peanuts" in await notes(served, model, "Am I allergic to peanuts?"):
                    break
            asked = await asyncio.to_thread(chat, served, "Please remember that the vault code changes on Mondays.")

            worker.kill()
            during = await asyncio.to_thread(chat, served, "Our staging database listens on port 5433.")
            successor = await until_working(served, shell, not_pid=worker.pid)
            for _ in patiently():
                learned, said = learned_in(database_url), said_in(database_url)
                if all(any("5433" in each for each in known) for known in (learned, said)):
                    break
            served.process.kill()
            served.process.wait()
            await asyncio.to_thread(psutil.wait_procs, [successor], timeout=60)

    assert asked["x-festinger-learned"] == "1; actions=stored"
    assert during["x-festinger-memory"].split(";")[0] in ("empty", "injected", "late")
    assert any("peanuts" in each for each in learned_in(database_url))
    assert "Our staging database listens on port 5433." in said_in(database_url)
    assert not successor.is_running(), "a worker without a server ends"


@pytest.mark.requirement("P-47", "F-14")
async def test_a_stopped_server_lets_its_worker_bring_everything_in_and_both_are_gone(person: Path, database_url: str):
    shell = Shell(home=person, database=database_url)
    async with serving_model() as (upstream, _):
        with shell.server("--upstream", upstream) as served:
            worker = await until_working(served, shell)
            await asyncio.to_thread(chat, served, "This is the last word.")
            code = await asyncio.to_thread(served.stop, signal.SIGTERM)
    status = await asyncio.to_thread(shell.real, "status", "--json")

    assert code == 0
    assert not worker.is_running()
    assert said_in(database_url) == ["This is the last word."]
    assert status.json["life"]["crashes"] == 0


async def test_one_process_can_do_it_all(person: Path, database_url: str):
    shell = Shell(home=person, database=database_url)
    async with serving_model() as (upstream, _):
        with shell.server("--upstream", upstream, "--no-worker") as served:
            await asyncio.to_thread(served.wait_until, "/admin/readyz", 200)
            await asyncio.to_thread(chat, served, "This is a word.")
            for _ in patiently():
                if said_in(database_url):
                    break
            worker = worker_of(served)
            await asyncio.to_thread(served.stop)

    assert worker is None
    assert said_in(database_url) == ["This is a word."]
