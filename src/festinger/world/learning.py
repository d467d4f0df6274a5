"""What becomes of what a message asserted?

The claims of a message wait as a row until a job writes them, all in one transaction that also marks the message
as written: running it twice changes nothing. Who said it decides. A person's claim is written at once, a model's
with less confidence; all others are quarantined unless they only say again what stands. A session that contradicts
much that is well established is held.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from festinger.errors import BadFact
from festinger.ids import AgentId, Cause, Origin, SessionId, SpaceId, cause
from festinger.observability.metrics import WORLD_REFUSED
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.world.claims import VOUCHED, Claim, starting_confidence
from festinger.world.collision import Collision
from festinger.world.conflicts import Incoming, open_conflict
from festinger.world.desk import Desk
from festinger.world.edge import Source, Statement, UrdEdge
from festinger.world.quarantine import Sighting, admit_stated, quarantine
from festinger.world.state import Did, check_statement, state_in
from festinger.world.vocabulary import rows_of
from festinger.world.writing import Writing, writing

Q = queries_of("festinger.world")

WELL_ESTABLISHED = 0.8
SPIKE = 3
SPIKE_WITHIN = timedelta(hours=1)

MOST_CLAIMS = 200
"""Claims of one message that are kept; a text with more of them is no conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A message and what it asserted."""

    message: str
    agent: AgentId
    session: SessionId
    origin: Origin
    text_hash: str
    claims: Sequence[Claim]


async def keep_claims(desk: Desk, transaction: Transaction, space: SpaceId, spoken: Spoken) -> bool:
    """Keep what a message asserted for the job; false if there is nothing, or the message is known."""
    if not spoken.claims:
        return False
    row = await transaction.maybe(
        Q["put_cues"],
        space=space,
        message=spoken.message,
        agent=spoken.agent,
        session=spoken.session,
        origin=spoken.origin.value,
        text_hash=spoken.text_hash,
        cues=json.dumps([asdict(claim) for claim in spoken.claims[:MOST_CLAIMS]]),
        at=desk.clock(),
    )
    return row is not None


async def write_claims(desk: Desk, space: SpaceId, message: str) -> list[Did | None]:
    """Write what a message asserted; what became of each claim, none where it was quarantined or refused."""
    async with writing(desk, space, by="message") as change:
        row = await change.transaction.maybe(Q["take_cues"], space=space, message=message)
        if row is None:
            return []
        done = [await _write(change, row, _claim(body)) for body in row["cues"]]
        await change.transaction.run(Q["finish_cues"], space=space, message=message, now=change.now)
    return done


def _claim(body: dict[str, Any]) -> Claim:
    return Claim(**{**body, "origin": Origin(body["origin"])})


async def _write(change: Writing, row: dict[str, Any], claim: Claim) -> Did | None:
    because = cause(
        agent=AgentId(row["agent"]), session=SessionId(row["session_id"]), origin=claim.origin, at=row["at"]
    )
    change.cause, change.by = because, claim.origin.value
    said = _statement(claim, because, message=row["message_id"])
    sighting = Sighting(claim=claim, cause=because, text_hash=row["text_hash"], message=row["message_id"])
    try:
        check_statement(said)
        if claim.is_retraction:
            return await _retract(change, said)
        return await _place(change, said, sighting)
    except BadFact as error:
        WORLD_REFUSED.labels(error.name).inc()
        return None


def _statement(claim: Claim, because: Cause, *, message: str) -> Statement:
    return Statement(
        concept=claim.concept,
        parent=claim.parent,
        dimension=claim.dimension,
        is_isa=claim.is_isa,
        confidence=starting_confidence(claim),
        source=Source.INFERRED,
        cause=because,
        message=message,
    )


async def _place(change: Writing, said: Statement, sighting: Sighting) -> Did | None:
    """Write a claim at once or quarantine it, by who said it."""
    if said.is_of_person:
        await admit_stated(change, sighting.claim)
        return (await state_in(change, said)).did
    existing = await _standing(change, said)
    is_held = await _is_held(change, said, existing)
    if existing is not None and existing.parent == said.parent:
        return (await state_in(change, said)).did
    if said.origin not in VOUCHED or is_held:
        await quarantine(change, sighting)
        return None
    done = (await state_in(change, said)).did
    if done is Did.CROWDED:
        await quarantine(change, sighting)
    return done


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    edge: UrdEdge
    parent: str


async def _standing(change: Writing, said: Statement) -> _Standing | None:
    """The edge that stands where the claim would, without making rows for words of it."""
    rows = await rows_of(change.transaction, change.space, (said.concept, said.dimension, said.parent))
    if said.concept not in rows or said.dimension not in rows:
        return None
    edge = await change.slot(rows[said.concept].id, rows[said.dimension].id)
    if edge is None:
        return None
    is_same = said.parent in rows and rows[said.parent].id == edge.parent_id
    return _Standing(edge=edge, parent=said.parent if is_same else "")


async def _is_held(change: Writing, said: Statement, existing: _Standing | None) -> bool:
    """Whether the session is held by now; contradicting what is well established counts towards it."""
    session = said.cause.session
    collides = existing is not None and not existing.parent and existing.edge.confidence >= WELL_ESTABLISHED
    if existing is not None and collides:
        await _count_collision(change, said, existing.edge)
    row = await change.transaction.maybe(Q["is_held"], space=change.space, session=session)
    return row is not None


async def _count_collision(change: Writing, said: Statement, edge: UrdEdge) -> None:
    session = said.cause.session
    is_held = await change.transaction.maybe(Q["is_held"], space=change.space, session=session)
    if is_held:
        return
    await change.transaction.run(
        Q["add_session_collision"],
        space=change.space,
        session=session,
        concept=edge.id,
        dim=edge.dim_id,
        parent=said.parent,
        at=change.now,
    )
    found = await change.transaction.value(
        Q["session_collisions"], space=change.space, session=session, since=change.now - SPIKE_WITHIN
    )
    if int(found) >= SPIKE:
        await change.transaction.run(
            Q["hold_session"], space=change.space, session=session, collisions=found, now=change.now
        )


async def _retract(change: Writing, said: Statement) -> Did | None:
    """A person takes back what stands: it stays, marked, until that is decided."""
    if not said.is_of_person:
        return None
    rows = await rows_of(change.transaction, change.space, (said.concept, said.parent, said.dimension))
    if len(rows) < len({said.concept, said.parent, said.dimension}):
        return None
    concept, parent, dim = rows[said.concept], rows[said.parent], rows[said.dimension]
    existing = await change.slot(concept.id, dim.id)
    if existing is None or existing.parent_id != parent.id:
        return None
    incoming = Incoming(
        concept=concept,
        parent=parent,
        dim=dim,
        is_isa=existing.is_isa,
        confidence=said.confidence,
        source=said.source,
        origin=said.origin,
        is_deliberate=False,
        cause=said.cause,
    )
    opened = await open_conflict(change, incoming, existing=existing, kind=Collision.RETRACTION)
    return Did.CONFLICT if opened.id else Did.SETTLED
