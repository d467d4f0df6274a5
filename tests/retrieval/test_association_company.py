"""Which memories come to mind together."""

from datetime import timedelta
from uuid import UUID

import pytest
from tests.jobs.deps import rows
from tests.memory.remembering import DAY
from tests.retrieval.recalling import Recaller

from festinger.ids import MAIN_SPACE
from festinger.retrieval.association import pairs_across_recalls, pairs_within_recall, record_co_access
from festinger.retrieval.index.terms import recount_words
from festinger.store.pool import Store

IDS = [UUID(int=number) for number in range(1, 8)]
MINUTE = timedelta(minutes=1)


@pytest.mark.requirement("R-55")
def test_each_is_paired_with_the_next_four():
    pairs = pairs_within_recall(IDS)

    assert (IDS[0], IDS[4]) in pairs
    assert (IDS[0], IDS[5]) not in pairs
    assert len(pairs) == 4 + 4 + 4 + 3 + 2 + 1
    assert all(one < other for one, other in pairs_within_recall(IDS[::-1]))


@pytest.mark.requirement("R-55")
def test_the_best_three_are_paired_with_the_best_three_before():
    pairs = pairs_across_recalls(IDS[:4], [IDS[4], IDS[0], IDS[5], IDS[6]])

    assert len(pairs) == 3 * 3 - 1 - 0
    assert not any(IDS[6] in pair or IDS[3] in pair for pair in pairs)


async def counts(store: Store) -> list[tuple[int, int]]:
    found = await rows(
        store, "select co_access_count, temporal_count from memory_co_access order by memory_id_a, memory_id_b"
    )
    return [(row["co_access_count"], row["temporal_count"]) for row in found]


async def learn(mind: Recaller, *texts: str) -> list[UUID]:
    learnt = [await mind.learn(text) for text in texts]
    await recount_words(mind.searching, MAIN_SPACE)
    return [each.memory.id for each in learnt if each.memory]


@pytest.mark.requirement("R-55")
async def test_a_loop_counts_once_and_another_day_again(by_words: Recaller):
    await learn(by_words, "Tea is green.", "Tea is hot.")

    for _ in range(20):
        await by_words.recall("tea")
        await by_words.written()
    looped = await counts(by_words.store)
    by_words.forward(DAY)
    await by_words.recall("tea")
    await by_words.written()

    assert looped == [(1, 0)]
    assert await counts(by_words.store) == [(2, 0)]


@pytest.mark.requirement("R-55")
async def test_one_recall_after_the_other_pairs_them_within_ten_minutes(by_words: Recaller):
    await learn(by_words, "The ferry sails on Sunday.", "Bob repairs bicycles.", "The cello is old.")

    await by_words.recall("ferry", session="s")
    await by_words.written()
    by_words.forward(9 * MINUTE)
    await by_words.recall("bicycles", session="s")
    await by_words.written()
    paired = await counts(by_words.store)
    by_words.forward(11 * MINUTE)
    await by_words.recall("cello", session="s")
    await by_words.recall("ferry", session="another")
    await by_words.written()

    assert paired == [(0, 1)]
    assert await counts(by_words.store) == [(0, 1)]


@pytest.mark.requirement("R-55")
async def test_the_weakest_partner_leaves_when_a_new_one_comes(store: Store):
    mind = Recaller(store, without_embedder=True, settings={"partners": 2})
    one, two, three, four = await learn(mind, "Tea is green.", "Rain falls.", "Iron rusts.", "Dogs bark.")
    for partner in (two, three, two, four):
        mind.forward(DAY)
        async with store.transaction() as transaction:
            await record_co_access(
                mind.searching, transaction, mind.place(), [one, partner], recall=IDS[0], now=mind.hands.now
            )

    left = await rows(store, "select memory_id_a, memory_id_b from memory_co_access")

    assert {row["memory_id_a"] for row in left} | {row["memory_id_b"] for row in left} == {one, two, four}
    mind.forget_unwritten()


@pytest.mark.requirement("R-55")
async def test_what_came_to_mind_with_it_comes_along_and_says_over_what(store: Store):
    """Recalled with b, and b with c: a cue for a brings c, by one hop over b. What lies idle fades."""
    mind = Recaller(store, without_embedder=True, settings={"abstain": False})
    a, b, c = await learn(mind, "The anchor is heavy.", "The basket is full.", "The candle burns.")
    for pair in ((a, b), (b, c)):
        async with store.transaction() as transaction:
            await record_co_access(mind.searching, transaction, mind.place(), pair, recall=IDS[0], now=mind.hands.now)

    fresh = await mind.recall("anchor", explain=True)
    mind.forward(30 * DAY)
    idle = await mind.recall("anchor", explain=True)

    assert fresh.items[0].id == a
    told = {item.id: item.why for item in fresh.items if item.why}
    assert told[c]["hops"] == [str(a), str(b)]
    assert told[c]["arms"] == {}
    assert told[b]["company"] == pytest.approx(1 / 20, rel=1e-3)
    assert told[c]["company"] == pytest.approx(0.3 / 20 / 20, rel=1e-3)
    faded = {item.id: item.why for item in idle.items if item.why}
    assert faded[b]["company"] == pytest.approx(0.5 / 20, rel=1e-3)
    mind.forget_unwritten()


async def test_coming_along_adds_nothing_to_a_steady_score(store: Store):
    mind = Recaller(store, without_embedder=True, settings={"abstain": False})
    a, b = await learn(mind, "The anchor is heavy.", "An anchor holds the ship.")
    before = [(item.id, item.score) for item in (await mind.recall("anchor")).items]

    async with store.transaction() as transaction:
        await record_co_access(mind.searching, transaction, mind.place(), [a, b], recall=IDS[0], now=mind.hands.now)

    assert [(item.id, item.score) for item in (await mind.recall("anchor")).items] == before
    mind.forget_unwritten()
