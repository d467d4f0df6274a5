"""Stores the conversations of a public set in the memory and asks their questions.

As a user's program would do it: each conversation is a space, each session an episode, and turns are appended
in order, with speaker and time. Then every question is asked, without a hint of the answer. What counts is
which turns come; a memory counts for the turns that it was learned from.

Suites of one run that use the same conversations share one home: the first one stores them.
"""

import json
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from benchmarks.own_server import settings_at, throw_away_home
from benchmarks.suite import Bench
from festinger.ids import DEFAULT_AGENT, Origin, Scope, SessionId, SpaceId
from festinger.jobs.worker import WorkerPool
from festinger.memory.episodes.store import append_turn, close_episode
from festinger.retrieval.deps import RetrievalDeps
from festinger.retrieval.index.terms import count_words_of_changed_texts
from festinger.retrieval.index.turns import index_turns
from festinger.retrieval.query import parse_recall_query
from festinger.retrieval.recall import recall
from festinger.retrieval.result import RecallResult
from festinger.runtime.app import App, StartOptions, open_app
from festinger.services.access import add_space
from festinger.store.queries import load_queries

Q = load_queries("benchmarks")

Heard = dict[str, dict[str, "IngestedConversation"]]
"""Conversations by set and group."""

EMBEDDER = "RECALL_EMBEDDER"
"""Environment variable that names another embedder than the default one."""
ASSISTANT = "assistant"
ASKER = SessionId("asking")
MOST = 50


Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestedConversation:
    """A conversation in its space: the set's id of each turn, and the source turns of each memory."""

    space: SpaceId
    turns: Mapping[UUID, str] = field(default_factory=dict)
    learnt: Mapping[UUID, Sequence[UUID]] = field(default_factory=dict)

    def named(self, recalled: RecallResult) -> list[str]:
        """The turns that came, each once, in order."""
        came = [turn for item in recalled.items for turn in self.learnt.get(item.id, (item.id,))]
        return list(dict.fromkeys(self.turns[turn] for turn in came if turn in self.turns))

    def as_json(self) -> dict[str, Any]:
        learnt = {str(memory): [str(turn) for turn in turns] for memory, turns in self.learnt.items()}
        return {"space": self.space, "turns": {str(turn): name for turn, name in self.turns.items()}, "learnt": learnt}


def taken_of(told: Mapping[str, Any]) -> IngestedConversation:
    return IngestedConversation(
        space=SpaceId(told["space"]),
        turns={UUID(turn): name for turn, name in told["turns"].items()},
        learnt={UUID(memory): [UUID(turn) for turn in turns] for memory, turns in told["learnt"].items()},
    )


@asynccontextmanager
async def heard(bench: Bench, corpora: Mapping[str, Mapping[str, Rows]]) -> AsyncIterator[tuple[App, Heard]]:
    """A memory with the conversations of some sets, and each one's space; by set and group."""
    folder = bench.folder.parent / "conversations"
    folder.mkdir(mode=0o711, exist_ok=True)
    known = folder / "taken.json"
    async with throw_away_home(folder, stopwatch=bench.stopwatch) as home, at_home(home) as app:
        told: dict[str, Any] = json.loads(known.read_bytes()) if known.exists() else {}
        for set_name, groups in corpora.items():
            for group, turns in groups.items():
                if f"{set_name}/{group}" in told:
                    continue
                bench.say(f"Saying {group} of {set_name}.")
                taken = await take_in(app, turns, name=f"{set_name}-{group}".lower())
                told[f"{set_name}/{group}"] = taken.as_json()
                known.write_text(json.dumps(told))
        yield (
            app,
            {
                set_name: {group: taken_of(told[f"{set_name}/{group}"]) for group in groups}
                for set_name, groups in corpora.items()
            },
        )


@asynccontextmanager
async def opened(bench: Bench, **settings: Any) -> AsyncIterator[App]:
    """A memory for one measurement."""
    async with throw_away_home(bench.folder, stopwatch=bench.stopwatch) as home, at_home(home, **settings) as app:
        yield app


@asynccontextmanager
async def at_home(home: Path, **settings: Any) -> AsyncIterator[App]:
    chosen = {"embedding.model": os.environ[EMBEDDER]} if EMBEDDER in os.environ else {}
    live = settings_at(home, {"log.level": "error", **chosen, **settings})
    async with open_app(live, door="bench", progress=lambda _: None, start=StartOptions(providers=True)) as app:
        yield app


async def take_in(app: App, turns: Sequence[Mapping[str, Any]], *, name: str) -> IngestedConversation:
    """Store a conversation in its own space and make it searchable."""
    space = (await add_space(app, name)).id
    known: dict[UUID, str] = {}
    for session in dict.fromkeys(turn["session"] for turn in turns):
        place = Scope(space=space, agent=DEFAULT_AGENT, session=SessionId(f"s{session}"))
        episode = None
        for turn in (each for each in turns if each["session"] == session):
            is_model = turn["role"] == ASSISTANT
            said = await append_turn(
                app.memory.deps,
                place,
                ASSISTANT if is_model else "user",
                turn["text"],
                origin=Origin.MODEL if is_model else Origin.PERSON,
                at=datetime.fromisoformat(turn["at"]).replace(tzinfo=UTC),
            )
            episode = said.episode.id
            if said.turn is not None:
                known[said.turn.turn_id] = turn["id"]
        if episode is not None:
            await close_episode(app.memory.deps, space, episode)
    # What closing deferred, and what a running server does every minute.
    await WorkerPool(app.jobs, shutdown_seconds=1).drain()
    await index_turns(app.recall.deps, space)
    await count_words_of_changed_texts(app.recall.deps, space)
    return IngestedConversation(space=space, turns=known, learnt=await _learnt(app, space, known))


async def _learnt(app: App, space: SpaceId, turns: Iterable[UUID]) -> dict[UUID, list[UUID]]:
    """The turns that each memory was learned from."""
    found: dict[UUID, list[UUID]] = {}
    async with app.store.transaction() as transaction:
        for row in await transaction.all(Q["derived_from_turns"], space=space, turns=list(turns)):
            found.setdefault(row["from_id"], []).append(row["to_id"])
    return found


async def ask(
    app: App, space: SpaceId, cue: str, *, limit: int = MOST, deps: RetrievalDeps | None = None, **more: Any
) -> RecallResult:
    """Recall with the app's dependencies or others, without recording anything."""
    place = Scope(space=space, agent=DEFAULT_AGENT, session=ASKER)
    query = parse_recall_query(cue, now=app.tools.clock(), limit=limit, **more)
    return await recall(deps or app.recall.deps, place, query, door="bench", counts=False)


def by_group(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["group"], []).append(row)
    return dict(sorted(found.items()))
