"""Which number has a word, and which words are dimensions?

Words get their rows when an edge first needs them or when their counts are written. A dimension is a word with a
root: a row that stands in itself, which keeps its slot from ever being written. Six dimensions are there from the
start. How often words were met is `encounters`' matter.
"""

from collections.abc import Iterable, Mapping

from festinger.ids import Origin, SpaceId
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.world.concept import SoasRow
from festinger.world.desk import Desk
from festinger.world.edge import Source, UrdEdge
from festinger.world.writing import Op, Writing, writing

Q = queries_of("festinger.world")

SEED_DIMENSIONS = ("type", "membership", "runs-on", "tech", "owned-by", "geography")
TYPE = "type"
MEMBERSHIP = "membership"


def is_misplaced(dimension: str | None, *, is_isa: bool) -> bool:
    """Whether an edge of this flavor does not fit a seed dimension: `type` holds kinds, the others hold parts.
    Other dimensions hold either."""
    return dimension in SEED_DIMENSIONS and is_isa != (dimension == TYPE)


async def rows_of(transaction: Transaction, space: SpaceId, tokens: Iterable[str]) -> dict[str, SoasRow]:
    """The rows of words that have one, by the name that was asked for."""
    rows = await transaction.all(Q["rows_of_tokens"], space=space, tokens=list(tokens))
    # A name that was given to another concept means that one, also if it had a row of its own before.
    rows.sort(key=lambda row: bool(row.pop("is_alias")))
    return {row.pop("name"): SoasRow(**row) for row in rows}


async def ensured(change: Writing, tokens: Iterable[str]) -> tuple[Mapping[str, SoasRow], tuple[str, ...]]:
    """The rows of words, made where they were missing, and which were."""
    wanted = list(dict.fromkeys(tokens))
    found = await rows_of(change.transaction, change.space, wanted)
    missing = [token for token in wanted if token not in found]
    if not missing:
        return found, ()
    rows = await change.transaction.all(Q["add_tokens"], space=change.space, tokens=missing)
    return await rows_of(change.transaction, change.space, wanted), tuple(row["token"] for row in rows)


async def ensure_dimensions(change: Writing, rows: Iterable[SoasRow]) -> None:
    """Give dimensions that have none their root."""
    wanted = {row.id: row for row in rows}
    found = await change.transaction.all(Q["roots_among"], space=change.space, concepts=list(wanted))
    rooted = {row["dim_id"] for row in found}
    for row in (row for dim, row in wanted.items() if dim not in rooted):
        await change.put(_root(row.id), reason="root", op=Op.ADD)
        await change.tell(
            "dimension_created", f"concept:{row.id}", dim_id=row.id, token=row.token, by=change.by
        )


async def bootstrap(desk: Desk, space: SpaceId) -> None:
    """Give a space the dimensions that every space has; nothing if it has them."""
    async with writing(desk, space, by="festinger") as change:
        rows, _ = await ensured(change, SEED_DIMENSIONS)
        await ensure_dimensions(change, [rows[token] for token in SEED_DIMENSIONS])


async def dimensions(desk: Desk, space: SpaceId) -> dict[str, int]:
    """Every dimension of a space."""
    return {row["token"]: row["id"] for row in await desk.store.all(Q["dimensions"], space=space)}


def _root(dim: int) -> UrdEdge:
    return UrdEdge(id=dim, parent_id=dim, dim_id=dim, is_isa=True, source=Source.FESTINGER, origin=Origin.JOB)
