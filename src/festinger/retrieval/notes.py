"""Decides which notes a message needs by reading them together, and loads the current state of shown
memories.

Vector similarity says what a text is about, not what helps: an allergy belongs beside a request for a recipe
that shares no word with it, and a wish for short answers beside every question. An encoder,
trained on notes and messages of made-up people (`benchmarks/training/applies.jsonl`), predicts whether a note
helps.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Protocol
from uuid import UUID

from festinger.ids import Scope
from festinger.memory.changes import LONGEST_CHAIN
from festinger.records import row_mapper
from festinger.retrieval.deps import RetrievalDeps
from festinger.store.queries import queries_of

Q = queries_of("festinger.retrieval")


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentMemory:
    """A current memory, in the place of one that was asked for."""

    id: UUID
    text: str
    compressed: str | None
    version: int
    disputed: bool


async def load_current_memories(
    deps: RetrievalDeps, scope: Scope, memories: Collection[UUID]
) -> dict[UUID, CurrentMemory]:
    """Map each memory to itself or what replaced it; missing ones are gone. Raises `StoreDown`."""
    rows = await deps.store.all(
        Q["standings"], hot=True, space=scope.space, agent=scope.agent, memories=sorted(memories), depth=LONGEST_CHAIN
    )
    return {row["asked"]: current_memory_from_row(row) for row in rows}


current_memory_from_row = row_mapper(CurrentMemory, text="content")


READER = "applies.safetensors"
NEARNESS, OFFSET = 3.0, -0.75
"""Weight of the cosine of note and message beside the model's logit; from messages of held-out people."""
FIRST, FIRST_IF_PERSONAL = -1.25, -3.25
"""Weighted logit at which the best note is shown; lower where people speak of themselves, which they hardly
ever do without needing a note."""
FURTHER, BEHIND = 0.0, 2.0
"""Logit at which further notes are shown, and how far they may be behind the best. On 145 people not seen in
training, .81 of the messages that need a note got one, .19 of those that need none, and of the notes shown
for messages in need .80 helped."""
NOTE_CHARS, MESSAGE_CHARS = 300, 400
STANDING = 12
"""Preferences and rules of an agent considered for every message, newest first."""


_PERSONAL = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|mine|me|we|we're|we've|our|ours|us)\b", re.IGNORECASE)


class NoteReader(Protocol):
    """A model that reads a note together with a message."""

    async def logits(self, texts: Sequence[str]) -> list[float]: ...


def reader_path() -> Path:
    return Path(str(files("festinger.retrieval").joinpath(READER)))


def pair_text(note: str, message: str) -> str:
    """Format a note and a message as in training; only the end of a long message."""
    return f"{note[:NOTE_CHARS]} [SEP] {message[-MESSAGE_CHARS:]}"


def combine_logits(logit: float, cosine: float | None) -> float:
    """Combine the model's logit and the cosine, which make different mistakes, into one logit."""
    return logit + NEARNESS * (cosine or 0.0) + OFFSET


def select_notes(scores: Sequence[float], message: str, *, most: int) -> list[int]:
    """Return the indexes of the notes to show, best first."""
    ranked = sorted(range(len(scores)), key=lambda place: -scores[place])
    first = FIRST_IF_PERSONAL if _PERSONAL.search(message) else FIRST
    if not ranked or scores[ranked[0]] < first:
        return []
    least = max(FURTHER, scores[ranked[0]] - BEHIND)
    return [ranked[0], *(place for place in ranked[1:most] if scores[place] >= least)]


async def load_standing_notes(deps: RetrievalDeps, scope: Scope) -> list[CurrentMemory]:
    """Load preferences and rules that hold whatever the topic. Raises `StoreDown`."""
    rows = await deps.store.all(Q["standing_notes"], hot=True, space=scope.space, agent=scope.agent, limit=STANDING)
    return [current_memory_from_row(row) for row in rows]
