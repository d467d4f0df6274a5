"""How candidates are looked for: in a time that does not grow with what is remembered."""

import pytest
from tests.jobs.deps import ask
from tests.memory.remembering import Mind

from festinger.ids import MAIN_SPACE
from festinger.memory.learn.candidates import should_scan_all
from festinger.memory.model import LearnAction
from festinger.store.pool import PlanMode, Store, Transaction
from festinger.store.queries import Query, load_queries

Q = load_queries("festinger.memory")

CROWDED = ask("update pg_class set reltuples = 1e6 where oid = 'memory'::regclass")
UNSORTED = ask("select set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true)")


async def test_the_newest_memory_is_found_by_the_index_without_sorting_all(store: Store):
    asked = Q["newest_of_owners"]
    plan = Query(room=asked.room, name="plan", purpose="", sql=f"explain {asked.sql}")
    async with store.transaction() as transaction:
        await transaction.all(UNSORTED)
        found = await transaction.all(plan, space=MAIN_SPACE, owner="ada")

    told = "\n".join(str(row["QUERY PLAN"]) for row in found)
    assert told.count("memory_order") == 2
    assert "Sort" not in told


@pytest.mark.parametrize(
    ("own", "everybody", "whole"),
    [
        (0, -1.0, True),
        (1_999, 2_000.0, True),
        (2_000, 2_000.0, False),
        (2_000, 10_000.0, False),
        (2_000, 10_001.0, True),
        (9_999, 1e6, True),
        (10_000, 1e6, False),
    ],
)
def test_a_space_is_read_whole_if_it_is_small_or_lost_in_a_crowd(own: int, everybody: float, whole: bool):
    assert should_scan_all(own, everybody=everybody) is whole


@pytest.mark.parametrize("crowded", [False, True])
async def test_a_space_that_is_small_beside_the_rest_of_the_store_is_planned_for_each_search(
    store: Store, monkeypatch: pytest.MonkeyPatch, crowded: bool
):
    planned: list[PlanMode] = []

    async def plan(_transaction: Transaction, mode: PlanMode) -> None:
        planned.append(mode)

    monkeypatch.setattr(Transaction, "plan", plan)
    if crowded:
        await store.run(CROWDED)

    await Mind(store).learn("The kiln is warm.")

    assert planned == ([PlanMode.ANEW] if crowded else [])


@pytest.mark.parametrize(
    ("sources", "asked"),
    [
        (("episode:1", "episode:2"), 0),
        (("episode:1", "episode:1"), 1),
        (("https://example.org", "episode:2"), 1),
        ((None, None), 1),
    ],
    ids=["of two episodes", "of one episode", "of a page and an episode", "told by somebody"],
)
async def test_records_of_two_episodes_are_two_however_alike_and_nobody_is_asked(
    store: Store, sources: tuple[str | None, str | None], asked: int
):
    texts = ("Painting the house\nWe chose the paint.", "Painting a fence\nWe chose the colour.")
    mind = Mind(store, near=dict.fromkeys(texts, 1.0))
    for text, source in zip(texts, sources, strict=True):
        await mind.learn(text, kind="episodic", source=source)

    assert len(mind.judges.asked) == asked


async def test_the_same_record_in_the_same_words_is_known_again_whichever_episode_it_is_of(store: Store):
    mind = Mind(store)
    for source in ("episode:1", "episode:2"):
        learned = await mind.learn("Nothing much\nWe said hello.", kind="episodic", source=source)

    assert learned.action is LearnAction.CONFIRMED
