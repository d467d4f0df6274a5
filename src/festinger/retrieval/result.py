"""Defines the result of a recall and fits hits into a token budget.

Hits are packed in order: whole if they fit, else in their short form, else skipped; none is cut in the
middle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.records import record_json
from festinger.text.budget import estimate_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallItem:
    """A recalled item."""

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
    """The version read, for interfaces that keep showing it; not exposed to callers."""
    cosine: float | None = None
    """Cosine to the cue, for callers that judge by themselves; not exposed either."""

    @property
    def noted_at(self) -> datetime:
        """When it happened, or else when it was learned."""
        return self.event_time or self.learned_at

    def as_json(self) -> dict[str, Any]:
        return record_json(self, hide=("version", "cosine"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """The items recalled for a cue; if none, `abstained`, with how many were found and not good enough."""

    id: UUID
    items: tuple[RecallItem, ...]
    abstained: bool
    below_threshold: int
    degraded: tuple[str, ...] = ()
    took: float = 0.0
    """Seconds."""

    @property
    def sentence(self) -> str:
        """A plain sentence about how it went."""
        if self.items:
            return f"{len(self.items)} remembered"
        return f"nothing relevant remembered ({self.below_threshold} below the threshold)"

    def as_json(self) -> dict[str, Any]:
        return record_json(self)


Texts = tuple[str, str | None]
"""The text of a hit, and its short form if there is one."""


def pack_hits(hits: Sequence[Texts], *, tokens: int | None, limit: int) -> list[tuple[int, str]]:
    """Select the hits to show, and the text of each."""
    shown: list[tuple[int, str]] = []
    left = tokens
    for place, (whole, short) in enumerate(hits):
        if len(shown) == limit:
            break
        for text in (whole, short):
            if text is None:
                continue
            cost = 0 if left is None else estimate_tokens(text)
            if left is None or cost <= left:
                shown.append((place, text))
                left = None if left is None else left - cost
                break
    return shown
