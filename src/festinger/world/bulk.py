"""How do very many triples get into the world at once?

In one transaction and one version: words first, then every edge whose slot is free and that closes no cycle, in a
handful of statements. What collides, corroborates or is weak goes the way of single statements, one by one. Edges
that come in bulk are not told as events one by one; the import that brings them tells of itself.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from festinger.errors import BadFact, TooLarge
from festinger.ids import Cause, SpaceId
from festinger.store.queries import queries_of
from festinger.world.collision import closes_cycle
from festinger.world.concept import SoasRow
from festinger.world.desk import Desk
from festinger.world.edge import Statement
from festinger.world.state import Did, check_statement, is_naming, state_in
from festinger.world.vocabulary import ensure_dimensions, ensured
from festinger.world.writing import Kind, Writing, writing

Q = queries_of("festinger.world")

MOST_TRIPLES = 100_000

Triple = tuple[int, int, int]


@dataclass(slots=True, kw_only=True)
class StatedMany:
    added: int = 0
    corroborated: int = 0
    conflicts: int = 0
    refused: list[tuple[Statement, str]] = field(default_factory=list)
    """What could not be stated, and why."""


async def state_many(desk: Desk, space: SpaceId, triples: Sequence[Statement], *, cause: Cause) -> StatedMany:
    """State many triples of one cause."""
    if len(triples) > MOST_TRIPLES:
        raise TooLarge(f"At most {MOST_TRIPLES} triples can be stated at once; these are {len(triples)}.")
    done = StatedMany()
    said = list(_statable([replace(triple, cause=cause) for triple in triples], done))
    if said:
        async with writing(desk, space, by=cause.origin.value, cause=cause, patient=True) as change:
            await _state_all(change, said, done)
    return done


def _statable(triples: Iterable[Statement], done: StatedMany) -> Iterable[Statement]:
    for said in triples:
        try:
            check_statement(said)
        except BadFact as error:
            done.refused.append((said, error.name))
            continue
        yield said


async def _state_all(change: Writing, said: Sequence[Statement], done: StatedMany) -> None:
    names = {name for each in said for name in (each.concept, each.parent, each.dimension)}
    rows, _ = await ensured(change, sorted(names))
    dims = {each.dimension: rows[each.dimension] for each in said}
    await ensure_dimensions(change, dims.values())
    parents = await _parents(change, [row.id for row in dims.values()])
    fresh: dict[tuple[int, int], Statement] = {}
    others: list[Statement] = []
    for each in said:
        concept, parent, dim = _triple(rows, each)
        is_free = (concept, dim) not in fresh and concept not in parents[dim]
        if is_free and concept != dim and not closes_cycle(concept, parent, parents[dim].get):
            parents[dim][concept] = parent
            fresh[concept, dim] = each
        else:
            others.append(each)
    await _add(change, rows, fresh.values())
    done.added += len(fresh)
    for each in others:
        await _state_one(change, each, done)


async def _parents(change: Writing, dims: Sequence[int]) -> defaultdict[int, dict[int, int]]:
    """What stands above what, by dimension."""
    found: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for row in await change.transaction.all(Q["edges_in_dimensions"], space=change.space, dims=list(dims)):
        found[row["dim_id"]][row["id"]] = row["parent_id"]
    return found


async def _add(change: Writing, rows: Mapping[str, SoasRow], said: Iterable[Statement]) -> None:
    statements = list(said)
    if not statements:
        return
    ids, parents, dims = (
        list(column) for column in zip(*(_triple(rows, each) for each in statements), strict=True)
    )
    first = statements[0]
    triples = {"space": change.space, "ids": ids, "parents": parents, "dims": dims}
    said_so = {
        "isas": [each.is_isa for each in statements],
        "confidences": [each.confidence for each in statements],
        "source": first.source.value,
    }
    await change.transaction.run(
        Q["put_edges"],
        **triples,
        **said_so,
        origin=first.origin.value,
        person_stated=first.is_of_person,
        at=change.now,
        version=change.version,
    )
    because = first.cause
    await change.transaction.run(
        Q["add_causes"],
        **triples,
        **said_so,
        agent=because.agent,
        session=because.session,
        day=because.day,
        origin=because.origin.value,
        at=change.now,
    )
    await _keep_added(change, ids=ids, dims=dims)
    await _confirm(change, rows, statements)


async def _keep_added(change: Writing, *, ids: list[int], dims: list[int]) -> None:
    await change.transaction.run(
        Q["keep_many_added"],
        space=change.space,
        version=change.version,
        ids=ids,
        first=change.places + len(change.history),
        by=change.by,
        at=change.now,
    )
    change.places += len(ids)
    for concept, dim in zip(ids, dims, strict=True):
        change.log(Kind.EDGE, concept, dim)


async def _confirm(change: Writing, rows: Mapping[str, SoasRow], said: Iterable[Statement]) -> None:
    zipf, floor = change.terms.common_word_zipf, change.terms.recollection_confidence_floor
    novel = {
        rows[each.concept].id
        for each in said
        if is_naming(each, floor=floor) or not change.desk.is_common(each.concept, zipf)
    }
    await change.transaction.run(Q["confirm_concepts"], space=change.space, concepts=list(novel))


async def _state_one(change: Writing, said: Statement, done: StatedMany) -> None:
    try:
        stated = await state_in(change, said)
    except BadFact as error:
        done.refused.append((said, error.name))
        return
    if stated.did in (Did.ADDED, Did.REPLACED):
        done.added += 1
    elif stated.did is Did.CORROBORATED:
        done.corroborated += 1
    elif stated.did is Did.CONFLICT:
        done.conflicts += 1
    else:
        done.refused.append((said, stated.did.value))


def _triple(rows: Mapping[str, SoasRow], said: Statement) -> Triple:
    return rows[said.concept].id, rows[said.parent].id, rows[said.dimension].id
