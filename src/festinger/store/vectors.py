"""Searches and indexes embedding vectors, per embedding model.

Vectors of all models share one column, each next to the name of the model that made it. A search takes a
`QueryVector`, which carries its model, and a named query with the placeholders `{model}` and `{dims}`; they
are joined here, so a search cannot omit its model or name a different one than its vector's. Each model has
its own partial index, built while writes continue when the model is first used.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import structlog
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg import sql
from psycopg.rows import DictRow

from festinger.errors import BadInput
from festinger.store.pool import Store, Transaction
from festinger.store.queries import Query, load_queries

log = structlog.get_logger(room="store")

Q = load_queries("festinger.store")

READ_WHOLE_BELOW = 10_000
"""Below this many vectors of a model, a space is searched by a full scan. The index does not know spaces, so
it walks through everybody's vectors to find ten among few, and is then neither faster nor always right.
Measured with 100 of 50,000 vectors: 2 ms and recall 1.0 against 100 ms and 0.79 to 0.99."""
MOST_INDEXED_DIMS = 4_000
"""pgvector's limit for indexing `halfvec`; beyond it a search reads every vector of the model."""
NEAR = 50
"""How many of the nearest are searched unless the caller says otherwise."""
PLACES = ("{model}", "{dims}")
_PLACE = re.compile(r"\{([a-z]+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingModelSpec:
    """An embedding model: `provider:model` and the number of dimensions."""

    name: str
    dims: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryVector:
    """A vector to search with. It only matches vectors of its own model."""

    model: EmbeddingModelSpec
    vector: HalfVector


def to_halfvec(values: Sequence[float] | NDArray[np.floating[Any]]) -> HalfVector:
    """Convert numbers to the stored form."""
    return HalfVector(np.asarray(values, dtype=np.float16))


def build_query_vector(model: EmbeddingModelSpec, values: Sequence[float] | NDArray[np.floating[Any]]) -> QueryVector:
    if len(values) != model.dims:
        raise BadInput(f"A vector of `{model.name}` has {model.dims} numbers, not {len(values)}.")
    return QueryVector(model=model, vector=to_halfvec(values))


@lru_cache(maxsize=256)
def bind_model(query: Query, model: EmbeddingModelSpec, *, near: int = NEAR) -> Query:
    """Put the model into a named query, as literals so that the planner finds the model's own index; and, where the query
    asks, how many of the nearest are wanted: a plan that is kept takes a limit that it does not know for a large one."""
    if missing := [place for place in PLACES if place not in query.sql]:
        raise ValueError(f"query `{query.name}` of `{query.room}` compares vectors without {missing}")
    # Parameters are bound later, and the parser takes a lone percent sign for one.
    escaped = replace(model, name=model.name.replace("%", "%%"))
    return replace(query, sql=_placed(query, model=escaped, near=near))


async def find_nearest(transaction: Transaction, query: Query, probe: QueryVector, **parameters: Any) -> list[DictRow]:
    """Run a vector search; its query names the vector `%(probe)s`."""
    return await transaction.all(bind_model(query, probe.model), probe=probe.vector, **parameters)


async def find_nearest_each(
    transaction: Transaction,
    query: Query,
    *,
    probes: Mapping[str, Sequence[QueryVector]],
    near: int = NEAR,
    **parameters: Any,
) -> list[DictRow]:
    """Search with many vectors of one model at once for the `near` nearest of each; the query names their lists by the
    keys of `probes`."""
    models = {probe.model for many in probes.values() for probe in many}
    if len(models) != 1:
        raise ValueError(f"query `{query.name}` of `{query.room}` compares vectors of {len(models)} models")
    vectors = {name: [probe.vector for probe in many] for name, many in probes.items()}
    return await transaction.all(bind_model(query, *models, near=near), **vectors, **parameters)


def index_name(table: str, model: EmbeddingModelSpec) -> str:
    """Return the name of a model's index; a hash, since model names can be longer than index names."""
    digest = hashlib.sha256(f"{model.name} {model.dims}".encode()).hexdigest()[:12]
    return f"{table}_hnsw_{digest}"


async def ensure_index(
    store: Store, table: str, model: EmbeddingModelSpec, *, purpose: str | None = None, column: str = "vector"
) -> bool:
    """Build the index of a model if it is missing, without blocking writes; return whether it is in place.

    A table that holds vectors of several purposes is indexed for the one that is searched. While another
    process builds the index, or where a model has too many dimensions for one, searches are correct but
    slower.
    """
    if model.dims > MOST_INDEXED_DIMS:
        return False
    index = index_name(table, model)
    async with store.apart() as connection:
        cursor = await connection.execute(Q["index_is_valid"].sql, {"index": index})
        if await cursor.fetchone() is not None:
            return True
        cursor = await connection.execute(Q["try_lock_index"].sql, {"index": index})
        if not (await cursor.fetchone() or {})["locked"]:
            return False
        # An unfinished earlier build is in the way of this one.
        await connection.execute(_placed(Q["drop_vector_index"], index=index).encode())
        query = Q["create_vector_index" if purpose is None else "create_purpose_index"]
        names: dict[str, Any] = {"index": index, "table": table} | ({} if purpose else {"column": column})
        await connection.execute(Q["make_room_for_index"].sql)
        await connection.execute(_placed(query, model=model, purpose=purpose, **names).encode())
        log.info("vector index built", table=table, model=model.name)
        return True


async def drop_index(store: Store, table: str, model: EmbeddingModelSpec) -> None:
    async with store.apart() as connection:
        await connection.execute(_placed(Q["drop_vector_index"], index=index_name(table, model)).encode())


def _placed(
    query: Query, *, model: EmbeddingModelSpec | None = None, purpose: str | None = None, near: int = NEAR, **names: str
) -> str:
    """Fill names and literals into a statement, quoted by psycopg.

    The server takes neither as a parameter: an index is named in its statement and matches only literals.
    """
    places: dict[str, sql.Composable] = {place: sql.Identifier(name) for place, name in names.items()}
    if model:
        places |= {"model": sql.Literal(model.name), "dims": sql.Literal(model.dims), "near": sql.Literal(near)}
    if purpose:
        places["purpose"] = sql.Literal(purpose)
    # In one pass, so that a name that looks like a placeholder is left as it is.
    return _PLACE.sub(lambda match: places[match[1]].as_string(None), query.sql)
