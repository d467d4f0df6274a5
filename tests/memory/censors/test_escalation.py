"""When a warning becomes a stop, and how it is changed and taken back."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.deps import rows
from tests.memory.censors.guarding import Guard
from tests.memory.episodes.talking import MONDAY
from tests.memory.remembering import events

from festinger.errors import BadInput, NotFound, Refused, UndoBlocked
from festinger.ids import MAIN_SPACE, Origin
from festinger.memory.censors.censor import CensorAction, censor_from_row, is_due_for_escalation, is_mostly_wrong
from festinger.memory.censors.edit import activate, deactivate, demote, escalate, undo, update
from festinger.memory.censors.escalation import find_latest_trigger_id, mark_false_positive
from festinger.store.pool import Store

ROW = {
    "space_id": MAIN_SPACE, "id": UUID(int=1), "seq": 1, "agent_id": None, "reason": "", "pattern": "x",
    "meaning": None, "domain": None, "applies_to": ["output"], "action": "warn", "origin": "person",
    "activation_count": 0, "false_positive_count": 0, "escalation_threshold": 5, "last_triggered": None,
    "active": True, "created_at": MONDAY, "version": 1,
}  # fmt: skip


@pytest.mark.requirement("M-70")
async def test_by_itself_the_fifth_strike_makes_a_stop_and_the_fourth_does_not(store: Store):
    guard = Guard(store, censor_escalation="auto")
    censor = await guard.add("zebra")

    await guard.strike("a zebra", 4)
    assert (await guard.now(censor)).action is CensorAction.WARN
    await guard.strike("a zebra", 1)

    assert (await guard.now(censor)).action is CensorAction.BLOCK
    assert (await guard.check("a zebra")).blocked
    told = [row["payload"] for row in await events(store, "censor_changed")]
    assert [(each["from"], each["to"], each["by"]) for each in told[1:]] == [("warn", "block", "festinger")]


@pytest.mark.requirement("M-70", "M-72")
@pytest.mark.parametrize("way", ["undo", "demote"])
async def test_strikes_that_led_to_a_stop_which_a_person_took_back_do_not_lead_to_it_again(store: Store, way: str):
    guard = Guard(store, censor_escalation="auto")
    censor = await guard.add("zebra")
    await guard.strike("a zebra", 5)
    assert (await guard.now(censor)).action is CensorAction.BLOCK
    if way == "undo":
        [change] = await rows(store, "select id from censor_change where op = 'escalate'")
        await undo(guard.mind.deps, MAIN_SPACE, change["id"], by="person:ann")
    else:
        await demote(guard.mind.deps, MAIN_SPACE, censor.id, by="person:ann")

    guard.mind.forward()
    await guard.strike("a zebra", 4)
    assert (await guard.now(censor)).action is CensorAction.WARN
    await guard.strike("a zebra", 1)

    now = await guard.now(censor)
    assert (now.action, now.activation_count) == (CensorAction.BLOCK, 10)


async def test_a_stop_stays_a_stop_and_a_threshold_of_its_own_counts(store: Store):
    guard = Guard(store, censor_escalation="auto")
    stop = await guard.add("lion", action="block")
    quick = await guard.add("zebra", threshold=2)

    await guard.strike("a lion", 6)
    await guard.strike("a zebra", 1)
    assert (await guard.now(quick)).action is CensorAction.WARN
    await guard.strike("a zebra", 1)

    assert (await guard.now(quick)).action is CensorAction.BLOCK
    assert (await guard.now(stop)).version == stop.version


async def test_by_default_it_stays_a_warning_and_whoever_proposes_hears_of_the_fifth(store: Store):
    guard = Guard(store)
    censor = await guard.add("zebra")

    await guard.strike("a zebra", 6)

    assert (await guard.now(censor)).action is CensorAction.WARN
    told = [row["payload"] for row in await events(store, "censor_triggered")]
    assert [each["activation_count"] for each in told] == [1, 2, 3, 4, 5, 6]
    assert {each["action"] for each in told} == {"warn"}


async def test_a_censor_that_a_model_made_never_passes_a_warning_by_itself(store: Store):
    guard = Guard(store, censor_escalation="auto")
    censor = await guard.add("zebra", origin=Origin.MODEL)

    await guard.strike("a zebra", 50)

    now = await guard.now(censor)
    assert (now.action, now.activation_count) == (CensorAction.WARN, 50)


@pytest.mark.requirement("M-71")
async def test_a_wrong_strike_counts_once_and_is_taken_off_the_count_that_escalates(store: Store):
    guard = Guard(store, censor_escalation="auto")
    censor = await guard.add("zebra")
    await guard.strike("a zebra", 4)
    wrong = await find_latest_trigger_id(guard.mind.deps, MAIN_SPACE, censor.id)

    first = await mark_false_positive(guard.mind.deps, MAIN_SPACE, wrong, by="person:ann")
    second = await mark_false_positive(guard.mind.deps, MAIN_SPACE, wrong, by="person:ann")
    await guard.strike("a zebra", 1)

    assert (first.counted, second.counted) == (True, False)
    now = await guard.now(censor)
    assert (now.false_positive_count, now.activation_count, now.action) == (1, 5, CensorAction.WARN)
    await guard.strike("a zebra", 1)
    assert (await guard.now(censor)).action is CensorAction.BLOCK
    assert len(await events(store, "censor_false_positive")) == 1


@pytest.mark.requirement("M-71")
async def test_a_warning_that_is_mostly_wrong_is_switched_off_which_can_be_undone(store: Store):
    guard = Guard(store)
    censor = await guard.add("zebra")
    await guard.strike("a zebra", 5)

    done = [
        await mark_false_positive(
            guard.mind.deps, MAIN_SPACE, await find_latest_trigger_id(guard.mind.deps, MAIN_SPACE, censor.id), by="ann"
        )
        for _ in range(3)
    ]
    guard.watch.forget(MAIN_SPACE)

    assert [each.censor.active for each in done] == [True, True, False]
    assert not (await guard.check("a zebra")).triggered
    assert done[2].change is not None
    assert (await undo(guard.mind.deps, MAIN_SPACE, done[2].change, by="ann")).censor.active


@pytest.mark.requirement("M-71")
async def test_a_stop_that_is_mostly_wrong_stays_and_asks_to_be_a_warning(store: Store):
    guard = Guard(store)
    censor = await guard.add("zebra", action="block")
    await guard.strike("a zebra", 5)

    for _ in range(3):
        strike = await find_latest_trigger_id(guard.mind.deps, MAIN_SPACE, censor.id)
        done = await mark_false_positive(guard.mind.deps, MAIN_SPACE, strike, by="ann")

    assert done.should_be_demoted
    assert (await guard.now(censor)).standing == "block"


@given(strikes=st.integers(0, 40), wrong=st.integers(0, 40), threshold=st.integers(1, 10))
def test_what_is_due_and_what_is_mostly_wrong_follow_from_the_counts(strikes: int, wrong: int, threshold: int):
    wrong = min(wrong, strikes)
    row = {"activation_count": strikes, "false_positive_count": wrong, "escalation_threshold": threshold}
    censor = censor_from_row(ROW | row)

    assert is_due_for_escalation(censor) == (strikes - wrong >= threshold)
    assert is_mostly_wrong(censor) == (strikes >= 5 and wrong * 2 > strikes)
    assert not is_due_for_escalation(censor_from_row(ROW | row | {"active": False}))
    assert not is_due_for_escalation(censor_from_row(ROW | row | {"action": "block"}))


@pytest.mark.requirement("M-72")
async def test_each_change_is_logged_told_and_can_be_taken_back(store: Store):
    guard = Guard(store)
    deps, censor = guard.mind.deps, await guard.add("zebra")

    raised = await escalate(deps, MAIN_SPACE, censor.id, by="person:ann", reason="it matters")
    again = await escalate(deps, MAIN_SPACE, censor.id, by="person:ann")
    lowered = await demote(deps, MAIN_SPACE, censor.id, by="person:ann")
    changed = await update(deps, MAIN_SPACE, censor.id, by="person:ann", pattern="lion", reason_shown="No lions.")
    off = await deactivate(deps, MAIN_SPACE, censor.id, by="person:ann")
    guard.watch.forget(MAIN_SPACE)

    assert (raised.censor.standing, again.change) == ("block", None)
    assert (lowered.censor.standing, changed.censor.pattern, off.censor.standing) == ("warn", "lion", "off")
    assert not (await guard.check("a lion")).triggered
    assert raised.change is not None
    assert off.change is not None
    with pytest.raises(UndoBlocked):
        await undo(deps, MAIN_SPACE, raised.change, by="ann")
    back = await undo(deps, MAIN_SPACE, off.change, by="ann")
    assert back.censor.standing == "warn"
    assert (await undo(deps, MAIN_SPACE, off.change, by="ann")).censor.version == back.censor.version
    told = [(row["payload"]["from"], row["payload"]["to"]) for row in await events(store, "censor_changed")]
    assert told == [
        (None, "warn"), ("warn", "block"), ("block", "warn"), ("warn", "warn"), ("warn", "off"), ("off", "warn"),
    ]  # fmt: skip
    assert (await activate(deps, MAIN_SPACE, censor.id, by="ann")).change is None


@pytest.mark.requirement("M-72")
async def test_a_change_that_makes_no_sense_is_refused(store: Store):
    guard = Guard(store)
    deps, censor = guard.mind.deps, await guard.add("zebra")

    with pytest.raises(BadInput, match="nothing to change"):
        await update(deps, MAIN_SPACE, censor.id, by="ann")
    with pytest.raises(BadInput, match="cannot be changed"):
        await update(deps, MAIN_SPACE, censor.id, by="ann", origin_of_all="x")
    with pytest.raises(BadInput, match="pattern or a meaning"):
        await update(deps, MAIN_SPACE, censor.id, by="ann", pattern="")
    with pytest.raises(Refused):
        await update(deps, MAIN_SPACE, censor.id, by="key:agent", origin=Origin.MODEL, action="block")
    with pytest.raises(NotFound):
        await escalate(deps, MAIN_SPACE, UUID(int=1), by="ann")
    with pytest.raises(NotFound):
        await mark_false_positive(deps, MAIN_SPACE, UUID(int=1), by="ann")
    with pytest.raises(NotFound):
        await undo(deps, MAIN_SPACE, UUID(int=1), by="ann")
    assert (await guard.now(censor)).version == 1
