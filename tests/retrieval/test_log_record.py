"""After the answer a recall is counted, and nothing more: no weight moves, and no fault of it reaches the caller."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from tests.jobs.deps import rows
from tests.memory.remembering import says
from tests.retrieval.recalling import Recaller

from festinger.errors import StoreDown
from festinger.ids import MAIN_SPACE, Scope
from festinger.memory.query import load_page_of_memories
from festinger.observability.logs import bind_request_id
from festinger.observability.metrics import RECALL_UNRECORDED
from festinger.retrieval.log import RecallRecord, load_recalls, save_recalls
from festinger.retrieval.query import parse_recall_query
from festinger.retrieval.recall import recall, rerun_and_compare_recall
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.retrieval")
TEA = ("Tea is green.", "Tea is hot.", "Tea is cheap.")
MOVED_BY_USE = (
    "select id, weight_alpha, weight_beta, confidence, last_accessed, last_confirmed, access_count, access_times"
    " from memory order by id"
)
COUNTED = "select (select count(*) from recall) as recalls, (select count(*) from memory_co_access) as pairs"


async def away(*_given: Any) -> None:
    raise StoreDown("away")


@pytest.mark.requirement("R-60")
@pytest.mark.parametrize("broken", ["on_read", "on_surfaced"])
async def test_what_cannot_be_written_down_is_counted_and_the_answer_stands(by_words: Recaller, broken: str):
    await by_words.put(*TEA)
    ports: dict[str, Any] = {broken: away}
    by_words.searching = replace(by_words.searching, **ports)
    before = RECALL_UNRECORDED._value.get()

    found = await by_words.recall("tea")
    await by_words.written()

    assert len(found.items) == 3
    assert RECALL_UNRECORDED._value.get() == before + 1
    assert await rows(by_words.store, COUNTED) == [{"recalls": 0, "pairs": 0}]


@pytest.mark.requirement("R-60")
async def test_one_row_its_hits_reads_surfacings_and_pairs_are_written_and_no_memory_moves(by_words: Recaller):
    await by_words.put(*TEA, "Tea is cold by now.")
    surfaced: list[tuple[UUID, list[UUID]]] = []

    async def note(_at: Transaction, _place: Scope, memories: Sequence[UUID], told_by: UUID) -> None:
        surfaced.append((told_by, list(memories)))

    by_words.searching = replace(by_words.searching, on_surfaced=note)
    before, unrecorded = await rows(by_words.store, MOVED_BY_USE), RECALL_UNRECORDED._value.get()

    found = await by_words.recall("tea", limit=3)
    await by_words.written()

    shown = [item.id for item in found.items]
    assert await rows(by_words.store, COUNTED) == [{"recalls": 1, "pairs": 3}]
    hits = await rows(by_words.store, "select ref, shown from recall_hit order by position")
    assert [hit["ref"] for hit in hits if hit["shown"]] == shown
    assert len(hits) == 4
    assert by_words.read == shown
    assert surfaced == [(found.id, shown)]
    assert await rows(by_words.store, MOVED_BY_USE) == before
    assert RECALL_UNRECORDED._value.get() == unrecorded


@pytest.mark.requirement("R-60")
async def test_a_door_that_tells_by_itself_what_it_showed_surfaces_nothing_here(by_words: Recaller):
    await by_words.put(*TEA)
    by_words.searching = replace(by_words.searching, on_surfaced=away)
    before = RECALL_UNRECORDED._value.get()

    await recall(by_words.searching, by_words.place(), parse_recall_query("tea", now=by_words.hands.now), shows=False)
    await by_words.written()

    assert RECALL_UNRECORDED._value.get() == before
    assert len(by_words.read) == 3


@pytest.mark.requirement("R-60")
async def test_a_record_that_somebody_keeps_is_written_by_them_and_only_once(by_words: Recaller):
    await by_words.put(*TEA)
    kept: list[RecallRecord] = []
    query = parse_recall_query("tea", now=by_words.hands.now)
    with bind_request_id("request-1"):
        await recall(by_words.searching, by_words.place(), query, keep=kept.append)
        await by_words.written()
    unwritten = await rows(by_words.store, COUNTED)

    [record] = kept
    async with by_words.store.transaction() as transaction:
        [event] = await save_recalls(by_words.searching, transaction, MAIN_SPACE, [record, record])
        again = await save_recalls(by_words.searching, transaction, MAIN_SPACE, [record])

    assert unwritten == [{"recalls": 0, "pairs": 0}]
    assert (event.trace, event.payload["hits"]) == ("request-1", 3)
    assert again == []
    assert await rows(by_words.store, COUNTED) == [{"recalls": 1, "pairs": 3}]
    assert len(by_words.read) == 3
    assert len(await rows(by_words.store, "select from recall_hit")) == 3


@pytest.mark.requirement("R-60")
async def test_comparing_judging_browsing_and_replaying_count_nothing(by_words: Recaller):
    await by_words.put(*TEA)
    found = await by_words.recall("tea")
    await by_words.written()
    before, counted = await rows(by_words.store, MOVED_BY_USE), await rows(by_words.store, COUNTED)
    read = list(by_words.read)

    by_words.judges.told = says("unrelated")
    await by_words.learn("Tea is green in spring.")
    await load_page_of_memories(by_words.deps, by_words.place())
    await rerun_and_compare_recall(by_words.searching, MAIN_SPACE, found.id)
    await by_words.written()

    assert by_words.judges.asked
    assert (await rows(by_words.store, MOVED_BY_USE))[:3] == before
    assert await rows(by_words.store, COUNTED) == counted
    assert by_words.read == read
    assert len(await load_recalls(by_words.searching, MAIN_SPACE)) == 1


@pytest.mark.parametrize("name", ["read_cue", "count_searchable", "candidates", "fetch"])
def test_nothing_that_grows_with_each_recall_is_read_before_the_answer(name: str):
    read = set(re.findall(r"\b(?:from|join)\s+(\w+)", Q[name].sql))

    assert read, "it reads some table"
    assert read.isdisjoint({"recall", "recall_hit", "surfacing", "event"})
