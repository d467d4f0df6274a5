"""Does a cue ask of somebody or something that nobody ever spoke of?

It does if it names something, and not one of the names was ever said, neither in a memory nor in a conversation. What
is nearest in meaning is then most likely about somebody else who did the same. One known name is enough to be known.
"""

from collections.abc import Iterable, Sequence

from festinger.retrieval.candidate import Candidate
from festinger.retrieval.words import Statistics

CUT = 3
"""Letters that a stem loses of its word at most; the last one of it may be another."""


def asks_of_strangers(
    names: Iterable[str],
    terms: Sequence[str],
    *,
    statistics: Iterable[Statistics],
    candidates: Sequence[Candidate],
) -> bool:
    """Whether none of the names of a cue was ever said, as far as counts and the candidates tell; its words are stems."""
    named = {term for term in terms for name in names if is_stem(term, name)}
    if not named or any(each.df.get(term) for each in statistics for term in named):
        return False
    # What was said a moment ago is not counted yet, but it is found.
    return not any(each.held.counts.get(term) for each in candidates for term in named)


def is_stem(term: str, word: str) -> bool:
    """Whether the database may have made this term of a word."""
    return term == word or (word.startswith(term[:-1]) and 0 <= len(word) - len(term) <= CUT)
