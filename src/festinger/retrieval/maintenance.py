"""Erases recall data, checks word counts and measures dormant memories.

Forgetting memories deletes the recalls that returned them, with their cues, and the words that only they held; turns
whose words were redacted are indexed again. Turns past their retention leave only the recalls, which name
them and do not repeat them.
"""

from collections.abc import Iterable, Sequence
from uuid import UUID

from festinger.ids import SpaceId
from festinger.memory.confidence import LOST_A_DAY, LOST_WHEN_STALE, STALE_AFTER_DAYS, STALE_BELOW_READS
from festinger.observability.checks import Check, ok_check, warning_check
from festinger.observability.metrics import DORMANT
from festinger.retrieval.candidate import MEMORY, TURN
from festinger.retrieval.deps import RetrievalDeps
from festinger.retrieval.index.terms import update_word_counts
from festinger.retrieval.index.turns import unindex_redacted_turns
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.retrieval")


_ERASING = ("forget_recalls", "forget_hits", "forget_parts")


async def erase_recall_data(transaction: Transaction, space: SpaceId, memories: Sequence[UUID]) -> None:
    """Erase all recall data about memories. Idempotent."""
    turns = await unindex_redacted_turns(transaction, space)
    for name in _ERASING:
        await transaction.run(Q[name], space=space, refs=[*memories, *turns])
    await _update_counts(transaction, space, [*((MEMORY, ref) for ref in memories), *((TURN, ref) for ref in turns)])


async def unindex_expired_turns(deps: RetrievalDeps, space: SpaceId) -> int:
    """Erase the words of turns past their retention; returns how many turns."""
    async with deps.store.transaction() as transaction:
        rows = await transaction.all(Q["unindex_old_turns"], space=space)
        turns = [row["turn_id"] for row in rows]
        await transaction.run(Q["forget_parts"], space=space, refs=turns)
        await _update_counts(transaction, space, [(TURN, ref) for ref in turns])
    return len(turns)


async def _update_counts(transaction: Transaction, space: SpaceId, texts: Sequence[tuple[str, UUID]]) -> None:
    """Stop counting texts that are gone, and drop the words that only they held."""
    await update_word_counts(transaction, space, texts)
    await transaction.run(Q["drop_words"], space=space)


SAMPLE = 50
"""Words per space that are recounted."""


async def check_word_counts(deps: RetrievalDeps, spaces: Sequence[SpaceId]) -> Check:
    """Recount a sample of words; inconclusive while texts wait to be counted."""
    counts = [await deps.store.one(Q["counts_differ"], space=space, limit=SAMPLE) for space in spaces]
    waiting = sum(row["waiting"] for row in counts)
    wrong = sum(row["wrong"] for row in counts if not row["waiting"])
    if wrong:
        return warning_check(
            "retrieval.words",
            f"{wrong} of {sum(row['looked'] for row in counts)} words are counted wrongly.",
            "Run `festinger reembed --words`.",
            wrong=wrong,
        )
    later = f"; {waiting:,} texts wait to be counted" if waiting else ""
    return ok_check("retrieval.words", f"The counts of words agree with the texts{later}.")


async def update_dormant_gauge(deps: RetrievalDeps, spaces: Iterable[SpaceId]) -> None:
    """Set the gauge of dormant memories."""
    DORMANT.set(sum([await count_dormant(deps, space) for space in spaces]))


async def count_dormant(deps: RetrievalDeps, space: SpaceId) -> int:
    """Count the memories of a space that only a strong cue recalls."""
    settings = deps.terms(space).retrieval
    row = await deps.store.one(
        Q["count_dormant"],
        space=space,
        at=deps.clock(),
        kinds=list(settings.dormant_kinds),
        below=settings.dormant_below,
        lost_a_day=LOST_A_DAY,
        lost_when_stale=LOST_WHEN_STALE,
        stale_after=STALE_AFTER_DAYS,
        stale_below=STALE_BELOW_READS,
    )
    return int(row["sleeping"])
