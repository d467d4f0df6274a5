"""Notes beside a memory: one operation, one change, undone as one; what is heaviest, and what causes span."""

from datetime import timedelta
from uuid import UUID

import pytest
from tests.jobs.deps import rows
from tests.memory.remembering import Mind, known

from festinger.errors import BadInput, UndoBlocked
from festinger.ids import MAIN_SPACE, Origin
from festinger.memory.annotate import annotate
from festinger.memory.changes import MemoryRelation, find_linked_ids
from festinger.memory.model import SourceTag
from festinger.memory.query import list_heaviest_memories, load_causes
from festinger.memory.undo import undo
from festinger.store.pool import Store


async def note(mind: Mind, memory: UUID, **notes: object) -> UUID | None:
    async with mind.store.transaction() as transaction:
        _, change = await annotate(mind.deps, transaction, MAIN_SPACE, memory, by="ada", **notes)  # type: ignore[arg-type]
    return change


@pytest.mark.requirement("C-80")
async def test_notes_are_one_change_that_is_undone_and_leaves_the_words(store: Store):
    mind = Mind(store)
    first, source = await mind.learn("Ann keeps bees", tags=("animals",)), await mind.learn("Ben sells honey")
    before = await mind.memory(first)
    notes = {"compressed": "bees", "utility_score": 0.5, "tags": ["animals", "value"], "metadata": {"a": 1}}
    change = await note(mind, known(first), cites=[known(source)], content_contextualized="Home: Ann", **notes)
    after = await mind.memory(first)

    assert change is not None
    assert (after.content, after.fold) == (before.content, before.fold)
    assert (after.compressed, after.utility_score, after.tags) == ("bees", 0.5, ("animals", "value"))
    assert (after.content_contextualized, dict(after.metadata)) == ("Home: Ann", {"a": 1})
    assert ("embed_memories", {"space": "main"}) in mind.asked
    assert len(await rows(store, "select 1 from memory_change where op = 'annotate'")) == 1
    async with store.transaction() as transaction:
        assert await find_linked_ids(transaction, MAIN_SPACE, known(first), MemoryRelation.DERIVES_FROM) == [
            known(source)
        ]
    await undo(mind.deps, MAIN_SPACE, change, by="ada")
    again = await mind.memory(first)
    names = ("compressed", "utility_score", "tags", "metadata", "content_contextualized")
    assert [getattr(again, name) for name in names] == [getattr(before, name) for name in names]
    async with store.transaction() as transaction:
        assert await find_linked_ids(transaction, MAIN_SPACE, known(first), MemoryRelation.DERIVES_FROM) == []


@pytest.mark.requirement("C-80")
async def test_a_later_note_blocks_the_undoing_of_an_earlier_one(store: Store):
    mind = Mind(store)
    first = await mind.learn("Ann keeps bees")
    change = await note(mind, known(first), metadata={"a": 1})
    await note(mind, known(first), metadata={"a": 2})

    assert change is not None
    with pytest.raises(UndoBlocked):
        await undo(mind.deps, MAIN_SPACE, change, by="ada")


@pytest.mark.requirement("C-80")
async def test_what_is_noted_already_writes_nothing_and_words_cannot_be_noted(store: Store):
    mind = Mind(store)
    first = await mind.learn("Ann keeps bees")
    await note(mind, known(first), compressed="bees", metadata={"a": 1})

    assert await note(mind, known(first), compressed="bees", metadata={"a": 1}) is None
    with pytest.raises(BadInput):
        await note(mind, known(first), content="Ann keeps ants")


@pytest.mark.requirement("C-80")
async def test_the_heaviest_are_those_whose_weight_faded_least(store: Store):
    mind = Mind(store)
    old = await mind.learn("Ann keeps bees")
    mind.forward(timedelta(days=200))
    new = await mind.learn("Ben keeps ants")
    forever = await mind.learn("Carl is the owner", immutable=True)

    found = await list_heaviest_memories(mind.deps, mind.place(), 3)

    assert [memory.id for memory, _ in found] == [known(forever), known(new), known(old)]
    centers = [center for _, center in found]
    assert centers[1] == pytest.approx(0.2)
    assert centers[2] == pytest.approx(1 / (5 + 0.01 * 200 + 1))
    assert len(await list_heaviest_memories(mind.deps, mind.place(), 1)) == 1


@pytest.mark.requirement("C-80", "C-05")
async def test_causes_are_distinct_and_from_outside(store: Store):
    mind = Mind(store)
    said = await mind.learn("Ann keeps bees", session="s1")
    await mind.learn("Ann keeps bees", session="s1")
    mind.forward(timedelta(days=3))
    await mind.learn("Ann keeps bees", session="s2", origin="tool")
    await mind.learn("Ann keeps bees", session="s3", origin="model", source_tag=SourceTag.INTERNAL_DMN)
    insight = await mind.learn(
        "Bees matter to Ann", kind="insight", origin="job", derived_from=(known(said),), session="s4"
    )
    thought = await mind.learn("Clouds are fine", origin="model", source_tag=SourceTag.INTERNAL_DMN)
    ids = [known(said), known(insight), known(thought)]
    async with store.transaction() as transaction:
        found = await load_causes(transaction, MAIN_SPACE, ids)
        left = await load_causes(transaction, MAIN_SPACE, ids, spent=[found[known(said)].sightings[0]])

    assert (found[known(said)].count, found[known(said)].days) == (2, 3)
    assert set(found[known(said)].origins) == {Origin.PERSON, Origin.TOOL}
    assert found[known(insight)] == found[known(said)]
    assert known(thought) not in found
    assert left[known(said)].count == 1


@pytest.mark.requirement("C-05")
async def test_thoughts_repeat_but_never_corroborate(store: Store):
    mind = Mind(store)
    said = await mind.learn("Ann keeps bees", origin="person")
    before = await mind.memory(said)
    for day in range(30):
        mind.forward(timedelta(days=1))
        await mind.learn("Ann keeps bees", origin="model", session=f"idle{day}", source_tag=SourceTag.INTERNAL_DMN)
    after = await mind.memory(said)

    assert (after.cause_count, after.weight, after.confidence) == (1, before.weight, before.confidence)
    counted = await rows(store, "select distinct uncounted_because from memory_sighting where not counted")
    assert counted == [{"uncounted_because": "internal"}]


@pytest.mark.requirement("C-03")
async def test_what_is_derived_is_compared_with_its_like_and_never_with_its_sources(store: Store):
    mind = Mind(store, near={"Ann keeps bees": 1.0, "Ann keeps no bees": 0.99})
    said = await mind.learn("Ann keeps bees")
    other = await mind.learn("Ben sells honey")
    derived = await mind.learn(
        "Ann keeps no bees", kind="insight", origin="job", derived_from=(known(said), known(other))
    )

    assert derived.action == "stored"
    assert derived.matched == ()
    assert (await mind.memory(said)).status == "active"
