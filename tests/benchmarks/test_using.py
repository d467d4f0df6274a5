"""The suite `use`: how high useful memories stand, and when nothing better could come."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from benchmarks.using import DAY, Days, Learnt, ndcg
from hypothesis import given
from hypothesis import strategies as st

from festinger.ids import MemoryId, Origin, SpaceId
from festinger.retrieval.result import RecallItem, RecallResult

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
QUESTION = {"gold": ["D1:1"]}


def learnt(useful: int, others: int = 5) -> Learnt:
    turns = {memory(number): frozenset({"D1:1"}) for number in range(useful)}
    turns |= {memory(100 + number): frozenset({"D2:2"}) for number in range(others)}
    return Learnt(space=SpaceId("s"), turns=turns)


def memory(number: int) -> MemoryId:
    return MemoryId(UUID(int=number))


def came(*numbers: int) -> RecallResult:
    items = tuple(
        RecallItem(
            id=memory(number),
            type="memory",
            kind="fact",
            text="x",
            compressed=None,
            score=1.0,
            evidence=1.0,
            weak=False,
            origin=Origin.PERSON,
            trust=1.0,
            confidence=0.5,
            weight=0.2,
            event_time=None,
            learned_at=MONDAY,
            disputed=False,
            source=None,
        )
        for number in numbers
    )
    return RecallResult(id=UUID(int=1), items=items, abstained=not items, below_threshold=0, degraded=())


def test_nothing_is_better_than_all_that_is_useful_first() -> None:
    assert ndcg(learnt(2), QUESTION, came(0, 1, 100)) == 1.0
    assert ndcg(learnt(2), QUESTION, came()) == 0.0
    assert ndcg(learnt(1), QUESTION, came(100, 0)) == pytest.approx(0.6309, abs=1e-4)


@given(st.permutations([0, 1, 100, 101, 102]))
def test_no_order_is_better_than_the_best_and_moving_a_useful_one_up_never_harms(order: list[int]) -> None:
    found = ndcg(learnt(2), QUESTION, came(*order))
    place = order.index(0)
    raised = [*order[: max(0, place - 1)], 0, *[each for each in order[max(0, place - 1) :] if each != 0]]

    assert 0.0 < found <= 1.0
    if place == 0 or order[place - 1] != 1:
        assert ndcg(learnt(2), QUESTION, came(*raised)) >= found


def test_days_pass_one_by_one() -> None:
    days = Days(MONDAY)
    days.pass_one()

    assert (days.clock() - MONDAY, DAY) == (timedelta(days=1), timedelta(days=1))
