"""Conflicts as values, for rules that read nothing."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from festinger.world.conflicts import Conflict, ConflictCase
from festinger.world.model import UrdEdge

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
CAUSE = {"agent": "a1", "session_id": "s1", "day": NOW.date(), "origin": "person", "message_id": None, "at": NOW}

CONFLICT = Conflict(
    id=UUID(int=1),
    about="edge",
    concept_id=101,
    dim_id=1,
    existing_parent_id=201,
    incoming_parent_id=202,
    concept="gnommoweb",
    dimension="type",
    existing_parent="repo",
    incoming_parent="container",
    collision_type="isa_isa",
    status="pending",
    priority=0,
    existing_is_isa=True,
    incoming_is_isa=True,
    incoming_confidence=0.65,
    incoming_source="inferred",
    incoming_origin="person",
    sightings=1,
    attempts=0,
    reason="",
    decided_by=None,
    resolution=None,
    old_memory=None,
    new_memory=None,
    judgement_id=None,
    created_at=NOW,
    resolved_at=None,
)

EDGE = UrdEdge(id=101, parent_id=201, dim_id=1, is_isa=True, confidence=0.9)

CASE = ConflictCase(
    conflict=CONFLICT,
    existing=EDGE,
    above_existing=(),
    above_incoming=(),
    existing_causes=(CAUSE,),
    incoming_causes=(CAUSE,),
    sentences=(),
    dimensions=("type", "membership"),
    free_dimension=None,
)


def case(*, existing: UrdEdge | None = EDGE, facts: dict[str, Any] | None = None, **conflict: Any) -> ConflictCase:
    """The plain case with another edge, other facts around it, or another conflict."""
    return replace(CASE, existing=existing, conflict=replace(CONFLICT, **conflict), **(facts or {}))
