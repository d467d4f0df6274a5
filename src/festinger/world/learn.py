"""Writes what messages assert, facts stated on purpose, and what outcomes say about edges.

The claims of a message wait as a row until a job writes them in one idempotent transaction. A person's claim
is written at once, a model's with less confidence; others are quarantined unless they only repeat what holds.
A session that contradicts much established knowledge is held. A deliberate fact bypasses thresholds and
models: the edge holds at once, or a conflict waits with top priority; only a person's is certain, since an
agent may repeat what it read. Acting on a note supports its edge, a contradiction opposes it, once per cause;
other outcomes say nothing. Explicit reports have full weight, inferred ones at most a quarter, and none once
somebody reports explicitly or a second look shows the contrary in the same conversation.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any

from festinger.errors import BadFact, TooLarge
from festinger.ids import AgentId, Cause, Origin, SessionId, SpaceId, cause, cause_columns
from festinger.observability.metrics import WORLD_REFUSED
from festinger.records import field_values, row_mapper
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.text.facts import parse_fact
from festinger.world.conflicts import edge_conflict_json, find_conflict, open_conflict
from festinger.world.edge_statements import StatementResult, apply_statement_in_change, check_statement
from festinger.world.model import (
    INFERRED_WEIGHT,
    CollisionType,
    EdgeSource,
    NoteOutcome,
    StatementEffect,
    UrdEdge,
    WorldDeps,
    WorldStatement,
    confidence_after_outcome,
    confidence_cap,
)
from festinger.world.quarantine import mark_claim_admitted, quarantine_or_admit_claim
from festinger.world.recollection import VOUCHED, Claim, ShownEdge, claim_to_world_statement
from festinger.world.write import WorldChange, load_concept_rows, open_change, resolve_known_words

Q = load_queries("festinger.world")

WELL_ESTABLISHED = 0.8
SPIKE = 3
SPIKE_WITHIN = timedelta(hours=1)

MOST_CLAIMS = 200
"""Claims kept per message; a text with more is not conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageClaims:
    message: str
    agent: AgentId
    session: SessionId
    origin: Origin
    text_hash: str
    claims: Sequence[Claim]


async def save_claims(deps: WorldDeps, transaction: Transaction, space: SpaceId, spoken: MessageClaims) -> bool:
    """Store the claims of a message for the job; false if there are none or the message is known."""
    if not spoken.claims:
        return False
    row = await transaction.maybe(
        Q["put_cues"],
        **field_values(spoken),
        space=space,
        cues=json.dumps([asdict(claim) for claim in spoken.claims[:MOST_CLAIMS]]),
        at=deps.clock(),
    )
    return row is not None


async def write_claims(deps: WorldDeps, space: SpaceId, message: str) -> list[StatementEffect | None]:
    """Write the claims of a message; returns the effect of each, none where it was quarantined or refused."""
    async with open_change(deps, space, by="message") as change:
        row = await change.transaction.maybe(Q["take_cues"], space=space, message=message)
        if row is None:
            return []
        done = [await _write(change, row, _claim(body)) for body in row["cues"]]
        await change.transaction.run(Q["finish_cues"], space=space, message=message, now=change.now)
    return done


_claim = row_mapper(Claim)


async def _write(change: WorldChange, row: dict[str, Any], claim: Claim) -> StatementEffect | None:
    because = cause(
        agent=AgentId(row["agent"]), session=SessionId(row["session_id"]), origin=claim.origin, at=row["at"]
    )
    change.cause, change.by = because, claim.origin.value
    statement = claim_to_world_statement(claim, because, message=row["message_id"])
    try:
        check_statement(statement)
        if claim.is_retraction:
            return await _open_retraction_conflict(change, statement)
        return await _place(change, statement, pattern=claim.pattern, text_hash=row["text_hash"])
    except BadFact as error:
        WORLD_REFUSED.labels(error.name).inc()
        return None


async def _place(
    change: WorldChange, statement: WorldStatement, *, pattern: str, text_hash: str
) -> StatementEffect | None:
    """Write a claim at once or quarantine it, depending on who said it."""
    if statement.is_of_person:
        await mark_claim_admitted(change, statement)
        return (await apply_statement_in_change(change, statement)).did
    existing, is_same = await _standing(change, statement)
    is_held = await _count_and_check_held(change, statement, None if is_same else existing)
    if is_same:
        return (await apply_statement_in_change(change, statement)).did
    if statement.origin not in VOUCHED or is_held:
        await quarantine_or_admit_claim(change, statement, pattern=pattern, text_hash=text_hash)
        return None
    done = (await apply_statement_in_change(change, statement)).did
    if done is StatementEffect.CROWDED:
        await quarantine_or_admit_claim(change, statement, pattern=pattern, text_hash=text_hash)
    return done


async def _standing(change: WorldChange, statement: WorldStatement) -> tuple[UrdEdge | None, bool]:
    """Return the current edge in the claim's slot and whether it says the same, without creating rows."""
    rows = await load_concept_rows(
        change.transaction, change.space, (statement.concept, statement.dimension, statement.parent)
    )
    if statement.concept not in rows or statement.dimension not in rows:
        return None, False
    edge = await change.slot(rows[statement.concept].id, rows[statement.dimension].id)
    parent = rows.get(statement.parent)
    return edge, edge is not None and parent is not None and parent.id == edge.parent_id


async def _count_and_check_held(change: WorldChange, statement: WorldStatement, against: UrdEdge | None) -> bool:
    """Whether the session is held by now; contradicting established knowledge counts toward it."""
    session = statement.cause.session
    if await change.maybe("is_held", session=session):
        return True
    if against is None or against.confidence < WELL_ESTABLISHED:
        return False
    await change.run(
        "add_session_collision", session=session, concept=against.id, dim=against.dim_id, parent=statement.parent
    )
    found = await change.value("session_collisions", session=session, since=change.now - SPIKE_WITHIN)
    if int(found) >= SPIKE:
        await change.run("hold_session", session=session, collisions=found, now=change.now)
    return int(found) >= SPIKE


async def _open_retraction_conflict(change: WorldChange, statement: WorldStatement) -> StatementEffect | None:
    """Let a person retract the current edge: it stays, marked, until that is decided."""
    if not statement.is_of_person:
        return None
    placed = await resolve_known_words(change, statement)
    existing = await change.slot(placed.concept.id, placed.dim.id) if placed else None
    if placed is None or existing is None or existing.parent_id != placed.parent.id:
        return None
    incoming = replace(placed, statement=replace(statement, is_isa=existing.is_isa))
    opened = await open_conflict(change, incoming, existing=existing, kind=CollisionType.RETRACTION)
    return StatementEffect.CONFLICT if opened.id else StatementEffect.SETTLED


CERTAIN = 1.0
MOST_FACTS = 100

NEW = frozenset({StatementEffect.ADDED, StatementEffect.REPLACED})
INSERTED = "inserted"
"""Reported for a fact that was not there before; other effects keep their own names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactResult:
    """A fact, and its effect."""

    statement: WorldStatement
    stated: StatementResult


def parse_statement(fact: str, because: Cause, *, message: str | None = None) -> WorldStatement:
    """Parse a fact into a statement. Raises `BadFact` if it cannot be parsed or cannot hold."""
    parsed = parse_fact(fact)
    statement = WorldStatement(
        concept=parsed.concept,
        parent=parsed.parent,
        dimension=parsed.dimension,
        is_isa=parsed.is_isa,
        confidence=CERTAIN if because.origin is Origin.PERSON else confidence_cap(because.origin),
        source=EdgeSource.GUTASK,
        cause=because,
        message=message,
    )
    check_statement(statement)
    return statement


async def iknowthat(
    deps: WorldDeps, space: SpaceId, facts: Sequence[str], *, because: Cause, message: str | None = None
) -> list[FactResult]:
    """State facts, all or none; on return they are in this process's memory too."""
    if len(facts) > MOST_FACTS:
        raise TooLarge(f"At most {MOST_FACTS} facts can be stated at once; these are {len(facts)}.")
    if not facts:
        raise BadFact("There is no fact.")
    statements = [parse_statement(fact, because, message=message) for fact in facts]
    async with open_change(deps, space, by=because.origin.value, cause=because) as change:
        known = []
        for each in statements:
            if each.is_of_person:
                await mark_claim_admitted(change, each)
            known.append(FactResult(statement=each, stated=await apply_statement_in_change(change, each)))
    return known


async def fact_result_json(deps: WorldDeps, space: SpaceId, known: FactResult) -> dict[str, Any]:
    """Format the effect of a fact for all interfaces."""
    statement, stated = known.statement, known.stated
    if stated.conflict is not None:
        async with deps.store.transaction() as transaction:
            found = await find_conflict(transaction, space, stated.conflict)
        return {"status": StatementEffect.CONFLICT.value, "conflict": await edge_conflict_json(deps, space, found)}
    edge = {
        "concept": statement.concept,
        "parent": statement.parent,
        "dimension": statement.dimension,
        "is_isa": statement.is_isa,
        "confidence": stated.edge.confidence if stated.edge else statement.confidence,
        "source": str(stated.edge.source) if stated.edge else statement.source.value,
    }
    status = INSERTED if stated.did in NEW else stated.did.value
    return {"status": status, "edge": edge, "new_tokens": list(stated.new_tokens)}


MOVING = (NoteOutcome.ACTED, NoteOutcome.CONTRADICTED)
PASSIVE_SPAN = 0.10
"""How far inferred outcomes may move an edge from where statements have put it."""


async def apply_outcome_to_edge(
    change: WorldChange, note: ShownEdge, outcome: NoteOutcome, *, cause: Cause, weight: float, is_explicit: bool
) -> UrdEdge | None:
    """Apply an outcome within the caller's change."""
    if outcome not in MOVING:
        return None
    row = await change.maybe("find_edge", concept=note.concept, parent=note.parent, dimension=note.dimension)
    if row is None:
        return None
    edge = await _drop_inferred_movement(change, UrdEdge(**row), outcome, because=cause, is_explicit=is_explicit)
    if edge is None:
        return None
    share = weight if is_explicit else min(weight, INFERRED_WEIGHT)
    confidence = await _confidence_with_passive_limit(change, edge, outcome, share=share, is_explicit=is_explicit)
    is_new = await change.maybe(
        "add_outcome",
        concept=edge.id,
        parent=edge.parent_id,
        dim=edge.dim_id,
        **cause_columns(cause),
        outcome=outcome.value,
        is_explicit=is_explicit,
        moved=confidence - edge.confidence,
        weight=share,
    )
    if not is_new:
        return None
    is_confirmed = is_explicit and outcome is NoteOutcome.ACTED
    confirmed = change.now if is_confirmed else edge.last_confirmed
    return await change.update_edge_values(edge._replace(confidence=confidence, last_confirmed=confirmed))


async def _drop_inferred_movement(
    change: WorldChange, edge: UrdEdge, outcome: NoteOutcome, *, because: Cause, is_explicit: bool
) -> UrdEdge | None:
    """Remove earlier inferred movement of this conversation that no longer counts; none if this outcome does
    not count either, because somebody reported explicitly."""
    before = await change.one(
        "replace_inferred",
        concept=edge.id,
        parent=edge.parent_id,
        dim=edge.dim_id,
        agent=because.agent,
        session=because.session,
        day=because.day,
        outcome=outcome.value,
        is_explicit=is_explicit,
    )
    if before["told"] and not is_explicit:
        return None
    return edge._replace(confidence=edge.confidence - before["moved"])


async def _confidence_with_passive_limit(
    change: WorldChange, edge: UrdEdge, outcome: NoteOutcome, *, share: float, is_explicit: bool
) -> float:
    origin = Origin(edge.origin)
    moved = confidence_after_outcome(
        edge.confidence, outcome, evidence=edge.evidence_count, weight=share, origin=origin
    )
    if is_explicit:
        return moved
    so_far = await change.value("passive_movement", concept=edge.id, parent=edge.parent_id, dim=edge.dim_id)
    anchor = edge.confidence - so_far
    return float(min(max(moved, anchor - PASSIVE_SPAN), anchor + PASSIVE_SPAN))
