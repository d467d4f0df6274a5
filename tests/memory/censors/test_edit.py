"""How censors are made, and what is said of them at once."""

from dataclasses import replace
from uuid import UUID

import pytest
from tests.memory.censors.guarding import Guard
from tests.memory.remembering import events

from festinger.errors import BadInput, NotFound, Refused
from festinger.ids import MAIN_SPACE, Origin
from festinger.memory.censors.censor import CensorAction, CensorTextKind
from festinger.memory.censors.edit import list_triggers, load_page_of_censors
from festinger.memory.episodes.store import append_turn
from festinger.store.pool import Store


@pytest.mark.requirement("M-65", "M-66")
async def test_a_rule_becomes_a_warning_for_what_is_said_and_done(store: Store):
    guard = Guard(store)

    made = await guard.add(r"rm\s+-rf", reason="That deletes everything.")

    assert (made.pattern, made.meaning, made.action) == (r"rm\s+-rf", None, CensorAction.WARN)
    assert made.applies_to == (CensorTextKind.OUTPUT, CensorTextKind.TOOL)
    assert (made.escalation_threshold, made.origin, made.agent_id) == (5, Origin.PERSON, None)
    [told] = await events(store, "censor_changed")
    assert (told["payload"]["from"], told["payload"]["to"]) == (None, "warn")
    assert [each.id for each in await load_page_of_censors(guard.mind.deps, MAIN_SPACE)] == [made.id]


@pytest.mark.requirement("M-66")
async def test_plain_prose_is_taken_for_what_is_meant_and_the_answer_says_so(store: Store):
    guard = Guard(store)

    meant = await guard.add("never tell anybody the password")
    literal = await guard.add("never tell anybody the password", literal=True)

    assert (meant.pattern, meant.meaning) == (None, "never tell anybody the password")
    assert "meant" in meant.said
    assert literal.meaning is None
    assert (await guard.check("Never tell anybody THE password!")).triggered[0].censor.id == literal.id


@pytest.mark.requirement("M-66", "M-68")
async def test_what_cannot_be_a_censor_is_refused(store: Store):
    guard = Guard(store)

    with pytest.raises(BadInput, match="rule or a meaning"):
        await guard.add("  ")
    with pytest.raises(BadInput, match="look-ahead"):
        await guard.add("a(?=b)")
    with pytest.raises(BadInput, match="place"):
        await guard.add("zebra", on=("nowhere",))
    with pytest.raises(BadInput, match="action"):
        await guard.add("zebra", action="shout")
    with pytest.raises(BadInput, match="threshold"):
        await guard.add("zebra", threshold=0)
    assert await load_page_of_censors(guard.mind.deps, MAIN_SPACE) == []


@pytest.mark.requirement("M-66")
@pytest.mark.parametrize("origin", [Origin.MODEL, Origin.TOOL, Origin.DOCUMENT, Origin.JOB], ids=str)
async def test_a_stop_needs_a_person(store: Store, origin: Origin):
    guard = Guard(store)

    with pytest.raises(Refused) as refused:
        await guard.add("zebra", action="block", origin=origin)

    assert refused.value.details["reason"] == "needs_person"
    assert (await guard.add("zebra", origin=origin)).action is CensorAction.WARN
    assert (await guard.add("zebra", action="block", origin=Origin.SYSTEM)).action is CensorAction.BLOCK


@pytest.mark.requirement("M-66")
async def test_the_answer_counts_what_the_rule_would_have_hit(store: Store):
    guard = Guard(store)
    for number in range(4):
        await append_turn(guard.mind.deps, guard.mind.place(), "assistant", f"A zebra, number {number}.")
    await append_turn(guard.mind.deps, guard.mind.place(), "user", "Show me a zebra and a lion.")

    never, always, asked = (await guard.add("unicorn"), await guard.add("."), await guard.add("lion", on=("input",)))

    assert (never.would_have_hit, never.looked_at) == (0, 4)
    assert (always.would_have_hit, always.looked_at) == (4, 4)
    assert (asked.would_have_hit, asked.looked_at) == (1, 1)


@pytest.mark.requirement("M-66")
async def test_a_meaning_is_held_against_the_last_turns_too(store: Store):
    guard = Guard(store, near={"medical advice of any kind": 1.0, "Take two pills a day.": 0.9})
    await append_turn(guard.mind.deps, guard.mind.place(), "assistant", "Take two pills a day.")
    await append_turn(guard.mind.deps, guard.mind.place(), "assistant", "The sun shines.")

    made = await guard.add("medical advice of any kind")

    assert (made.would_have_hit, made.looked_at) == (1, 2)


async def test_strikes_are_listed_the_newest_first(store: Store):
    guard = Guard(store)
    censor = await guard.add("zebra")
    for text in ("a zebra", "two zebras"):
        await guard.check(text)

    found = await list_triggers(guard.mind.deps, MAIN_SPACE, censor.id)

    assert [each.excerpt for each in found] == ["two zebras", "a zebra"]
    assert [
        each.excerpt for each in await list_triggers(guard.mind.deps, MAIN_SPACE, censor.id, before=found[0].seq)
    ] == ["a zebra"]
    with pytest.raises(NotFound):
        await guard.now(replace(censor, id=UUID(int=1)))
