"""How are the detectors joined to the rest of the house?"""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.jobs.deps import drain
from tests.runtime.effects.approving import PLACE, Approving, approving
from tests.runtime.test_retrieval_outcomes import handle

from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, Origin, SessionId, cause
from festinger.memory.censors.check import run_censors
from festinger.memory.censors.edit import CensorRequest, add_censor
from festinger.proposals.model import Proposal, ProposalType, proposal_of
from festinger.runtime.proposals import UNKNOWN_NAMES
from festinger.store.repositories.exchanges import StoredExchange, write_exchanges
from festinger.world.edge_statements import apply_statement
from festinger.world.model import EdgeSource, WorldStatement


@pytest.fixture
async def at(database_url: str, tmp_path: Path) -> AsyncIterator[Approving]:
    async with approving(database_url, tmp_path) as server:
        yield server


async def proposed(at: Approving, detector: str) -> list[Proposal]:
    """What a detector has proposed, once everything was told."""
    await drain(at.app.jobs)
    found = await at.rows("select * from proposal where producer = %(by)s order by id", by=f"detector:{detector}")
    return [proposal_of(row) for row in found]


async def loops(at: Approving, *, level: int, session: str = "s1", rule: str = "same_call") -> None:
    async with at.app.store.transaction() as transaction:
        await at.app.outbox.emit(
            transaction,
            "loop_detected",
            space=MAIN_SPACE,
            subject=f"session:{session}",
            session=SessionId(session),
            payload={"session": session, "rule": rule, "level": level, "count": 4, "key": "k", "did": ""},
        )


async def called(at: Approving, tool: str, *, session: str = "s1") -> None:
    """Let an agent call a tool in a session."""
    exchange = StoredExchange(
        id=UUID(int=77),
        session=SessionId(session),
        agent=DEFAULT_AGENT,
        request="r1",
        at=at.hands.now,
        said=(),
        reply=None,
        tool_calls=[{"id": "1", "name": tool, "arguments": "{}"}],
        thinking=None,
        ended="whole",
        model="m",
        tokens_read=None,
        tokens_written=None,
        recollection=None,
    )
    async with at.app.store.transaction() as transaction:
        await write_exchanges(transaction, MAIN_SPACE, [exchange])


@pytest.mark.requirement("H-77")
async def test_a_loop_that_came_far_is_proposed_once_for_its_tool_however_often_it_comes(at: Approving):
    await called(at, "web.search")
    await loops(at, level=1)
    assert await proposed(at, "loop") == []
    for _ in range(5):
        await loops(at, level=2)

    (found,) = await proposed(at, "loop")

    assert (found.what, found.scope) == ("Break the same_call repeat of web_search", "web_search")
    assert (found.seen_count, found.category, found.type) == (1, "reliability", ProposalType.ADVICE)
    (row,) = await at.rows("select origin, times, evidence from proposal_sighting where counted")
    assert (row["origin"], row["times"]) == ("job", 5)
    assert row["evidence"]["events"]


async def test_a_loop_of_talk_alone_is_one_of_the_chat(at: Approving):
    await loops(at, level=3, session="s9", rule="same_answer")

    (found,) = await proposed(at, "loop")

    assert (found.what, found.scope) == ("Break the same_answer repeat of chat", "chat")


@pytest.mark.requirement("H-77", "M-70")
async def test_a_warning_that_struck_five_times_is_proposed_to_stop_things(at: Approving):
    watch = at.app.memory.watch
    made = await add_censor(watch, PLACE, CensorRequest(rule="secret-[0-9]+"))
    for number in range(4):
        await run_censors(watch, replace(PLACE, session=SessionId(f"s{number}")), "secret-1")
    assert await proposed(at, "censor_hits") == []

    for _ in range(20):
        await run_censors(watch, replace(PLACE, session=SessionId("s5")), "secret-1")
    (found,) = await proposed(at, "censor_hits")

    assert (found.category, found.scope, found.type) == ("safety", "censor", ProposalType.CENSOR_ESCALATION)
    assert found.payload == {"censor_id": str(made.id), "from": "warn", "to": "block"}
    assert found.seen_count == 1


async def test_three_conflicts_about_one_dimension_are_proposed_to_be_parted(at: Approving):
    await at.app.world.need(MAIN_SPACE)
    for number, parent in enumerate(("repo", "container", "website", "wiki")):
        assert await proposed(at, "conflict_churn") == []
        because = cause(agent=DEFAULT_AGENT, session=SessionId(f"s{number}"), origin=Origin.PERSON, at=at.hands.now)
        said: dict[str, Any] = {"is_isa": True, "confidence": 0.9, "source": EdgeSource.INFERRED}
        statement = WorldStatement(concept="gnommoweb", parent=parent, dimension="type", cause=because, **said)
        await apply_statement(at.app.world.deps, MAIN_SPACE, statement)

    (found,) = await proposed(at, "conflict_churn")

    assert found.what == "Part the dimension type of gnommoweb"
    assert (found.scope, found.type) == ("world", ProposalType.DIMENSION_DECOMPOSITION)
    (row,) = await at.rows("select evidence from proposal_sighting")
    assert len(row["evidence"]["conflicts"]) == 3
    assert found.payload["conflict_id"] in row["evidence"]["conflicts"]


async def test_a_memory_that_misled_from_two_causes_is_proposed_to_be_put_away(at: Approving):
    memory = str(await at.learn("Rana's favourite colour is teal."))
    for _ in range(3):
        await handle(at.app, "s1").observe({memory: "contradicted"})
    assert await proposed(at, "misleading") == []

    await handle(at.app, "s2").observe({memory: "contradicted"})
    (found,) = await proposed(at, "misleading")

    assert (found.scope, found.type) == ("memory", ProposalType.MEMORY_CHANGE)
    assert found.payload == {"op": "archive", "ids": [memory]}


async def test_a_name_that_three_sessions_said_and_nobody_knows_is_asked_for(at: Approving):
    (row,) = await at.rows(
        "insert into soas (space_id, token, saliency, encounter_count, last_seen, wanted_at)"
        " values ('main', 'gnommoweb', 0.9, 9, %(at)s, %(at)s) returning id",
        at=at.hands.now,
    )
    said = [("person", "a"), ("person", "b"), ("tool", "c"), ("tool", "d")]
    for origin, session in said:
        await _sentence(at, row["id"], origin, session)
    await at.app.jobs.run_now(UNKNOWN_NAMES)
    assert await proposed(at, "zero_hit") == []

    await _sentence(at, row["id"], "model", "e")
    await at.app.jobs.run_now(UNKNOWN_NAMES)
    (found,) = await proposed(at, "zero_hit")

    assert (found.what, found.scope, found.seen_count) == ("Say what gnommoweb is", "world", 3)
    assert found.how == "festinger iknowthat 'gnommoweb -isa '"

    await _sentence(at, row["id"], "person", "f")
    await at.app.jobs.run_now(UNKNOWN_NAMES)
    (again,) = await proposed(at, "zero_hit")
    rows = await at.rows("select session_id, times from proposal_sighting order by session_id")

    assert again.id == found.id
    assert [(row["session_id"], row["times"]) for row in rows] == [("a", 1), ("b", 1), ("e", 1), ("f", 1)]


async def _sentence(at: Approving, concept: int, origin: str, session: str) -> None:
    await at.rows(
        "insert into soas_sentence (space_id, concept_id, text, origin, session_id, at)"
        " values ('main', %(concept)s, 'gnommoweb is down', %(origin)s, %(session)s, %(at)s) returning id",
        concept=concept,
        origin=origin,
        session=session,
        at=at.hands.now,
    )


async def test_a_detector_that_is_switched_off_does_not_look(database_url: str, tmp_path: Path):
    async with approving(database_url, tmp_path, proposals__detectors__loop__enabled=False) as at:
        await loops(at, level=4)

        assert await proposed(at, "loop") == []
