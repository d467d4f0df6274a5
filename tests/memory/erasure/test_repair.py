"""What came from a bad source is taken back, with everything that it did, and nothing else is touched."""

import random
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.deps import rows
from tests.memory.oblivion import eraser_of, ledger_in, places_of
from tests.memory.remembering import Mind, changed, events, known, memories, now, says, texts

from festinger.errors import BadInput, UndoBlocked
from festinger.ids import MAIN_SPACE, Origin, SessionId
from festinger.memory.edit import edit
from festinger.memory.erasure.repair import RepairMode, repair
from festinger.memory.erasure.replay import merge_sighting_details
from festinger.memory.erasure.selector import ErasureSelector
from festinger.memory.late_judgements import recheck_memory
from festinger.memory.learn.statement import TurnWithTrust
from festinger.memory.model import LearnAction, Status
from festinger.memory.undo import undo
from festinger.store.pool import Store

pytestmark = pytest.mark.requirement("M-84")

PAGE = "https://example.org/poisoned"
FROM_PAGE = ErasureSelector(source=PAGE)
BY = "person:owner"


async def snapshot(store: Store) -> dict[str, list[dict[str, Any]]]:
    """Every row of what is remembered, but for when it was last touched."""
    memory = await rows(store, "select to_jsonb(m) - 'updated_at' as row from memory m order by m.id")
    sighting = await rows(store, "select to_jsonb(s) as row from memory_sighting s order by s.id")
    link = await rows(store, "select to_jsonb(l) as row from memory_link l order by l.from_id, l.to_id")
    vector = await rows(store, "select to_jsonb(v) as row from memory_vector v order by v.memory_id, v.purpose")
    return {"memory": memory, "sighting": sighting, "link": link, "vector": vector}


def without(snapshot: dict[str, list[dict[str, Any]]], memories: set[str]) -> dict[str, list[dict[str, Any]]]:
    def is_other(row: dict[str, Any]) -> bool:
        named = [str(row["row"].get(name)) for name in ("id", "memory_id", "from_id", "to_id")]
        return memories.isdisjoint(named)

    return {table: [row for row in found if is_other(row)] for table, found in snapshot.items()}


async def poison(mind: Mind, text: str, **more: Any) -> Any:
    given = {"session": "bad", "origin": "document", "source": PAGE} | more
    return await mind.learn(text, **given)


async def test_what_it_replaced_stands_again_as_if_nothing_had_been(store: Store, tmp_path: Path):
    mind = Mind(store, near={"The account is 11": 1.0, "The account is 99": 0.9})
    eraser = eraser_of(mind, ledger_in(tmp_path))
    old = await mind.learn("The account is 11", origin="document", source="https://example.org/good")
    before = await snapshot(store)
    mind.forward()
    mind.judges.told = says("update")
    bad = await poison(mind, "The account is 99")
    assert bad.action is LearnAction.SUPERSEDED

    done = await repair(eraser, MAIN_SPACE, FROM_PAGE, by=BY)

    assert done.locked == (known(bad),)
    assert done.restored == (known(old),)
    assert without(await snapshot(store), {str(known(bad))}) == before
    assert (await mind.memory(bad)).status is Status.QUARANTINED
    (told,) = await events(store, "memory_repaired")
    assert told["payload"]["counts"]["locked"] == 1


async def test_votes_that_it_gave_are_taken_back_to_the_last_bit(store: Store, tmp_path: Path):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    text = "The mill grinds on Tuesdays only"
    for honest in (True, False):
        moments = [("s1", "person"), ("bad", "document"), ("s2", "model"), ("bad2", "document"), ("s3", "tool")]
        for number, (session, origin) in enumerate(moments):
            mind.hands.now = mind.hands.now.replace(minute=number)
            owner = "ada" if honest else "bob"
            bad = session.startswith("bad")
            if honest and bad:
                continue
            await mind.learn(text, session=session, origin=origin, agent=owner, source=PAGE if bad else None)

    await repair(eraser, MAIN_SPACE, FROM_PAGE, by=BY)

    ada, bob = await memories(store)
    assert (ada.agent_id, bob.agent_id) == ("ada", "bob")
    assert bob.belief == ada.belief
    assert (bob.cause_count, bob.confirmation_count) == (ada.cause_count, ada.confirmation_count) == (3, 2)
    assert bob.last_confirmed == ada.last_confirmed


async def test_subject_time_and_tags_that_only_it_filled_in_are_taken_back(store: Store, tmp_path: Path):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    text = "grinding happens on Tuesdays"
    await mind.learn(text, tags=("mill",))
    mind.forward()
    await mind.learn(text, session="s2", tags=("work",))
    before = await snapshot(store)
    mind.forward()
    bad = await poison(mind, text, subject="the evil mill", tags=("cursed", "work"), event_time=mind.hands.now)
    told = await mind.memory(bad)
    assert (told.subject, told.tags) == ("the evil mill", ("cursed", "mill", "work"))

    done = await repair(eraser, MAIN_SPACE, FROM_PAGE, by=BY)

    after = await snapshot(store)
    after["sighting"] = [row for row in after["sighting"] if row["row"]["uncounted_because"] != "repaired"]
    assert after == before
    assert done.change is not None
    await undo(mind.deps, MAIN_SPACE, done.change, by=BY)
    assert (await mind.memory(bad)).tags == ("cursed", "mill", "work")


async def test_what_a_person_wrote_over_it_stays(store: Store, tmp_path: Path):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    first = await mind.learn("grinding happens on Tuesdays")
    await poison(mind, "grinding happens on Tuesdays", subject="the evil mill")
    await edit(mind.deps, MAIN_SPACE, known(first), "grinding happens on Mondays", by=BY)

    await repair(eraser, MAIN_SPACE, FROM_PAGE, by=BY)

    assert (await mind.memory(first)).content == "grinding happens on Mondays"


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "subject": st.none() | st.text(max_size=3),
                "subject_key": st.none() | st.text(max_size=3),
                "event_time": st.none(),
                "tags": st.lists(st.sampled_from("abc"), unique=True),
            }
        ),
        min_size=1,
        max_size=5,
    )
)
def test_the_first_that_names_a_subject_names_it_and_all_tags_are_kept(told: list[dict[str, Any]]):
    kept = merge_sighting_details(told)

    named = [each["subject"] for each in told if each["subject"] is not None]
    assert kept["subject"] == (named[0] if named else None)
    assert set(kept["tags"]) == {tag for each in told for tag in each["tags"]}


async def test_a_vote_that_had_no_room_counts_once_there_is(store: Store, tmp_path: Path):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    learned = await mind.learn("The mill grinds on Tuesdays only", session="s0", origin="model")
    for number, session in enumerate(("b1", "b2", "s1")):
        mind.forward()
        source = PAGE if session.startswith("b") else None
        await mind.learn("The mill grinds on Tuesdays only", session=session, origin="model", source=source)
        assert (await mind.memory(learned)).cause_count == min(number + 2, 3)

    await repair(eraser, MAIN_SPACE, FROM_PAGE, by=BY)

    assert (await mind.memory(learned)).cause_count == 2
    counted = await rows(store, "select session_id from memory_sighting where counted order by at")
    assert [row["session_id"] for row in counted] == ["s0", "s1"]


async def test_a_memory_that_others_said_later_begins_with_them(store: Store, tmp_path: Path):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    learned = await poison(mind, "The mill grinds on TUESDAYS only")
    mind.forward()
    await mind.learn("The mill grinds on Tuesdays only", session="s1")

    done = await repair(eraser, MAIN_SPACE, FROM_PAGE, by=BY)

    left = await mind.memory(learned)
    assert (done.locked, done.retold) == ((), (known(learned),))
    assert (left.content, left.origin, left.trust) == ("The mill grinds on Tuesdays only", Origin.PERSON, 1.0)
    assert (left.cause_count, left.confirmation_count, left.confidence) == (1, 0, 0.5)


async def test_conflicts_that_it_opened_are_closed_and_what_was_held_against_it_stands(store: Store, tmp_path: Path):
    first, second = "The account is 11", "The account is 99"
    mind = Mind(store, near={first: 1.0, second: 0.9})
    eraser = eraser_of(mind, ledger_in(tmp_path))
    bad = await poison(mind, first)
    mind.judges.told = says("contradicts", 0.7)
    held = await mind.learn(second, origin="tool")
    assert (held.action, now(bad).status) == (LearnAction.CONFLICTED, Status.ACTIVE)

    done = await repair(eraser, MAIN_SPACE, FROM_PAGE, by=BY)

    assert done.conflicts == 1
    assert (await mind.memory(held)).status is Status.ACTIVE
    (conflict,) = await rows(store, "select status from resolution_queue")
    assert conflict["status"] == "dismissed"


async def test_a_merge_is_taken_apart(store: Store, tmp_path: Path):
    one, other = "The mill grinds on Tuesdays only", "Only on Tuesdays does the mill grind"
    mind = Mind(store, near={one: 1.0, other: 0.5})
    eraser = eraser_of(mind, ledger_in(tmp_path))
    good = await mind.learn(one, session="s1")
    before = await snapshot(store)
    bad = await poison(mind, other)
    mind.near.near[other] = 0.99
    mind.judges.told = says("same", 0.95)
    await recheck_memory(mind.deps, MAIN_SPACE, known(bad))
    assert (await mind.memory(bad)).status is Status.MERGED

    await repair(eraser, MAIN_SPACE, FROM_PAGE, by=BY)

    assert without(await snapshot(store), {str(known(bad))}) == before
    assert (await mind.memory(good)).cause_count == 1


async def test_insights_that_rest_on_it_go_with_it_or_are_made_again(store: Store, tmp_path: Path):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    good = await mind.learn("The harbour opens at dawn every day")
    bad = await poison(mind, "The harbour master takes bribes")
    alone = await mind.learn("The harbour is corrupt", origin="job", derived_from=(known(bad),))
    mixed = await mind.learn("The harbour is busy", origin="job", derived_from=(known(bad), known(good)))

    done = await repair(eraser, MAIN_SPACE, FROM_PAGE, by=BY)

    assert set(done.locked) == {known(bad), known(alone)}
    assert done.remade == (known(mixed),)
    assert await texts(store) == ["The harbour opens at dawn every day"]
    assert ("remake_memory", {"space": "main", "memory": str(known(mixed))}) in mind.asked


async def test_locking_away_is_one_change_that_can_be_undone(store: Store, tmp_path: Path):
    mind = Mind(store, near={"The account is 11": 1.0, "The account is 99": 0.9})
    eraser = eraser_of(mind, ledger_in(tmp_path))
    await mind.learn("The account is 11", origin="document")
    mind.judges.told = says("update")
    await poison(mind, "The account is 99")
    mind.judges.told = None
    await mind.learn("The mill grinds on Tuesdays only", session="s1")
    await poison(mind, "The mill grinds on Tuesdays only")
    before = await snapshot(store)
    done = await repair(eraser, MAIN_SPACE, FROM_PAGE, by=BY)
    assert done.change is not None
    assert await snapshot(store) != before

    await undo(mind.deps, MAIN_SPACE, done.change, by=BY)

    assert await snapshot(store) == before


async def test_what_was_said_since_keeps_a_repair_from_being_undone(store: Store, tmp_path: Path):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    await poison(mind, "The mill grinds on Tuesdays only")
    await mind.learn("The mill grinds on Tuesdays only", session="s1")
    done = await repair(eraser, MAIN_SPACE, FROM_PAGE, by=BY)
    await mind.learn("The mill grinds on Tuesdays only", session="s2")
    assert done.change is not None

    with pytest.raises(UndoBlocked):
        await undo(mind.deps, MAIN_SPACE, done.change, by=BY)


async def test_a_repair_may_forget_and_may_only_plan(store: Store, tmp_path: Path):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    await mind.learn("The harbour opens at dawn every day")
    bad = await poison(mind, "The quokka harbour master takes bribes")
    before = await snapshot(store)

    planned = await repair(eraser, MAIN_SPACE, FROM_PAGE, by=BY, mode=RepairMode.FORGET, dry_run=True)
    assert planned.forgotten is not None
    assert planned.forgotten.erased == (known(bad),)
    assert await snapshot(store) == before

    await repair(eraser, MAIN_SPACE, FROM_PAGE, by=BY, mode=RepairMode.FORGET)
    assert await places_of(store, "quokka") == []
    assert await texts(store) == ["The harbour opens at dawn every day"]


@pytest.mark.parametrize("mode", RepairMode)
async def test_what_derives_only_from_it_and_the_turn_that_said_it_goes_with_it(
    store: Store, tmp_path: Path, mode: RepairMode
):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    turn = uuid4()
    bad = await poison(mind, "The mill is cursed", turn_id=turn)
    good = await mind.learn("The mill grinds on Tuesdays")
    derived: dict[str, Any] = {"origin": "job", "turns": (TurnWithTrust(id=turn, trust=0.4),)}
    alone = await mind.learn("Nobody should buy flour", derived_from=(known(bad),), **derived)
    mixed = await mind.learn("Tuesdays bring bad luck", derived_from=(known(bad), known(good)), **derived)

    done = await repair(eraser, MAIN_SPACE, FROM_PAGE, by=BY, mode=mode)

    assert set(done.locked) == {known(bad), known(alone)}
    assert done.remade == (known(mixed),)
    if done.forgotten:
        assert (done.locked, done.remade) == (done.forgotten.erased, done.forgotten.remade)
    assert {each.id for each in await memories(store, "active")} == {known(good)}


async def test_a_repair_needs_a_place(store: Store, tmp_path: Path):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))

    with pytest.raises(BadInput, match="from where"):
        await repair(eraser, MAIN_SPACE, ErasureSelector(subject="mill"), by=BY)
    with pytest.raises(BadInput):
        await repair(eraser, MAIN_SPACE, ErasureSelector(), by=BY)


async def test_a_time_bounds_what_is_taken_back(store: Store, tmp_path: Path):
    mind = Mind(store)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    early = await poison(mind, "The mill grinds on Tuesdays only")
    since = mind.forward(timedelta(hours=1))
    late = await poison(mind, "The harbour opens at dawn every day")

    selector = ErasureSelector(session=SessionId("bad"), since=since)
    done = await repair(eraser, MAIN_SPACE, selector, by=BY)

    assert done.locked == (known(late),)
    assert (await mind.memory(early)).status is Status.ACTIVE


async def test_of_many_planted_statements_no_effect_is_left_and_nothing_else_moves(store: Store, tmp_path: Path):
    """A tenth of the size of the bar's; its whole size is measured by a bench."""
    chance, honest, planted = random.Random(7), 300, 20
    facts = [f"Depot {number} keeps pallet {chance.randrange(10**6)} by gate {number % 9}" for number in range(honest)]
    lies = [f"Depot {number} burned down in storm {chance.randrange(10**6)}" for number in range(planted)]
    mind = Mind(store, near={facts[0]: 1.0, lies[0]: 0.9}, burst_limit=10_000)
    eraser = eraser_of(mind, ledger_in(tmp_path))
    for number, text in enumerate(facts):
        await mind.learn(text, origin="tool", subject="depot zero" if number == 0 else None)
    before = await snapshot(store)
    mind.judges.told = says("update")
    bad = [await poison(mind, lies[0], subject="depot zero")]
    assert bad[0].action is LearnAction.SUPERSEDED
    mind.judges.told = None
    bad += [await poison(mind, text) for text in lies[1:]]
    bad += [
        await mind.learn(f"Depots fail: {number}", origin="job", derived_from=(known(bad[number]),))
        for number in (1, 2)
    ]
    for text in facts[50:70]:
        await poison(mind, text)

    done = await repair(eraser, MAIN_SPACE, FROM_PAGE, by=BY)

    ids = {str(known(each)) for each in bad}
    assert {str(each) for each in done.locked} == ids
    after = without(await snapshot(store), ids)
    after["sighting"] = [row for row in after["sighting"] if row["row"]["uncounted_because"] != "repaired"]
    assert after == before


async def test_undoing_what_it_did_leaves_later_replacements_in_place(store: Store, tmp_path: Path):
    """What a bad one had replaced is history all the same if somebody else has replaced the bad one since."""
    first, bad_one, third = "The account is 11", "The account is 99", "The account is 42"
    mind = Mind(store, near={first: 1.0, bad_one: 0.93, third: 0.92})
    eraser = eraser_of(mind, ledger_in(tmp_path))
    old = await mind.learn(first, origin="document")
    mind.judges.told = says("update")
    bad = await poison(mind, bad_one)
    new = await mind.learn(third, session="s2")
    assert (await mind.memory(bad)).superseded_by == known(new)
    assert changed(new)

    await repair(eraser, MAIN_SPACE, FROM_PAGE, by=BY)

    assert (await mind.memory(old)).superseded_by == known(new)
    assert await texts(store) == [third]
