"""What is a judge given, and what is kept of what it said?

Values only. `old_ref` and `new_ref` are ids of whatever the caller judges: memories, proposals, notes.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from uuid import UUID

from festinger.judge.judgement import Judgement, Relation
from festinger.judge.statement import NOTHING_KNOWN, Features, Statement
from festinger.text.normalize import fold

HASH_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two statements, the older one first, and which they are."""

    old_ref: UUID
    new_ref: UUID
    old: Statement
    new: Statement
    features: Features = NOTHING_KNOWN

    @property
    def hashes(self) -> tuple[bytes, bytes]:
        return text_hash(self.old.text), text_hash(self.new.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What was said of a pair, and how long it took."""

    pair: Pair
    judgement: Judgement
    latency_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A judgement as it is kept."""

    id: UUID
    old_ref: UUID
    new_ref: UUID
    judgement: Judgement
    attempts: int
    next_try: datetime | None
    latency_ms: float
    at: datetime
    overruled_by: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A pair of which no judge was sure yet."""

    id: UUID
    old_ref: UUID
    new_ref: UUID
    attempts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A person's word on a pair, and of which words it was said."""

    old_ref: UUID
    new_ref: UUID
    hashes: tuple[bytes, bytes]
    relation: Relation


@lru_cache(maxsize=4096)
def text_hash(text: str) -> bytes:
    """By what a text is known again, in whatever case, quotes and spacing."""
    return sha256(fold(text).encode("utf-8", "surrogatepass")).digest()[:HASH_BYTES]
