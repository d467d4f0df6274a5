"""How are vectors searched, when each model makes its own kind?

Vectors of all models stand in one column, each beside the name of the model that made it. A search takes a
`QueryVector`, which carries its model, and a named query with the places `{model}` and `{dims}`; the two are joined
here, so a search that does not name its model, or names another than its vector's, cannot be written. Each
model has a partial index of its own, built beside running writes when it is first used. Which texts are
embedded, and what a distance means, is decided elsewhere.
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
from festinger.store.connection import Connection
from festinger.store.pool import Store, Transaction
from festinger.store.queries import Query, queries_of

log = structlog.get_logger(room="store")

Q = queries_of("festinger.store")

READ_WHOLE_BELOW = 10_000
"""A space with fewer vectors of a model is searched by reading them all: the index, which knows no spaces, walks
through everybody's to find ten of few, and then neither faster nor always right. Measured with 100 of
50,000 vectors: 2 ms and recall 1.0 against 100 ms and 0.79 to 0.99."""
MOST_INDEXED_DIMS = 4_000
"""pgvector indexes `to_halfvec` up to here; beyond it a search reads every vector of the model."""
PLACES = ("{model}", "{dims}")
_PLACE = re.compile(r"\{([a-z]+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorModel:
    """A model as its vectors know it: `provider:model`, and how many numbers each has."""

    name: str
    dims: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryVector:
    """A vector to search with. It can only meet vectors of its own model."""

    model: VectorModel
    vector: HalfVector


def to_halfvec(values: Sequence[float] | NDArray[np.floating[Any]]) -> HalfVector:
    """Numbers in the form in which the store keeps them."""
    return HalfVector(np.asarray(values, dtype=np.float16))


def build_query_vector(model: VectorModel, values: Sequence[float] | NDArray[np.floating[Any]]) -> QueryVector:
    if len(values) != model.dims:
        raise BadInput(f"A vector of `{model.name}` has {model.dims} numbers, not {len(values)}.")
    return QueryVector(model=model, vector=to_halfvec(values))


@lru_cache(maxsize=256)
def bind_model(query: Query, model: VectorModel) -> Query:
    """A named query with its model in its places: as literals, so that the plan finds the model's own index."""
    if missing := [place for place in PLACES if place not in query.sql]:
        raise ValueError(f"query `{query.name}` of `{query.room}` compares vectors without {missing}")
    # Parameters are still to come, and their reader takes a lone percent sign for one.
    escaped = replace(model, name=model.name.replace("%", "%%"))
    return replace(query, sql=_placed(query, model=escaped))


def needs_full_scan(vectors: int) -> bool:
    """Whether a space with so many vectors of a model is searched without the index.

    A room then uses a query that orders by its distance plus 0, which no index offers.
    """
    return vectors < READ_WHOLE_BELOW


async def find_nearest(transaction: Transaction, query: Query, probe: QueryVector, **parameters: Any) -> list[DictRow]:
    """The rows that a search gives; its query calls the vector `%(probe)s`."""
    return await transaction.all(bind_model(query, probe.model), probe=probe.vector, **parameters)


async def find_nearest_each(
    transaction: Transaction, query: Query, *, probes: Mapping[str, Sequence[QueryVector]], **parameters: Any
) -> list[DictRow]:
    """The same for many at once, all of one model; its query calls their vectors by the names given here."""
    models = {probe.model for many in probes.values() for probe in many}
    if len(models) != 1:
        raise ValueError(f"query `{query.name}` of `{query.room}` compares vectors of {len(models)} models")
    vectors = {name: [probe.vector for probe in many] for name, many in probes.items()}
    return await transaction.all(bind_model(query, *models), **vectors, **parameters)


def index_name(table: str, model: VectorModel) -> str:
    """The name of the index of a model; a hash, since names of models are longer than names of indexes."""
    digest = hashlib.sha256(f"{model.name} {model.dims}".encode()).hexdigest()[:12]
    return f"{table}_hnsw_{digest}"


async def ensure_index(
    store: Store, table: str, model: VectorModel, *, purpose: str | None = None, column: str = "vector"
) -> bool:
    """Have the index of a model in place; whether it is. Takes long the first time, and blocks no write.

    A table that keeps vectors of several purposes is indexed for the one that is searched.

    While another process builds it, or where a model has too many dimensions for one, searches are right
    but slower.
    """
    if model.dims > MOST_INDEXED_DIMS:
        return False
    index = index_name(table, model)
    async with store.apart() as connection:
        if await _is_valid(connection, index):
            return True
        cursor = await connection.execute(Q["try_lock_index"].sql, {"index": index})
        if not (await cursor.fetchone() or {})["locked"]:
            return False
        # What an earlier build left unfinished is in the way of this one.
        await connection.execute(_placed(Q["drop_vector_index"], index=index).encode())
        query = Q["create_vector_index" if purpose is None else "create_purpose_index"]
        names = {"index": index, "table": table} | ({} if purpose else {"column": column})
        await connection.execute(Q["make_room_for_index"].sql)
        await connection.execute(_placed(query, model=model, purpose=purpose, **names).encode())
        log.info("vector index built", table=table, model=model.name)
        return True


async def drop_index(store: Store, table: str, model: VectorModel) -> None:
    """Take the index of a model away, when its vectors are gone."""
    async with store.apart() as connection:
        await connection.execute(_placed(Q["drop_vector_index"], index=index_name(table, model)).encode())


async def _is_valid(connection: Connection, index: str) -> bool:
    cursor = await connection.execute(Q["index_is_valid"].sql, {"index": index})
    return await cursor.fetchone() is not None


def _placed(query: Query, *, model: VectorModel | None = None, purpose: str | None = None, **names: str) -> str:
    """The statement with names and literals in its places, quoted by psycopg. The server takes neither as a
    parameter: an index is named in its statement, and matches only what it was built for literally."""
    places: dict[str, sql.Composable] = {place: sql.Identifier(name) for place, name in names.items()}
    if model:
        places |= {"model": sql.Literal(model.name), "dims": sql.Literal(model.dims)}
    if purpose:
        places["purpose"] = sql.Literal(purpose)
    # In one pass: a name that looks like a place is left as it is.
    return _PLACE.sub(lambda match: places[match[1]].as_string(None), query.sql)
