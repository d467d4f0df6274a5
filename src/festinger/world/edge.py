"""What is an edge, and what is a statement before it is one?

Values: a concept is IN a parent, within a dimension; kind (ISA) and part (ISPART) are two flavours of that one
relation. What happens when a statement meets an edge is decided in `collision` and `corroboration`.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple

from festinger.clock import iso
from festinger.ids import Cause, Origin

EDGE_HALF_LIFE = timedelta(days=45)


class Source(StrEnum):
    """By which way an edge came into the world."""

    CLOUD_LLM = "cloud_llm"
    INFERRED = "inferred"
    FESTINGER = "festinger"
    GUTASK = "gutask"


class UrdEdge(NamedTuple):
    """One edge. A tuple, because a process keeps a million of them.

    `last_confirmed` of none is unknown and counts as recent.
    """

    id: int
    parent_id: int
    dim_id: int
    is_isa: bool
    confidence: float = 1.0
    last_confirmed: datetime | None = None
    source: str = Source.INFERRED
    origin: str = Origin.PERSON
    evidence_count: int = 0
    person_stated: bool = False
    unconfirmed: bool = False
    created_at: datetime | None = None
    version: int = 0

    @property
    def slot(self) -> tuple[int, int]:
        return self.id, self.dim_id

    @property
    def is_root(self) -> bool:
        """Whether it only stands for its dimension."""
        return self.id == self.parent_id == self.dim_id

    def as_json(self) -> dict[str, Any]:
        """Everything of it that must be known to put it back."""
        moments = {
            name: iso(value) if isinstance(value, datetime) else None
            for name in ("last_confirmed", "created_at")
            for value in [getattr(self, name)]
        }
        return {**self._asdict(), **moments, "source": str(self.source), "origin": str(self.origin)}


def edge_from_json(body: dict[str, Any]) -> UrdEdge:
    moments = {
        name: datetime.fromisoformat(body[name]) if body[name] else None
        for name in ("last_confirmed", "created_at")
    }
    return UrdEdge(**{**body, **moments})


def freshness(edge: UrdEdge, now: datetime) -> float:
    """What an edge is worth when not all can be shown: its confidence, less with age."""
    if edge.last_confirmed is None:
        return edge.confidence
    return float(edge.confidence * 2 ** (-((now - edge.last_confirmed) / EDGE_HALF_LIFE)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Which model call wrote a statement."""

    model: str
    prompt_hash: str | None
    cost_usd: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What somebody says of a concept, in tokens."""

    concept: str
    parent: str
    dimension: str
    is_isa: bool
    confidence: float
    source: Source
    cause: Cause
    message: str | None = None
    written: Written | None = None
    from_quarantine: bool = False

    @property
    def origin(self) -> Origin:
        return self.cause.origin

    @property
    def is_deliberate(self) -> bool:
        """Whether it was given as a fact rather than found in a text."""
        return self.source is Source.GUTASK

    @property
    def is_of_person(self) -> bool:
        return self.origin is Origin.PERSON
