"""What should come to mind by itself now?

What has a cycle or presses more the longer it is left alone, and is strong enough at this moment. Everything else fades
so slowly that it would always be due. How strength moves with time is `outcomes`' matter.

What is left of recalling when memories are forgotten, or words were kept long enough?

Nothing that tells of them: the recalls that brought them to mind go with what was asked, and so do the words that only
they held. What was said in the same words was cut where it is kept; here it leaves the index, and comes back as it is
now. What came to mind with them, and what helped with which question, goes with their rows. Of what was said long ago
and is not kept any longer only the recalls stay, which name it and do not repeat it.

Do the counts of words agree with the texts, and how much sleeps?
"""

from collections.abc import Iterable, Sequence
from uuid import UUID

from festinger.ids import SpaceId
from festinger.memory.changes import find_memories
from festinger.memory.confidence import LOST_A_DAY, LOST_WHEN_STALE, STALE_AFTER_DAYS, STALE_BELOW_READS
from festinger.memory.model import Scope
from festinger.observability.checks import Check, ok_check, warning_check
from festinger.observability.metrics import DORMANT
from festinger.outcomes.store import RankedMemory, load_states, memory_strength
from festinger.retrieval.candidate import MEMORY, TURN
from festinger.retrieval.deps import RetrievalDeps
from festinger.retrieval.index.terms import update_word_counts
from festinger.retrieval.index.turns import unindex_redacted_turns
from festinger.retrieval.query import RecallQuery
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.retrieval")

ANYTHING = RecallQuery(cue="")
"""No filter at all."""
MOST_MEASURED = 10_000


async def list_due_memories(
    deps: RetrievalDeps, place: Scope, *, limit: int = 5, wish: RecallQuery = ANYTHING
) -> list[RankedMemory]:
    """Memories that are due, strongest first; of a wish only its filters count. Raises `StoreDown`."""
    terms, now = deps.terms(place.space).outcomes, deps.clock()
    async with deps.store.transaction() as transaction:
        rows = await transaction.all(
            Q["may_be_due"], space=place.space, agent=place.agent, limit=MOST_MEASURED, **wish.parameters()
        )
        found = await find_memories(transaction, place.space, [row["id"] for row in rows])
        states = await load_states(transaction, place.space, found, terms=terms)
    measured = [
        RankedMemory(memory=memory, strength=memory_strength(memory, states[id_], now=now, terms=terms))
        for id_, memory in found.items()
    ]
    strong = [each for each in measured if each.strength >= terms.surfacing_threshold]
    return sorted(strong, key=lambda each: (-each.strength, each.memory.id))[:limit]


_ERASING = ("forget_recalls", "forget_hits", "forget_parts")


async def erase_recall_data(transaction: Transaction, space: SpaceId, memories: Sequence[UUID]) -> None:
    """Erase what recalling knows of memories. Told twice, it finds nothing the second time."""
    turns = await unindex_redacted_turns(transaction, space)
    for name in _ERASING:
        await transaction.run(Q[name], space=space, refs=[*memories, *turns])
    await _update_counts(transaction, space, [*((MEMORY, ref) for ref in memories), *((TURN, ref) for ref in turns)])


async def forget_old_turns(deps: RetrievalDeps, space: SpaceId) -> int:
    """Erase the words of turns that are not kept any longer; how many turns."""
    async with deps.store.transaction() as transaction:
        rows = await transaction.all(Q["unindex_old_turns"], space=space)
        turns = [row["turn_id"] for row in rows]
        await transaction.run(Q["forget_parts"], space=space, refs=turns)
        await _update_counts(transaction, space, [(TURN, ref) for ref in turns])
    return len(turns)


async def _update_counts(transaction: Transaction, space: SpaceId, texts: Sequence[tuple[str, UUID]]) -> None:
    """Let texts that are gone count no longer, and let go of the words that only they held."""
    await update_word_counts(transaction, space, texts)
    await transaction.run(Q["drop_words"], space=space)


SAMPLE = 50
"""Words of each space that are counted anew."""


async def check_word_counts(deps: RetrievalDeps, spaces: Sequence[SpaceId]) -> Check:
    """Count a sample of words anew. Where texts wait to be counted nothing can be said yet."""
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


async def measure_dormant(deps: RetrievalDeps, spaces: Iterable[SpaceId]) -> None:
    """Move the gauge to how many memories sleep now."""
    DORMANT.set(sum([await count_dormant(deps, space) for space in spaces]))


async def count_dormant(deps: RetrievalDeps, space: SpaceId) -> int:
    """How many memories of a space come to mind only by a strong cue."""
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
