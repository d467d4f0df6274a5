"""What stands around a word: both ways, a few steps, and no further than a number of words."""

import pytest
from tests.world.worldly import Bench

from festinger.errors import NoSuchConcept
from festinger.ids import MAIN_SPACE
from festinger.store.pool import Store
from festinger.world.learn import iknowthat
from festinger.world.query import Neighborhood, load_neighborhood

FAMILY = (
    "dog -isa pet",
    "cat -isa pet",
    "pet -isa animal",
    "animal -isa creature",
    "puppy -isa dog",
    "dog -ispart household",
)


async def world(store: Store, *facts: str) -> Bench:
    bench = await Bench(store).open()
    await iknowthat(bench.deps, MAIN_SPACE, facts or FAMILY, because=bench.because())
    return bench


def levels(found: Neighborhood) -> dict[str, int]:
    return {word.token: word.level for word in found.words}


async def test_parents_stand_above_and_children_below(store: Store):
    bench = await world(store)

    assert levels(await load_neighborhood(bench.deps, MAIN_SPACE, "dog")) == {
        "dog": 0,
        "pet": -1,
        "household": -1,
        "puppy": 1,
    }


async def test_each_step_goes_further_the_same_way(store: Store):
    bench = await world(store)
    found = await load_neighborhood(bench.deps, MAIN_SPACE, "pet", depth=2)

    # A sibling's parents and a parent's other children are no neighbours: the walk does not turn round.
    assert levels(found) == {"pet": 0, "animal": -1, "creature": -2, "dog": 1, "cat": 1, "puppy": 2}


async def test_only_one_dimension_if_it_is_named(store: Store):
    bench = await world(store)
    found = await load_neighborhood(bench.deps, MAIN_SPACE, "dog", dimension="membership")

    assert levels(found) == {"dog": 0, "household": -1}


async def test_beyond_the_number_of_words_the_rest_is_counted(store: Store):
    bench = await world(store, *(f"dog{n} -isa pet" for n in range(9)))
    found = await load_neighborhood(bench.deps, MAIN_SPACE, "pet", most=5)

    assert len(found.words) == 5
    assert found.beyond == {"pet": 5}
    assert {edge.concept for edge in found.edges} <= set(levels(found))


async def test_a_conflict_is_marked_on_the_edge_that_stands(store: Store):
    bench = await world(store, "dog -isa pet", "dog -isa robot")
    found = await load_neighborhood(bench.deps, MAIN_SPACE, "dog")

    assert [(edge.parent, edge.disputed) for edge in found.edges] == [("pet", True)]


async def test_a_word_without_edges_stands_alone_and_an_unknown_one_is_not_found(store: Store):
    bench = await world(store)

    assert (await load_neighborhood(bench.deps, MAIN_SPACE, "type")).edges == []
    with pytest.raises(NoSuchConcept):
        await load_neighborhood(bench.deps, MAIN_SPACE, "nobody")
