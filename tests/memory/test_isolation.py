"""Spaces and agents never meet each other's memories, whatever is learnt."""

import pytest
from tests.memory.remembering import Mind, known, memories, now, says

from festinger.errors import NotFound
from festinger.ids import SpaceId
from festinger.memory.model import LearnAction
from festinger.memory.query import load_page_of_memories
from festinger.store.pool import Store
from festinger.store.repositories.spaces import create_space

OLD = "people there drink strong coffee"
NEW = "folks in that place drink powerful coffee"


@pytest.mark.requirement("M-108")
@pytest.mark.parametrize("second", [OLD, NEW, "The server has 32 GB"], ids=["same", "near", "slot"])
async def test_two_spaces_learn_the_same_and_have_a_row_each(store: Store, second: str):
    mind = Mind(store, near={OLD: 1.0, NEW: 0.99})
    async with store.transaction() as transaction:
        await create_space(transaction, "work", at=mind.hands.now)
    for text in (OLD, "The server has 16 GB"):
        await mind.learn(text)

    learned = await mind.learn(second, space=SpaceId("work"))

    assert learned.action is LearnAction.STORED
    assert learned.matched == ()


@pytest.mark.requirement("M-108")
@pytest.mark.parametrize("second", [OLD, NEW, "The server has 32 GB"], ids=["same", "near", "slot"])
async def test_what_one_agent_says_is_never_swallowed_by_anothers_own(store: Store, second: str):
    mind = Mind(store, near={OLD: 1.0, NEW: 0.99})
    for text in (OLD, "The server has 16 GB"):
        await mind.learn(text, agent="a")

    of_b = await mind.learn(second, agent="b")
    for_all = await mind.learn(second, agent="c", shared=True)

    assert (of_b.action, now(of_b).agent_id) == (LearnAction.STORED, "b")
    assert (for_all.action, now(for_all).agent_id) == (LearnAction.STORED, None)


@pytest.mark.requirement("M-108")
async def test_an_agent_sees_its_own_and_the_shared_ones(store: Store):
    mind = Mind(store)
    shared = await mind.learn(OLD)

    confirmed = await mind.learn(OLD, agent="a")
    own = await mind.learn("Ann keeps bees", agent="a")

    assert (confirmed.action, known(confirmed)) == (LearnAction.CONFIRMED, known(shared))
    assert [m.id for m in await load_page_of_memories(mind.deps, mind.place(agent="a"))] == [known(own), known(shared)]
    assert [m.id for m in await load_page_of_memories(mind.deps, mind.place(agent="b"))] == [known(shared)]


@pytest.mark.requirement("M-24", "M-108")
async def test_no_agent_replaces_what_another_keeps_for_itself(store: Store):
    mind = Mind(store, near={OLD: 1.0, NEW: 0.9})
    await mind.learn(OLD, agent="a", subject="people")
    mind.judges.told = says("update", 0.9)

    learned = await mind.learn(NEW, agent="b", subject="people")

    assert learned.superseded == ()
    assert len(await memories(store, "active")) == 2


@pytest.mark.requirement("M-35")
async def test_nobody_derives_from_what_it_cannot_see(store: Store):
    mind = Mind(store)
    private = await mind.learn(OLD, agent="a")

    with pytest.raises(NotFound):
        await mind.learn("So they sleep badly", agent="b", derived_from=(known(private),))
    with pytest.raises(NotFound):
        await mind.learn("So they sleep badly", derived_from=(mind.deps.new_memory_id(),))
    assert len(await memories(store)) == 1
