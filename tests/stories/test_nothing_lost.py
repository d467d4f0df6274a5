"""The store goes away, processes die and others take over: nothing that was said is lost or said twice."""

import asyncio
import itertools
import json
import signal
import urllib.request
from contextlib import suppress
from datetime import timedelta
from http import HTTPStatus
from itertools import pairwise
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import pytest
from tests.cli.shell import Served, Shell, patiently
from tests.jobs.deps import drain
from tests.memory.remembering import memories
from tests.runtime.server import MONDAY, Hands, told
from tests.stories.model import REPLY, serving_model
from tests.stories.outage import outage
from tests.stories.stage import PATIENCE_S, Stage, stage
from tests.stories.test_capturing import PATIENT, captured, chat, kept

from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, Origin, SessionId, cause
from festinger.proxy.capture import recorder
from festinger.proxy.context.build import MOST_OPEN
from festinger.store.repositories.exchanges import find_sessions
from festinger.world.learn import iknowthat

REQUESTS = 60
SAID = "select text from exchange_message where origin = 'person' order by text"


def said_in(database_url: str) -> list[str]:
    with psycopg.connect(database_url) as connection:
        return [row[0] for row in connection.execute(SAID)]


@pytest.mark.requirement("P-47")
async def test_what_was_said_while_the_store_was_away_is_there_once_and_in_order(database_url: str, tmp_path: Path):
    texts = [f"This is number {number:03}." for number in range(REQUESTS)]
    async with stage(database_url, tmp_path, proxy__memory_deadline_ms=50, proxy__first_memory_deadline_ms=50) as at:
        await at.post("/api/chat", chat("Remember this."))
        await at.kept()
        with outage(database_url):
            answers = [await at.post("/api/chat", chat(text)) for text in texts]
            spooled = await spool_holds(tmp_path, REQUESTS)
        await at.kept()
        events = [event for event in await captured(at) if event.trace]
        said = said_in(database_url)
        left = at.server.writer.spooled
        checks = {check.name: check.severity for check in await at.server.supervisor.checks()}

    assert {(answer.status, answer.body["message"]["content"]) for answer in answers} == {(200, REPLY)}
    assert spooled
    assert said == sorted(["Remember this.", *texts])
    asked = [answer.headers["x-festinger-request"] for answer in answers]
    assert [event.trace for event in events if event.trace in asked] == asked
    assert left == 0
    assert checks["proxy.capture"] == checks["proxy.spool"] == "ok"


@pytest.mark.requirement("P-47")
async def test_what_is_to_be_remembered_while_the_store_is_away_does_not_hold_up_the_answer_and_is_learned_later(
    database_url: str, tmp_path: Path
):
    asked = "Please remember that the vault code changes on Mondays."
    async with stage(database_url, tmp_path, store__hot_timeout_ms=50, proxy__first_memory_deadline_ms=50) as at:
        store = at.app.store
        with outage(database_url):
            await at.post("/api/chat", chat("How are you?"))
            async with asyncio.timeout(PATIENCE_S):
                while not store.is_database_down:  # noqa: ASYNC110 - the pool tells nobody
                    await asyncio.sleep(0.01)
            # The store is given a minute to answer: whoever waited for it would not say why it is late.
            answer = await at.post("/api/chat", chat(asked))
            spooled = await spool_holds(tmp_path, 2)
        await at.kept()
        await drain(at.app.jobs)
        await at.server.learner.settled(MAIN_SPACE, DEFAULT_AGENT)
        learned = [each.content for each in await memories(store, "active")]

    assert answer.body["message"]["content"] == REPLY
    assert answer.headers["x-festinger-learned"] == "pending; reason=StoreDown"
    assert spooled
    assert learned == ["The vault code changes on Mondays"]


async def spool_holds(folder: Path, exchanges: int) -> bool:
    """Wait until so many exchanges lie in the spool."""
    async with asyncio.timeout(PATIENCE_S):
        while spooled_in(folder) < exchanges:  # noqa: ASYNC110 - a file tells nobody that it grows
            await asyncio.sleep(0.01)
    return True


def spooled_in(folder: Path) -> int:
    lines = [line for path in folder.rglob("*.spool") for line in path.read_bytes().splitlines()]
    return sum(b'"kind":"exchange"' in line for line in lines)


def ask(served: Served, body: dict[str, Any]) -> int:
    request = urllib.request.Request(
        f"http://127.0.0.1:{served.port}/api/chat", data=json.dumps(body).encode(), method="POST"
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        answer.read()
        return int(answer.status)


@pytest.mark.requirement("P-47", "F-14")
async def test_a_server_that_is_killed_without_a_store_leaves_its_spool_to_the_next(person: Path, database_url: str):
    shell = Shell(home=person, database=database_url)
    texts = [f"This is number {number}." for number in range(5)]
    async with serving_model() as (upstream, _):
        with outage(database_url), shell.server("--upstream", upstream) as served:
            # Its own pages answer once the rooms are loaded; from then on it listens.
            await asyncio.to_thread(served.wait_until, "/admin/readyz", 503)
            answers = [await asyncio.to_thread(ask, served, chat(text)) for text in texts]
            spooled = await spool_holds(person, len(texts))
            served.process.kill()
            served.process.wait()
        [file] = (person / "festinger" / "spool").glob("*.spool")
        with file.open("ab") as torn:
            torn.write(b'0badc0de {"kind":"exch')
        with shell.server("--upstream", upstream) as served:
            await asyncio.to_thread(served.wait_until, "/admin/readyz", 200)
            for _ in patiently():
                if len(said := said_in(database_url)) >= len(texts):
                    break
            served.stop()
        bad = (person / "festinger" / "spool" / "spool.bad").read_bytes()

    assert answers == [200] * len(texts)
    assert spooled
    assert said == sorted(texts)
    assert said_in(database_url) == sorted(texts)
    assert bad == b'0badc0de {"kind":"exch\n'


CLIENTS, ROUNDS, DELIVERIES = 4, 1, 25


async def chat_until_gone(served: Served, name: str, delivered: list[str], enough: asyncio.Event) -> None:
    """One client that sends its next message when it has read the whole answer to the last one."""
    async with aiohttp.ClientSession() as http:
        for number in itertools.count():
            text = f"This is number {name}-{number}."
            body = {**chat(text), "stream": number % 2 == 0}
            try:
                async with http.post(f"http://127.0.0.1:{served.port}/api/chat", json=body) as answer:
                    await answer.read()
            except (aiohttp.ClientError, OSError):
                return
            if answer.status == HTTPStatus.OK:
                delivered.append(text)
            if len(delivered) >= DELIVERIES:
                enough.set()


@pytest.mark.requirement("P-47", "F-14")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_what_was_delivered_before_a_kill_or_a_stop_is_in_the_store_once(
    person: Path, database_url: str, number: signal.Signals
):
    shell = Shell(home=person, database=database_url)
    delivered: list[str] = []
    async with serving_model() as (upstream, _):
        for round_number in range(ROUNDS):
            got: list[str] = []
            enough = asyncio.Event()
            with shell.server("--upstream", upstream) as served:
                await asyncio.to_thread(served.wait_until, "/admin/readyz", 200)
                async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as clients:
                    for client in range(CLIENTS):
                        clients.create_task(chat_until_gone(served, f"{round_number}-{client}", got, enough))
                    await enough.wait()
                    await asyncio.to_thread(served.stop, number)
            delivered += got
        with shell.server("--upstream", upstream) as served:
            await asyncio.to_thread(served.wait_until, "/admin/readyz", 200)
            for _ in patiently():
                if set(delivered) <= set(said_in(database_url)):
                    break
            served.stop()

    said = said_in(database_url)
    assert len(delivered) >= ROUNDS * DELIVERIES
    assert sorted(set(delivered) - set(said)) == []
    assert len(said) == len(set(said))


@pytest.mark.requirement("P-47")
async def test_what_passes_before_the_program_is_loaded_is_captured(person: Path, database_url: str):
    shell = Shell(home=person, database=database_url)
    async with serving_model() as (upstream, _):
        with shell.server("--upstream", upstream) as served:
            for _ in patiently():
                with suppress(OSError):
                    early = await asyncio.to_thread(ask, served, chat("Remember the first words."))
                    break
            for _ in patiently():
                if said_in(database_url):
                    break
            served.stop()

    assert early == HTTPStatus.OK
    assert said_in(database_url) == ["Remember the first words."]


FACTS = ["gnommoweb -isa repo", "dobby -isa agent", "ramanujan -isa server"]
HISTORY = ["Ask dobby.", "And gnommoweb?", "Thanks.", "Then ramanujan, and dobby again."]
REPLIES = ["Dobby agrees.", "That one too.", "You are welcome.", "Both are well."]


async def know(at: Stage) -> None:
    because = cause(agent=DEFAULT_AGENT, session=SessionId("terminal"), origin=Origin.PERSON, at=at.app.tools.clock())
    await iknowthat(at.app.world.deps, MAIN_SPACE, FACTS, because=because)


def prompts(*stages: Stage) -> list[list[dict[str, Any]]]:
    """The messages that the models were sent, the shortest history first."""
    return sorted((sent.body["messages"] for at in stages for sent in at.model.heard), key=len)


def assert_each_begins_with_the_one_before(sent: list[list[dict[str, Any]]]) -> None:
    for before, after in pairwise(sent):
        assert after[: len(before)] == before


def notes_in(messages: list[dict[str, Any]]) -> list[int]:
    return [message["content"].count("<recollection>") for message in messages if message["role"] == "user"]


def later(seconds: int) -> Hands:
    return Hands(now=MONDAY + timedelta(seconds=seconds))


@pytest.mark.requirement("P-25", "P-35", "P-44")
async def test_two_processes_behind_a_balancer_serve_one_conversation_as_one(database_url: str, tmp_path: Path):
    async with (
        stage(database_url, tmp_path / "a", hands=later(0), **PATIENT) as a,
        stage(database_url, tmp_path / "b", hands=later(1), **PATIENT) as b,
    ):
        await know(a)
        await b.app.world.worlds.follow(MAIN_SPACE)
        sessions = []
        for number, at in enumerate([a, b, a, b]):
            for each in (a, b):
                each.hands.forward(timedelta(seconds=2))
            said, replies = HISTORY[: number + 1], REPLIES[:number]
            at.model.says(REPLIES[number])
            sessions.append((await at.post("/api/chat", chat(*said, replies=replies))).session)
            await at.kept()
        sent = prompts(a, b)
        words = await kept(a, sessions[0])
        events = await captured(a)

    assert len(set(sessions)) == 1
    assert_each_begins_with_the_one_before(sent)
    assert notes_in(sent[-1]) == [1, 1, 0, 1]
    assert words == {*(("person", said) for said in HISTORY), *(("model", said) for said in REPLIES)}
    assert len(events) == len(HISTORY)


@pytest.mark.requirement("P-25", "P-35")
async def test_after_a_restart_the_same_history_gets_the_same_blocks(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, **PATIENT) as at:
        await know(at)
        for number in range(2):
            before = await at.post("/api/chat", chat(*HISTORY[: number + 1], replies=[REPLY] * number))
        first = prompts(at)
        await at.kept()
    async with stage(database_url, tmp_path, hands=later(60), **PATIENT) as at:
        after = await at.post("/api/chat", chat(*HISTORY[:3], replies=[REPLY] * 2))
        second = prompts(at)
        await at.kept()
        started = await told(at.app, "session_started")

    assert after.session == before.session
    assert notes_in(second[0]) == [1, 1, 0]
    assert_each_begins_with_the_one_before([*first, *second])
    assert len(started) == 1


@pytest.mark.requirement("P-25")
async def test_sessions_of_different_callers_never_meet_in_the_store(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path, **PATIENT) as at:
        await know(at)
        one = await at.post("/api/chat", chat("Ask dobby."), X_Festinger_Agent="one")
        await at.kept()
    async with stage(database_url, tmp_path, hands=later(60), **PATIENT) as at:
        two = await at.post("/api/chat", chat("Ask dobby."), X_Festinger_Agent="two")
        await at.kept()
        found = await find_sessions(
            at.app.store,
            MAIN_SPACE,
            caller="local/one",
            session=SessionId(two.session),
            head=None,
            since=MONDAY,
            limit=5,
        )

    assert one.session != two.session
    assert found == []


@pytest.mark.requirement("P-50", "P-52")
async def test_a_store_that_neither_answers_nor_lets_go_holds_up_no_request(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    thawed, asked = asyncio.Event(), list[None]()

    async def frozen(*_: Any, **__: Any) -> list[Any]:
        asked.append(None)
        while not thawed.is_set():
            with suppress(asyncio.CancelledError):
                await thawed.wait()
        return []

    monkeypatch.setattr(recorder, "find_sessions", frozen)
    async with stage(database_url, tmp_path, proxy__memory_deadline_ms=20, proxy__first_memory_deadline_ms=20) as at:
        answers = [
            await at.post("/api/chat", chat(f"Hello {number}.", "And then?", replies=["Well."]))
            for number in range(MOST_OPEN + 3)
        ]
        thawed.set()
        await at.kept()

    assert [answer.status for answer in answers] == [200] * len(answers)
    assert len(asked) == MOST_OPEN, "nobody asks what does not answer"


async def test_a_conversation_that_nobody_has_answered_yet_is_not_looked_up(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    looked_up = list[Any]()

    async def noted(*args: Any, **given: Any) -> list[Any]:
        looked_up.append(given["session"])
        return []

    monkeypatch.setattr(recorder, "find_sessions", noted)
    async with stage(database_url, tmp_path, **PATIENT) as at:
        await at.post("/api/chat", chat("Hello."))
        await at.post("/api/chat", chat("Hello again."), X_Festinger_Session="mine")
        await at.kept()

    assert looked_up == ["mine"]
