"""The suite `talks`: weeks of chats of one person, and whether a new chat at the end knows what still holds.

Harder than `said`: each of 24 people keeps about twenty things in memory, mentions most of them in passing, changes
some without saying so, and asks in other words. Through the real proxy with default settings and no model, scored on
what reached the model. Written by people who have seen neither code nor training data. The first half (`a`) was
looked at while the readers were trained; the second half (`b`) was only measured. `TALKS_HALF` names one.
"""

import asyncio
import json
import os
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from benchmarks.result import BenchMetric, GoalOp
from benchmarks.said import Chat, holds, list_active_memories, serve_new_user
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.tally import MetricTally, TallyItem, counted

HALF = 12
"""People per half."""
SMOKE_PEOPLE = 3
SETTLES_S = 1.5
"""A moment for what was said last; before that, everybody reads an answer."""
READS_S = 0.3

METRICS = (
    BenchMetric(name="talks.stored", unit="share", about="questions whose answer is kept", better=GoalOp.AT_LEAST),
    BenchMetric(name="talks.injected", unit="share", about="questions with their answer", better=GoalOp.AT_LEAST),
    BenchMetric(name="talks.stale", unit="share", about="changed facts shown as they were", better=GoalOp.AT_MOST),
    BenchMetric(name="talks.wrong", unit="share", about="kept though nobody's fact", better=GoalOp.AT_MOST),
    BenchMetric(name="talks.idle_lines", unit="lines", about="notes beside questions without", better=GoalOp.AT_MOST),
)


async def measure(bench: Bench) -> SuiteResult:
    people = corpus(os.environ.get("TALKS_HALF", ""))
    if bench.smoke or bench.quick:
        people = people[:: max(1, len(people) // SMOKE_PEOPLE)]
    found: dict[str, list[TallyItem]] = {metric.name: [] for metric in METRICS}
    async with serve_new_user(bench, readable=()) as (http, url, recorder):
        for number, person in enumerate(people):
            space = f"talk-{number}"
            async with http.post(f"{url}/admin/api/spaces", json={"name": space}) as made:
                made.raise_for_status()
            chat = Chat(http=http, base=f"{url}/@{space}/main", recorder=recorder)
            for said in person["chats"]:
                await chat.tell({"turns": said})
                await asyncio.sleep(READS_S)
            await asyncio.sleep(SETTLES_S)
            listing = f"{url}/admin/api/memories?space={space}&limit=200"
            kept = [each["content"] for each in await list_active_memories(chat, listing)]
            await _ask(chat, person, f"p{number}", kept, found)
            bench.say(f"talks: {number + 1} people")
    return SuiteResult(tallies=[MetricTally(metric=name, system=PRODUCT, items=found[name]) for name in found])


async def _ask(
    chat: Chat, person: Mapping[str, Any], name: str, kept: list[str], found: Mapping[str, list[TallyItem]]
) -> None:
    """Ask all questions of a person, each in a new chat."""
    for number, question in enumerate(person["questions"]):
        await chat.say([], question["ask"])
        place, notes = f"{name}.{number}", chat.recorder.notes
        told = {"question": question["ask"], "notes": "\n".join(notes)}
        found["talks.stored"].append(counted(place, holds("\n".join(kept), question["needs"]), told=told))
        found["talks.injected"].append(counted(place, holds("\n".join(notes), question["needs"]), told=told))
        if stale := question.get("stale"):
            shown = any(old.casefold() in note.casefold() for old in stale for note in notes)
            found["talks.stale"].append(counted(place, shown, told=told))
    for number, text in enumerate(person["nothing"]):
        await chat.say([], text)
        lines = len(chat.recorder.notes)
        found["talks.idle_lines"].append(TallyItem(id=f"{name}.n{number}", part=float(lines), right=not lines))
    for number, text in enumerate(person["not_kept"]):
        wrong = [each for each in kept if text.casefold() in each.casefold()]
        found["talks.wrong"].append(counted(f"{name}.k{number}", bool(wrong), told={"kept": "\n".join(wrong)}))


def corpus(half: str = "") -> list[dict[str, Any]]:
    text = files("benchmarks").joinpath("talks.jsonl").read_text(encoding="utf-8")
    people = [json.loads(line) for line in text.splitlines()]
    return {"a": people[:HALF], "b": people[HALF:]}.get(half, people)


TALKS = Suite(
    name="talks",
    about="Weeks of chats, and what a new chat at the end knows, through the real proxy.",
    metrics=METRICS,
    measure=measure,
    timed=False,
)
