import asyncio

import numpy as np
import pytest
from numpy.typing import NDArray

from festinger.errors import BadInput
from festinger.store.pool import Store
from festinger.store.queries import Query
from festinger.store.vectors import (
    EmbeddingModelSpec,
    QueryVector,
    bind_model,
    build_query_vector,
    drop_index,
    ensure_index,
    find_nearest,
    index_name,
    to_halfvec,
)

Vectors = NDArray[np.float32]

SMALL = EmbeddingModelSpec(name="hashed:small", dims=3)
TWIN = EmbeddingModelSpec(name="hashed:twin", dims=3)
WIDE = EmbeddingModelSpec(name="hashed:wide", dims=48)

MAKE_TABLE = """
create table thing_vector (
    space_id text not null, id bigint not null, model text not null, vector halfvec not null,
    primary key (space_id, id, model)
)
"""


def sql(text: str) -> Query:
    return Query(room="test", name="x", purpose="x", sql=text)


PUT = sql("insert into thing_vector (space_id, id, model, vector) values (%(space)s, %(id)s, %(model)s, %(vector)s)")
NEAREST = sql(
    "select id, vector::halfvec({dims}) <=> %(probe)s as distance from thing_vector"
    " where space_id = %(space)s and model = {model}"
    " order by vector::halfvec({dims}) <=> %(probe)s limit %(limit)s"
)
READ_WHOLE = sql(
    "select id from thing_vector where space_id = %(space)s and model = {model}"
    " order by (vector::halfvec({dims}) <=> %(probe)s) + 0 limit %(limit)s"
)


@pytest.fixture
async def things(store: Store) -> Store:
    """A store with a room's table of vectors."""
    await store.run(sql(MAKE_TABLE))
    return store


async def put(store: Store, model: EmbeddingModelSpec, rows: list[tuple[str, int, Vectors | list[float]]]) -> None:
    async with store.transaction() as transaction:
        await transaction.run_many(
            PUT,
            [
                {"space": space, "id": number, "model": model.name, "vector": to_halfvec(values)}
                for space, number, values in rows
            ],
        )


async def ids(store: Store, wanted: QueryVector, *, query: Query = NEAREST, space: str = "main") -> list[int]:
    async with store.transaction() as transaction:
        rows = await find_nearest(transaction, query, wanted, space=space, limit=10)
    return [row["id"] for row in rows]


@pytest.mark.requirement("X-33")
async def test_a_search_meets_vectors_of_its_own_model_only(things: Store) -> None:
    same = [1.0, 0.0, 0.0]
    await put(things, SMALL, [("main", 1, same), ("main", 2, [0.0, 1.0, 0.0])])
    await put(things, TWIN, [("main", 3, same)])
    await put(things, WIDE, [("main", 4, [1.0] * 48)])

    assert await ids(things, build_query_vector(SMALL, same)) == [1, 2]
    assert await ids(things, build_query_vector(TWIN, same)) == [3]
    assert await ids(things, build_query_vector(WIDE, [1.0] * 48)) == [4]


@pytest.mark.requirement("X-33")
@pytest.mark.parametrize("place", ["{model}", "{dims}"])
def test_a_query_that_does_not_name_its_model_cannot_be_searched_with(place: str) -> None:
    with pytest.raises(ValueError, match="without"):
        bind_model(sql(NEAREST.sql.replace(place, "7")), SMALL)


@pytest.mark.requirement("X-33")
def test_a_vector_of_another_length_cannot_pass_for_the_models() -> None:
    with pytest.raises(BadInput, match="has 3 numbers, not 2"):
        build_query_vector(SMALL, [1.0, 0.0])


async def test_the_name_of_a_model_is_only_ever_a_name(things: Store) -> None:
    hostile = EmbeddingModelSpec(name="a:b'; drop table thing_vector; -- 50% {dims} \\", dims=3)
    await put(things, hostile, [("main", 1, [1.0, 0.0, 0.0])])

    assert await ensure_index(things, "thing_vector", hostile)
    assert await ids(things, build_query_vector(hostile, [1.0, 0.0, 0.0])) == [1]


@pytest.mark.requirement("X-33")
async def test_each_model_gets_a_partial_index_of_its_own_once(things: Store) -> None:
    for model in (SMALL, TWIN, WIDE, SMALL):
        assert await ensure_index(things, "thing_vector", model)

    rows = await things.all(
        sql("select indexname, indexdef from pg_indexes where indexdef like '%%hnsw%%' order by indexname")
    )
    assert [row["indexname"] for row in rows] == sorted(
        index_name("thing_vector", model) for model in (SMALL, TWIN, WIDE)
    )
    definitions = "\n".join(row["indexdef"] for row in rows)
    assert definitions.count("halfvec_cosine_ops) WITH (m='16', ef_construction='128')") == 3
    assert "halfvec(48)" in definitions
    assert "WHERE (model = 'hashed:wide'::text)" in definitions


@pytest.mark.requirement("X-33")
async def test_an_index_is_built_while_a_write_is_under_way(things: Store) -> None:
    """A build that blocked writes would wait for the open transaction before the second write could end."""
    async with things.transaction() as open_write:
        await open_write.run(PUT, space="main", id=1, model=SMALL.name, vector=to_halfvec([1.0, 0.0, 0.0]))
        build = asyncio.create_task(ensure_index(things, "thing_vector", SMALL))
        while not await things.value(sql("select count(*) from pg_stat_progress_create_index")):
            assert not build.done()
        await put(things, SMALL, [("main", 2, [0.0, 1.0, 0.0])])

    assert await build
    assert await ids(things, build_query_vector(SMALL, [0.0, 1.0, 0.0])) == [2, 1]


@pytest.mark.requirement("X-33")
async def test_what_a_failed_build_left_behind_is_built_anew(things: Store) -> None:
    # An invalid index, as a build that was killed leaves it.
    await put(things, WIDE, [("main", 1, [1.0] * 48), ("main", 1000, [0.5] * 48)])
    name = index_name("thing_vector", WIDE)
    async with things.apart() as connection:
        with pytest.raises(Exception, match="could not create unique index"):
            await connection.execute(f"create unique index concurrently {name} on thing_vector (space_id)".encode())

    assert await ensure_index(things, "thing_vector", WIDE)

    definition = await things.value(sql("select indexdef from pg_indexes where indexname = %(name)s"), name=name)
    assert "USING hnsw" in definition


async def test_a_second_builder_leaves_it_to_the_first(things: Store) -> None:
    name = index_name("thing_vector", SMALL)
    async with things.apart() as first:
        await first.execute(
            "select pg_advisory_lock(hashtextextended('festinger index ' || %(name)s::text, 0))", {"name": name}
        )
        assert not await ensure_index(things, "thing_vector", SMALL)

    assert await ensure_index(things, "thing_vector", SMALL)


async def test_a_model_too_wide_for_an_index_is_still_searched(things: Store) -> None:
    huge = EmbeddingModelSpec(name="hashed:huge", dims=4001)
    await put(things, huge, [("main", 1, [1.0] * 4001)])

    assert not await ensure_index(things, "thing_vector", huge)
    assert await ids(things, build_query_vector(huge, [1.0] * 4001)) == [1]


async def test_a_dropped_index_is_gone_and_dropping_it_again_is_no_error(things: Store) -> None:
    await ensure_index(things, "thing_vector", SMALL)

    await drop_index(things, "thing_vector", SMALL)
    await drop_index(things, "thing_vector", SMALL)

    assert await things.value(sql("select count(*) from pg_indexes where indexdef like '%%hnsw%%'")) == 0


def clustered(count: int, dims: int, *, seed: int) -> Vectors:
    """Unit vectors in clumps, as texts make them, rather than evenly spread."""
    chance = np.random.default_rng(seed)
    centres = chance.normal(size=(max(8, count // 50), dims))
    points = centres[chance.integers(len(centres), size=count)] + 0.6 * chance.normal(size=(count, dims))
    found: Vectors = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    return found


async def fill(store: Store, model: EmbeddingModelSpec, vectors: Vectors, *, every: int) -> list[int]:
    """Put vectors in; each `every`-th belongs to the small tenant, whose ids are returned."""
    mine = list(range(0, len(vectors), every))
    tenant = set(mine)
    async with store.apart() as connection:
        async with connection.cursor().copy("copy thing_vector from stdin") as copy:
            for number, vector in enumerate(vectors):
                space = "small" if number in tenant else "main"
                await copy.write_row((space, number, model.name, to_halfvec(vector).to_text()))
        await connection.execute("analyze thing_vector")
    return mine


async def recall_at_10(
    store: Store, vectors: Vectors, *, mine: list[int], probes: Vectors, query: Query = NEAREST
) -> float:
    """How many of the ten nearest of a tenant a search gives, against looking at every one."""
    kept = vectors[mine].astype(np.float16).astype(np.float32)
    hits = 0
    for values in probes:
        nearest_first = np.argsort(-(kept @ values) / np.linalg.norm(kept, axis=1), kind="stable")
        truth = {mine[place] for place in nearest_first[:10]}
        hits += len(truth & set(await ids(store, build_query_vector(WIDE, values), query=query, space="small")))
    return hits / (10 * len(probes))


async def use_only_the_index(store: Store) -> None:
    """Take every other plan away from the planner, for all further connections."""
    async with store.apart() as connection:
        cursor = await connection.execute("select current_database() as name")
        row = await cursor.fetchone()
        assert row is not None
        await connection.execute(f"alter database {row['name']} set enable_sort = off".encode())
        await connection.execute(f"alter database {row['name']} set enable_seqscan = off".encode())
    await store.pool.drain()


@pytest.mark.requirement("X-33")
@pytest.mark.parametrize("only_the_index", [False, True], ids=["as planned", "by the index alone"])
async def test_a_small_tenant_among_many_finds_what_an_exact_scan_finds(things: Store, only_the_index: bool) -> None:
    vectors = clustered(4_000, WIDE.dims, seed=1)
    mine = await fill(things, WIDE, vectors, every=100)
    await ensure_index(things, "thing_vector", WIDE)
    if only_the_index:
        await use_only_the_index(things)

    found = await recall_at_10(things, vectors, mine=mine, probes=clustered(25, WIDE.dims, seed=2))

    assert found >= 0.95
    if only_the_index:
        assert index_name("thing_vector", WIDE) in await generic_plan(things, bind_model(NEAREST, WIDE))


@pytest.mark.requirement("X-33")
async def test_a_small_space_is_read_whole_and_then_never_wrong(things: Store) -> None:
    vectors = clustered(2_000, WIDE.dims, seed=3)
    mine = await fill(things, WIDE, vectors, every=100)
    await ensure_index(things, "thing_vector", WIDE)
    await use_only_the_index(things)

    probes = clustered(25, WIDE.dims, seed=4)
    found = await recall_at_10(things, vectors, mine=mine, probes=probes, query=READ_WHOLE)

    assert found == 1.0
    assert "hnsw" not in await generic_plan(things, bind_model(READ_WHOLE, WIDE))


async def generic_plan(store: Store, query: Query) -> str:
    """The plan that the server would keep for every use: the index must fit without knowing a parameter."""
    async with store.apart() as connection:
        cursor = await connection.execute(f"explain (generic_plan) {query.positional}".encode())
        return "\n".join(row["QUERY PLAN"] for row in await cursor.fetchall())
