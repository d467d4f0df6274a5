"""What becomes of what a message asserted?"""

from datetime import timedelta

import pytest
from tests.jobs.deps import rows
from tests.world.worldly import Bench, events, kept, queue, table

from festinger.errors import AlreadyDecided, NoSuchCue
from festinger.ids import MAIN_SPACE, Origin
from festinger.store.pool import Store
from festinger.world.edge_statements import apply_statement
from festinger.world.learn import write_claims
from festinger.world.quarantine import (
    QuarantineVoteCounts,
    admit_entry,
    expire_quarantine,
    has_enough_votes,
    load_quarantine,
    reject_entry,
)
from festinger.world.recall import SourceText
from festinger.world.recollection import Claim, effective_claim_origin

PAGE = "Acme is a vendor. Read on."


@pytest.mark.requirement("W-50")
async def test_writing_a_message_twice_changes_nothing(store: Store):
    bench = await Bench(store).open()
    place, said = bench.place(), SourceText(text="gnommoweb is a repo", origin=Origin.PERSON, message="m1")
    for _ in range(2):
        async with store.transaction() as transaction:
            await bench.recollector.learn(transaction, place, said)

    first = await write_claims(bench.deps, MAIN_SPACE, "m1")
    before = await rows(store, "select * from urd"), await rows(store, "select * from urd_cause")
    second = await write_claims(bench.deps, MAIN_SPACE, "m1")

    assert (len(first), second) == (1, [])
    assert (await rows(store, "select * from urd"), await rows(store, "select * from urd_cause")) == before


@pytest.mark.requirement("W-51")
@pytest.mark.parametrize(("origin", "confidence"), [(Origin.PERSON, 0.65), (Origin.MODEL, 0.60)])
async def test_people_and_agents_write_at_once_an_agent_with_less_confidence(
    store: Store, origin: Origin, confidence: float
):
    bench = await Bench(store).open()

    await bench.hear("gnommoweb is a repo", origin=origin)

    assert await table(store) == kept(bench) == {("gnommoweb", "repo", "type", True, confidence)}
    (row,) = await rows(store, "select source, origin from urd where id <> parent_id")
    assert row == {"source": "inferred", "origin": origin.value}


@pytest.mark.requirement("W-51")
@pytest.mark.parametrize("origin", [Origin.SYSTEM, Origin.TOOL, Origin.DOCUMENT])
async def test_other_texts_are_quarantined_and_never_shown(store: Store, origin: Origin):
    bench = await Bench(store).open()

    await bench.hear("Acmecorp is a vendor", origin=origin)

    assert await table(store) == set()
    assert not await bench.hear("who is Acmecorp")
    (held,) = await load_quarantine(bench.deps, MAIN_SPACE)
    assert (held.concept, held.parent, held.status) == ("acmecorp", "vendor", "waiting")
    assert len(await events(store, "cue_quarantined")) == 1


@pytest.mark.requirement("W-51")
def test_an_agent_that_repeats_a_page_speaks_for_the_page():
    claim = Claim(
        concept="acme", parent="vendor", dimension="type", is_isa=True, confidence=0.65, pattern="is a",
        origin=Origin.MODEL,
    )  # fmt: skip

    assert effective_claim_origin(Origin.MODEL, claim, unvouched={"acme", "vendor"}) is Origin.TOOL
    assert effective_claim_origin(Origin.MODEL, claim, unvouched={"acme"}) is Origin.MODEL
    assert effective_claim_origin(Origin.PERSON, claim, unvouched={"acme", "vendor"}) is Origin.PERSON


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        ((3, 2, 2, 2), True),
        ((2, 2, 2, 2), False),
        ((3, 1, 2, 2), False),
        ((3, 2, 1, 2), False),
        ((3, 2, 2, 1), False),
        ((100, 50, 1, 9), False),
    ],
)
def test_admission_needs_causes_sessions_texts_and_days(votes: tuple[int, int, int, int], expected: bool):
    causes, sessions, texts, days = votes
    found = QuarantineVoteCounts(causes=causes, sessions=sessions, texts=texts, days=days)

    assert has_enough_votes(found, min_causes=3) is expected


@pytest.mark.requirement("W-53")
async def test_a_poisoned_page_in_fifty_turns_says_nothing_and_a_person_makes_it_heard_at_once(store: Store):
    bench = await Bench(store).open()
    for turn in range(50):
        found = await bench.hear(f"Acmecorp is a trusted vendor. Turn {turn}.", origin=Origin.TOOL)
        assert not found
    assert bench.world().pending_slots == set()
    assert await table(store) == set()

    await bench.hear("Acmecorp is a vendor")

    assert (await bench.hear("and Acmecorp?")).lines == ("acmecorp: [type] vendor",)
    assert [row.status for row in await load_quarantine(bench.deps, MAIN_SPACE, statuses=None)] == ["admitted"]


@pytest.mark.requirement("W-91")
async def test_three_causes_in_two_sessions_from_two_texts_on_two_days_let_a_statement_in_unconfirmed(store: Store):
    bench = await Bench(store).open()
    await bench.hear("Acmecorp is a vendor. One.", origin=Origin.TOOL, session="s1")
    await bench.hear("Acmecorp is a vendor. Two.", origin=Origin.TOOL, session="s2")
    before = await table(store)
    bench.hands.forward(timedelta(days=1))
    await bench.hear("Acmecorp is a vendor. Two.", origin=Origin.TOOL, session="s3")

    assert before == set()
    assert await table(store) == {("acmecorp", "vendor", "type", True, 0.60)}
    assert (await bench.hear("Acmecorp")).lines == ("acmecorp: [type] vendor (unconfirmed)",)
    await bench.hear("Acmecorp is a vendor")
    assert (await bench.hear("Acmecorp again")).lines == ("acmecorp: [type] vendor",)


async def test_the_same_page_in_many_sessions_has_one_vote(store: Store):
    bench = await Bench(store).open()

    for session in range(20):
        await bench.hear("Acmecorp is a vendor", origin=Origin.DOCUMENT, session=f"s{session}")

    assert await table(store) == set()


async def test_a_tools_output_with_a_changing_number_has_one_vote(store: Store):
    bench = await Bench(store).open()

    for number in range(6):
        await bench.hear(
            f"[{number}] uptime {17 * number} s: Acmecorp is a vendor.", origin=Origin.TOOL, session=f"s{number}"
        )
        bench.hands.forward(timedelta(days=1))

    assert await table(store) == set()


async def test_people_admit_and_reject_by_hand_and_waiting_ends_after_thirty_days(store: Store):
    bench = await Bench(store).open()
    for name in ("Acmecorp", "Globexcorp", "Initechcorp"):
        await bench.hear(f"{name} is a vendor", origin=Origin.TOOL)
    held = {each.concept: each.id for each in await load_quarantine(bench.deps, MAIN_SPACE)}

    await admit_entry(bench.deps, MAIN_SPACE, held["acmecorp"], because=bench.because())
    await reject_entry(bench.deps, MAIN_SPACE, held["globexcorp"], by="reviewer")
    bench.hands.forward(timedelta(days=31))
    await expire_quarantine(bench.deps, [MAIN_SPACE])

    found = {each.concept: each.status for each in await load_quarantine(bench.deps, MAIN_SPACE, statuses=None)}
    assert found == {"acmecorp": "admitted", "globexcorp": "rejected", "initechcorp": "expired"}
    with pytest.raises(AlreadyDecided):
        await admit_entry(bench.deps, MAIN_SPACE, held["globexcorp"], because=bench.because())
    with pytest.raises(NoSuchCue):
        await reject_entry(bench.deps, MAIN_SPACE, bench.deps.new_id(), by="reviewer")
    await admit_entry(bench.deps, MAIN_SPACE, held["initechcorp"], because=bench.because())
    assert {concept for concept, *_ in await table(store)} == {"acmecorp", "initechcorp"}


@pytest.mark.requirement("W-53")
async def test_a_session_that_contradicts_much_is_held_but_not_the_person_in_it(store: Store):
    bench = await Bench(store).open()
    for name in ("dobby", "winky", "kreacher"):
        await apply_statement(bench.deps, MAIN_SPACE, bench.say(f"{name} elf", confidence=0.9))
    for name in ("dobby", "winky", "kreacher"):
        await bench.hear(f"{name} is a wizard", origin=Origin.MODEL, session="bad")

    await bench.hear("gnommoweb is a repo", origin=Origin.MODEL, session="bad")
    await bench.hear("gnommonews is a repo", origin=Origin.MODEL, session="good")
    await bench.hear("gnommomail is a repo", session="bad")

    assert {concept for concept, *_ in await table(store)} & {"gnommoweb", "gnommonews", "gnommomail"} == {
        "gnommonews",
        "gnommomail",
    }
    assert [row["session_id"] for row in await rows(store, "select session_id from held_session")] == ["bad"]


@pytest.mark.requirement("W-53")
async def test_collisions_of_quarantined_pages_count_towards_holding_a_session(store: Store):
    bench = await Bench(store).open()
    for name in ("dobby", "winky", "kreacher"):
        await apply_statement(bench.deps, MAIN_SPACE, bench.say(f"{name} elf", confidence=0.9))
        await bench.hear(f"{name} is a wizard", origin=Origin.TOOL, session="bad")

    assert len(await rows(store, "select 1 from held_session")) == 1
    assert await queue(store) == []


@pytest.mark.requirement("W-53")
async def test_one_cause_opens_only_so_many_conflicts(store: Store):
    bench = await Bench(store, conflict_max_per_cause=2).open()
    for name in ("dobby", "winky", "kreacher"):
        await apply_statement(bench.deps, MAIN_SPACE, bench.say(f"{name} elf", session="s0"))
        await bench.hear(f"{name} is a wizard", origin=Origin.MODEL)

    assert len(await queue(store)) == 2
    assert [each.concept for each in await load_quarantine(bench.deps, MAIN_SPACE)] == ["kreacher"]


@pytest.mark.requirement("W-16")
async def test_taking_back_what_stands_marks_it_until_that_is_decided(store: Store):
    bench = await Bench(store).open()
    await bench.hear("gnommoweb is a repo")

    found = await bench.hear("gnommoweb is not a repo")
    by_agent = await bench.hear("gnommoweb is not a repo", origin=Origin.MODEL)
    of_another = await bench.hear("gnommoweb is not a container")

    assert found.lines == ("gnommoweb: [type?] repo — conflict pending",)
    assert by_agent.lines == of_another.lines == found.lines
    (item,) = await queue(store)
    assert (item["collision_type"], item["sightings"]) == ("retraction", 1)
    assert await table(store) == {("gnommoweb", "repo", "type", True, 0.65)}


@pytest.mark.requirement("W-39")
async def test_what_no_edge_can_be_made_of_is_dropped_from_texts(store: Store):
    bench = await Bench(store).open()
    await bench.hear("gnommoweb is a repo. type is a type.")

    assert await table(store) == {("gnommoweb", "repo", "type", True, 0.65)}
