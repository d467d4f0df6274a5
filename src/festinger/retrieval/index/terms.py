"""Maintains word counts, the parts of identifiers, and which spaces hold anything.

A job reads the outbox for learned, edited and withdrawn texts and updates the counts in batches, so that
learning pays nothing. It counts by state, not by difference, so that a text counted twice counts once. A new
text is searchable at once, whatever the counts say. The word index keeps identifiers whole; their parts are
indexed separately so that half a path or number finds them. A space that holds something is cached as such
forever; an empty one for a moment or until this process stores something there, so that interfaces asking
with every request pay little.
"""

import re
from collections.abc import Sequence
from uuid import UUID

from festinger.clock import Stopwatch
from festinger.events.outbox import read_events_after
from festinger.ids import SpaceId
from festinger.retrieval.candidate import MEMORY, TURN
from festinger.retrieval.deps import RetrievalDeps
from festinger.store.pool import Store, Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.retrieval")

_IDENTIFIER = re.compile(
    r"(?<![^\W_])[^\W_]++(?:[-_./:@#+\\]++[^\W_]++)++|(?<!\w)(?=[^\W\d]*+\d)(?=[\d_]*+[^\W\d_])\w++"
)
"""Words joined by signs, or mixed letters and digits. Tried only at the start of a word: otherwise each
position in a long word would scan the rest of it."""
_PIECE = re.compile(r"[^\W\d_]+|\d+")
SHORTEST = 2
MOST_PIECES = 200


def identifier_parts(text: str) -> list[str]:
    """Return the distinct lowercase parts of all identifiers in a text, without words that stand alone."""
    found: dict[str, None] = {}
    for identifier in _IDENTIFIER.findall(text.lower()):
        joined = re.findall(r"[^\W_]+", identifier)
        parts = [*joined, *(piece for word in joined for piece in _PIECE.findall(word))]
        found |= dict.fromkeys(part for part in parts if len(part) >= SHORTEST and part != identifier)
    return list(found)[:MOST_PIECES]


async def update_identifier_parts(transaction: Transaction, space: SpaceId, source: str, refs: Sequence[UUID]) -> None:
    """Update the identifier parts of some texts."""
    rows = await transaction.all(Q["texts_of"], space=space, source=source, refs=list(refs))
    found = [(row["ref"], piece) for row in rows for piece in identifier_parts(row["content"])]
    await transaction.run(
        Q["keep_pieces"],
        space=space,
        source=source,
        refs=list(refs),
        owners=[ref for ref, _ in found],
        pieces=[piece for _, piece in found],
    )


BATCH = 500
EVENTS = 1_000
"""Events read per batch."""

HEARD = {
    "fact_learned": ("memory",),
    "memory_superseded": ("old", "new"),
    "memory_merged": ("memory", "into"),
    "memory_archived": ("memory",),
    "memory_restored": ("memory",),
    "memory_held": ("memory", "against"),
    "memory_quarantined": ("memory",),
    "memory_released": ("memory",),
    "memory_edited": ("memory",),
}
"""Events that change the current words, and the source of those words."""


async def queue_for_counting(
    deps: RetrievalDeps, transaction: Transaction, space: SpaceId, source: str, refs: Sequence[UUID]
) -> None:
    await transaction.run(Q["wait_for_counting"], space=space, source=source, refs=sorted(refs), at=deps.clock())


async def count_words_of_changed_texts(deps: RetrievalDeps, space: SpaceId) -> int:
    """Count texts that were added, removed or changed since the last run; returns how many."""
    while await _queue_changed_texts(deps, space):
        pass
    counted = 0
    while taken := await _count_batch(deps, space):
        counted += taken
    return counted


async def _queue_changed_texts(deps: RetrievalDeps, space: SpaceId) -> bool:
    """Queue the texts changed by the next events; returns whether there may be more."""
    async with deps.store.transaction() as transaction:
        await transaction.run(Q["begin_hearing"], space=space)
        heard = await transaction.value(Q["heard_until"], space=space)
        events, until = await read_events_after(transaction, [space], names=list(HEARD), after=heard, limit=EVENTS)
        refs = {UUID(event.payload[name]) for event in events for name in HEARD[event.name]}
        if refs:
            await queue_for_counting(deps, transaction, space, MEMORY, list(refs))
        is_full = len(events) == EVENTS
        await transaction.run(Q["hear_until"], space=space, seq=events[-1].seq if is_full else until)
    return is_full


async def recount_words(deps: RetrievalDeps, space: SpaceId) -> int:
    """Recount everything; returns how many texts."""
    async with deps.store.transaction(patient=True) as transaction:
        await transaction.all(Q["lock_counts"], space=space)
        await transaction.run(Q["forget_counts"], space=space)
        rows = await transaction.all(Q["recount_words"], space=space)
        texts = await transaction.all(Q["every_text"], space=space)
        for source in (MEMORY, TURN):
            refs = [text["ref"] for text in texts if text["source"] == source]
            for start in range(0, len(refs), BATCH):
                await update_identifier_parts(transaction, space, source, refs[start : start + BATCH])
    return sum(row["docs"] for row in rows)


async def _count_batch(deps: RetrievalDeps, space: SpaceId) -> int:
    async with deps.store.transaction() as transaction:
        rows = await transaction.all(Q["take_waiting"], space=space, limit=BATCH)
        await update_word_counts(transaction, space, [(row["source"], row["ref"]) for row in rows])
    return len(rows)


async def update_word_counts(transaction: Transaction, space: SpaceId, texts: Sequence[tuple[str, UUID]]) -> None:
    """Update the counts for some texts, each given with its source."""
    if not texts:
        return
    await transaction.all(Q["lock_counts"], space=space)
    for source in sorted({source for source, _ in texts}):
        refs = [ref for kind, ref in texts if kind == source]
        await transaction.run(Q["count_words"], space=space, source=source, refs=refs)
        await update_identifier_parts(transaction, space, source, refs)


EMPTY_FOR = 1.0
"""Seconds for which a space seen empty is assumed empty."""


class NonEmptySpaces:
    """Which spaces hold memories, as far as this process knows."""

    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch = stopwatch
        self._held: set[SpaceId] = set()
        self._seen_empty: dict[SpaceId, float] = {}

    def may_have_memories(self, space: SpaceId) -> bool:
        """Whether asking is worthwhile; false only for a space just seen empty."""
        seen = self._seen_empty.get(space)
        return seen is None or self._stopwatch() - seen >= EMPTY_FOR

    def stored(self, space: SpaceId) -> None:
        """Note that something is being stored; if that fails, only one needless lookup is lost."""
        self._held.add(space)
        self._seen_empty.pop(space, None)

    async def holds(self, store: Store, space: SpaceId) -> bool:
        """Whether the space holds anything; queries only if unknown."""
        if space in self._held:
            return True
        if await store.value(Q["holds_memories"], hot=True, space=space):
            self.stored(space)
        elif space not in self._held:  # something may have been stored during the query
            self._seen_empty[space] = self._stopwatch()
        return space in self._held
