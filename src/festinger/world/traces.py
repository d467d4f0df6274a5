"""What is left in the tables of who spoke for an edge?

Reads causes, votes in quarantine, outcomes and the beginning of edges for `retelling`; from the tables, and from rows
that were taken out of them and are kept as JSON.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from festinger.ids import AgentId, Cause, Origin, SessionId
from festinger.store.queries import queries_of
from festinger.world.corroboration import Outcome
from festinger.world.edge import Source, UrdEdge
from festinger.world.retelling import Birth, Heard, Observed, Vote, effective
from festinger.world.writing import Writing

Q = queries_of("festinger.world")

Triple = tuple[int, int, int]
"""A concept, its parent and the dimension."""

REPAIR = "repair"
"""Why edges come and go when a source is taken back, as history has it."""


def triple_of(row: Mapping[str, Any]) -> Triple:
    return row["id"], row["parent_id"], row["dim_id"]


def named(triple: Triple) -> dict[str, int]:
    return dict(zip(("concept", "parent", "dim"), triple, strict=True))


async def rows_about(change: Writing, query: str, triple: Triple) -> Sequence[dict[str, Any]]:
    return await change.transaction.all(Q[query], space=change.space, **named(triple))


async def heard_of(change: Writing, triple: Triple) -> list[Heard]:
    """Who said a triple."""
    return [heard(row) for row in await rows_about(change, "heard_of", triple)]


async def votes_for(change: Writing, triple: Triple) -> list[Vote]:
    """What texts say for a triple."""
    return [vote(row) for row in await rows_about(change, "votes_for_triple", triple)]


async def observed_of(change: Writing, triple: Triple) -> list[Observed]:
    """What came of notes that showed it."""
    return [observed(row) for row in await rows_about(change, "outcomes_of_edge", triple)]


async def makers_of(change: Writing, triple: Triple) -> list[Heard]:
    """Those of whom an edge would be made, in order of time; none if they would not make it."""
    voices, votes = await heard_of(change, triple), await votes_for(change, triple)
    return effective(voices, votes, min_causes=change.terms.quarantine_min_causes)


async def birth_of(change: Writing, triple: Triple) -> Birth | None:
    """How a triple last came into its slot; none if it never did."""
    for row in await rows_about(change, "birth_of", triple):
        at, reason = row.pop("at"), row.pop("reason")
        return Birth(edge=UrdEdge(**row), at=at, reason=reason)
    return None


def asked_for(row: Mapping[str, Any]) -> Birth:
    """The edge that a conflict asks for."""
    edge = UrdEdge(
        id=row["concept_id"],
        parent_id=row["incoming_parent_id"],
        dim_id=row["dim_id"],
        is_isa=bool(row["incoming_is_isa"]),
        confidence=row["incoming_confidence"] or 0.0,
        last_confirmed=row["created_at"],
        source=row["incoming_source"] or Source.INFERRED.value,
        origin=row["incoming_origin"] or Origin.JOB.value,
        person_stated=row["incoming_origin"] == Origin.PERSON,
        created_at=row["created_at"],
    )
    return Birth(edge=edge, at=row["created_at"], reason=REPAIR)


def _cause(row: Mapping[str, Any]) -> Cause:
    return Cause(
        agent=AgentId(row["agent"]),
        session=SessionId(row["session_id"]),
        day=row["day"] if isinstance(row["day"], date) else date.fromisoformat(row["day"]),
        origin=Origin(row["origin"]),
    )


def _moment(value: datetime | str) -> datetime:
    return value if isinstance(value, datetime) else datetime.fromisoformat(value)


def heard(row: Mapping[str, Any]) -> Heard:
    return Heard(
        cause=_cause(row),
        at=_moment(row["at"]),
        last_at=_moment(row["last_at"] or row["at"]),
        is_isa=row["is_isa"] is not False,
        confidence=row["confidence"] or 0.0,
        source=Source(row["source"] or Source.INFERRED),
        from_quarantine=bool(row["from_quarantine"]),
        is_read=row["message_id"] is not None,
        is_kept=row["confidence"] is not None,
        writing=row["prompt_hash"],
    )


def observed(row: Mapping[str, Any]) -> Observed:
    return Observed(
        at=_moment(row["at"]),
        outcome=Outcome(row["outcome"]),
        is_explicit=row["is_explicit"],
        moved=row["moved"],
        weight=row["weight"],
    )


def vote(row: Mapping[str, Any]) -> Vote:
    return Vote(cause=_cause(row), text=row["text_hash"], at=_moment(row["at"]))
