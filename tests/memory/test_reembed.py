"""Another model embeds: nothing of the old one is compared, everything is made again, learning goes on."""

from dataclasses import replace

import pytest
from tests.jobs.deps import rows, run_sql
from tests.memory.remembering import REFERENCE, Mind, NearEmbedder, known, says, texts

from festinger.errors import BadInput
from festinger.ids import MAIN_SPACE
from festinger.memory.model import LearnAction
from festinger.memory.reembed import (
    check_current_vectors,
    count_memories_by_model,
    drop_vectors,
    measure_progress,
    reembed,
)
from festinger.store.pool import Store

OLD, NEW = "scripted:near", "scripted:newer"


def other_model(near: dict[str, float] | None = None) -> NearEmbedder:
    """Another model whose vectors are as long as those of the first."""
    return NearEmbedder(near, profile=replace(REFERENCE, name=NEW))


async def report(_done: int, _total: int) -> None:
    """Nobody asks."""


async def test_memories_of_another_model_are_counted_and_made_again(store: Store):
    mind = Mind(store)
    for number in range(5):
        await mind.learn(f"Depot {number} keeps pallet {number * 7}")
    mind.embedder = other_model()
    assert str(await measure_progress(mind.deps, MAIN_SPACE)) == "re-embedded 0 of 5"
    told: list[tuple[int, int]] = []

    async def note(done: int, total: int) -> None:
        told.append((done, total))

    assert await reembed(mind.deps, MAIN_SPACE, report=note) == 5

    assert told[-1] == (5, 5)
    assert await count_memories_by_model(mind.deps, MAIN_SPACE) == {OLD: 5, NEW: 5}
    assert await reembed(mind.deps, MAIN_SPACE, report=report) == 0


async def test_vectors_of_other_words_count_as_missing(store: Store):
    mind = Mind(store)
    learned = await mind.learn("The mill grinds on Tuesdays")
    await rows(store, "update memory set content = 'The mill rests on Tuesdays' returning id")

    assert (await measure_progress(mind.deps, MAIN_SPACE)).left == 1
    await reembed(mind.deps, MAIN_SPACE, report=report)

    assert (await measure_progress(mind.deps, MAIN_SPACE)).left == 0
    assert (await mind.memory(learned)).content == "The mill rests on Tuesdays"


async def test_the_heaviest_of_a_day_come_first(store: Store):
    mind = Mind(store)
    light = await mind.learn("Depot 1 keeps pallet 7")
    heavy = await mind.learn("Depot 2 keeps pallet 14")
    newest = await mind.learn("Depot 3 keeps pallet 21")
    await rows(
        store, "update memory set weight_alpha = 9, weight_beta = 1 where id = %(id)s returning id", id=known(heavy)
    )
    newer = other_model()
    mind.embedder = newer

    await reembed(mind.deps, MAIN_SPACE, report=report)

    first = newer.asked[0][1]
    wanted = [(await mind.memory(each)).content for each in (heavy, newest, light)]
    assert list(first) == wanted


async def test_vectors_of_two_models_never_meet_though_they_are_as_long(store: Store):
    one, other = "The mill grinds on Tuesdays", "On Tuesdays the big mill is at work"
    mind = Mind(store, near={one: 1.0})
    await mind.learn(one)
    mind.embedder = other_model({other: 1.0})

    learned = await mind.learn(other)

    assert learned.action is LearnAction.STORED
    assert [match.similarity for match in learned.matched if match.similarity is not None] == []


async def test_until_then_the_same_is_known_by_its_words(store: Store):
    mind = Mind(store)
    await mind.learn("The mill grinds on Tuesdays")
    mind.embedder = other_model()

    again = await mind.learn("THE mill grinds on Tuesdays.", session="s2")

    assert again.action is LearnAction.CONFIRMED


@pytest.mark.requirement("M-102")
async def test_twins_that_were_learnt_meanwhile_are_found_afterwards(store: Store):
    one, other = "The mill grinds on Tuesdays", "Tuesdays is when the mill grinds"
    mind = Mind(store, near={one: 1.0})
    await mind.learn(one)
    mind.embedder = other_model({one: 1.0, other: 0.99})
    assert (await mind.learn(other, session="s2")).action is LearnAction.STORED
    mind.judges.told = says("same", 0.95)

    await reembed(mind.deps, MAIN_SPACE, report=report)

    assert len(await texts(store)) == 1
    assert len(await texts(store, "merged")) == 1


async def test_vectors_of_a_former_model_can_be_dropped_and_those_of_the_present_cannot(store: Store):
    mind = Mind(store)
    await mind.learn("The mill grinds on Tuesdays")
    mind.embedder = other_model()
    await reembed(mind.deps, MAIN_SPACE, report=report)

    assert await drop_vectors(mind.deps, MAIN_SPACE, OLD) == 1
    with pytest.raises(BadInput, match="embeds now"):
        await drop_vectors(mind.deps, MAIN_SPACE, NEW)

    assert await count_memories_by_model(mind.deps, MAIN_SPACE) == {NEW: 1}


async def test_going_back_needs_no_work_while_the_old_vectors_are_there(store: Store):
    mind = Mind(store)
    await mind.learn("The mill grinds on Tuesdays")
    first = mind.embedder
    mind.embedder = other_model()
    await reembed(mind.deps, MAIN_SPACE, report=report)
    mind.embedder = first

    assert (await measure_progress(mind.deps, MAIN_SPACE)).left == 0


async def test_the_doctor_says_how_many_memories_lack_a_vector_of_their_present_words(store: Store):
    mind = Mind(store)
    await mind.learn("Ann keeps bees")
    await mind.learn("The mill grinds")
    whole = await check_current_vectors(mind.deps, [MAIN_SPACE])
    await run_sql(store, "update memory set content = 'Ann keeps wasps' where content = 'Ann keeps bees'")
    broken = await check_current_vectors(mind.deps, [MAIN_SPACE])

    assert (whole.severity, whole.message) == ("ok", "2 of 2 memories have vectors of their present words.")
    assert (broken.severity, broken.details) == ("warn", {"left": 1})
    assert broken.message.startswith("1 of 2 memories")
    assert "festinger reembed" in broken.remedy
