"""Writes a large world quickly, for a store that is thrown away: in bulk, as no interface of the product does.

One transaction and version writes all words, then in a few statements all edges with free slots and no cycles;
the rest is applied one by one in a second one. No events are emitted.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from festinger.ids import Cause, SpaceId, cause_columns
from festinger.store.queries import load_queries
from festinger.world.edge_statements import apply_statement_in_change
from festinger.world.model import SoasRow, StatementEffect, WorldDeps, WorldStatement, closes_cycle
from festinger.world.write import WorldChange, WorldChangeKind, ensure_concepts, ensure_dimension_roots, open_change

Q = load_queries("benchmarks")

Rows = Mapping[str, SoasRow]


async def fill_world(deps: WorldDeps, space: SpaceId, statements: Sequence[WorldStatement], *, cause: Cause) -> int:
    """Apply many statements of one cause; returns how many edges were added."""
    async with open_change(deps, space, by=cause.origin.value, cause=cause, patient=True) as change:
        names = {name for each in statements for name in (each.concept, each.parent, each.dimension)}
        rows, _ = await ensure_concepts(change, sorted(names))
        await ensure_dimension_roots(change, {each.dimension: rows[each.dimension] for each in statements}.values())
        fresh, others = await _free(change, rows, statements)
        await _add(change, rows, fresh, cause=cause)
    added = len(fresh)
    async with open_change(deps, space, by=cause.origin.value, cause=cause, patient=True) as change:
        for each in others:
            did = (await apply_statement_in_change(change, each)).did
            added += did in (StatementEffect.ADDED, StatementEffect.REPLACED)
    return added


async def _free(
    change: WorldChange, rows: Rows, statements: Sequence[WorldStatement]
) -> tuple[list[WorldStatement], list[WorldStatement]]:
    """Part the statements into those whose slot is free and closes no cycle, and the others."""
    parents: defaultdict[int, dict[int, int]] = defaultdict(dict)
    dims = list({rows[each.dimension].id for each in statements})
    for row in await change.transaction.all(Q["edges_in_dimensions"], space=change.space, dims=dims):
        parents[row["dim_id"]][row["id"]] = row["parent_id"]
    fresh: list[WorldStatement] = []
    others: list[WorldStatement] = []
    for each in statements:
        concept, parent, dim = _triple(rows, each)
        is_free = concept not in parents[dim] and concept != dim
        if is_free and not closes_cycle(concept, parent, parents[dim].get):
            parents[dim][concept] = parent
            fresh.append(each)
        else:
            others.append(each)
    return fresh, others


async def _add(change: WorldChange, rows: Rows, fresh: Sequence[WorldStatement], *, cause: Cause) -> None:
    if not fresh:
        return
    ids, parents, dims = (list(column) for column in zip(*(_triple(rows, each) for each in fresh), strict=True))
    said = {
        "space": change.space,
        "ids": ids,
        "parents": parents,
        "dims": dims,
        "isas": [each.is_isa for each in fresh],
        "confidences": [each.confidence for each in fresh],
        "source": fresh[0].source.value,
        "at": change.now,
    }
    written = {"version": change.version, "origin": cause.origin.value}
    await change.transaction.run(Q["put_edges"], **said, **written, person_stated=fresh[0].is_of_person)
    await change.transaction.run(Q["add_causes"], **said | cause_columns(cause))
    await change.transaction.run(
        Q["keep_many_added"],
        space=change.space,
        ids=ids,
        first=len(change.history),
        version=change.version,
        by=change.by,
        at=change.now,
    )
    await change.run("confirm_concepts", concepts=list(set(ids)))
    for concept, dim in zip(ids, dims, strict=True):
        change.log(WorldChangeKind.EDGE, concept, dim)


def _triple(rows: Rows, statement: WorldStatement) -> tuple[int, int, int]:
    return rows[statement.concept].id, rows[statement.parent].id, rows[statement.dimension].id
