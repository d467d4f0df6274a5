"""What happens when a memory is said again."""

import pytest
from tests.jobs.deps import rows
from tests.memory.remembering import DAY, Mind, changed, events, known, memories, now, says, texts

from festinger.ids import MAIN_SPACE, Scope
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.statement import LearnRequest, TurnWithTrust
from festinger.memory.model import LearnAction
from festinger.memory.undo import undo
from festinger.store.pool import Store

BEES = "Ann keeps bees in the garden"


@pytest.mark.requirement("M-27")
async def test_the_same_statement_twice_is_one_row_and_the_caller_is_told(store: Store):
    mind = Mind(store)
    first = await mind.learn(BEES)

    second = await mind.learn("ann keeps bees  in the garden!", session="s2")

    assert second.action is LearnAction.CONFIRMED
    assert known(second) == known(first)
    assert len(await memories(store)) == 1
    assert not second.said.startswith(first.said)


@pytest.mark.requirement("M-23")
async def test_the_same_words_need_no_vector_and_no_judge(store: Store):
    mind = Mind(store)
    await mind.learn(BEES)
    mind.near.asked.clear()
    mind.judges.asked.clear()

    await mind.learn(BEES)
    await mind.learn("Ann keeps the bees in a garden")

    assert mind.near.asked == []
    assert mind.judges.asked == []
    assert len(await memories(store)) == 1


@pytest.mark.requirement("M-27")
async def test_every_wording_is_kept_and_nothing_is_overwritten(store: Store):
    mind = Mind(store)
    first = await mind.learn(BEES, tags=("garden",))

    await mind.learn("Ann keeps the bees in a garden", subject="Ann", tags=("bees",), event_time=mind.hands.now)
    await mind.learn(BEES, subject="Somebody else", event_time=mind.hands.now)

    kept = await mind.memory(first)
    assert (kept.content, kept.tags) == (BEES, ("bees", "garden"))
    assert kept.subject in ("Ann", "ann")
    assert kept.event_time == mind.hands.now
    said = await rows(store, "select wording from memory_sighting order by at, id")
    assert [row["wording"] for row in said] == [BEES, "Ann keeps the bees in a garden", BEES]


@pytest.mark.requirement("M-27")
async def test_repeats_of_one_cause_are_counted_and_are_no_evidence(store: Store):
    mind = Mind(store)
    first = await mind.learn(BEES, session="born")

    for _ in range(40):
        await mind.learn(BEES, session="loop")

    kept = await mind.memory(first)
    assert (kept.confirmation_count, kept.cause_count) == (40, 2)
    assert kept.confidence == pytest.approx(0.7)
    assert kept.evidence_count == 1
    for _ in range(5):
        await mind.learn(BEES, session="born")
    assert (await mind.memory(first)).belief == kept.belief


@pytest.mark.requirement("M-27")
async def test_one_agent_has_three_votes_a_day(store: Store):
    mind = Mind(store)
    first = await mind.learn(BEES, session="s0")

    for session in range(1, 9):
        await mind.learn(BEES, session=f"s{session}")

    assert (await mind.memory(first)).cause_count == 3
    mind.forward(DAY)
    again = await mind.learn(BEES, session="s0")
    assert again.counted
    assert now(again).cause_count == 4


@pytest.mark.requirement("M-27")
async def test_what_derives_from_a_memory_never_speaks_for_it(store: Store):
    mind = Mind(store)
    first = await mind.learn(BEES)

    derived = await mind.learn(BEES, origin="model", session="s2", derived_from=(known(first),))

    assert not derived.counted
    (row,) = await rows(store, "select uncounted_because from memory_sighting where not counted")
    assert row["uncounted_because"] == "own_derivation"


@pytest.mark.requirement("M-27")
async def test_what_was_read_twice_from_the_same_turn_counts_once(store: Store):
    mind = Mind(store)
    turn = TurnWithTrust(id=mind.deps.new_id(), trust=1.0)
    first = await mind.learn(BEES, origin="model", turns=(turn,))

    again = await mind.learn(BEES, origin="model", session="s2", turns=(turn,))

    assert now(first).trust == 0.9
    assert not again.counted


@pytest.mark.requirement("M-27")
async def test_a_document_lifts_less_than_a_person_and_not_above_its_cap(store: Store):
    mind = Mind(store)
    first = await mind.learn(BEES, origin="document", source="page")

    for day in range(12):
        mind.forward(DAY)
        await mind.learn(BEES, origin="document", session=f"d{day}")

    assert (await mind.memory(first)).confidence == pytest.approx(0.6)


async def test_a_counted_cause_can_be_undone(store: Store):
    mind = Mind(store)
    first = await mind.learn(BEES)
    second = await mind.learn(BEES, session="s2")

    await undo(mind.deps, MAIN_SPACE, changed(second), by="ada")

    kept = await mind.memory(first)
    assert (kept.confidence, kept.cause_count, kept.weight) == (0.5, 1, now(first).weight)


async def test_events_tell_of_what_was_learnt_and_confirmed(store: Store):
    mind = Mind(store)
    first = await mind.learn(BEES, subject="Ann")
    second = await mind.learn(BEES, session="s2")

    told = await events(store, "fact_learned", "fact_confirmed")

    assert [each["name"] for each in told] == ["fact_learned", "fact_confirmed"]
    assert told[0]["payload"] == {
        "memory": str(known(first)), "kind": "fact", "subject": "Ann", "action": "stored", "origin": "person",
        "agent": None,
    }  # fmt: skip
    assert told[1]["payload"]["counted"] is True
    assert told[1]["payload"]["cause_count"] == 2
    assert second.change is not None


@pytest.mark.requirement("M-28")
async def test_a_model_that_repeats_what_was_brought_to_mind_teaches_nothing(store: Store):
    paraphrase = "bees are kept by Ann out in her garden"
    mind = Mind(store, near={BEES: 1.0, paraphrase: 0.96})
    first = await mind.learn(BEES)

    async def surfaced(_place: Scope, turns: int) -> tuple[object, ...]:
        return (known(first),) if turns == 50 else ()

    parrot = Mind(store, near=mind.near.near, surfaced=surfaced, seed=2)  # type: ignore[arg-type]
    parrot.judges.told = says("same", 0.9)
    actions = [
        (await parrot.learn(text, origin="model", session="talk")).action
        for text in [BEES, paraphrase, BEES, paraphrase]
    ]

    assert set(actions) == {LearnAction.ECHOED}
    kept = await mind.memory(first)
    assert (kept.confirmation_count, kept.cause_count, kept.confidence) == (0, 1, 0.5)
    assert await texts(store) == [BEES]
    by_person = await parrot.learn(BEES, session="talk")
    assert by_person.action is LearnAction.CONFIRMED


@pytest.mark.requirement("M-90")
@pytest.mark.parametrize("origin", ["person", "model", "document"])
async def test_what_was_brought_to_mind_is_cut_out_though_its_tags_are_gone(store: Store, origin: str):
    first = await Mind(store).learn("Ann keeps seven hives of bees behind the old barn")

    async def surfaced(_place: Scope, _turns: int) -> tuple[object, ...]:
        return (known(first),)

    mind = Mind(store, surfaced=surfaced, seed=2)  # type: ignore[arg-type]
    said = "Ann keeps seven hives of bees behind the old barn. The ferry to the island leaves before noon."
    learned = await mind.learn(said, origin=origin, session="talk")
    elsewhere = await mind.learn(f"{said} Carla knows.", origin=origin, session="")

    assert (await mind.memory(learned)).content == "The ferry to the island leaves before noon."
    assert (await mind.memory(first)).confirmation_count == 0
    assert (await mind.memory(elsewhere)).content == f"{said} Carla knows."


@pytest.mark.requirement("M-31")
async def test_the_same_call_again_gives_the_first_result(store: Store):
    mind = Mind(store)
    place, given = mind.place(), LearnRequest(text=BEES, key="k1")

    first = await learn(mind.deps, place, given)
    again = await learn(mind.deps, place, given)

    assert again == first
    assert len(await rows(store, "select 1 from memory_sighting")) == 1
    mind.forward(DAY)
    later = await learn(mind.deps, place, given)
    assert later.action is LearnAction.CONFIRMED
