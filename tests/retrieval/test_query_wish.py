"""In which states memories come, whatever is asked, and as of which moment."""

from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from tests.memory.remembering import DAY, known, says
from tests.retrieval.recalling import Recaller

from festinger.errors import BadInput, NotFound
from festinger.ids import MAIN_SPACE
from festinger.memory.edit import archive, merge, restore, supersede
from festinger.memory.query import get_memory
from festinger.memory.undo import undo
from festinger.store.pool import Store

EVERYTHING = ["superseded", "archived", "held", "dormant"]
STATES = ("active", "superseded", "archived", "held", "quarantined", "merged")


async def set_states(mind: Recaller) -> dict[str, UUID]:
    """One memory about the harbour in each state."""
    found = dict(zip(STATES, await mind.put(*(f"The harbour is {state}." for state in STATES)), strict=True))
    async with mind.store.transaction() as transaction:
        for state, id_ in found.items():
            is_replaced = state in ("superseded", "merged")
            await transaction.connection.execute(
                "update memory set status = %(state)s,"
                " superseded_by = case when %(replaced)s then %(by)s::uuid end,"
                " superseded_at = case when %(replaced)s then created_at end where id = %(id)s",
                {"state": state, "replaced": is_replaced, "by": found["active"], "id": id_},
            )
    return found


@pytest.mark.requirement("R-05")
async def test_only_what_stands_comes_and_nothing_brings_what_nobody_vouches_for(by_words: Recaller):
    ids = await set_states(by_words)
    names = {id_: state for state, id_ in ids.items()}

    async def came(*include: str) -> set[str]:
        found = await by_words.recall("harbour", include=include, limit=50)
        return {names[item.id] for item in found.items}

    assert {state: await came(state) for state in EVERYTHING} == {
        "superseded": {"active", "superseded"},
        "archived": {"active", "archived"},
        "held": {"active", "held"},
        "dormant": {"active"},
    }
    assert await came() == {"active"}
    assert await came(*EVERYTHING) == {"active", "superseded", "archived", "held"}


@pytest.mark.requirement("R-05")
async def test_a_disputed_memory_comes_and_says_so_and_the_held_text_does_not(by_words: Recaller):
    by_words.judges.told = says("contradicts")
    stands = await by_words.learn("The harbour opens at six.")
    held = await by_words.learn("The harbour never opens before ten.", origin="model")

    found = await by_words.recall("when does the harbour open?")

    assert held.action == "conflicted"
    assert [(item.id, item.disputed) for item in found.items] == [(known(stands), True)]


@pytest.mark.requirement("R-05")
async def test_another_agents_own_memory_never_comes(by_words: Recaller):
    await by_words.put("The harbour opens at six.", agent="second", shared=False)

    assert await by_words.texts("harbour", agent="default", include=EVERYTHING) == []
    assert len(await by_words.texts("harbour", agent="second")) == 1


async def believed(mind: Recaller, memory: UUID, at: datetime) -> tuple[bool, bool]:
    """Whether a memory is recalled as of a moment, and whether it can be read as of it."""
    recalled = await mind.recall("harbour", as_of=at, limit=50)
    try:
        await get_memory(mind.deps, mind.place(), memory, as_of=at)
    except NotFound:
        return memory in {item.id for item in recalled.items}, False
    return memory in {item.id for item in recalled.items}, True


@pytest.mark.requirement("M-43")
@pytest.mark.parametrize("operation", ["archive", "supersede", "merge"])
async def test_what_was_put_away_was_believed_until_then_and_not_afterwards(by_words: Recaller, operation: str):
    [old, new] = await by_words.put("The harbour opens at six.", "The harbour is cold.")
    learnt = by_words.hands.now
    by_words.forward(2 * DAY)
    deps, more = by_words.deps, {"by": "test", "reason": ""}
    if operation == "archive":
        change = await archive(deps, MAIN_SPACE, old, **more)
    elif operation == "supersede":
        change = await supersede(deps, MAIN_SPACE, old, new, by="test")
    else:
        change = await merge(deps, MAIN_SPACE, [new, old], **more)
        old, new = (old, new) if change.memory.id == new else (new, old)
    by_words.forward(2 * DAY)

    assert await believed(by_words, old, learnt + DAY) == (True, True)
    assert await believed(by_words, old, learnt + 3 * DAY) == (False, False)
    assert await believed(by_words, new, learnt + 3 * DAY) == (True, True)
    assert await believed(by_words, old, learnt - DAY) == (False, False)

    assert change.change
    await undo(deps, MAIN_SPACE, change.change, by="test")
    by_words.forward(DAY)
    held = await by_words.recall("harbour", valid_at=learnt + 3 * DAY)
    assert old in {item.id for item in held.items}, "for the world it never had"
    assert await believed(by_words, old, learnt + 3 * DAY) == (False, False), "what was undone had been made"
    assert await believed(by_words, old, by_words.hands.now) == (True, True)


@pytest.mark.requirement("M-43")
async def test_what_was_brought_back_was_not_believed_in_between(by_words: Recaller):
    [old] = await by_words.put("The harbour opens at six.")
    learnt = by_words.hands.now
    by_words.forward(2 * DAY)
    await archive(by_words.deps, MAIN_SPACE, old, by="test")
    by_words.forward(2 * DAY)
    await restore(by_words.deps, MAIN_SPACE, old, by="test")
    by_words.forward(2 * DAY)

    days = [await believed(by_words, old, learnt + day * DAY) for day in (1, 3, 5)]

    assert days == [(True, True), (False, False), (True, True)]


@pytest.mark.requirement("M-43")
async def test_many_that_were_put_away_do_not_hide_what_was_believed(store: Store):
    mind = Recaller(store, without_embedder=True, settings={"arm_size": 10, "abstain": False})
    away = await mind.put(*(f"The harbour has harbour crane {number}." for number in range(15)))
    [believed_then] = await mind.put("Long ago somebody told us that the old harbour opens at six.")
    for each in away:
        await archive(mind.deps, MAIN_SPACE, each, by="test")
    mind.forward(DAY)

    assert [item.id for item in (await mind.recall("harbour", as_of=mind.hands.now)).items] == [believed_then]
    mind.forget_unwritten()


@pytest.mark.requirement("M-43")
async def test_what_held_in_the_world_is_asked_apart_from_what_was_believed(by_words: Recaller):
    now = by_words.hands.now
    [early] = await by_words.put("The harbour opens at six.", valid_from=now - 10 * DAY)
    await by_words.put("The harbour opens late.", valid_from=now - 5 * DAY)
    async with by_words.store.transaction() as transaction:
        await transaction.connection.execute(
            "update memory set valid_to = %(to)s where id = %(id)s", {"to": now - 5 * DAY, "id": early}
        )

    async def texts(**asked: Any) -> set[str]:
        return set(await by_words.texts("harbour", **asked))

    assert await texts(valid_at=now - 6 * DAY) == {"The harbour opens at six."}
    assert await texts(valid_at=now - 5 * DAY) == {"The harbour opens late."}
    assert await texts(valid_at=now - 11 * DAY) == set()
    assert await texts(valid_at=now - 6 * DAY, as_of=now) == {"The harbour opens at six."}
    assert await texts(valid_at=now - 6 * DAY, as_of=now - DAY) == set()
    with pytest.raises(BadInput):
        await get_memory(by_words.deps, by_words.place(), early, as_of=now + DAY)
