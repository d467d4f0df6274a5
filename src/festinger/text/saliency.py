"""How much does a word stand out from common English?

Read from the packaged list of frequencies: what is never met stands out most, `the` not at all. The vocabulary of a
space, and what it has got used to, is left to `world`.
"""

from functools import cache

import wordfreq

MOST_FREQUENT = 8.0
"""Zipf frequency of the commonest words."""
_STEPS = 100
"""Steps of the packaged list in one of the Zipf scale."""


@cache
def _frequencies() -> dict[str, float]:
    ranked = wordfreq.get_frequency_list("en", wordlist="small")
    # The list begins at 9 on the Zipf scale and goes down by hundredths.
    return {word: 9 - place / _STEPS for place, words in enumerate(ranked) for word in words}


def outstanding(word: str) -> float:
    """From 0 for the commonest words to 8 for those that English does not know."""
    return max(0.0, MOST_FREQUENT - _frequencies().get(word.casefold(), 0.0))
