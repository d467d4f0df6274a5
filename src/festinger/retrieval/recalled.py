"""What does a recall answer?

Values only, as every door shows them: the items in their order, each with where it comes from and how sure it is, or
an honest nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.clock import iso


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something that came to mind."""

    id: UUID
    type: str
    kind: str
    text: str
    compressed: str | None
    score: float
    evidence: float
    weak: bool
    origin: str
    trust: float
    confidence: float
    weight: float
    event_time: datetime | None
    learned_at: datetime
    disputed: bool
    source: str | None
    also: tuple[UUID, ...] = ()
    why: Mapping[str, Any] | None = field(default=None, hash=False)
    version: int = 1
    """In which state it was read, for a door that goes on showing it; callers are not told."""
    cosine: float | None = None
    """How near it is to the cue, for callers that judge it by themselves; not told either."""

    def as_json(self) -> dict[str, Any]:
        told = (each.name for each in fields(self) if each.name not in ("version", "cosine"))
        return {name: _shown(getattr(self, name)) for name in told}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """What came to mind for a cue. Nothing: `abstained`, with how many were found and not good enough."""

    id: UUID
    items: tuple[Item, ...]
    abstained: bool
    below_threshold: int
    degraded: tuple[str, ...] = ()
    took: float = 0.0
    """Seconds."""

    @property
    def sentence(self) -> str:
        """How it went, for whoever reads no numbers."""
        if self.items:
            return f"{len(self.items)} remembered"
        return f"nothing relevant remembered ({self.below_threshold} below the threshold)"

    def as_json(self) -> dict[str, Any]:
        return {
            "id": str(self.id),
            "items": [item.as_json() for item in self.items],
            "abstained": self.abstained,
            "below_threshold": self.below_threshold,
            "degraded": list(self.degraded),
            "took": self.took,
        }


def _shown(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, UUID):
        return str(value)
    return list(map(_shown, value)) if isinstance(value, tuple) else value
