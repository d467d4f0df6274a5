"""What people do to memories by hand, and that all of it can be taken back."""

import pytest
from tests.memory.remembering import Mind, events, known, memories, texts

from festinger.errors import BadInput, Refused, Stale
from festinger.ids import MAIN_SPACE
from festinger.memory.changes import MemoryChangeOp, list_changes
from festinger.memory.edit import archive, edit, merge, restore, split
from festinger.memory.jobs import RECHECK
from festinger.memory.model import Status
from festinger.memory.query import explain_belief
from festinger.memory.undo import undo
from festinger.store.pool import Store

BEES = "Ann keeps bees"
ANTS = "Ben watches ants"


@pytest.mark.requirement("M-34")
async def test_an_edit_needs_the_present_version_and_is_undone_to_the_letter(store: Store):
    mind = Mind(store)
    learned = await mind.learn(BEES)

    with pytest.raises(Stale):
        await edit(mind.deps, MAIN_SPACE, known(learned), ANTS, by="ada", version=7)
    done = await edit(mind.deps, MAIN_SPACE, known(learned), ANTS, by="ada", version=1)
    assert done.change is not None
    assert await texts(store) == [ANTS]
    await undo(mind.deps, MAIN_SPACE, done.change, by="ada")

    kept = await mind.memory(learned)
    assert (kept.content, kept.version) == (BEES, 3)
    assert (kept.fold, kept.gist, kept.subject_key) == (
        learned.memory and learned.memory.fold,
        learned.memory and learned.memory.gist,
        learned.memory and learned.memory.subject_key,
    )
    with pytest.raises(BadInput):
        await edit(mind.deps, MAIN_SPACE, known(learned), " ", by="ada")


async def test_words_that_are_back_are_compared_and_embedded_again_at_once(store: Store):
    mind = Mind(store)
    learned = await mind.learn(BEES)
    done = await edit(mind.deps, MAIN_SPACE, known(learned), ANTS, by="ada")
    mind.asked.clear()
    assert done.change is not None

    await undo(mind.deps, MAIN_SPACE, done.change, by="ada")

    assert mind.asked == [(RECHECK, {"space": MAIN_SPACE, "memory": str(known(learned))})]


@pytest.mark.requirement("M-34", "M-04")
async def test_what_is_put_away_comes_back(store: Store):
    mind = Mind(store)
    learned = await mind.learn(BEES)

    away = await archive(mind.deps, MAIN_SPACE, known(learned), by="ada", reason="old")
    again = await archive(mind.deps, MAIN_SPACE, known(learned), by="ada")
    assert away.memory.status is Status.ARCHIVED
    assert again.change is None
    assert await texts(store) == []
    back = await restore(mind.deps, MAIN_SPACE, known(learned), by="ada")

    assert back.memory.status is Status.ACTIVE
    assert [each["name"] for each in await events(store, "memory_archived", "memory_restored")] == [
        "memory_archived",
        "memory_restored",
    ]
    assert back.change is not None
    await undo(mind.deps, MAIN_SPACE, back.change, by="ada")
    assert (await mind.memory(learned)).status is Status.ARCHIVED


@pytest.mark.requirement("M-34", "M-33")
async def test_twins_are_folded_into_the_one_that_more_speaks_for(store: Store):
    mind = Mind(store)
    by_model = await mind.learn(BEES, origin="model")
    by_person = await mind.learn("bees are what Ann keeps as a hobby")

    done = await merge(mind.deps, MAIN_SPACE, [known(by_model), known(by_person)], by="ada")

    assert done.memory.id == known(by_person)
    assert (await mind.memory(by_model)).superseded_by == known(by_person)
    with pytest.raises(BadInput):
        await merge(mind.deps, MAIN_SPACE, [known(by_person)], by="ada")
    with pytest.raises(Refused):
        await merge(mind.deps, MAIN_SPACE, [known(by_person), known(by_model)], by="ada")


@pytest.mark.requirement("M-34")
async def test_a_split_learns_the_parts_and_puts_the_whole_away(store: Store):
    mind = Mind(store)
    whole = await mind.learn("Ann keeps bees and Ben watches ants", origin="document")

    done = await split(mind.deps, MAIN_SPACE, known(whole), [BEES, ANTS], by="ada")

    assert done.source.status is Status.ARCHIVED
    assert await texts(store) == [BEES, ANTS]
    assert {memory.trust for memory in await memories(store, "active")} == {0.4}
    told = await explain_belief(mind.deps, mind.place(), known(done.parts[0]))
    assert [each.id for each in told.derives_from] == [known(whole)]
    assert [change.op for change in await list_changes(mind.deps, MAIN_SPACE)] == [MemoryChangeOp.SPLIT]


async def test_why_follows_a_line_and_cuts_its_rings(store: Store):
    mind = Mind(store)
    page = await mind.learn("The reservoir was full in May", origin="document")
    insight = await mind.learn(
        "Water is plentiful here", origin="job", kind="insight", derived_from=(known(page),), by_model=True
    )
    summary = await mind.learn(
        "The town lacks no water", origin="job", kind="insight", derived_from=(known(insight),), by_model=True
    )

    told = await explain_belief(mind.deps, mind.place(), known(summary))
    base = await explain_belief(mind.deps, mind.place(), known(page))

    assert [round(rest.trust or 0, 3) for rest in told.trust_line] == [0.324, 0.36, 0.4]
    assert [each.id for each in base.supports] == [known(insight)]
    assert told.as_json()["memory"]["content"] == "The town lacks no water"
    assert told.outcomes == ()
