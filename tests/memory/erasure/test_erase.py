"""What is left when something was forgotten: nothing of it, and everything else."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.jobs.deps import MONDAY, rows, run_sql
from tests.memory.oblivion import eraser_of, files_with, ledger_in, places_of
from tests.memory.remembering import Mind, events, known, memories, says, texts
from tests.soundness import assert_sound

from festinger.errors import BadInput, UndoBlocked
from festinger.ids import MAIN_SPACE, AgentId, Origin, SessionId
from festinger.memory.edit import archive, edit
from festinger.memory.erasure.erase import MEMORY, forget, reapply_ledger
from festinger.memory.erasure.selector import ErasureSelector
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.statement import LearnRequest, TurnWithTrust
from festinger.memory.model import LearnAction, Status
from festinger.memory.undo import undo
from festinger.store.erasure import read_entries
from festinger.store.pool import Store

PHRASE = "Zelda's spare key hangs behind the quokka painting"
WORDS = ("quokka", "spare key hangs")
BY: dict[str, Any] = {"reason": "she asked", "by": "person:owner"}

PLANTED = {
    "exchange": "insert into exchange (space_id, id, session_id, agent_id, request_id, at, tool_calls, thinking, ended,"
    " model) values ('main', %(id)s, 's1', 'default', 'r', %(at)s, %(json)s::jsonb, %(text)s, 'whole', 'm')",
    "exchange_message": "insert into exchange_message (space_id, id, exchange_id, session_id, seq, role, origin, text, at)"
    " values ('main', %(id)s, %(id)s, 's1', 0, 'user', 'person', %(text)s, %(at)s)",
    "request_log": "insert into request_log (space_id, id, at, agent_id, route, details)"
    " values ('main', 'r', %(at)s, 'default', '/v1', %(json)s::jsonb)",
    "proxy_session": "insert into proxy_session (space_id, caller, session_id, links, recent, at)"
    " values ('main', 'c', 's1', '', '', %(at)s)",
    "injection": "insert into injection (space_id, session_id, caller, anchor, id, block, notes, at)"
    " values ('main', 's1', 'c', '', %(id)s, %(text)s, %(json)s::jsonb, %(at)s)",
    "refusal": "insert into refusal (space_id, id, reason, text, agent_id, day, origin, at)"
    " values ('main', %(id)s, 'too_short', %(text)s, 'default', '2026-01-05', 'person', %(at)s)",
    "event": "insert into event (space_id, id, name, version, subject, payload, at)"
    " values ('main', %(id)s, 'learn_refused', 1, 'x', %(json)s::jsonb, %(at)s)",
    "judgement": "insert into judgement (space_id, id, old_ref, new_ref, old_hash, new_hash, relation, current,"
    " confidence, judge, reasoning, final, latency_ms, at) values ('main', %(id)s, %(id)s, %(id)s,"
    " decode(repeat('11', 16), 'hex'), decode(repeat('11', 16), 'hex'), 'unrelated', 'both', 1, 'rules@1',"
    " %(text)s, true, 0, %(at)s)",
    "episode": "insert into episode (space_id, id, agent_id, session_id, title, summary, topics, state, opened_at,"
    " last_at, closed_at, summarised_at) values ('main', %(id)s, 'default', 's1', %(text)s, %(text)s,"
    " array[%(text)s], 'summarised', %(at)s, %(at)s, %(at)s, %(at)s)",
    "episode_turn": "insert into episode_turn (space_id, episode_id, seq, turn_id, at, role, origin, content)"
    " values ('main', %(id)s, 1, %(id)s, %(at)s, 'user', 'person', %(text)s)",
}


async def plant(store: Store) -> None:
    """The phrase in every table that keeps what was said: within other words, in other spacing and case."""
    said = f'She said: "{PHRASE.upper()}" and\nlaughed; {PHRASE.replace(" ", "  ")}.'
    for statement in PLANTED.values():
        values = {"id": uuid4(), "at": MONDAY, "text": said, "json": '[{"said": ' + _quoted(said) + "}]"}
        if "exchange_id" in statement or "episode_turn" in statement:
            table = "episode" if "episode_turn" in statement else "exchange"
            values["id"] = (await rows(store, f"select id from {table}"))[0]["id"]
        await run_sql(store, statement, **values)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"').replace("\n", "\\n") + '"'


@pytest.mark.requirement("M-80")
async def test_a_forgotten_phrase_is_found_nowhere_at_all(store: Store, tmp_path: Path):
    mind = Mind(store, near={PHRASE: 1.0, f"{PHRASE} now": 0.9})
    eraser = eraser_of(mind, ledger_in(tmp_path))
    first = await mind.learn(PHRASE, key="k1", source="https://example.org/a")
    await mind.learn(PHRASE.upper(), session="s2")
    insight = await mind.learn("Zelda hides keys behind quokka art", origin="job", derived_from=(known(first),))
    await edit(mind.deps, MAIN_SPACE, known(first), f"{PHRASE}, high up", by="person:owner")
    other = await mind.learn("The bridge closes at nine in the evening")
    await plant(store)
    assert len(await places_of(store, *WORDS)) >= 20

    plan = await forget(eraser, MAIN_SPACE, ErasureSelector(ids=(known(first),)), **BY)

    assert await places_of(store, *WORDS) == []
    assert files_with(tmp_path, *WORDS) == []
    assert set(plan.erased) == {known(first), known(insight)}
    assert plan.derived == (known(insight),)
    assert await texts(store) == ["The bridge closes at nine in the evening"]
    assert (await mind.memory(other)).id == known(other)
    assert plan.rows["memory"] == 2
    assert {"exchange_message", "injection", "request_log", "refusal", "episode_turn"} <= plan.rows.keys()


async def test_the_rest_of_a_message_stays(store: Store, tmp_path: Path):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    learned = await mind.learn(PHRASE)
    await plant(store)

    await forget(eraser, MAIN_SPACE, ErasureSelector(ids=(known(learned),)), **BY)

    (row,) = await rows(store, "select text from exchange_message")
    assert row["text"] == 'She said: "[forgotten]" and\nlaughed; [forgotten].'
    (row,) = await rows(store, "select details from request_log")
    assert row["details"] == [{"said": 'She said: "[forgotten]" and\nlaughed; [forgotten].'}]


@pytest.mark.requirement("M-80")
async def test_a_plan_says_what_would_go_and_takes_nothing(store: Store, tmp_path: Path):
    mind = Mind(store)
    ledger = ledger_in(tmp_path)
    eraser = eraser_of(mind, ledger)
    learned = await mind.learn(PHRASE)
    before = await memories(store)

    plan = await forget(eraser, MAIN_SPACE, ErasureSelector(query="quokka painting"), **BY, dry_run=True)

    assert plan.erased == (known(learned),)
    assert plan.rows == {"memory": 1, "memory_sighting": 1, "memory_vector": 1}
    assert plan.dry_run
    assert await memories(store) == before
    assert read_entries(ledger) == []
    assert await events(store, "memory_forgotten") == []


@pytest.mark.requirement("M-80")
async def test_words_alone_erase_nothing(store: Store, tmp_path: Path):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    await mind.learn(PHRASE)

    with pytest.raises(BadInput, match="only shows"):
        await forget(eraser, MAIN_SPACE, ErasureSelector(query="quokka"), **BY)
    with pytest.raises(BadInput, match="Nothing was named"):
        await forget(eraser, MAIN_SPACE, ErasureSelector(), **BY)

    assert await texts(store) == [PHRASE]


@pytest.mark.requirement("M-80")
@pytest.mark.parametrize(
    "selector",
    [
        ErasureSelector(subject="The Ferry"),
        ErasureSelector(source="https://example.org/a"),
        ErasureSelector(session=SessionId("s9")),
        ErasureSelector(agent=AgentId("ada")),
        ErasureSelector(origin=Origin.DOCUMENT),
    ],
    ids=["subject", "source", "session", "agent", "origin"],
)
async def test_what_came_from_somewhere_goes_and_nothing_else(store: Store, tmp_path: Path, selector: ErasureSelector):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    await mind.learn("The harbour opens at dawn every day", session="s1")
    await mind.learn(
        "The ferry leaves from the northern pier",
        subject="the ferry",
        session="s9",
        agent="ada",
        origin="document",
        source="https://example.org/a",
    )

    plan = await forget(eraser, MAIN_SPACE, selector, **BY)

    assert len(plan.erased) == 1
    assert await texts(store) == ["The harbour opens at dawn every day"]
    (told,) = await events(store, "memory_forgotten")
    assert told["payload"] == {"ids": [str(plan.erased[0])]}


async def test_what_others_said_too_only_loses_what_was_said_there(store: Store, tmp_path: Path):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    alone = await Mind(store, seed=9).learn("The mill grinds on Tuesdays only", session="s1")
    learned = await mind.learn("The ferry leaves from the northern pier", session="s1")
    mind.forward()
    await mind.learn("THE FERRY leaves from the northern pier", session="s2", origin="document")

    plan = await forget(eraser, MAIN_SPACE, ErasureSelector(session=SessionId("s2")), **BY)

    left, fresh = await mind.memory(learned), await mind.memory(alone)
    assert plan.trimmed == (known(learned),)
    assert (left.cause_count, left.confirmation_count, left.last_confirmed) == (1, 0, None)
    assert left.belief == fresh.belief
    assert left.content == "The ferry leaves from the northern pier"
    (said,) = await rows(store, "select wording from memory_sighting where memory_id = %(id)s", id=left.id)
    assert said["wording"] == "The ferry leaves from the northern pier"


async def test_what_derives_from_others_too_is_locked_away_and_made_again(store: Store, tmp_path: Path):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    one = await mind.learn(PHRASE)
    other = await mind.learn("Zelda travels a lot in the summer months")
    insight = await mind.learn(f"Zelda plans ahead: {PHRASE}", origin="job", derived_from=(known(one), known(other)))
    second = await mind.learn("Careful people plan ahead", origin="job", derived_from=(known(insight),))

    plan = await forget(eraser, MAIN_SPACE, ErasureSelector(ids=(known(one),)), **BY)

    assert plan.remade == (known(insight),)
    locked = await mind.memory(insight)
    assert locked.status is Status.QUARANTINED
    assert locked.content == "Zelda plans ahead: [forgotten]"
    assert (await mind.memory(second)).status is Status.ACTIVE
    assert ("remake_memory", {"space": "main", "memory": str(known(insight))}) in mind.asked
    assert await rows(store, "select 1 from memory_vector where memory_id = %(id)s", id=known(insight)) == []


async def test_what_derives_from_the_turn_that_said_it_goes_with_it(store: Store, tmp_path: Path):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    turn = uuid4()
    learned = await mind.learn(PHRASE, turn_id=turn)
    derived = await mind.learn(
        "Zelda owns a painting",
        origin="job",
        derived_from=(known(learned),),
        turns=(TurnWithTrust(id=turn, trust=1.0),),
    )

    plan = await forget(eraser, MAIN_SPACE, ErasureSelector(ids=(known(learned),)), **BY)

    assert set(plan.erased) == {known(learned), known(derived)}
    assert ("forget_said", {"space": "main", "message": str(turn)}) in mind.asked


async def test_what_was_replaced_does_not_come_back_by_itself(store: Store, tmp_path: Path):
    mind = Mind(store, near={"Ana lives in Paris": 1.0, "Ana lives in Rome now": 0.9})
    eraser = eraser_of(mind, ledger_in(tmp_path))
    old = await mind.learn("Ana lives in Paris")
    mind.judges.told = says("update")
    new = await mind.learn("Ana lives in Rome now")
    assert new.action is LearnAction.SUPERSEDED
    assert new.change is not None

    plan = await forget(eraser, MAIN_SPACE, ErasureSelector(ids=(known(new),)), **BY)

    assert plan.predecessors == (known(old),)
    assert (await mind.memory(old)).status is Status.ARCHIVED
    with pytest.raises(UndoBlocked):
        await undo(mind.deps, MAIN_SPACE, new.change, by="person:owner")


async def test_what_was_said_again_in_the_same_words_goes_too(store: Store, tmp_path: Path):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    first = await mind.learn("Ana lives in Paris")
    await archive(mind.deps, MAIN_SPACE, known(first), by="person:owner")
    again = await mind.learn("Ana lives in Paris.")
    assert known(again) != known(first)

    plan = await forget(eraser, MAIN_SPACE, ErasureSelector(ids=(known(first),)), **BY)

    assert set(plan.erased) == {known(first), known(again)}
    assert await texts(store) == []


@pytest.mark.parametrize(
    ("origin", "asked"),
    [("model", True), ("document", True), ("tool", True), ("person", False)],
    ids=["model", "import of a page", "tool", "replay of what a person said"],
)
@pytest.mark.requirement("M-83", "F-93")
async def test_it_does_not_come_back_by_itself(store: Store, tmp_path: Path, origin: str, asked: bool):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    learned = await mind.learn("The north pier holds the spare key of the ferry")
    await forget(eraser, MAIN_SPACE, ErasureSelector(ids=(known(learned),)), **BY)

    same = await mind.learn("THE north pier holds the spare key of the ferry!", origin=origin, asked=asked)
    gist = await mind.learn("North pier holds spare key of ferry", origin=origin, asked=asked)

    assert (same.action, same.reasons) == (LearnAction.REFUSED, ("forgotten",))
    assert gist.action is LearnAction.REFUSED
    assert await texts(store) == []


async def test_what_is_forgotten_of_one_subject_may_be_learned_of_another(store: Store, tmp_path: Path):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    learned = await mind.learn("She lives in Oslo", subject="Anna")
    await forget(eraser, MAIN_SPACE, ErasureSelector(ids=(known(learned),)), **BY)

    of_anna = await mind.learn("She lives in Oslo", subject="Anna", origin="document")
    of_berta = await mind.learn("She lives in Oslo", subject="Berta", origin="document")

    assert (of_anna.action, of_berta.action) == (LearnAction.REFUSED, LearnAction.STORED)


@pytest.mark.requirement("M-83", "F-93")
async def test_a_person_who_says_it_anew_lifts_the_ban(store: Store, tmp_path: Path):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    learned = await mind.learn(PHRASE)
    await forget(eraser, MAIN_SPACE, ErasureSelector(ids=(known(learned),)), **BY)
    mind.forward()

    anew = await mind.learn(PHRASE)
    again = await mind.learn(PHRASE, origin="model", session="s5")

    assert anew.action is LearnAction.STORED
    assert again.action is LearnAction.CONFIRMED


@pytest.mark.requirement("M-83")
async def test_a_ban_holds_in_its_own_space_alone(store: Store, tmp_path: Path):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    await run_sql(store, "insert into space (id, name, created_at) values ('two', 'two', now())")
    learned = await mind.learn(PHRASE)
    await forget(eraser, MAIN_SPACE, ErasureSelector(ids=(known(learned),)), **BY)

    there = await learn(
        mind.deps,
        mind.place(space="two"),  # type: ignore[arg-type]
        LearnRequest(text=PHRASE, origin=Origin.MODEL),
    )

    assert there.action is LearnAction.STORED


@pytest.mark.requirement("X-38", "F-93")
async def test_a_backup_does_not_bring_it_back(store: Store, tmp_path: Path):
    """The rows are there again, as after a restore; the ledger is not part of it."""
    mind, ledger = Mind(store), ledger_in(tmp_path)
    eraser = eraser_of(mind, ledger)
    learned = await mind.learn(PHRASE)
    kept = await rows(store, "select to_jsonb(m) as row from memory m")
    await forget(eraser, MAIN_SPACE, ErasureSelector(ids=(known(learned),)), **BY)
    entries = read_entries(ledger)
    await run_sql(store, "delete from forgotten_mark")
    columns = "space_id, id, content, fold, gist, origin, trust, created_at, updated_at"
    await run_sql(
        store,
        f"insert into memory ({columns}) select {columns} from jsonb_populate_record(null::memory, %(row)s::jsonb)",
        row=json.dumps(kept[0]["row"]),
    )
    await plant(store)

    async with store.transaction() as transaction:
        erased = await reapply_ledger(transaction, entries)

    assert erased == 1
    assert {entry.kind for entry in entries} == {MEMORY, "gist"}
    assert await places_of(store, *WORDS) == []
    assert (await mind.learn(PHRASE, origin="model")).action is LearnAction.REFUSED


async def test_what_was_held_only_against_something_forgotten_stands_from_then_on(store: Store, tmp_path: Path):
    mind, new = Mind(store), "The mill opens at nine"
    others = ["The mill opens at six", "The mill opens at seven"]
    mind.judges.told = says("unrelated")
    old = [known(await mind.learn(text)) for text in others]
    mind.judges.told = says("contradicts", 0.7)
    held = await mind.learn(new)
    assert held.action is LearnAction.CONFLICTED
    eraser = eraser_of(mind, ledger_in(tmp_path))
    await forget(eraser, MAIN_SPACE, ErasureSelector(ids=(old[0],)), **BY)
    between = await mind.memory(held)
    await assert_sound(store)
    await forget(eraser, MAIN_SPACE, ErasureSelector(ids=(old[1],)), **BY)

    assert between.status is Status.HELD
    assert await texts(store) == [new]
    (event,) = await events(store, "memory_released")
    assert event["payload"] == {"memory": str(known(held)), "by": BY["by"]}
    (change,) = await rows(
        store, "select op, before, after, reason from memory_change where %(id)s = any(memory_ids)", id=known(held)
    )
    assert (change["op"], change["reason"]) == ("release", "what it contradicted was forgotten")
    assert change["after"]["memories"] == {str(known(held)): {"status": "active"}}
    await assert_sound(store)
