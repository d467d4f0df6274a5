"""What becomes of a memory that something newer replaces, and how that is taken back."""

from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from tests.jobs.deps import rows
from tests.memory.oblivion import eraser_of, ledger_in
from tests.memory.remembering import DAY, Mind, changed, events, known, memories, now, says, texts

from festinger.errors import BadInput, NotFound, Refused, UndoBlocked
from festinger.ids import MAIN_SPACE
from festinger.memory.changes import MemoryChangeOp, list_changes
from festinger.memory.edit import edit, restore, supersede
from festinger.memory.erasure.erase import forget
from festinger.memory.erasure.selector import ErasureSelector
from festinger.memory.learn.result import Learned
from festinger.memory.model import LearnAction, Status
from festinger.memory.query import MemoryFilter, find_current_version, get_memory, load_history, load_page_of_memories
from festinger.memory.undo import undo
from festinger.store.pool import Store

SMALL = "The server has 16 GB"
LARGE = "The server has 32 GB"


async def more_ram(store: Store) -> tuple[Mind, Learned, Learned]:
    mind = Mind(store, near={SMALL: 1.0, LARGE: 0.97})
    old = await mind.learn(SMALL)
    mind.forward(DAY)
    new = await mind.learn(LARGE)
    return mind, old, new


@pytest.mark.requirement("M-40")
async def test_an_update_makes_history_of_what_it_replaces(store: Store):
    mind, old, new = await more_ram(store)

    assert new.action is LearnAction.SUPERSEDED
    assert new.superseded == (known(old),)
    gone = await mind.memory(old)
    assert (gone.status, gone.superseded_by) == (Status.SUPERSEDED, known(new))
    assert gone.superseded_at == gone.valid_to == mind.hands.now
    assert (gone.confidence, gone.weight) == (now(old).confidence, now(old).weight)
    assert await texts(store) == [LARGE]
    (told,) = await events(store, "memory_superseded")
    assert (told["payload"]["old"], told["payload"]["new"]) == (str(known(old)), str(known(new)))
    (link,) = await rows(store, "select from_id, to_id from memory_link where relation = 'supersedes'")
    assert (link["from_id"], link["to_id"]) == (known(new), known(old))


@pytest.mark.requirement("M-48")
async def test_more_ram_yesterday_answers_16_and_undo_brings_it_back_for_good(store: Store):
    mind, _, new = await more_ram(store)
    place, yesterday = mind.place(), mind.hands.now - timedelta(hours=12)

    assert [m.content for m in await load_page_of_memories(mind.deps, place, MemoryFilter(as_of=yesterday))] == [SMALL]
    assert [m.content for m in await load_page_of_memories(mind.deps, place, MemoryFilter(valid_at=yesterday))] == [
        SMALL
    ]
    assert [
        m.content for m in await load_page_of_memories(mind.deps, place, MemoryFilter(valid_at=mind.hands.now))
    ] == [LARGE]
    replaced_at = mind.hands.now
    mind.forward(DAY)
    undone = await undo(mind.deps, MAIN_SPACE, changed(new), by="ada")

    assert await texts(store) == [SMALL]
    assert [memory.status for memory in undone.memories if memory.content == LARGE] == [Status.ARCHIVED]
    assert [m.content for m in await load_page_of_memories(mind.deps, place, MemoryFilter(as_of=replaced_at))] == [
        LARGE
    ]
    assert [m.content for m in await load_page_of_memories(mind.deps, place, MemoryFilter(valid_at=yesterday))] == [
        SMALL
    ]
    again = await mind.learn(LARGE)
    assert again.action is not LearnAction.SUPERSEDED
    assert await texts(store) == [SMALL, LARGE]


@pytest.mark.requirement("M-34", "M-48")
async def test_undoing_twice_is_undoing_once(store: Store):
    mind, _, new = await more_ram(store)

    first = await undo(mind.deps, MAIN_SPACE, changed(new), by="ada")
    mind.forward()
    second = await undo(mind.deps, MAIN_SPACE, changed(new), by="ben")

    assert second == first
    assert first.change.undone_by == "ada"
    assert [change.op for change in await list_changes(mind.deps, MAIN_SPACE, ops=[MemoryChangeOp.SUPERSEDE])] == [
        MemoryChangeOp.SUPERSEDE
    ]


@pytest.mark.requirement("M-34")
async def test_what_later_changes_stand_on_cannot_be_undone(store: Store):
    mind, _, new = await more_ram(store)
    mind.forward()
    third = await mind.learn("The server has 64 GB")
    assert third.superseded == (known(new),)

    with pytest.raises(UndoBlocked) as blocked:
        await undo(mind.deps, MAIN_SPACE, changed(new), by="ada")

    assert blocked.value.details == {"changes": [str(third.change)]}
    await undo(mind.deps, MAIN_SPACE, changed(third), by="ada")
    await undo(mind.deps, MAIN_SPACE, changed(new), by="ada")
    assert await texts(store) == [SMALL]


@pytest.mark.requirement("M-44")
async def test_a_chain_is_kept_link_by_link(store: Store):
    mind, first, second = await more_ram(store)
    mind.forward()
    third = await mind.learn("The server has 64 GB")

    assert (await find_current_version(mind.deps, mind.place(), known(first))).id == known(third)
    told = await load_history(mind.deps, mind.place(), known(third))
    assert [memory.id for memory in told.memories] == [known(third), known(second), known(first)]
    assert [change.op for change in told.changes] == [MemoryChangeOp.SUPERSEDE, MemoryChangeOp.SUPERSEDE]
    assert (await mind.memory(first)).superseded_by == known(second)


@pytest.mark.requirement("M-44")
async def test_what_is_replaced_is_not_pointed_anew_and_a_ring_is_refused(store: Store):
    mind, old, new = await more_ram(store)
    other = await mind.learn("The printer is on floor 2")

    again = await supersede(mind.deps, MAIN_SPACE, known(old), known(other), by="ada")

    assert again.change is None
    assert (await mind.memory(old)).superseded_by == known(new)
    await undo(mind.deps, MAIN_SPACE, changed(new), by="ada")
    await restore(mind.deps, MAIN_SPACE, known(new), by="ada")
    await supersede(mind.deps, MAIN_SPACE, known(old), known(new), by="ada")
    with pytest.raises(Refused):
        await supersede(mind.deps, MAIN_SPACE, known(new), known(old), by="ada")
    with pytest.raises(Refused):
        await supersede(mind.deps, MAIN_SPACE, known(new), known(new), by="ada")


@pytest.mark.requirement("M-44")
async def test_back_to_an_old_value_makes_a_third_row(store: Store):
    mind, old, new = await more_ram(store)
    mind.forward()

    third = await mind.learn(SMALL)

    assert third.action is LearnAction.SUPERSEDED
    assert third.superseded == (known(new),)
    assert len(await memories(store)) == 3
    assert known(third) != known(old)


@pytest.mark.requirement("M-44")
async def test_news_of_yesterday_does_not_replace_today(store: Store):
    mind = Mind(store, near={SMALL: 1.0, LARGE: 0.97})
    today = mind.hands.now
    standing = await mind.learn(LARGE, event_time=today)
    mind.forward()

    late = await mind.learn(SMALL, event_time=today - DAY)

    assert late.action is LearnAction.STORED
    assert now(late).status is Status.SUPERSEDED
    assert now(late).superseded_by == known(standing)
    assert await texts(store) == [LARGE]


@pytest.mark.requirement("M-41")
async def test_everything_that_qualifies_is_replaced_at_once(store: Store):
    olds = ["Anna lives in Paris", "Anna lives in Rome", "Anna lives in Oslo"]
    mind = Mind(store, near=dict.fromkeys([*olds, "Anna lives in Bergen"], 0.9) | {olds[0]: 1.0})
    mind.judges.told = says("unrelated", 0.9)
    for old in olds:
        await mind.learn(old)
    mind.judges.told = None
    mind.forward()

    new = await mind.learn("Anna lives in Bergen")

    assert len(new.superseded) == 3
    assert await texts(store) == ["Anna lives in Bergen"]
    assert len(await list_changes(mind.deps, MAIN_SPACE)) == 1


@pytest.mark.requirement("M-42")
@pytest.mark.parametrize(
    ("old", "new", "superseded"),
    [("server", "server", 1), ("server", "printer", 0), (None, None, 1)],
    ids=["same subject", "other subject", "no subject"],
)
async def test_only_the_same_subject_is_replaced(store: Store, old: str | None, new: str | None, superseded: int):
    before, after = "it runs with little power", "it runs on a large battery"
    mind = Mind(store, near={before: 1.0, after: 0.9})
    await mind.learn(before, subject=old)
    mind.judges.told = says("update", 0.9)

    learned = await mind.learn(after, subject=new)

    assert len(learned.superseded) == superseded
    assert len(await texts(store)) == 2 - superseded


@pytest.mark.requirement("M-42")
async def test_a_subject_that_is_near_enough_is_the_same(store: Store):
    before, after = "it runs with little power", "it runs on a large battery"
    near = {before: 1.0, after: 0.9, "the build box": 1.0, "our build machine": 0.8, "the printer": 0.79}
    mind = Mind(store, near=near)
    await mind.learn(before, subject="the build box")
    mind.judges.told = says("update", 0.9)

    other = await mind.learn(after, subject="the printer")
    same = await mind.learn("it runs on solar power", subject="our build machine")

    assert other.superseded == ()
    assert len(same.superseded) == 0
    mind.near.near["it draws power from the sun"] = 0.9
    found = await mind.learn("it draws power from the sun", subject="our build machine")
    assert len(found.superseded) == 1


async def test_the_future_is_not_asked_for_and_others_are_not_seen(store: Store):
    mind = Mind(store)
    mine = await mind.learn("Ann keeps bees", agent="a")

    with pytest.raises(BadInput):
        await get_memory(mind.deps, mind.place(agent="a"), known(mine), as_of=mind.hands.now + DAY)
    with pytest.raises(NotFound):
        await get_memory(mind.deps, mind.place(agent="b"), known(mine))
    with pytest.raises(NotFound):
        await get_memory(mind.deps, mind.place(agent="a"), known(mine), as_of=mind.hands.now - DAY)
    assert (await get_memory(mind.deps, mind.place(agent="a"), known(mine), as_of=mind.hands.now)).id == known(mine)


async def searched_as(store: Store, learned: Learned) -> str | None:
    [row] = await rows(store, "select content_contextualized from memory where id = %(id)s", id=known(learned))
    return cast("str | None", row["content_contextualized"])


async def test_a_memory_is_searched_with_the_words_of_its_line_for_as_long_as_they_stand(store: Store, tmp_path: Path):
    huge = "The server has 64 GB"
    mind = Mind(store, near={SMALL: 1.0, LARGE: 0.97, huge: 0.97})
    first, second, third = [await mind.learn(text) for text in (SMALL, LARGE, huge)]
    assert (second.action, third.action) == (LearnAction.SUPERSEDED, LearnAction.SUPERSEDED)

    assert await searched_as(store, first) is None
    assert await searched_as(store, third) == f"{SMALL}\n{LARGE}\n{huge}"
    await edit(mind.deps, MAIN_SPACE, known(third), "The server has 128 GB", by="ada")
    assert await searched_as(store, third) == f"{SMALL}\n{LARGE}\nThe server has 128 GB"
    await forget(
        eraser_of(mind, ledger_in(tmp_path)),
        MAIN_SPACE,
        ErasureSelector(ids=(known(first),)),
        by="ada",
        reason="private",
    )
    assert await searched_as(store, third) == f"{LARGE}\nThe server has 128 GB"


async def test_an_undone_replacement_takes_its_words_along(store: Store):
    mind, _, new = await more_ram(store)
    assert await searched_as(store, new) == f"{SMALL}\n{LARGE}"

    await undo(mind.deps, MAIN_SPACE, changed(new), by="ada")

    assert await searched_as(store, new) is None
