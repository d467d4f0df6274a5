"""By which pieces can a number, a path or an address be found?

The index of words keeps what looks like an identifier whole: whoever remembers half of it would not find it. So its
pieces are kept apart, and a word of a cue that is such a piece counts as a word that the text holds.
"""

import re
from collections.abc import Sequence
from uuid import UUID

from festinger.ids import SpaceId
from festinger.store.pool import Transaction
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


def pieces(text: str) -> list[str]:
    """The pieces of all identifiers in a text, in small letters, each once; what stands there alone is none."""
    found: dict[str, None] = {}
    for identifier in _IDENTIFIER.findall(text.lower()):
        joined = re.findall(r"[^\W_]+", identifier)
        parts = [*joined, *(piece for word in joined for piece in _PIECE.findall(word))]
        found |= dict.fromkeys(part for part in parts if len(part) >= SHORTEST and part != identifier)
    return list(found)[:MOST_PIECES]


async def keep_pieces(transaction: Transaction, space: SpaceId, source: str, refs: Sequence[UUID]) -> None:
    """Bring the pieces of some texts up to what those say now."""
    rows = await transaction.all(Q["texts_of"], space=space, source=source, refs=list(refs))
    found = [(row["ref"], piece) for row in rows for piece in pieces(row["content"])]
    await transaction.run(
        Q["keep_pieces"],
        space=space,
        source=source,
        refs=list(refs),
        owners=[ref for ref, _ in found],
        pieces=[piece for _, piece in found],
    )
