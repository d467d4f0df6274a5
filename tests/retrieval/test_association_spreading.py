"""What memories lead on to."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.retrieval.association import find_associations, top_associations

A, B, C, D = (UUID(int=number) for number in range(1, 5))
CHAIN = {A: [(B, 0.5)], B: [(A, 0.5), (C, 0.4)], C: [(B, 0.4), (D, 1.0)], D: [(C, 1.0)]}


def test_each_step_leaves_less():
    near, far = find_associations({A: 1.0}, CHAIN, hops=1), find_associations({A: 1.0}, CHAIN, hops=2)

    assert {memory: reached.score for memory, reached in near.items()} == pytest.approx({B: 0.5, C: 0.06})
    assert {memory: reached.score for memory, reached in far.items()} == pytest.approx({B: 0.5, C: 0.06, D: 0.02})
    assert far[D].way == (A, B, C)


def test_the_best_way_counts_and_the_score_of_where_it_begins():
    links = {A: [(C, 0.2)], B: [(C, 0.9)]}

    reached = find_associations({A: 1.0, B: 0.5}, links)

    assert reached[C].score == pytest.approx(0.45)
    assert reached[C].way == (B,)


def test_only_the_strongest_partners_are_followed():
    partners = [(UUID(int=10 + number), number / 10) for number in range(1, 6)]

    assert set(find_associations({A: 1.0}, {A: partners})) == {UUID(int=number) for number in (13, 14, 15)}


@given(
    st.dictionaries(st.integers(1, 8), st.lists(st.tuples(st.integers(1, 8), st.floats(0, 1)), max_size=5), max_size=8),
    st.dictionaries(st.integers(1, 8), st.floats(0, 1), max_size=3),
    st.integers(0, 2),
)
def test_what_was_in_mind_is_never_reached_and_nothing_is_reached_more_strongly_than_its_beginning(
    drawn: dict[int, list[tuple[int, float]]], begun: dict[int, float], hops: int
):
    links = {UUID(int=one): [(UUID(int=other), strength) for other, strength in found] for one, found in drawn.items()}
    seeds = {UUID(int=one): score for one, score in begun.items()}

    reached = find_associations(seeds, links, hops=hops)

    assert not set(reached) & set(seeds)
    assert all(each.score <= seeds[each.way[0]] for each in reached.values())
    assert all(len(each.way) <= hops + 1 for each in reached.values())


def test_at_most_ten_come_in_this_way_alone():
    links = {A: [(UUID(int=100 + number), 0.5 + number / 100) for number in range(20)]}

    assert len(top_associations(find_associations({A: 1.0}, links, top=20))) == 10
