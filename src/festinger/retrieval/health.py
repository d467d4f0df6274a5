"""Do the counts of words agree with the texts, and how much sleeps?"""

from collections.abc import Iterable, Sequence

from festinger.ids import SpaceId
from festinger.memory.confidence import LOST_A_DAY, LOST_WHEN_STALE, STALE_AFTER_DAYS, STALE_BELOW_READS
from festinger.observability.checks import Check, ok, warn
from festinger.observability.metrics import DORMANT
from festinger.retrieval.desk import Desk
from festinger.store.queries import queries_of

Q = queries_of("festinger.retrieval")

SAMPLE = 50
"""Words of each space that are counted anew."""


async def check_words(desk: Desk, spaces: Sequence[SpaceId]) -> Check:
    """Count a sample of words anew. Where texts wait to be counted nothing can be said yet."""
    counts = [await desk.store.one(Q["counts_differ"], space=space, limit=SAMPLE) for space in spaces]
    waiting = sum(row["waiting"] for row in counts)
    wrong = sum(row["wrong"] for row in counts if not row["waiting"])
    if wrong:
        return warn(
            "retrieval.words",
            f"{wrong} of {sum(row['looked'] for row in counts)} words are counted wrongly.",
            "Run `festinger reembed --words`.",
            wrong=wrong,
        )
    later = f"; {waiting:,} texts wait to be counted" if waiting else ""
    return ok("retrieval.words", f"The counts of words agree with the texts{later}.")


async def measure(desk: Desk, spaces: Iterable[SpaceId]) -> None:
    """Move the gauge to how many memories sleep now."""
    DORMANT.set(sum([await sleeping(desk, space) for space in spaces]))


async def sleeping(desk: Desk, space: SpaceId) -> int:
    """How many memories of a space come to mind only by a strong cue."""
    settings = desk.terms(space).retrieval
    row = await desk.store.one(
        Q["count_dormant"],
        space=space,
        at=desk.clock(),
        kinds=list(settings.dormant_kinds),
        below=settings.dormant_below,
        lost_a_day=LOST_A_DAY,
        lost_when_stale=LOST_WHEN_STALE,
        stale_after=STALE_AFTER_DAYS,
        stale_below=STALE_BELOW_READS,
    )
    return int(row["sleeping"])
