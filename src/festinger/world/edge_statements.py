"""Applies statements that a concept is in a parent.

One slot, one parent. A free slot takes the edge; the same parent corroborates it; another spelling becomes an
alias; a weak edge that does not surface gives way; anything else is a conflict and the current edge stays.
Runs under the write lock and reads the table, so that no two processes can disagree.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol
from uuid import UUID

from festinger.errors import BadFact, RootSlot, SelfParent
from festinger.ids import Origin, SpaceId
from festinger.records import field_values
from festinger.text.words import FUNCTION_WORDS
from festinger.world.conflicts import open_conflict, recheck_slot_conflicts
from festinger.world.model import (
    CollisionType,
    EdgeSource,
    SoasRow,
    StatementEffect,
    UrdEdge,
    WorldDeps,
    WorldStatement,
    collision_type,
    confidence_after_corroboration,
    is_replaceable,
    is_spelling_variant,
    trust_rank,
)
from festinger.world.write import (
    EdgeOp,
    ResolvedStatement,
    WorldChange,
    WorldChangeKind,
    ensure_concepts,
    ensure_dimension_roots,
    open_change,
    resolve_statement,
)

LONGEST_OPERAND = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementResult:
    did: StatementEffect
    edge: UrdEdge | None
    """The current edge of the slot."""
    conflict: UUID | None = None
    new_tokens: tuple[str, ...] = ()


def check_statement(statement: WorldStatement) -> None:
    """Reject a statement that cannot become an edge."""
    for operand in (statement.concept, statement.parent, statement.dimension):
        if not operand or len(operand) > LONGEST_OPERAND:
            raise BadFact(f"An operand has {len(operand)} characters; between 1 and {LONGEST_OPERAND} are needed.")
        if operand in FUNCTION_WORDS:
            raise BadFact(f"`{operand}` names nothing.")
    if statement.concept == statement.parent:
        raise SelfParent(f"`{statement.concept}` cannot be in itself.")
    if statement.concept == statement.dimension:
        raise RootSlot(f"`{statement.concept}` cannot be placed within itself.")


async def apply_statement(deps: WorldDeps, space: SpaceId, statement: WorldStatement) -> StatementResult:
    check_statement(statement)
    async with open_change(deps, space, by=statement.origin.value, cause=statement.cause) as change:
        return await apply_statement_in_change(change, statement)


async def apply_statement_in_change(change: WorldChange, statement: WorldStatement) -> StatementResult:
    check_statement(statement)
    rows, new_tokens = await ensure_concepts(change, (statement.concept, statement.parent, statement.dimension))
    placed = resolve_statement(statement, rows)
    if placed.concept.id == placed.parent.id:
        raise SelfParent(f"`{statement.concept}` and `{statement.parent}` are names of one concept.")
    if placed.concept.id == placed.dim.id:
        raise RootSlot(f"`{statement.concept}` and `{statement.dimension}` are names of one concept.")
    await ensure_dimension_roots(change, [placed.dim])
    return replace(await _settle(change, placed), new_tokens=new_tokens)


async def _settle(change: WorldChange, placed: ResolvedStatement) -> StatementResult:
    existing = await change.slot(placed.concept.id, placed.dim.id)
    if existing is None:
        return await _add(change, placed)
    if existing.parent_id == placed.parent.id:
        return await _corroborate(change, placed, existing)
    standing = await change.one("rows_of_concepts", concepts=[existing.parent_id])
    if is_spelling_variant(standing["token"], placed.statement.parent):
        await add_alias(change, placed.statement.parent, existing.parent_id)
        return await _corroborate(change, placed, existing)
    if is_replaceable(
        existing,
        confidence=placed.statement.confidence,
        origin=placed.statement.origin,
        floor=change.terms.recollection_confidence_floor,
    ):
        return await _replace(change, placed, existing)
    kind = collision_type(existing_is_isa=existing.is_isa, incoming_is_isa=placed.statement.is_isa)
    return await _record_and_open_conflict(change, placed, existing=existing, kind=kind)


async def _add(change: WorldChange, placed: ResolvedStatement) -> StatementResult:
    if await change.would_cycle(placed.concept.id, placed.parent.id, placed.dim.id):
        return await _record_and_open_conflict(change, placed, existing=None, kind=CollisionType.CYCLE)
    edge = _build_edge(change, placed)
    if not await change.put(edge, reason="stated"):
        # Only a writer that bypasses our lock can have come first; its edge counts like any other.
        return await _settle(change, placed)
    await record_cause(change, placed)
    await confirm_concept_unless_common(change, placed.concept, placed.statement)
    await emit_edge_event(change, "edge_added", edge)
    await recheck_slot_conflicts(change, placed.concept.id, placed.dim.id)
    return StatementResult(did=StatementEffect.ADDED, edge=edge._replace(version=change.version))


async def _corroborate(change: WorldChange, placed: ResolvedStatement, existing: UrdEdge) -> StatementResult:
    is_new = await record_cause(change, placed, parent=existing.parent_id) and is_independent_evidence(placed.statement)
    moved = corroborate_edge(existing, placed.statement, is_new=is_new)
    edge = await change.update_edge_values(moved._replace(last_confirmed=change.now))
    if is_new or moved != existing:
        await confirm_concept_unless_common(change, placed.concept, placed.statement)
        await emit_edge_event(change, "edge_corroborated", edge)
    return StatementResult(did=StatementEffect.CORROBORATED, edge=edge)


class CorroboratingStatement(Protocol):
    """The parts of a statement that move an edge saying the same."""

    @property
    def origin(self) -> Origin: ...
    @property
    def source(self) -> EdgeSource: ...
    @property
    def confidence(self) -> float: ...
    @property
    def is_deliberate(self) -> bool: ...
    @property
    def is_of_person(self) -> bool: ...


def is_independent_evidence(statement: CorroboratingStatement) -> bool:
    """Whether a repetition supports an edge. A model may merely repeat a note in its prompt."""
    return statement.origin is not Origin.MODEL


def corroborate_edge(edge: UrdEdge, statement: CorroboratingStatement, *, is_new: bool) -> UrdEdge:
    """Return the edge after a repetition. A cause that is no evidence moves nothing; a known cause moves
    something only if a person now states it on purpose, which is certain but no further evidence."""
    is_persons = statement.is_of_person
    deliberate = statement.is_deliberate and is_persons
    if not (is_new or deliberate) or not is_independent_evidence(statement):
        return edge
    moved = confidence_after_corroboration(edge.confidence, evidence=edge.evidence_count, origin=statement.origin)
    return edge._replace(
        confidence=max(moved, statement.confidence) if deliberate else moved,
        source=statement.source if deliberate else edge.source,
        origin=max(Origin(edge.origin), statement.origin, key=trust_rank),
        evidence_count=edge.evidence_count + is_new,
        person_stated=edge.person_stated or is_persons,
        unconfirmed=edge.unconfirmed and not is_persons,
    )


async def _replace(change: WorldChange, placed: ResolvedStatement, existing: UrdEdge) -> StatementResult:
    if await change.would_cycle(placed.concept.id, placed.parent.id, placed.dim.id):
        return await _record_and_open_conflict(change, placed, existing=existing, kind=CollisionType.CYCLE)
    edge = _build_edge(change, placed)
    await change.take(existing, reason="weak", op=EdgeOp.REPLACE)
    await change.put(edge, reason="weak")
    await record_cause(change, placed)
    await confirm_concept_unless_common(change, placed.concept, placed.statement)
    await change.tell(
        "edge_replaced",
        f"concept:{edge.id}",
        before=existing.as_json(),
        after=edge.as_json(),
        reason="weak",
        conflict=None,
    )
    await recheck_slot_conflicts(change, placed.concept.id, placed.dim.id)
    return StatementResult(did=StatementEffect.REPLACED, edge=edge._replace(version=change.version))


async def _record_and_open_conflict(
    change: WorldChange, placed: ResolvedStatement, *, existing: UrdEdge | None, kind: CollisionType
) -> StatementResult:
    await record_cause(change, placed)
    opened = await open_conflict(change, placed, existing=existing, kind=kind)
    did = StatementEffect.CROWDED if opened.is_crowded else StatementEffect.SETTLED
    did = StatementEffect.CONFLICT if opened.id else did
    return StatementResult(did=did, edge=existing, conflict=opened.id)


def _build_edge(change: WorldChange, placed: ResolvedStatement) -> UrdEdge:
    statement = placed.statement
    return UrdEdge(
        id=placed.concept.id,
        parent_id=placed.parent.id,
        dim_id=placed.dim.id,
        is_isa=statement.is_isa,
        confidence=statement.confidence,
        last_confirmed=change.now,
        source=statement.source.value,
        origin=statement.origin.value,
        person_stated=statement.is_of_person,
        unconfirmed=statement.from_quarantine,
        created_at=change.now,
        version=change.version,
    )


async def record_cause(change: WorldChange, placed: ResolvedStatement, *, parent: int | None = None) -> bool:
    """Record who said it; returns whether this cause is new for the triple."""
    statement = placed.statement
    written = dict.fromkeys(("model", "prompt_hash", "cost_usd"))
    written |= field_values(statement.written) if statement.written else {}
    said = field_values(statement) | field_values(statement.cause) | written
    said |= {
        "concept": placed.concept.id,
        "parent": placed.parent.id if parent is None else parent,
        "dim": placed.dim.id,
    }
    row = await change.one("add_cause", **said)
    return bool(row["is_new"])


async def confirm_concept_unless_common(change: WorldChange, concept: SoasRow, statement: WorldStatement) -> None:
    """Let a concept surface because something is known of it; a common word only as a name or on purpose."""
    is_common = change.deps.is_common(concept.token, change.terms.common_word_zipf)
    if not is_common or can_surface_common_word(statement, floor=change.terms.recollection_confidence_floor):
        await mark_concept_confirmed(change, concept)


def can_surface_common_word(statement: CorroboratingStatement, *, floor: float) -> bool:
    """Whether a statement lets even a common word surface: it was deliberate, or a person used the word as a
    name, without which the cue would have stayed below the floor."""
    is_own_cue = statement.is_of_person and statement.source is EdgeSource.INFERRED
    return statement.is_deliberate or (is_own_cue and statement.confidence >= floor)


async def mark_concept_confirmed(change: WorldChange, concept: SoasRow) -> None:
    if await change.maybe("confirm_concept", concept=concept.id):
        change.log(WorldChangeKind.CONCEPT, concept.id)
        await change.tell(
            "concept_confirmed", f"concept:{concept.id}", concept_id=concept.id, token=concept.token, by=change.by
        )


async def add_alias(change: WorldChange, token: str, concept: int) -> None:
    await change.run("put_alias", token=token, concept=concept)
    change.log(WorldChangeKind.ALIAS, concept)


async def drop_aliases(change: WorldChange, tokens: Iterable[str]) -> None:
    for token in tokens:
        row = await change.maybe("drop_alias", token=token)
        change.log(WorldChangeKind.ALIAS, row["concept_id"] if row else None)


async def emit_edge_event(change: WorldChange, name: str, edge: UrdEdge) -> None:
    await change.tell(
        name,
        f"concept:{edge.id}",
        concept_id=edge.id,
        parent_id=edge.parent_id,
        dim_id=edge.dim_id,
        is_isa=edge.is_isa,
        confidence=edge.confidence,
        source=str(edge.source),
        origin=str(edge.origin),
        version=change.version,
    )
