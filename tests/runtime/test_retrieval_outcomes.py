"""Outcomes through the library's handle and the jobs of the house: what is read and recalled waits, and ends."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.jobs.deps import drain, rows
from tests.memory.remembering import says
from tests.runtime.server import Hands, fixed_tools, given, opened

import festinger
from festinger.client.memory import Memory
from festinger.errors import NotFound, StoreDown
from festinger.ids import MAIN_SPACE, AgentId, SessionId
from festinger.jobs.queue import defer_due_jobs
from festinger.judge.model import PairJudgement
from festinger.memory.late_judgements import build_memory_pair
from festinger.memory.model import LearnAction
from festinger.observability.metrics import OUTCOMES_SKIPPED
from festinger.runtime.app import App
from festinger.runtime.retrieval import EXPIRE

HARBOUR = "The harbour office of Lisgate opens at 0730."
FREIGHT = "Quillon Freight ships copper wire on Tuesdays."
TEAL, CRIMSON = "Rana's favourite colour is teal.", "Rana's favourite colour is crimson."


def handle(app: App, session: str = "s1") -> Memory:
    return Memory(space=MAIN_SPACE, agent=AgentId("default"), session=SessionId(session), _app=app)


async def learnt(memory: Memory, text: str) -> str:
    learned = await memory.learn(text)
    assert learned.memory is not None
    return str(learned.memory.id)


@pytest.mark.requirement("O-02")
async def test_reading_a_memory_by_its_id_stages_one_read_that_an_outcome_confirms(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path, model="hashed:64"), database=database_url) as memory:
        one = await learnt(memory, HARBOUR)
        before = (await memory.get(one)).access_count
        await memory.get(one)
        with pytest.raises(NotFound):
            await memory.get("018f3a5e-0000-7000-8000-000000000000")
        await memory._app.afterwards.written()
        staged = await rows(memory._app.store, "select memory_id::text from staged_read")
        seen = await memory.observe({one: "used"})

    assert before == 0
    assert [row["memory_id"] for row in staged] == [one, one]
    assert seen.effects[one].access == 2


@pytest.mark.requirement("O-02")
async def test_a_read_that_cannot_be_noted_fails_nobody(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def refuse(*_given: Any, **_more: Any) -> int:
        raise StoreDown("nothing can be noted now")

    monkeypatch.setattr("festinger.runtime.retrieval.stage_reads", refuse)
    skipped = OUTCOMES_SKIPPED.labels("unwritten")
    async with opened(database_url, tmp_path) as app:
        one, before = await learnt(handle(app), HARBOUR), skipped._value.get()
        found = await handle(app).get(one)
        await app.afterwards.written()

    assert found.content == HARBOUR
    assert skipped._value.get() == before + 1


@pytest.mark.requirement("O-02", "O-03")
async def test_what_a_recall_gives_out_is_read_and_surfaced_with_its_place_and_its_recall(
    database_url: str, tmp_path: Path
):
    async with festinger.open(given(tmp_path, model="hashed:64"), database=database_url, session="s1") as memory:
        first, second = await learnt(memory, HARBOUR), await learnt(memory, FREIGHT)
        came = await memory.recall("harbour office of Lisgate, Quillon Freight copper wire")
        seen = await memory.observe({first: "acted"}, recall=came.id)
        shown = await rows(
            memory._app.store,
            "select memory_id::text, recall_id, position, reason, session_id, outcome from surfacing order by position",
        )
        left = await rows(memory._app.store, "select count(*) as n from staged_read")

    order = [str(item.id) for item in came.items]
    assert set(order) == {first, second}
    assert [row["memory_id"] for row in shown] == order
    assert {(row["recall_id"], row["reason"], row["session_id"]) for row in shown} == {(came.id, "recall", "s1")}
    assert {row["memory_id"]: row["outcome"] for row in shown} == {first: "acted", second: "deferred"}
    assert (seen.effects[first].access, seen.effects[second].access) == (1, 0)
    assert left == [{"n": 0}]


async def test_a_recall_that_nobody_made_has_no_outcomes(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path, model="hashed:64"), database=database_url) as memory:
        one = await learnt(memory, HARBOUR)
        with pytest.raises(NotFound):
            await memory.observe({one: "acted"}, recall="018f3a5e-0000-7000-8000-000000000000")


@pytest.mark.requirement("O-30")
async def test_each_minute_what_nobody_told_of_in_time_expires(database_url: str, tmp_path: Path):
    hands = Hands()
    async with opened(database_url, tmp_path, tools=fixed_tools(hands)) as app:
        memory = handle(app)
        one = await learnt(memory, HARBOUR)
        await memory.observation.on_read(one)
        await memory.observation.on_surfaced([one], "recall")
        await memory.observation.record_prediction(one, {"opens": "0730"})
        await defer_due_jobs(app.jobs)
        hands.forward(timedelta(minutes=59))
        await defer_due_jobs(app.jobs)
        await drain(app.jobs)
        early = await rows(app.store, "select outcome from surfacing")
        hands.forward(timedelta(minutes=1))
        await defer_due_jobs(app.jobs)
        await drain(app.jobs)
        late = await rows(app.store, "select outcome, how from surfacing")
        reads = await rows(app.store, "select 1 from staged_read")
        expected = await rows(app.store, "select resolved from prediction")
        held = await memory.get(one)
        told = await memory.observe({one: "acted"})

    assert early == [{"outcome": None}]
    assert late == [{"outcome": "deferred", "how": "expired"}]
    assert (reads, expected, held.belief.confidence) == ([], [{"resolved": False}], 0.5)
    assert told.effects[one].confidence == (0.5, 0.7)
    assert EXPIRE in {work.name for work in app.jobs.periodic}


@pytest.mark.requirement("O-48")
async def test_a_correction_goes_to_the_judges_as_a_pair_and_the_memory_decides(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path, model="hashed:64"), database=database_url, session="s1") as memory:
        stale = await learnt(memory, TEAL)
        came = await memory.recall("Which colour does Rana like?")
        first = await memory.observe_reply(came.id, "Paint it teal, Rana's favourite.", request="Which paint?")
        second = await memory.observe_reply(
            came.id, "Paint it teal, Rana's favourite.", request="Which paint?", next_message="No, it is crimson."
        )
        before = await memory.get(stale)
        await drain(memory._app.jobs)
        after, current = await memory.get(stale), await memory.current(stale)
        judged = (await memory.why(current.id)).judgements
        kept = await rows(memory._app.store, "select evidence from outcome where evidence ? 'said'")

    assert first.effects[stale].outcome == "acted"
    assert second.effects[stale].outcome == "contradicted"
    assert (before.status, before.belief.confidence_ceiling) == ("active", None)
    assert (after.status, current.content) == ("superseded", CRIMSON)
    assert (current.origin, [each.judgement.relation for each in judged]) == ("person", ["update"])
    assert kept == []


@pytest.mark.requirement("O-48")
async def test_a_bare_no_teaches_nothing_and_supersedes_nothing(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path, model="hashed:64"), database=database_url, session="s1") as memory:
        one = await learnt(memory, HARBOUR)
        came = await memory.recall("When does the harbour office of Lisgate open?")
        seen = await memory.observe_reply(
            came.id, "It opens at 0730.", next_message="No, that is wrong about the harbour office of Lisgate?"
        )
        await drain(memory._app.jobs)
        found = await memory.get(one)
        known = await rows(memory._app.store, "select count(*) as n from memory")

    assert seen.effects[one].outcome == "contradicted"
    assert (found.status, known) == ("active", [{"n": 1}])


async def test_learning_again_what_was_taken_to_the_judges_adds_nothing(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path, model="hashed:64"), database=database_url, session="s1") as memory:
        stale = await learnt(memory, TEAL)
        came = await memory.recall("Which colour does Rana like?")
        for _ in range(2):
            await memory.observe_reply(came.id, "Rana's favourite colour is teal.", next_message=f"Actually, {CRIMSON}")
            await drain(memory._app.jobs)
        again = await memory.learn(CRIMSON)

        assert (await memory.get(stale)).status == "superseded"
        assert again.action is LearnAction.CONFIRMED
        assert len(await rows(memory._app.store, "select 1 from memory")) == 2


@pytest.mark.requirement("O-01")
async def test_constants_that_a_program_sets_hold_for_its_handle_alone(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        memory, other = handle(app), handle(app)
        first, second = await learnt(memory, HARBOUR), await learnt(memory, FREIGHT)
        memory.observation.defaults.ACTED_CONFIDENCE_SIGNAL = 1.0
        seen = await memory.for_session("s2").observe({first: "acted"})
        plain = await other.observe({second: "acted"})

    assert seen.effects[str(first)].confidence == (0.5, 0.75)
    assert plain.effects[str(second)].confidence == (0.5, 0.7)


@pytest.mark.requirement("O-55")
async def test_status_tells_of_outcomes_and_of_how_much_a_model_was_asked(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        memory = handle(app)
        before = await memory.status()
        first, second = await learnt(memory, HARBOUR), await learnt(memory, FREIGHT)
        await learnt(memory, TEAL)
        asked = [
            PairJudgement(pair=build_memory_pair(await memory.get(first), await memory.get(second)), judgement=word)
            for word in (says("unrelated"), says("unsure"))
        ]
        async with app.store.transaction() as transaction:
            await app.memory.judges.keep(transaction, MAIN_SPACE, asked)
        await memory.observation.on_surfaced([first], "recall")
        await memory.observe({first: "acted"})
        after = await memory.status()

    assert before["judge"]["24 h"]["share"] is None
    assert after["judge"]["24 h"] == {"learns": 3, "learns that asked a model": 1, "share": 0.3333, "calls": 2}
    assert after["judge"]["7 d"]["share"] == 0.3333
    assert (before["memory"]["pending pairs"], after["memory"]["pending pairs"]) == (0, 1)
    assert (before["outcomes"]["24 h"]["rate"], after["outcomes"]["24 h"]["rate"]) == (None, 1.0)
    assert (after["outcomes"]["all time"]["acted"], after["outcomes"]["pending"]) == (1, 0)
    assert after["outcomes"]["7 d"]["shares"] == {"explicit": 1.0, "self": 0.0, "inferred": 0.0}
