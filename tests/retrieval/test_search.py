"""What vectors are made of, how exactly they are searched, and how far a mind looks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from tests.jobs.deps import rows
from tests.memory.remembering import known
from tests.retrieval.recalling import Recaller

from festinger.embedding.embedder import CheckedEmbedder, EmbedderOptions, Rows
from festinger.embedding.profiles import EmbedderProfile, EmbeddingPurpose, load_bundled_profiles
from festinger.embedding.providers.hashed import HashedEngine
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE
from festinger.memory.edit import edit
from festinger.memory.model import Kind, LearnAction
from festinger.memory.reembed import measure_progress, reembed
from festinger.retrieval.candidate import decode_vectors
from festinger.retrieval.deps import CorpusSize
from festinger.retrieval.query import parse_cue, parse_recall_query
from festinger.retrieval.score import ScoringContext
from festinger.retrieval.search import (
    MINOR,
    RANKED_FROM,
    CueLookup,
    CueVector,
    choose_plan,
    choose_query_parts,
    look_up_cue,
    search_arms,
)
from festinger.store.pool import PlanMode, Store
from festinger.store.vectors import EmbeddingModelSpec, ensure_index, to_halfvec

EPOCH = datetime(2020, 1, 1, tzinfo=UTC)
LAMP = "The red lamp is on."
PREFIXED = replace(load_bundled_profiles()["reference"], name="hashed:64", dimensions=64)


PREFIXES = {
    "episodic": "Personal experience memory: ",
    "fact": "Factual knowledge: ",
    "procedural": "How-to instruction: ",
    "preference": "User preference: ",
    "reflection": "Self-reflection insight: ",
    "correction": "Past error correction: ",
    "narrative": "Identity narrative: ",
    "tension": "Internal contradiction: ",
    "insight": "Self-reflection insight: ",
}


class Overheard(HashedEngine):
    """Remembers every text that a model was sent."""

    def __init__(self) -> None:
        super().__init__(64)
        self.sent: list[str] = []

    async def rows(self, texts: Sequence[str], purpose: EmbeddingPurpose, *, kind: str) -> Rows:
        self.sent += texts
        return await super().rows(texts, purpose, kind=kind)


def overhearing(profile: EmbedderProfile = PREFIXED) -> tuple[CheckedEmbedder, list[str]]:
    engine = Overheard()
    return CheckedEmbedder(engine, profile, supplies=EmbedderOptions()), engine.sent


async def nobody_hears(_done: int, _total: int) -> None:
    """Nobody asks how far it is."""


async def in_context(mind: Recaller, memory: UUID, context: str) -> None:
    """Tell what a memory means where it was said, as sleep would."""
    async with mind.store.transaction() as transaction:
        await transaction.connection.execute(
            "update memory set content_contextualized = %(context)s where id = %(id)s",
            {"context": context, "id": memory},
        )


async def test_a_model_that_gains_by_it_is_told_the_kind_of_what_is_stored_and_of_nothing_else(store: Store):
    embedder, sent = overhearing()
    mind = Recaller(store, embedder=embedder)
    texts = {kind: f"The lamp of {kind} is on." for kind in PREFIXES}

    for kind, text in texts.items():
        await mind.put(text, kind=Kind(kind))
    await mind.recall("red lamp")

    stored = {prefix + texts[kind] for kind, prefix in PREFIXES.items()}
    assert {text for text in sent if text.startswith(tuple(PREFIXES.values()))} == stored
    assert {*texts.values(), "red lamp"} <= set(sent)
    mind.forget_unwritten()


async def test_storing_asking_and_comparing_are_told_apart_by_a_model_that_can(store: Store):
    told = {purpose: f"to {purpose}: " for purpose in EmbeddingPurpose}
    embedder, sent = overhearing(replace(PREFIXED, prefixes=told, kinds={}))
    mind = Recaller(store, embedder=embedder)

    await mind.put(LAMP)
    await mind.recall("red lamp")
    vectors = [(await embedder.embed([LAMP], purpose))[0] for purpose in EmbeddingPurpose]

    assert sent[:3] == [f"to compare: {LAMP}", f"to store: {LAMP}", "to query: red lamp"]
    likenesses = np.stack(vectors) @ np.stack(vectors).T
    assert (likenesses[np.triu_indices(4, 1)] < 0.9999).all()
    mind.forget_unwritten()


async def test_a_memory_is_found_by_its_context_and_compared_without_it(store: Store):
    embedder, sent = overhearing()
    mind = Recaller(store, embedder=embedder)
    [lamp] = await mind.put(LAMP)
    sent.clear()

    await in_context(mind, lamp, f"In the harbour office: {LAMP}")
    assert (await measure_progress(mind.deps, MAIN_SPACE)).left == 1
    found = await mind.recall("red lamp", explain=True)
    await reembed(mind.deps, MAIN_SPACE, report=nobody_hears)

    assert found.items[0].why
    assert "cosine" in found.items[0].why, "until then the old vector serves"
    assert f"Factual knowledge: In the harbour office: {LAMP}" in sent
    assert [text for text in sent if "harbour" in text and not text.startswith("Factual")] == []
    assert (await measure_progress(mind.deps, MAIN_SPACE)).left == 0
    mind.forget_unwritten()


async def test_other_words_make_another_vector(store: Store):
    embedder, _ = overhearing()
    mind = Recaller(store, embedder=embedder)
    [lamp] = await mind.put(LAMP)
    kept = "select purpose, text_hash, embedding::text as vector from memory_vector order by purpose"
    before = await rows(store, kept)

    await edit(mind.deps, MAIN_SPACE, lamp, "The green chair is broken.", by="test")
    await reembed(mind.deps, MAIN_SPACE, report=nobody_hears)

    after = await rows(store, kept)
    assert [row["purpose"] for row in after] == ["compare", "store"]
    for one, other in zip(before, after, strict=True):
        assert one["text_hash"] != other["text_hash"]
        assert one["vector"] != other["vector"]


async def test_what_is_read_alike_for_searching_and_comparing_is_kept_once_until_it_has_a_context(store: Store):
    embedder, _ = overhearing(replace(PREFIXED, kinds={}))
    mind = Recaller(store, embedder=embedder)
    kept = "select purpose, is_bare from memory_vector order by purpose"
    lamp = await mind.learn(LAMP)
    bare = [(row["purpose"], row["is_bare"]) for row in await rows(store, kept)]
    compared = (await mind.learn("The red lamp is on again.")).matched

    await in_context(mind, known(lamp), f"In the harbour office: {LAMP}")
    await reembed(mind.deps, MAIN_SPACE, report=nobody_hears)
    with_context = [(row["purpose"], row["is_bare"]) for row in await rows(store, kept)]

    assert bare == [("store", True)]
    assert [each.similarity is not None for each in compared] == [True], (
        "it is compared by the vector that it is searched by"
    )
    assert with_context == [("compare", False), ("store", False)]
    assert (await measure_progress(mind.deps, MAIN_SPACE)).left == 0

    await in_context(mind, known(lamp), LAMP)
    await reembed(mind.deps, MAIN_SPACE, report=nobody_hears)
    assert [(row["purpose"], row["is_bare"]) for row in await rows(store, kept)] == bare
    mind.forget_unwritten()


async def test_two_statements_that_share_a_context_are_not_taken_for_the_same(store: Store):
    context, other = f"In the harbour office: {LAMP}", "The safe stands open."
    mind = Recaller(store, near={context: 1.0, other: 1.0})
    lamp = await mind.learn(LAMP)
    await in_context(mind, known(lamp), context)
    await reembed(mind.deps, MAIN_SPACE, report=nobody_hears)

    learned = await mind.learn(other)

    assert learned.action is LearnAction.STORED
    assert mind.judges.asked == []


@pytest.mark.requirement("R-13")
async def test_half_precision_keeps_cosines_and_the_order_of_the_nearest(store: Store):
    """Ten thousand vectors as the store keeps them, against the same in full precision."""
    chance = np.random.default_rng(13)
    vectors = unit(chance.standard_normal((10_000, 96), dtype=np.float32))
    probes = unit(chance.standard_normal((50, 96), dtype=np.float32))
    exact = probes @ vectors.T
    async with store.transaction() as transaction:
        connection = transaction.connection
        await connection.execute("create temp table kept (id integer, embedding halfvec)")
        async with connection.cursor() as cursor, cursor.copy("copy kept from stdin") as copy:
            for number, vector in enumerate(vectors):
                await copy.write_row((number, to_halfvec(vector).to_text()))
        found = [
            await (
                await connection.execute(
                    "select id, 1 - (embedding <=> %(probe)s) as cosine, halfvec_send(embedding) as sent"
                    " from kept order by embedding <=> %(probe)s, id limit 10",
                    {"probe": to_halfvec(probe)},
                )
            ).fetchall()
            for probe in probes
        ]

    best = np.argsort(-exact, axis=1, kind="stable")[:, :10]
    ids = np.array([[row["id"] for row in each] for each in found])
    cosines = np.array([[row["cosine"] for row in each] for each in found])
    [back] = decode_vectors([found[0][0]["sent"]])
    assert (ids == best).mean() >= 0.99
    assert np.abs(cosines - np.take_along_axis(exact, ids, axis=1)).max() <= 0.002
    assert back is not None
    assert float(back @ vectors[ids[0, 0]]) == pytest.approx(1.0, abs=0.002)


def unit(vectors: Any) -> Any:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.requirement("R-13")
@pytest.mark.parametrize(
    ("table", "named"), [("memory_vector", {"purpose": "store"}), ("turn_index", {"column": "embedding"})]
)
async def test_both_searched_tables_have_an_index_of_half_vectors(store: Store, table: str, named: Mapping[str, Any]):
    assert await ensure_index(store, table, EmbeddingModelSpec(name="scripted:near", dims=64), **named)

    [index] = await rows(
        store, "select indexdef from pg_indexes where indexdef like '%%hnsw%%' and tablename = %(t)s", t=table
    )
    assert "::halfvec(64)" in index["indexdef"]
    assert "halfvec_cosine_ops" in index["indexdef"]
    assert "(m='16', ef_construction='128')" in index["indexdef"]


CLONES = """
with model as (
    select m.* from memory m where m.content = 'The plain note.'
), made as (
    insert into memory (space_id, id, agent_id, content, fold, gist, origin, trust, created_at, updated_at)
    select m.space_id, md5(n::text)::uuid, m.agent_id, m.content || n, decode(md5(n::text), 'hex'),
        decode(md5(n::text), 'hex'), m.origin, m.trust, m.created_at, m.updated_at
    from model m, generate_series(1, %(count)s) as n
    returning space_id, id
)
insert into memory_vector (space_id, memory_id, model, purpose, dims, text_hash, embedding, at)
select c.space_id, c.id, v.model, v.purpose, v.dims, v.text_hash, (
    select array_agg(case i when 1 then 0.9 when 2 + c.n %% 63 then 0.4 when 2 + c.n / 3 then 0.1 else 0 end order by i)
    from generate_series(1, 64) as i)::real[]::halfvec, v.at
from (select made.*, row_number() over () as n from made) as c, memory_vector v join model m on m.id = v.memory_id where v.purpose = 'store'
returning 1
"""
PROBE = CueVector(model=EmbeddingModelSpec(name="scripted:near", dims=64), vector=np.eye(1, 64, dtype=np.float32)[0])
RARE = {
    "kinds": ["procedural"],
    "tags": ["rare"],
    "origins": ["document"],
    "subject": "Ada",
    "until": EPOCH + timedelta(days=1),
}


async def nearest(
    mind: Recaller, size: CorpusSize, asked: Mapping[str, Any], *, agent: str = DEFAULT_AGENT, few: int = 10
) -> list[UUID]:
    """What is found by meaning where more than `few` vectors are many, with an index that looks at a hundred."""
    query = parse_recall_query("kiln", now=mind.hands.now, **asked)
    async with mind.store.transaction() as transaction:
        for setting in ("enable_sort = off", "enable_seqscan = off", "hnsw.max_scan_tuples = 1"):
            await transaction.connection.execute(f"set local {setting}".encode())
        read = await look_up_cue(
            mind.searching, transaction, mind.place(), parse_cue(query.cue, now=mind.hands.now), probe=PROBE
        )
        found = await search_arms(
            transaction,
            mind.place(agent=agent),
            query,
            read=read,
            probe=PROBE,
            size=size,
            settings=mind.retrieval,
            few=few,
        )
    return list(found.arms.get("vector", ()))


@pytest.mark.requirement("R-14")
async def test_no_filter_makes_the_arm_give_less_than_there_is(store: Store):
    mind = Recaller(store, near={"The plain note.": 0.9})
    rare = await mind.put(
        *(f"Rare note {number}." for number in range(3)),
        kind=Kind.PROCEDURAL, tags=("rare",), origin="document", subject="Ada", event_time=EPOCH,
        shared=False,
    )  # fmt: skip
    [hidden] = await mind.put("What the other agent knows.", agent="other", shared=False)
    await mind.put("The plain note.", shared=False)
    await rows(store, CLONES, count=150)
    await ensure_index(store, "memory_vector", PROBE.model, purpose="store")
    many = CorpusSize(memories=155, vectors=155, seen=155, parts=0, at=0.0)

    found = {name: await nearest(mind, many, {name: value}) for name, value in RARE.items()}

    assert {name: sorted(refs) for name, refs in found.items()} == dict.fromkeys(RARE, sorted(rare))
    assert await nearest(mind, many, {}, agent="other") == [hidden]
    assert len(await nearest(mind, many, {})) == mind.retrieval.arm_size


async def test_who_may_see_the_nearest_is_asked_of_them_alone_and_loses_nobody(store: Store):
    mind = Recaller(store, near={"The plain note.": 0.9}, settings={"arm_size": 10})
    [hidden] = await mind.put("What the other agent knows.", agent="other", shared=False)
    await mind.put("The plain note.", shared=False)
    await rows(store, CLONES, count=150)
    most = CorpusSize(memories=1_500, vectors=1_500, seen=RANKED_FROM, parts=0, at=0.0)
    some = replace(most, seen=RANKED_FROM // 2)

    ranked = await nearest(mind, most, {}, few=RANKED_FROM)

    assert ranked == await nearest(mind, some, {}, few=RANKED_FROM)
    assert len(ranked) == 10
    assert await nearest(mind, most, {}, few=RANKED_FROM, agent="other") == [hidden]


@pytest.mark.parametrize(
    ("seen", "asked", "chosen"),
    [
        (RANKED_FROM, {}, "memories_ranked"),
        (RANKED_FROM, {"tags": ["rare"]}, "memories_whole"),
        (RANKED_FROM - 1, {}, "memories_whole"),
        (RANKED_FROM + 1, {}, "memories_indexed"),
    ],
    ids=["most of many", "a filter", "few", "too many"],
)
def test_the_nearest_are_ranked_first_where_most_may_be_seen(seen: int, asked: dict[str, Any], chosen: str):
    size = CorpusSize(memories=seen, vectors=2 * RANKED_FROM - 1, seen=seen, parts=0, at=0.0)
    query = parse_recall_query("kiln", now=EPOCH, **asked)

    assert chosen in choose_query_parts(query, read_of(), size, few=RANKED_FROM)
    everybodys = replace(size, vectors=2 * RANKED_FROM)
    assert "memories_ranked" not in choose_query_parts(query, read_of(), everybodys, few=RANKED_FROM)


def read_of(terms: tuple[str, ...] = (), *, must: str | None = None, has_pieces: bool = False) -> CueLookup:
    cue = parse_cue("kiln", now=EPOCH)
    asked = ScoringContext(cue=cue, terms=terms, statistics={}, has_vector=True, now=EPOCH)
    return CueLookup(asked=asked, must=must, open_episode=None, has_pieces=has_pieces)


@pytest.mark.parametrize(
    ("cue", "asked", "plan"),
    [
        ("kiln", {}, PlanMode.KEPT),
        ("kiln -cold", {}, PlanMode.ANEW),
        ('the "old kiln"', {}, PlanMode.ANEW),
        ("the kiln last week", {}, PlanMode.ANEW),
        ("kiln", {"tags": ["rare"]}, PlanMode.ANEW),
        ("kiln", {"kinds": ["fact"]}, PlanMode.ANEW),
        ("kiln", {"kinds": [*Kind]}, PlanMode.KEPT),
        ("kiln", {"exclude": [uuid4()]}, PlanMode.KEPT),
    ],
    ids=["plain", "a word less", "a phrase", "a time", "a tag", "a kind", "all kinds", "one less"],
)
def test_a_search_without_filters_keeps_its_plan(cue: str, asked: dict[str, Any], plan: PlanMode):
    query, read = parse_recall_query(cue, now=EPOCH, **asked), parse_cue(cue, now=EPOCH)

    assert choose_plan(query, read, None, few=10) is plan


def test_the_memories_of_one_agent_among_many_are_planned_for_each_search():
    query, cue = parse_recall_query("kiln", now=EPOCH), parse_cue("kiln", now=EPOCH)
    crowded = CorpusSize(memories=RANKED_FROM, vectors=2 * RANKED_FROM, seen=RANKED_FROM, parts=0, at=0.0)

    assert choose_plan(query, cue, crowded, few=RANKED_FROM) is PlanMode.ANEW
    assert choose_plan(query, cue, crowded, few=RANKED_FROM - 1) is PlanMode.KEPT
    assert choose_plan(query, cue, replace(crowded, vectors=RANKED_FROM), few=RANKED_FROM) is PlanMode.KEPT


def test_a_space_that_is_small_beside_the_rest_of_the_store_is_planned_for_each_search():
    query, cue = parse_recall_query("kiln", now=EPOCH), parse_cue("kiln", now=EPOCH)
    small = CorpusSize(memories=100, vectors=100, seen=100, parts=0, stored=100 * MINOR, at=0.0)

    assert choose_plan(query, cue, small, few=RANKED_FROM) is PlanMode.KEPT
    assert choose_plan(query, cue, replace(small, stored=100 * MINOR + 1), few=RANKED_FROM) is PlanMode.ANEW


@pytest.mark.parametrize(
    ("seen", "parts", "asked", "chosen"),
    [
        (10, 11, {}, {"memories_whole", "turns_indexed"}),
        (11, 10, {}, {"memories_indexed", "turns_whole"}),
        (11, 11, {"origins": ["person"]}, {"memories_counted", "turns_counted", "narrowed"}),
        (11, 11, {"kinds": ["fact"]}, {"memories_counted", "narrowed"}),
        (11, 11, {"kinds": [*Kind]}, {"memories_indexed"}),
        (11, 11, {"exclude": [UUID(int=1)]}, {"memories_indexed", "turns_indexed", "excluding"}),
        (11, 11, {"kinds": ["turn"], "since": EPOCH}, {"turns_counted", "narrowed"}),
        (10, 10, {"tags": ["rare"]}, {"memories_whole", "narrowed"}),
    ],
    ids=["few memories", "few parts", "an origin", "a kind", "all kinds", "one less", "turns since", "few of them"],
)
def test_few_are_read_whole_and_what_a_filter_leaves_is_counted(
    seen: int, parts: int, asked: dict[str, Any], chosen: set[str]
):
    size = CorpusSize(memories=99, vectors=99, seen=seen, parts=parts, at=0.0)

    assert choose_query_parts(parse_recall_query("kiln", now=EPOCH, **asked), read_of(), size, few=10) == chosen


def test_only_what_a_cue_can_be_found_by_is_searched():
    query = parse_recall_query("kiln", now=EPOCH)
    words = {"memory_words", "turn_words", "memories_called"}

    assert choose_query_parts(query, read_of(), None, few=10) == frozenset()
    assert choose_query_parts(query, read_of(("kiln",)), None, few=10) == words
    assert choose_query_parts(query, read_of(("kiln",), has_pieces=True), None, few=10) == words | {
        "memories_named",
        "turns_named",
    }
    size = CorpusSize(memories=99, vectors=99, seen=99, parts=1, at=0.0)
    assert "memories_counted" in choose_query_parts(query, read_of(must="'kiln'"), size, few=10)
