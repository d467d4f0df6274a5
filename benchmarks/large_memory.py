"""Generates the statements of a large memory, and cues to recall them.

Endless distinct statements: a subject, common English words drawn by Zipf's law, and a number. Every fifth is
about one of a few subjects that many share. A cue is a handful of words of one statement. The same seed gives
the same statements and cues. `recalling` puts them into a store.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from random import Random

import wordfreq

from benchmarks.large_world import name

VOCABULARY = 20_000
SHARED = 0.2
"""The share of statements about a shared subject."""
SHARED_SUBJECTS = 500
WORDS = (8, 20)
CUE_WORDS = 6
LONG_CUE_WORDS = 500


@cache
def vocabulary() -> tuple[Sequence[str], Sequence[float]]:
    """Common words with their cumulative frequencies."""
    words = wordfreq.top_n_list("en", VOCABULARY)
    return words, list(accumulate(1 / rank for rank in range(1, len(words) + 1)))


def statements(seed: int) -> Iterator[str]:
    chance, number = Random(seed), 0  # noqa: S311 - texts to search, not secrets
    words, shares = vocabulary()
    while True:
        about = chance.randrange(SHARED_SUBJECTS) if chance.random() < SHARED else SHARED_SUBJECTS + number
        said = chance.choices(words, cum_weights=shares, k=chance.randint(*WORDS))
        yield f"{name(about).capitalize()} {' '.join(said)} {number}."
        number += 1


def cues(texts: Sequence[str], count: int, *, seed: int, words: int = CUE_WORDS) -> list[str]:
    """Questions made of words from some of the texts; a long one takes them from many."""
    chance = Random(seed)  # noqa: S311 - as above
    found = []
    for _ in range(count):
        said: list[str] = []
        while len(said) < words:
            # Without the number, which nobody would ask for.
            of_one = chance.choice(texts).split()[:-1]
            said += chance.sample(of_one, min(len(of_one), CUE_WORDS))
        found.append(f"What about {' '.join(said[:words])}?")
    return found
