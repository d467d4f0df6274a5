"""What is left of a forgotten word in what happened?

Events hold ids and numbers, and some of them the word that an id stood for. Who asks that a word be forgotten has it
replaced there too, in the transaction that erases it everywhere else; that something happened stays known.
"""

from collections.abc import Collection

from festinger.ids import SpaceId
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.events")

MARK = "[forgotten]"
FIELDS = ("token", "concept", "parent", "dim")
"""The fields of payloads that hold words of people."""


async def scrub_words(transaction: Transaction, space: SpaceId, words: Collection[str]) -> int:
    """Take words out of every event of a space; how many events held one."""
    if not words:
        return 0
    return await transaction.run(
        Q["scrub_words"], space=space, words=sorted(words), fields=list(FIELDS), mark=MARK
    )
