"""Defines the result of a recall and fits hits into a token budget.

Hits are packed in order: whole if they fit, else in their short form, else skipped; none is cut in the
middle. Other packages may add items that are not memories, where a person allowed that. These never take the
place of a memory: they come last, as far as there is room.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.ids import Scope
from festinger.records import record_json
from festinger.retrieval.query import RecallQuery
from festinger.text.budget import count_tokens


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
            cost = 0 if left is None else count_tokens(text)
            if left is None or cost <= left:
                shown.append((place, text))
                left = None if left is None else left - cost
                break
    return shown


LoadExtras = Callable[[Scope, RecallQuery], Awaitable[Sequence[RecallItem]]]
"""Returns items of other packages for a query, the most fitting first."""


async def null_extras(_place: Scope, _query: RecallQuery) -> Sequence[RecallItem]:
    """Return nothing, for a wiring with memories only."""
    return ()


def append_extras(recalled: RecallResult, extras: Sequence[RecallItem], query: RecallQuery) -> RecallResult:
    """Append as many extra items as there is room for."""
    left = query.limit - len(recalled.items)
    if not extras or left <= 0:
        return recalled
    used = sum(count_tokens(item.text) for item in recalled.items)
    tokens = None if query.tokens is None else max(0, query.tokens - used)
    fitting = pack_hits([(item.text, None) for item in extras], tokens=tokens, limit=left)
    items = tuple(replace(extras[place], text=text) for place, text in fitting)
    return replace(recalled, items=(*recalled.items, *items), abstained=recalled.abstained and not items)
