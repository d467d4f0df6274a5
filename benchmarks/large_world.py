"""Generates a large world and texts about it.

Names are meaningless syllables, each placed among earlier ones in several dimensions; prose is common English
in which some of them occur. The same seed gives the same world and texts. `thinking` puts it into a store.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

import wordfreq

from festinger.ids import Cause
from festinger.world.model import EdgeSource, WorldStatement

SYLLABLES = [f"{one}{other}" for one in "bdfgkmnprtvz" for other in ("a", "e", "i", "o", "u")]
PLACES = 4
"""Syllables of a name."""

SENTENCES_A_CUE = 20
NAMED = 0.02
"""The share of a text's words that are names of the world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeWorldSize:
    concepts: int
    edges_each: int
    dimensions: int = 40

    @property
    def edges(self) -> int:
        return self.concepts * self.edges_each


FULL, QUICK = (
    LargeWorldSize(concepts=100_000, edges_each=10),
    LargeWorldSize(concepts=300, edges_each=3, dimensions=6),
)


def name(number: int) -> str:
    """The name of a concept, or of a dimension if the number is negative."""
    if number < 0:
        return f"dim-{name(-number)}"
    rest, syllables = number * 7919 % len(SYLLABLES) ** PLACES, []
    for _ in range(PLACES):
        rest, syllable = divmod(rest, len(SYLLABLES))
        syllables.append(SYLLABLES[syllable])
    return "".join(syllables)


def statements(size: LargeWorldSize, *, seed: int, cause: Cause) -> Iterator[WorldStatement]:
    """Every edge of the world. A concept is only placed below earlier ones, so there are no cycles."""
    chance = Random(seed)  # noqa: S311 - a graph to measure, not a secret
    for concept in range(size.concepts):
        for dimension in chance.sample(range(1, size.dimensions + 1), size.edges_each):
            yield WorldStatement(
                concept=name(concept),
                parent=name(chance.randrange(concept)) if concept else "root-of-all",
                dimension=name(-dimension),
                is_isa=bool(dimension % 2),
                confidence=1.0,
                source=EdgeSource.GUTASK,
                cause=cause,
            )


class Prose:
    """Sentences of common English with names of the world in them."""

    def __init__(self, size: LargeWorldSize, *, seed: int | str) -> None:
        self._size = size
        self._chance = Random(seed)  # noqa: S311 - texts to read, not secrets
        self._words: Sequence[str] = wordfreq.top_n_list("en", 5000)
        # By rank: Zipf's law.
        self._shares = list(accumulate(1 / rank for rank in range(1, len(self._words) + 1)))

    def text(self, chars: int) -> str:
        """Text of this many characters."""
        said: list[str] = []
        length = 0
        while length < chars:
            said.append(self._sentence(len(said)))
            length += len(said[-1]) + 1
        return " ".join(said)[:chars]

    def _sentence(self, number: int) -> str:
        if number % SENTENCES_A_CUE == 0:
            return f"{self._name()} is a {self._name()} of {self._name().title()}."
        words = self._chance.choices(self._words, cum_weights=self._shares, k=self._chance.randint(6, 18))
        named = [self._name() if self._chance.random() < NAMED else word for word in words]
        return " ".join([named[0].capitalize(), *named[1:]]) + self._chance.choice(".....,;?\n")

    def _name(self) -> str:
        return name(self._chance.randrange(self._size.concepts))
