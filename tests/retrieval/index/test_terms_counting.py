"""How common words are, and that the index of words is as good as looking at everything."""

import random
from uuid import UUID

import pytest
from tests.jobs.deps import rows
from tests.memory.remembering import texts
from tests.retrieval.recalling import Recaller

from festinger.ids import MAIN_SPACE
from festinger.memory.edit import archive, edit
from festinger.retrieval.bm25 import bm25_score, build_term_matches
from festinger.retrieval.candidate import MEMORY
from festinger.retrieval.index import terms
from festinger.retrieval.index.terms import count_words_of_changed_texts, recount_words
from festinger.retrieval.query import parse_cue, parse_recall_query
from festinger.retrieval.search import look_up_cue, search_arms
from festinger.store.pool import Store

VOCABULARY = [
    "harbour", "lantern", "violin", "garden", "copper", "window", "river", "engine", "orchard", "marble",
    "kettle", "bridge", "saddle", "needle", "pepper", "mirror", "thunder", "velvet", "walnut", "zebra",
]  # fmt: skip


async def counts(store: Store) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    return (
        await rows(store, "select source, docs, total_len from words_total where docs <> 0 order by source"),
        await rows(store, "select source, term, df from words_term where df <> 0 order by source, term"),
    )


async def test_counts_that_follow_what_happens_equal_those_made_anew(by_words: Recaller):
    learnt = [await by_words.learn(text) for text in ("Green tea.", "Green lamp.", "A tall old lamp.", "A blue cup.")]
    ids = [each.memory.id for each in learnt if each.memory]
    await edit(by_words.deps, MAIN_SPACE, ids[0], "Black coffee.", by="test")
    await archive(by_words.deps, MAIN_SPACE, ids[2], by="test")

    assert await count_words_of_changed_texts(by_words.searching, MAIN_SPACE) == 4
    assert await count_words_of_changed_texts(by_words.searching, MAIN_SPACE) == 0
    followed = await counts(by_words.store)
    await recount_words(by_words.searching, MAIN_SPACE)

    assert followed == await counts(by_words.store)
    assert {"source": "memory", "term": "lamp", "df": 1} in followed[1]
    assert followed[0] == [{"source": "memory", "docs": 3, "total_len": 6}]


async def test_what_happens_is_read_a_part_at_a_time_and_none_of_it_twice(
    by_words: Recaller, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(terms, "EVENTS", 2)
    for text in ("Green tea.", "A tall old lamp.", "A blue cup."):
        await by_words.learn(text)

    first = await count_words_of_changed_texts(by_words.searching, MAIN_SPACE)
    await by_words.learn("A marble bridge.")

    assert (first, await count_words_of_changed_texts(by_words.searching, MAIN_SPACE)) == (3, 1)
    followed = await counts(by_words.store)
    await recount_words(by_words.searching, MAIN_SPACE)
    assert followed == await counts(by_words.store)


async def test_what_is_not_committed_yet_is_counted_later(by_words: Recaller):
    async with by_words.store.transaction() as transaction:
        await by_words.deps.outbox.emit(
            transaction,
            "memory_archived",
            space=MAIN_SPACE,
            subject="memory:late",
            payload={"memory": str(UUID(int=7)), "reason": "old"},
        )
        await by_words.learn("Green tea.")
        early = await count_words_of_changed_texts(by_words.searching, MAIN_SPACE)

    assert (early, await count_words_of_changed_texts(by_words.searching, MAIN_SPACE)) == (0, 2)


async def test_counting_the_same_twice_counts_it_once(by_words: Recaller):
    await by_words.learn("Green tea.")
    await recount_words(by_words.searching, MAIN_SPACE)
    once = await counts(by_words.store)

    await recount_words(by_words.searching, MAIN_SPACE)

    assert await counts(by_words.store) == once


async def test_a_memory_is_found_in_the_moment_it_is_stored(by_words: Recaller):
    await by_words.learn("The walnut tree was felled.")

    assert await by_words.texts("walnut") == ["The walnut tree was felled."]


async def test_the_best_by_words_are_those_of_an_exhaustive_search(by_words: Recaller):
    chance = random.Random(7)
    for number in range(120):
        words = chance.choices(VOCABULARY, weights=range(len(VOCABULARY), 0, -1), k=chance.randint(3, 9))
        await by_words.learn(f"Note {number}: {' '.join(words)}.")
    await recount_words(by_words.searching, MAIN_SPACE)
    kept = {
        row["id"]: row
        for row in await rows(
            by_words.store,
            "select m.id, length(m.content_tsv) as len, array_agg(u.lexeme) as terms,"
            " array_agg(cardinality(u.positions)) as own from memory m, unnest(m.content_tsv) u"
            " where m.status = 'active' group by m.space_id, m.id",
        )
    }
    assert len(kept) == len(await texts(by_words.store))

    for cue in ("zebra velvet", "harbour lantern mirror", "walnut needle thunder pepper", "kettle"):
        found, exhaustive = await best(by_words, cue, kept)
        assert found[:10] == exhaustive[:10], cue


async def best(mind: Recaller, cue: str, kept: dict[UUID, dict[str, object]]) -> tuple[list[UUID], list[UUID]]:
    """What the words arm gives, and what looking at every memory gives."""
    settings = mind.retrieval
    async with mind.store.transaction() as transaction:
        read = await look_up_cue(
            mind.searching, transaction, mind.place(), parse_cue(cue, now=mind.hands.now), probe=None
        )
        found = await search_arms(
            transaction,
            mind.place(),
            parse_recall_query(cue, now=mind.hands.now),
            read=read,
            probe=None,
            size=None,
            settings=settings,
        )
    scores = {}
    for ref, row in kept.items():
        mine = [
            (term, own)
            for term, own in zip(row["terms"], row["own"], strict=True)  # type: ignore[call-overload]
            if term in read.asked.terms
        ]
        text = build_term_matches(
            [term for term, _ in mine], [own for _, own in mine], None,
            length=row["len"], context_weight=0.4,  # type: ignore[arg-type]
        )  # fmt: skip
        scores[ref] = bm25_score(text, read.asked.statistics[MEMORY], k1=settings.bm25_k1, b=settings.bm25_b)
    ordered = sorted((ref for ref in scores if scores[ref]), key=lambda ref: (-scores[ref], str(ref)))
    return list(found.arms["words"]), ordered
