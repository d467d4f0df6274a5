"""The server is asked to look at its tables while they grow, and seldom."""

from typing import Any, cast

import pytest
from tests.jobs.deps import rows
from tests.memory.remembering import Mind

from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, AgentId, Scope, SessionId
from festinger.memory.deps import FIRST, LookupCounter, analyze_if_underestimated, is_size_underestimated
from festinger.memory.learn.pipeline import learn_many
from festinger.memory.learn.statement import LearnRequest
from festinger.store.pool import Store
from festinger.store.queries import Query

PLACE = Scope(space=MAIN_SPACE, agent=AgentId(DEFAULT_AGENT), session=SessionId("s1"))


class Counting:
    """A store that thinks that there is so much, and notes when it is asked to look."""

    def __init__(self, believed: float) -> None:
        self.believed = believed
        self.asked = 0
        self.looked = 0

    async def value(self, _query: Query, **_parameters: Any) -> float:
        self.asked += 1
        return self.believed

    async def run(self, query: Query, **_parameters: Any) -> int:
        assert query.name == "size_up"
        self.looked += 1
        return 0


async def after(statements: int, *, believed: float, at_once: int = 1) -> Counting:
    store, sizing = Counting(believed), LookupCounter()
    for _ in range(statements // at_once):
        await analyze_if_underestimated(cast(Store, store), sizing, more=at_once)
    return store


@pytest.mark.parametrize(
    ("statements", "times"), [(50, 0), (51, 1), (200, 1), (201, 2), (800, 2), (801, 3), (10_000, 4)]
)
async def test_a_server_that_has_never_looked_is_asked_less_and_less_often(statements: int, times: int):
    store = await after(statements, believed=-1.0)

    assert (store.asked, store.looked) == (times, times)


async def test_a_batch_that_passes_several_marks_asks_once():
    assert (await after(2_000, believed=-1.0, at_once=1_000)).looked == 1


async def test_a_server_that_knows_how_much_there_is_is_left_alone():
    store = await after(10_000, believed=100_000.0)

    assert (store.asked, store.looked) == (4, 0)


@pytest.mark.parametrize(("believed", "far"), [(-1, True), (0, True), (24, True), (25, False), (1_000, False)])
def test_half_of_what_must_be_there_is_near_enough(believed: float, far: bool):
    assert is_size_underestimated(FIRST, believed=believed) is far


async def test_whoever_learns_much_at_once_has_the_server_look(store: Store):
    mind = Mind(store)
    for part in ("red", "blue"):
        await learn_many(mind.deps, PLACE, [LearnRequest(text=f"Box {number} is {part}") for number in range(FIRST)])

    (found,) = await rows(store, "select reltuples from pg_class where oid = 'memory'::regclass")
    assert found["reltuples"] >= FIRST
    assert mind.deps.sizing.looked_up == 2 * FIRST
