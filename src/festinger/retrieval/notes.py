"""Decides which notes a message needs by reading them together, and loads the current state of shown
memories.

Vector similarity says what a text is about, not what helps: an allergy belongs beside a request for a recipe
that shares no word with it, and a wish for short answers beside every question. Two encoders,
trained on notes and messages of made-up people (`benchmarks/training/applies.jsonl`), predict whether a note
helps: one screens all notes at little cost, the other reads the few that may be shown.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from itertools import accumulate
from pathlib import Path
from typing import Protocol
from uuid import UUID

from cachetools import LRUCache

from festinger.ids import Scope
from festinger.memory.changes import LONGEST_CHAIN
from festinger.records import row_mapper
from festinger.retrieval.deps import RetrievalDeps
from festinger.retrieval.result import RecallItem
from festinger.store.queries import load_queries

Q = load_queries("festinger.retrieval")


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentMemory:
    """A current memory, in the place of one that was asked for."""

    id: UUID
    text: str
    compressed: str | None
    version: int
    noted_at: datetime
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


SCREEN, READER = "screen.safetensors", "applies.safetensors"
READ_CLOSELY, WITHIN, WITHIN_BEST = 5, 2.0, 3.0
"""Notes read closely, and how far below the bar of a first note, and below the best one, they may be screened."""
CLOSER = 0.7
"""Share of the closer reading in a logit. On 140 people not seen in training, .82 of the messages that need a note got
one, .12 of those that need none, and .76 of all notes shown helped, for 2.0 notes read closely (3.4 if they may be far
below the best); if all are read so, and the screen does not count, .815, .14 and .75."""
NEARNESS, OFFSET = 4.0, -1.0
"""Weight of the cosine of note and message beside the model's logit; from messages of held-out people."""
NOT_NEAR = 0.06
"""Cosine assumed for notes that the search did not bring: that of two texts about different things."""
FIRST, FIRST_IF_PERSONAL = -1.0, -2.9
"""Weighted logit at which the best note is shown; lower where people speak of themselves, which they hardly
ever do without needing a note."""
FURTHER, BEHIND = -0.5, 2.0
"""Logit at which further notes are shown, and how far they may be behind the best. On 50 people not seen in
training, whose messages mostly share no word with what helps, .73 of those that need a note got one, .33 of those that
need none, and of all notes shown .70 helped."""
COMPANIONS, COMPANION_BEHIND = 2, 4.0
"""Notes of the same turn shown with the best one, and how far they may be behind it: `staging is at A, prod is
at B` was said in one breath, and who asks about one often needs the other."""
PROBES = (
    "Explain how tides work.",
    "What is the capital of Peru?",
    "Write a short story about a lighthouse.",
    "How does a sewing machine work?",
)
"""Messages about nothing in particular: what helps with all of them is about answers as such."""
GENERAL = -1.5
"""Mean logit beside the probes from which a note holds for every message (`answer in French`). Of 1,199 notes
of people not seen in training 13 reach it, all but two of them about how to answer."""
HOPELESS = -2.5
"""Logit beside the first probe below which a note is not probed further. Of 4,060 notes 47 are general, the least of
them with -1.6 there; of the others nearly all are at -3, the lowest that the reader gives."""
MOST_GENERAL, MOST_PROBED = 3, 4
"""General notes shown beside one message, and notes that are probed while it waits."""
NOTE_CHARS, MESSAGE_CHARS = 300, 400
STANDING = 12
"""Preferences and rules of an agent considered for every message, newest first."""
KNOWN_NOTES = 4_000
READ_CHARS = 3_000
"""Characters of notes read while a request waits: some 20 ms of a core, or 60 if none of them was read before."""

RECOUNTED = 12
"""Notes shown to somebody who asks what is known about them."""

_ASKS_ABOUT_SELF = re.compile(
    r"\byou\b[\w\s']{0,40}\b(?:know|remember|recall|noted|stored|saved|learned)\s(?:(?:about|of)\s)?(?:me|us|myself)\b"
    r"|\bwho\s(?:am\si|are\swe)\b|\btell\sme\sabout\smyself\b|\bwhat\s(?:have\si|did\si)\s(?:told|tell)\syou(?:\sso\sfar)?\W*$",
    re.IGNORECASE,
)
_PERSONAL = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|mine|me|we|we're|we've|our|ours|us)\b", re.IGNORECASE)


class NoteScreen(Protocol):
    """A model that reads many notes beside one message."""

    async def logits(self, notes: Sequence[str], message: str) -> list[float]: ...


class NoteReader(Protocol):
    """A model that reads texts, each a note with a message."""

    async def logits(self, texts: Sequence[str]) -> list[float]: ...


class NoteScorer:
    """Scores notes beside a message, and remembers which ones hold for every message."""

    def __init__(self, screen: NoteScreen, reader: NoteReader) -> None:
        self._screen = screen
        self._reader = reader
        self._is_general: LRUCache[str, bool] = LRUCache(KNOWN_NOTES)
        self._screened: LRUCache[tuple[str, str], float] = LRUCache(KNOWN_NOTES)

    async def screen(self, message: str, notes: Sequence[RecallItem | CurrentMemory]) -> list[float]:
        """Screen notes beside a message; those that were screened beside it before are not read again. Without notes the
        message alone is read, for those that come."""
        pairs = [(note.text[:NOTE_CHARS], message[-MESSAGE_CHARS:]) for note in notes]
        known = {pair: self._screened[pair] for pair in pairs if pair in self._screened}
        unread = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        if unread or not pairs:
            logits = await self._screen.logits([note for note, _ in unread], message[-MESSAGE_CHARS:])
            known.update(zip(unread, logits, strict=True))
        self._screened.update(known)
        return [known[pair] for pair in pairs]

    async def score(self, message: str, notes: Sequence[RecallItem | CurrentMemory]) -> list[float]:
        if not notes:
            return []
        screened = await self.screen(message, notes)
        cosines = [note.cosine if isinstance(note, RecallItem) else None for note in notes]
        scores = [add_cosine_to_logit(logit, cosine) for logit, cosine in zip(screened, cosines, strict=True)]
        closely = select_indexes_to_read(scores, message)
        read = await self._reader.logits([pair_text(notes[at].text, message) for at in closely])
        for at, logit in zip(closely, read, strict=True):
            scores[at] += CLOSER * (logit - screened[at])
        return scores

    async def find_always_applicable(self, notes: Sequence[CurrentMemory]) -> list[CurrentMemory]:
        """The first of the notes that hold for every message; a few new ones are probed each time."""
        first, *others = PROBES
        unknown = [note.text for note in notes if note.text not in self._is_general][:MOST_PROBED]
        logits = await self._reader.logits([pair_text(note, first) for note in unknown])
        for note, logit in zip(unknown, logits, strict=True):
            further = [] if logit < HOPELESS else [pair_text(note, probe) for probe in others]
            given = [logit, *await self._reader.logits(further)]
            self._is_general[note] = sum(given) / len(given) >= GENERAL
        return [note for note in notes if self._is_general.get(note.text)][:MOST_GENERAL]


def screen_path() -> Path:
    return Path(str(files("festinger.retrieval").joinpath(SCREEN)))


def reader_path() -> Path:
    return Path(str(files("festinger.retrieval").joinpath(READER)))


def pair_text(note: str, message: str) -> str:
    """Format a note and a message as in training; only the end of a long message."""
    return f"{note[:NOTE_CHARS]} [SEP] {message[-MESSAGE_CHARS:]}"


def select_indexes_to_read(scores: Sequence[float], message: str) -> list[int]:
    """Return the indexes of the notes that a screen leaves in question, best first."""
    least = max(_first_bar(message) - WITHIN, max(scores, default=0.0) - WITHIN_BEST)
    ranked = sorted(range(len(scores)), key=lambda place: -scores[place])
    return [place for place in ranked[:READ_CLOSELY] if scores[place] >= least]


def limit_notes_by_length(notes: Sequence[RecallItem | CurrentMemory]) -> Sequence[RecallItem | CurrentMemory]:
    """Return the first notes, as many as may be read while a request waits."""
    lengths = accumulate(len(note.text[:NOTE_CHARS]) for note in notes)
    return notes[: sum(length <= READ_CHARS for length in lengths)]


def add_cosine_to_logit(logit: float, cosine: float | None) -> float:
    """Combine the model's logit and the cosine, which make different mistakes, into one logit."""
    return logit + NEARNESS * (NOT_NEAR if cosine is None else cosine) + OFFSET


def asks_about_self(message: str) -> bool:
    """Whether people ask what is known about themselves: `what do you remember about me?`."""
    return _ASKS_ABOUT_SELF.search(message) is not None


def select_note_indexes(scores: Sequence[float], message: str, *, most: int) -> list[int]:
    """Return the indexes of the notes to show, best first."""
    ranked = sorted(range(len(scores)), key=lambda place: -scores[place])
    if asks_about_self(message):
        return ranked[:RECOUNTED]
    if not ranked or scores[ranked[0]] < _first_bar(message):
        return []
    least = max(FURTHER, scores[ranked[0]] - BEHIND)
    return [ranked[0], *(place for place in ranked[1:most] if scores[place] >= least)]


def _first_bar(message: str) -> float:
    return FIRST_IF_PERSONAL if _PERSONAL.search(message) else FIRST


async def load_standing_notes(deps: RetrievalDeps, scope: Scope) -> list[CurrentMemory]:
    """Load preferences and rules that hold whatever the topic. Raises `StoreDown`."""
    rows = await deps.store.all(Q["standing_notes"], hot=True, space=scope.space, agent=scope.agent, limit=STANDING)
    return [current_memory_from_row(row) for row in rows]


async def load_same_turn_memories(deps: RetrievalDeps, scope: Scope, memory: UUID) -> list[CurrentMemory]:
    """Load what else was said in the turn that taught a memory. Raises `StoreDown`."""
    rows = await deps.store.all(
        Q["companions"], hot=True, space=scope.space, agent=scope.agent, memory=memory, limit=2 * COMPANIONS
    )
    return [current_memory_from_row(row) for row in rows]


async def load_likely_updates(
    deps: RetrievalDeps, scope: Scope, memories: Collection[UUID]
) -> dict[UUID, CurrentMemory]:
    """Map memories to what was said later and probably replaces them. Raises `StoreDown`."""
    rows = await deps.store.all(
        Q["likely_updates"], hot=True, space=scope.space, agent=scope.agent, memories=sorted(memories)
    )
    return {row["asked"]: current_memory_from_row(row) for row in rows}
