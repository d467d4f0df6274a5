"""Recalling, joined to the house: what outcomes teach it, what is forgotten with it, and what it counts anew."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.jobs.deps import drain, rows
from tests.runtime.server import Hands, fixed_tools, opened
from tests.runtime.test_retrieval_outcomes import handle, learnt

from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, AgentId, Origin, Scope, SessionId
from festinger.jobs.queue import defer_due_jobs
from festinger.memory.episodes.store import append_turn
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import Kind
from festinger.observability.metrics import DORMANT
from festinger.retrieval.index.turns import index_turns
from festinger.runtime.app import StartOptions

LIFT = "The lift of the harbour office needs a key after nine."


@pytest.mark.requirement("R-39")
@pytest.mark.requirement("R-74")
async def test_a_report_teaches_the_question_and_forgetting_takes_all_of_it_away(database_url: str, tmp_path: Path):
    flags: dict[str, Any] = {"embedding__model": "hashed:64"}
    tools = fixed_tools(Hands())
    async with opened(database_url, tmp_path, start=StartOptions(providers=True), tools=tools, **flags) as app:
        memory = handle(app)
        lift = await learnt(memory, LIFT)
        found = await memory.recall("when does the lift need a key?")
        await memory.observe({lift: "acted"}, recall=found.id)
        await drain(app.jobs)
        [taught] = await rows(app.store, "select memory_id, reward, weight from cue_outcome")
        kept = await rows(app.store, "select cue from recall")

        await memory.forget(lift)
        await drain(app.jobs)
        left = [
            await rows(app.store, f"select * from {table}")
            for table in ("cue_outcome", "recall", "recall_hit", "words_term", "words_counted")
        ]

    assert (str(taught["memory_id"]), taught["reward"], taught["weight"]) == (lift, 1.0, 1.0)
    assert [row["cue"] for row in kept] == ["when does the lift need a key?"]
    assert left == [[], [], [], [], []]


@pytest.mark.requirement("R-84")
async def test_a_scrape_tells_how_much_sleeps(database_url: str, tmp_path: Path):
    hands = Hands()
    async with opened(database_url, tmp_path, tools=fixed_tools(hands)) as app:
        place = Scope(space=MAIN_SPACE, agent=AgentId(DEFAULT_AGENT))
        musing = LearnRequest(text="We mused about lanterns.", kind=Kind.EPISODIC, origin=Origin.MODEL)
        await learn(app.memory.deps, place, musing)
        await app.measure()
        awake = DORMANT._value.get()
        hands.forward(timedelta(days=400))
        await app.measure()

    assert (awake, DORMANT._value.get()) == (0.0, 1.0)


async def test_what_is_said_is_searchable_by_the_next_minute(database_url: str, tmp_path: Path):
    hands = Hands()
    async with opened(database_url, tmp_path, tools=fixed_tools(hands)) as app:
        await defer_due_jobs(app.jobs)
        await drain(app.jobs)
        place = Scope(space=MAIN_SPACE, agent=AgentId(DEFAULT_AGENT), session=SessionId("talk"))
        await append_turn(app.memory.deps, place, "user", "The ferry sails on Sunday.")
        hands.forward(timedelta(seconds=60))
        await defer_due_jobs(app.jobs)
        await drain(app.jobs)
        found = await handle(app, "later").recall("ferry")

    assert [(item.type, item.text) for item in found.items] == [("turn", "The ferry sails on Sunday.")]


@pytest.mark.requirement("R-05")
async def test_nothing_that_stood_only_in_our_own_block_ever_comes_to_mind(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        ours = f"<recollection>\n{app.settings.now.proxy.label}\n- The vault opens with 4711.\n</recollection>"
        place = Scope(space=MAIN_SPACE, agent=AgentId(DEFAULT_AGENT), session=SessionId("talk"))
        for role in ("user", "assistant"):
            await append_turn(app.memory.deps, place, role, f"{ours}\n\nThe ferry sails on Sunday, {role}.")
            await append_turn(app.memory.deps, place, role, ours)
        await learn(app.memory.deps, place, LearnRequest(text=f"{ours}\n\nThe ferry is blue.", origin=Origin.MODEL))
        nothing = await learn(app.memory.deps, place, LearnRequest(text=ours, origin=Origin.MODEL))
        await index_turns(app.recall.deps, MAIN_SPACE)
        ferry = await handle(app, "later").recall("ferry", limit=50)
        vault = await handle(app, "later").recall("vault 4711", limit=50)

    assert nothing.memory is None
    assert {item.type for item in ferry.items} == {"memory", "turn"}
    assert len(ferry.items) == 3
    assert (vault.items, vault.below_threshold) == ((), 0)
