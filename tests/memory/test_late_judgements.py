"""What becomes of what no judge at hand was sure of; late words, late vectors, and the lack of both."""

from dataclasses import replace

import pytest
from tests.jobs.deps import rows
from tests.memory.remembering import REFERENCE, Mind, NearEmbedder, bundled, known, memories, now, says, texts
from tests.soundness import assert_sound

from festinger.errors import ProviderDown
from festinger.ids import MAIN_SPACE, SpaceId
from festinger.judge.model import Judgement
from festinger.llm.model import Model
from festinger.llm.providers.scripted import build_scripted_model
from festinger.memory.edit import edit, merge
from festinger.memory.jobs import EMBED
from festinger.memory.late_judgements import embed_missing_memories, judge_pending_pairs, recheck_memory
from festinger.memory.learn.result import Learned
from festinger.memory.model import LearnAction, Status
from festinger.memory.undo import undo
from festinger.store.pool import Store
from festinger.text.normalize import exact_hash

OLD = "people there drink strong coffee"
NEW = "folks in that place drink powerful coffee"


async def waiting(store: Store) -> tuple[Mind, Learned]:
    mind = Mind(store, near={OLD: 1.0, NEW: 0.9})
    await mind.learn(OLD, subject="people")
    mind.judges.told = says("unsure", 0.5, judge="rules@1")
    mind.forward()
    return mind, await mind.learn(NEW, subject="people")


async def test_what_no_judge_is_sure_of_is_active_and_waits(store: Store):
    _, learned = await waiting(store)

    assert learned.action is LearnAction.PENDING
    kept = (await memories(store))[1]
    assert (kept.status, kept.pending) == (Status.ACTIVE, True)
    (row,) = await rows(store, "select new_ref, final from judgement")
    assert (row["new_ref"], row["final"]) == (kept.id, False)


@pytest.mark.requirement("M-33")
@pytest.mark.parametrize(
    ("verdict", "active", "other"),
    [
        (says("same", 0.9), [OLD], "merged"),
        (says("update", 0.9), [NEW], "superseded"),
        (says("contradicts", 0.9), [OLD], "held"),
        (says("unrelated", 0.9), [OLD, NEW], None),
        (says("refines", 0.9), [OLD, NEW], None),
    ],
    ids=["same", "update", "contradicts", "unrelated", "refines"],
)
async def test_a_late_word_is_carried_out_as_at_learning(
    store: Store, verdict: Judgement, active: list[str], other: str | None
):
    mind, _ = await waiting(store)
    mind.judges.later = verdict
    new = (await memories(store))[1]

    await judge_pending_pairs(mind.deps, MAIN_SPACE, new.id)
    assert await judge_pending_pairs(mind.deps, MAIN_SPACE, new.id) is None

    assert await texts(store) == active
    assert [memory for memory in await memories(store) if memory.pending] == []
    if other:
        assert len(await texts(store, other)) == 1


async def test_what_the_model_cannot_tell_either_goes_on_waiting(store: Store):
    mind, _ = await waiting(store)
    mind.judges.later = says("unsure", 0.5)
    new = (await memories(store))[1]

    await judge_pending_pairs(mind.deps, MAIN_SPACE, new.id)

    assert (await mind.memory(new.id)).pending
    (row,) = await rows(store, "select final, judge from judgement")
    assert (row["final"], row["judge"]) == (False, "llm:test")


async def test_who_waits_is_told_once_it_is_decided(store: Store):
    mind = Mind(store, near={OLD: 1.0, NEW: 0.9})
    await mind.learn(OLD)
    mind.judges.told = says("unsure", 0.5, judge="rules@1")
    mind.judges.later = says("unrelated", 0.9)

    learned = await mind.learn(NEW, wait=5.0)

    assert not learned.pending
    assert learned.action is LearnAction.STORED
    assert not (await learned.settled(0.0)).pending


@pytest.mark.requirement("M-33")
async def test_a_merge_moves_sightings_adds_weights_and_can_be_undone(store: Store):
    mind, _ = await waiting(store)
    mind.judges.later = says("same", 0.9)
    old, new = await memories(store)

    done = await judge_pending_pairs(mind.deps, MAIN_SPACE, new.id)

    assert done is not None
    assert done.change is not None
    kept, gone = await mind.memory(old.id), await mind.memory(new.id)
    assert (gone.status, gone.superseded_by) == (Status.MERGED, kept.id)
    assert (kept.content, kept.cause_count, kept.confirmation_count) == (OLD, 2, 1)
    assert len(await rows(store, "select 1 from memory_sighting where memory_id = %(id)s", id=old.id)) == 2
    await undo(mind.deps, MAIN_SPACE, done.change, by="ada")
    assert await texts(store) == [OLD, NEW]
    parted = await mind.memory(old.id)
    assert (parted.cause_count, parted.confirmation_count, parted.weight) == (1, 0, old.weight)
    assert len(await rows(store, "select 1 from memory_sighting where memory_id = %(id)s", id=new.id)) == 1


@pytest.mark.requirement("M-32")
async def test_without_an_embedder_learning_goes_on_by_words_and_says_so(store: Store):
    mind = Mind(store, without_embedder=True)

    first = await mind.learn("The server has 16 GB")
    again = await mind.learn("the server has 16 GB")
    update = await mind.learn("The server has 32 GB")

    assert first.degraded == ("embedder",)
    assert again.action is LearnAction.CONFIRMED
    assert update.action is LearnAction.SUPERSEDED
    assert (EMBED, {"space": MAIN_SPACE}) in mind.asked
    assert await rows(store, "select 1 from memory_vector") == []


@pytest.mark.requirement("M-32", "M-33")
async def test_a_late_vector_is_made_and_its_twin_found(store: Store):
    mind = Mind(store, near={OLD: 1.0, NEW: 0.97})
    mind.near.fault = ProviderDown("away")
    await mind.learn(OLD)
    other = await mind.learn(NEW)
    assert other.action is LearnAction.PENDING or other.action is LearnAction.STORED
    assert len(await texts(store)) == 2

    mind.near.fault = None
    assert await embed_missing_memories(mind.deps, MAIN_SPACE) == 2

    assert await texts(store) == [OLD]
    assert await texts(store, "merged") == [NEW]
    assert await embed_missing_memories(mind.deps, MAIN_SPACE) == 0


@pytest.mark.requirement("M-33", "M-34")
async def test_an_edit_is_looked_at_again(store: Store):
    mind = Mind(store)
    duplicate = await mind.learn("The printer is on floor 2")
    wrong = await mind.learn("The kettle is on floor 9")
    wrong_now = await mind.memory(wrong)

    edited = await edit(mind.deps, MAIN_SPACE, known(duplicate), "The scanner is near the door", by="ada", version=1)
    await recheck_memory(mind.deps, MAIN_SPACE, known(duplicate))

    assert edited.memory.content == "The scanner is near the door"
    assert edited.memory.version == 2
    assert wrong_now.content == "The kettle is on floor 9"
    [vector] = await rows(store, "select text_hash from memory_vector where memory_id = %(id)s", id=known(duplicate))
    assert bytes(vector["text_hash"]) == exact_hash(edited.memory.content)


@pytest.mark.requirement("M-25")
async def test_a_model_without_thresholds_never_decides_by_nearness(store: Store):
    blind = NearEmbedder({OLD: 1.0, NEW: 0.99}, profile=replace(REFERENCE, readings={}))
    mind = Mind(store, embedder=blind)
    await mind.learn(OLD)

    learned = await mind.learn(NEW)

    assert learned.action is not LearnAction.CONFIRMED
    assert len(await texts(store)) == 2


async def test_a_drunk_judge_merges_and_retires_nothing(store: Store):
    model, _ = build_scripted_model("banana", "", '{"relation": "sa', "banana", "{}", "x")

    async def model_for(_space: SpaceId) -> Model:
        return model

    mind = Mind(store, near={OLD: 1.0, NEW: 0.9}, model_for=model_for)
    await mind.learn(OLD)
    learned = await mind.learn(NEW)

    await judge_pending_pairs(mind.deps, MAIN_SPACE, known(learned))

    assert await texts(store) == [OLD, NEW]
    assert (await mind.memory(learned)).pending


@pytest.mark.requirement("M-25")
async def test_the_bundled_model_stops_at_numbers_and_opposites(store: Store):
    embedder = await bundled()
    mind = Mind(store, embedder=embedder)
    pairs = [
        ("The server has 16 GB of memory", "The server has 32 GB of memory"),
        ("The change improves MRR", "The change regresses MRR"),
        ("Ben likes tea", "Ben likes coffee"),
    ]

    actions = []
    for old, new in pairs:
        await mind.learn(old)
        mind.forward()
        actions.append((await mind.learn(new)).action)

    assert actions == [LearnAction.SUPERSEDED, LearnAction.CONFLICTED, LearnAction.STORED]
    assert now(await mind.learn("ben likes TEA")).confirmation_count == 1
    await embedder.close()


@pytest.mark.requirement("M-33")
async def test_merges_on_top_of_each_other_are_undone_one_by_one_and_each_gets_its_sightings_back(store: Store):
    mind = Mind(store)
    bees = await mind.learn("Ann keeps bees")
    mill, rock = [await mind.learn(text, origin="model") for text in ("The mill grinds", "Basalt is a rock")]
    for session in ("s2", "s3"):
        await mind.learn("Basalt is a rock", origin="model", session=session)
    before = await rows(store, "select id, memory_id, moved_by from memory_sighting order by id")
    first = await merge(mind.deps, MAIN_SPACE, [known(rock), known(mill)], by="ann")
    second = await merge(mind.deps, MAIN_SPACE, [first.memory.id, known(bees)], by="ann")
    assert {each.status for each in await memories(store)} == {Status.ACTIVE, Status.MERGED}
    assert second.memory.id == known(bees)

    for change in (second.change, first.change):
        assert change is not None
        await undo(mind.deps, MAIN_SPACE, change, by="ann")
        await assert_sound(store)

    assert await rows(store, "select id, memory_id, moved_by from memory_sighting order by id") == before
