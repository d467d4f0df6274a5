"""What does a recall answer?

Values only, as every door shows them: the items in their order, each with where it comes from and how sure it is, or
an honest nothing.

Which hits fit into so many tokens?

In their order: whole if they fit, else in their short form, else not, and the next is tried. None is cut in the middle.

What may be read beside what came to mind?

Other rooms may hold something that is no memory and is read like one, where a person allowed that. It never takes the
place of a memory: it comes last, as far as there is room. What it is, and whether it fits the cue, is theirs to say.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.clock import iso
from festinger.memory.model import Scope
from festinger.retrieval.query import RecallQuery
from festinger.text.budget import count_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallItem:
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
        return {name: _to_json(getattr(self, name)) for name in told}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """What came to mind for a cue. Nothing: `abstained`, with how many were found and not good enough."""

    id: UUID
    items: tuple[RecallItem, ...]
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


def _to_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, UUID):
        return str(value)
    return list(map(_to_json, value)) if isinstance(value, tuple) else value


Texts = tuple[str, str | None]
"""What a hit says, and the same in short, if there is a short form."""


def pack_hits(hits: Sequence[Texts], *, tokens: int | None, limit: int) -> list[tuple[int, str]]:
    """Which of the hits are shown, and as which text."""
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


Beside = Callable[[Scope, RecallQuery], Awaitable[Sequence[RecallItem]]]
"""What other rooms give to read for a wish, the most fitting first."""


async def null_extras(_place: Scope, _wish: RecallQuery) -> Sequence[RecallItem]:
    """For a wiring in which only memories are read."""
    return ()


def append_extras(recalled: RecallResult, beside: Sequence[RecallItem], wish: RecallQuery) -> RecallResult:
    """The answer with as much of it as there is room for."""
    left = wish.limit - len(recalled.items)
    if not beside or left <= 0:
        return recalled
    said = sum(count_tokens(item.text) for item in recalled.items)
    tokens = None if wish.tokens is None else max(0, wish.tokens - said)
    fitting = pack_hits([(item.text, None) for item in beside], tokens=tokens, limit=left)
    items = tuple(replace(beside[place], text=text) for place, text in fitting)
    return replace(recalled, items=(*recalled.items, *items), abstained=recalled.abstained and not items)
