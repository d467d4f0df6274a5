"""How common is each word?

The counts follow the texts: a job reads in the outbox what was learnt, edited or put away, takes the old words out of
the counts and puts the new ones in. It reads many events at a time and keeps how far it came, so that learning pays
nothing for it. Counting is by state, not by difference, so that a text that is counted twice counts once. A text is
found in the moment it is stored, whatever the counts say.

By which pieces can a number, a path or an address be found?

The index of words keeps what looks like an identifier whole: whoever remembers half of it would not find it. So its
pieces are kept apart, and a word of a cue that is such a piece counts as a word that the text holds.

Is there anything to bring to mind in a space at all?

A door that asks with every request must not pay for a cue where nothing was ever learnt. A space that holds something
is known to for good; one that was seen empty counts as empty for a moment, or until this process stores something there.
What another process stores is seen when that moment is over.
"""

import re
from collections.abc import Sequence
from uuid import UUID

from festinger.clock import Stopwatch
from festinger.events.feed import read_events_after
from festinger.ids import SpaceId
from festinger.retrieval.candidate import MEMORY, TURN
from festinger.retrieval.deps import RetrievalDeps
from festinger.store.pool import Store, Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.retrieval")

_IDENTIFIER = re.compile(
    r"(?<![^\W_])[^\W_]++(?:[-_./:@#+\\]++[^\W_]++)++|(?<!\w)(?=[^\W\d]*+\d)(?=[\d_]*+[^\W\d_])\w++"
)
"""Words joined by signs, or letters and digits in one. Tried only where a word begins: within a long word each place
would look through the rest of it."""
_PIECE = re.compile(r"[^\W\d_]+|\d+")
SHORTEST = 2
MOST_PIECES = 200


def identifier_parts(text: str) -> list[str]:
    """The pieces of all identifiers in a text, in small letters, each once; what stands there alone is none."""
    found: dict[str, None] = {}
    for identifier in _IDENTIFIER.findall(text.lower()):
        joined = re.findall(r"[^\W_]+", identifier)
        parts = [*joined, *(piece for word in joined for piece in _PIECE.findall(word))]
        found |= dict.fromkeys(part for part in parts if len(part) >= SHORTEST and part != identifier)
    return list(found)[:MOST_PIECES]


async def update_identifier_parts(transaction: Transaction, space: SpaceId, source: str, refs: Sequence[UUID]) -> None:
    """Bring the pieces of some texts up to what those say now."""
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
"""Events that are read at a time."""

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
"""What changes the words that stand, and whose they are."""


async def queue_for_counting(
    deps: RetrievalDeps, transaction: Transaction, space: SpaceId, source: str, refs: Sequence[UUID]
) -> None:
    await transaction.run(Q["wait_for_counting"], space=space, source=source, refs=sorted(refs), at=deps.clock())


async def count_words(deps: RetrievalDeps, space: SpaceId) -> int:
    """Count what has come, gone or changed since the last time; how many texts."""
    while await _read_events(deps, space):
        pass
    counted = 0
    while taken := await _count_batch(deps, space):
        counted += taken
    return counted


async def _read_events(deps: RetrievalDeps, space: SpaceId) -> bool:
    """Note whose words some events have changed, from where reading stopped; whether there may be more."""
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
    """Count all anew; how many texts."""
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
    """Bring the counts up to what some texts, each with its source, say now."""
    if not texts:
        return
    await transaction.all(Q["lock_counts"], space=space)
    for source in sorted({source for source, _ in texts}):
        refs = [ref for kind, ref in texts if kind == source]
        await transaction.run(Q["count_words"], space=space, source=source, refs=refs)
        await update_identifier_parts(transaction, space, source, refs)


EMPTY_FOR = 1.0
"""Seconds for which a space that was seen empty is taken for empty."""


class NonEmptySpaces:
    """Which spaces hold memories, as far as this process knows."""

    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch = stopwatch
        self._held: set[SpaceId] = set()
        self._seen_empty: dict[SpaceId, float] = {}

    def may_hold(self, space: SpaceId) -> bool:
        """Whether asking is worth anything; says no only of a space that was just seen empty."""
        seen = self._seen_empty.get(space)
        return seen is None or self._stopwatch() - seen >= EMPTY_FOR

    def stored(self, space: SpaceId) -> None:
        """Something is being stored there. If that fails after all, nothing is lost but the price of asking."""
        self._held.add(space)
        self._seen_empty.pop(space, None)

    async def holds(self, store: Store, space: SpaceId) -> bool:
        """Whether there is anything; looks only where that is not known yet."""
        if space in self._held:
            return True
        if await store.value(Q["holds_memories"], hot=True, space=space):
            self.stored(space)
        elif space not in self._held:  # while looking, something may have been stored
            self._seen_empty[space] = self._stopwatch()
        return space in self._held
