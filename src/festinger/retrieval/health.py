"""Do the counts of words agree with the texts?"""

from collections.abc import Sequence

from festinger.ids import SpaceId
from festinger.retrieval.desk import Desk
from festinger.seeing.checks import Check, ok, warn
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
