"""The suite `said`: what people say in one chat, and whether the next chat knows it.

Follows a new user: the real `festinger serve` with default settings on a fresh home, a stub for the model
server, statements in one chat and the question in a new one right away. Scored on what reached the model. The
corpus was written by people who have not seen the extractor; its half `held` is for measuring, never for
tuning. Items of several categories share a space, so that the right note must be found among others.
`SAID_HALF` names a half; with `SAID_MODEL=1` a scripted model replaces a user's own good one and reads turns
in the background.
"""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from benchmarks.load import HOST
from benchmarks.own_server import COMMAND, own_environment, serving, throw_away_home
from benchmarks.result import BenchMetric, GoalOp, at_least, at_most
from benchmarks.said_model import chat_completion, completion, read_as_labeled, reading_asked
from benchmarks.server import running
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.tally import MetricTally, TallyItem, counted
from festinger.text.budget import estimate_tokens

GROUP = 8
"""Statements of different categories that one person makes."""
SMOKE_ITEMS = 24
REPLY = "Okay."
LISTED_AFTER_S = 0.5
"""Stored memories are listed a moment after they were said; the question comes at once."""
READ_POLLS = 10
COVERED = 0.5
"""The share of a fact's words that a line must contain to be about it."""
_BLOCK = re.compile(r"<recollection>(.*?)</recollection>", re.DOTALL)
_WORD = re.compile(r"[^\W_]{3,}")

Needs = Sequence[str | Sequence[str]]

METRICS = (
    BenchMetric(name="said.stored", unit="share", about="statements that are stored", better=GoalOp.AT_LEAST),
    BenchMetric(
        name="said.injected", unit="share", about="statements in the prompt of the next chat", goal=at_least(0.80)
    ),
    BenchMetric(name="said.stale", unit="share", about="prompts with a value that was replaced", goal=at_most(0.03)),
    BenchMetric(name="said.wrong", unit="share", about="negatives that became a memory", goal=at_most(0.05)),
    BenchMetric(name="said.noise", unit="share", about="tokens of notes about something else", goal=at_most(0.10)),
    BenchMetric(name="said.in_time", unit="share", about="first turns with memory in time", goal=at_least(0.98)),
)


@dataclass(slots=True)
class Recorder:
    """A model server that says yes and keeps the last request."""

    last: list[dict[str, Any]] = field(default_factory=list)
    items: Sequence[Mapping[str, Any]] = ()
    """What it can read as its author did, where it replaces a good model."""
    read: int = 0
    """Turns that it was asked to read."""

    async def answer(self, request: web.Request) -> web.Response:
        body = json.loads(await request.read())
        if prompt := reading_asked(body):
            self.read += 1
            return web.json_response(completion(body, read_as_labeled(prompt, self.items, is_about=is_about)))
        self.last = body["messages"]
        return web.json_response(chat_completion({"content": REPLY}))

    @property
    def notes(self) -> list[str]:
        """The lines of the newest block, without its label."""
        content = str(self.last[-1]["content"]) if self.last else ""
        found = _BLOCK.search(content)
        return [line.strip() for line in found[1].strip().splitlines()[1:] if line.strip()] if found else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """A client of the proxy, in one space."""

    http: aiohttp.ClientSession
    base: str
    recorder: Recorder

    async def say(self, history: list[dict[str, str]], text: str) -> Mapping[str, str]:
        history.append({"role": "user", "content": text})
        body = {"model": "m", "messages": history}
        async with self.http.post(f"{self.base}/v1/chat/completions", json=body) as answer:
            await answer.read()
            history.append({"role": "assistant", "content": REPLY})
            return answer.headers

    async def tell(self, item: Mapping[str, Any]) -> list[str]:
        """Say all turns of an item; returns the sessions that it took."""
        history: list[dict[str, str]] = []
        sessions = []
        for turn in item["turns"]:
            if isinstance(turn, str):
                headers = await self.say(history, turn)
                # Without it the request went through untouched, and taught nothing.
                sessions.append(headers.get("X-Festinger-Session", "").partition(";")[0])
            else:
                history = []
        return list(dict.fromkeys(sessions))


@dataclass(slots=True)
class Scores:
    stored: list[TallyItem] = field(default_factory=list)
    injected: list[TallyItem] = field(default_factory=list)
    stale: list[TallyItem] = field(default_factory=list)
    wrong: list[TallyItem] = field(default_factory=list)
    noise: list[TallyItem] = field(default_factory=list)
    in_time: list[TallyItem] = field(default_factory=list)


async def measure(bench: Bench) -> SuiteResult:
    half = os.environ.get("SAID_HALF", "")
    items = [item for item in corpus() if not half or item["half"] == half]
    if bench.smoke or bench.quick:
        items = items[:: max(1, len(items) // SMOKE_ITEMS)]
    scores = Scores()
    with_model = os.environ.get("SAID_MODEL") == "1"
    async with serve_new_user(bench, readable=items if with_model else ()) as (http, url, recorder):
        for number, group in enumerate(groups(items)):
            space = f"said-{number}"
            async with http.post(f"{url}/admin/api/spaces", json={"name": space}) as made:
                made.raise_for_status()
            chat = Chat(http=http, base=f"{url}/@{space}/main", recorder=recorder)
            said: list[Mapping[str, Any]] = []
            for item in group:
                said.append(item)
                await _measure_item(chat, said, scores, listing=f"{url}/admin/api/memories?space={space}&limit=200")
            bench.say(f"said: {number + 1} people")
    named = {metric.name: metric.name.partition(".")[2] for metric in METRICS}
    tallies = [
        MetricTally(metric=name, system=PRODUCT, items=getattr(scores, attribute)) for name, attribute in named.items()
    ]
    return SuiteResult(tallies=tallies)


async def _measure_item(chat: Chat, said: Sequence[Mapping[str, Any]], scores: Scores, *, listing: str) -> None:
    """Say the newest item and ask its question."""
    item = said[-1]
    read_before = chat.recorder.read
    sessions = await chat.tell(item)
    if chat.recorder.items:
        await _until_read(chat.recorder, read_before + sum(isinstance(turn, str) for turn in item["turns"]))
    if "question" not in item:
        await asyncio.sleep(LISTED_AFTER_S)
        kept = [
            each["content"] for each in await list_active_memories(chat, listing) if each.get("session_id") in sessions
        ]
        wrong = [text for text in kept if states_flatly(text, item)]
        scores.wrong.append(counted(item["id"], bool(wrong), told=_told(turns=item["turns"], kept=kept)))
        return
    headers = await chat.say([], item["question"])
    notes = chat.recorder.notes
    await asyncio.sleep(LISTED_AFTER_S)
    kept = [each["content"] for each in await list_active_memories(chat, listing)]
    told = _told(turns=item["turns"], question=item["question"], notes=notes, kept=kept)
    scores.stored.append(counted(item["id"], holds(" ".join(kept), item["needs"]), told=told))
    scores.injected.append(counted(item["id"], holds(" ".join(notes), item["needs"]), told=told))
    if stale := item.get("stale"):
        found = any(old.casefold() in note.casefold() for old in stale for note in notes)
        scores.stale.append(counted(item["id"], found, told=told))
    scores.noise += [_noise(said, note, number) for number, note in enumerate(notes)]
    status = headers.get("X-Festinger-Memory", "")
    scores.in_time.append(counted(item["id"], not status.startswith(("late", "failed", "not-ready"))))


async def _until_read(recorder: Recorder, count: int) -> None:
    """Wait for the model to read what was said; turns that can state nothing are never shown to it."""
    for _ in range(READ_POLLS):
        if recorder.read >= count:
            break
        await asyncio.sleep(LISTED_AFTER_S)
    await asyncio.sleep(LISTED_AFTER_S)


def _told(**seen: object) -> dict[str, str]:
    return {name: json.dumps(value, ensure_ascii=False) for name, value in seen.items()}


def _noise(said: Sequence[Mapping[str, Any]], note: str, number: int) -> TallyItem:
    """A line about something else; an instruction for every answer (`always`) is about each question."""
    item = said[-1]
    is_noise = not any(is_about(note, each) for each in said if each is item or each.get("always"))
    weight = estimate_tokens(note)
    part = float(weight) if is_noise else 0.0
    told = {"note": note, "question": str(item["question"])}
    return TallyItem(id=f"{item['id']}:{number}", part=part, whole=float(weight), right=not is_noise, told=told)


def corpus() -> list[dict[str, Any]]:
    text = files("benchmarks").joinpath("said.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def groups(items: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """People, each with statements of different categories."""
    by_category: dict[str, list[Mapping[str, Any]]] = {}
    for item in items:
        by_category.setdefault(item["category"], []).append(item)
    turns = [each for row in _transposed(list(by_category.values())) for each in row]
    for start in range(0, len(turns), GROUP):
        yield turns[start : start + GROUP]


def _transposed(columns: list[list[Mapping[str, Any]]]) -> Iterator[list[Mapping[str, Any]]]:
    for place in range(max(map(len, columns), default=0)):
        yield [column[place] for column in columns if place < len(column)]


def holds(text: str, needs: Needs) -> bool:
    small = text.casefold()
    return all(any(each.casefold() in small for each in ([need] if isinstance(need, str) else need)) for need in needs)


def states_flatly(text: str, item: Mapping[str, Any]) -> bool:
    """Whether a memory states what must not be stated; hearsay is fine where it names its source."""
    small = text.casefold()
    if any(each.casefold() in small for each in item.get("must_not", ())):
        return True
    is_attributed = re.search(
        r"\b(?:says?|said|thinks?|thought|claims?|reckons?|believes?|told|heard|assumed)\b", small
    )
    return not is_attributed and any(each.casefold() in small for each in item.get("must_not_flat", ()))


def is_about(note: str, item: Mapping[str, Any]) -> bool:
    """Whether a line of notes is about an item."""
    if any(holds(note, [need]) for need in item["needs"]):
        return True
    words = set(_WORD.findall(note.casefold()))
    facts = [set(_WORD.findall(fact.casefold())) for fact in item["facts"]]
    return any(fact and len(words & fact) >= COVERED * min(len(fact), len(words)) for fact in facts)


async def list_active_memories(chat: Chat, listing: str) -> list[dict[str, Any]]:
    async with chat.http.get(listing) as answer:
        answer.raise_for_status()
        found: list[dict[str, Any]] = (await answer.json())["items"]
        return [each for each in found if each["status"] == "active"]


@asynccontextmanager
async def serve_new_user(
    bench: Bench, *, readable: Sequence[Mapping[str, Any]]
) -> AsyncIterator[tuple[aiohttp.ClientSession, str, Recorder]]:
    """The server as a new user starts it, with a stub behind it and a client in front."""
    recorder, pages = Recorder(items=readable), web.Application()
    pages.router.add_post("/v1/chat/completions", recorder.answer)
    runner = web.AppRunner(pages, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, HOST, 0).start()
    folder = bench.folder / "said"
    folder.mkdir(parents=True)
    try:
        async with throw_away_home(folder, stopwatch=bench.stopwatch) as home:
            program = serving(home, upstream_port=runner.addresses[0][1])
            # A stub that only says yes is no model that could read for us; the scripted one does not judge. It is named,
            # because `auto` reads for so many turns an hour as people say, not for what they say in weeks.
            writer = f"openai:m@http://{HOST}:{runner.addresses[0][1]}/v1" if readable else ""
            models = {"FESTINGER_LLM__JUDGE": "", "FESTINGER_LLM__WRITE": writer}
            program = replace(program, environment={**program.environment, **models})
            async with (
                running(program, core=None, stopwatch=bench.stopwatch),
                aiohttp.ClientSession(
                    headers={"X-Festinger-Key": await _admin_key(home)}, timeout=aiohttp.ClientTimeout(total=120)
                ) as http,
            ):
                yield http, f"http://{HOST}:{program.port}", recorder
    finally:
        await runner.cleanup()


async def _admin_key(home: Path) -> str:
    """A key for reading what was stored, made as an operator makes one."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", COMMAND, "keys", "make", "bench", "--role", "admin", "--quiet"),
        stdout=asyncio.subprocess.PIPE,
        env=own_environment(home),
        cwd=home.parent,
    )
    printed, _ = await process.communicate()
    return printed.decode().strip()


SAID = Suite(
    name="said",
    about="What is said in one chat and known in the next, through the real proxy.",
    metrics=METRICS,
    measure=measure,
    timed=False,
)
