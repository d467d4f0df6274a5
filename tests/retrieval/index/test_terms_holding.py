"""A space where nothing was learnt costs a look now and then, and no more."""

from tests.memory.remembering import Mind

from festinger.ids import MAIN_SPACE, SpaceId
from festinger.retrieval.index.terms import EMPTY_FOR, NonEmptySpaces
from festinger.store.pool import Store

OTHER = SpaceId("other")


class Watch:
    """A stopwatch that moves only when told to."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def test_of_what_nobody_looked_at_anything_may_be_there():
    assert NonEmptySpaces(Watch()).may_have_memories(MAIN_SPACE)


async def test_a_space_that_was_seen_empty_is_not_asked_for_a_moment(store: Store):
    watch = Watch()
    holdings = NonEmptySpaces(watch)

    assert not await holdings.holds(store, MAIN_SPACE)
    assert (holdings.may_have_memories(MAIN_SPACE), holdings.may_have_memories(OTHER)) == (False, True)
    watch.at += EMPTY_FOR
    assert holdings.may_have_memories(MAIN_SPACE)


async def test_what_this_process_stores_is_known_at_once_and_what_another_stores_at_the_next_look(store: Store):
    mine, others = NonEmptySpaces(Watch()), NonEmptySpaces(Watch())
    await mine.holds(store, MAIN_SPACE)

    mine.stored(MAIN_SPACE)
    await Mind(store).learn("The printer's driver is Gutenprint.")

    assert mine.may_have_memories(MAIN_SPACE)
    assert await mine.holds(store, MAIN_SPACE)
    assert await others.holds(store, MAIN_SPACE)
    assert not await others.holds(store, OTHER)
