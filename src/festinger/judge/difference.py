"""In which words do two readings differ?

What both begin and end with is set aside; what is left between is where they differ. Beside that, the words that
name something and stand on one side only. Time grows with the length of the texts. What a difference means is left
to `guards`.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from festinger.judge.opposites import exclusive, opposed
from festinger.judge.reading import Reading

LONGEST_PHRASE = 4
"""Words of a phrase that may be the opposite of another."""

_ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    old: tuple[str, ...]
    """The words of the old text between what both begin and end with."""
    new: tuple[str, ...]
    only_old: tuple[str, ...]
    """Stems of content words that the other text does not have."""
    only_new: tuple[str, ...]
    place: int
    """How many words both begin with."""

    @property
    def swapped(self) -> bool:
        """Whether a short phrase stands in the place of another, and all else is the same."""
        return 0 < len(self.old) <= LONGEST_PHRASE and 0 < len(self.new) <= LONGEST_PHRASE


def difference(old: Reading, new: Reading) -> Difference:
    left, right = _without_articles(old.words), _without_articles(new.words)
    begin = _common(left, right)
    end = _common(left[begin:][::-1], right[begin:][::-1])
    return Difference(
        old=left[begin : len(left) - end],
        new=right[begin : len(right) - end],
        only_old=_surplus(old.content, new.content),
        only_new=_surplus(new.content, old.content),
        place=begin,
    )


def _without_articles(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in _ARTICLES)


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))


def _surplus(content: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    return tuple((Counter(content) - Counter(other)).elements())


def opposition(found: Difference) -> str | None:
    """Which words stand against each other, if one is swapped with its opposite."""
    for one, other in _swaps(found):
        if opposed(one, other):
            return f"`{one}` stands against `{other}`"
    return None


def exclusion(found: Difference) -> str | None:
    """Which kind excludes the other, if a word is swapped with another of one kind."""
    for one, other in _swaps(found):
        if kind := exclusive(one, other):
            return f"`{one}` and `{other}` are of one kind ({kind}), and only one of them holds"
    return None


def _swaps(found: Difference) -> Iterator[tuple[str, str]]:
    """What stands in the place of what: a phrase, or one word wherever it is."""
    if found.swapped:
        yield " ".join(found.old), " ".join(found.new)
    if (
        len(found.only_old) == len(found.only_new)
        and len(set(found.only_old)) == len(set(found.only_new)) == 1
    ):
        yield found.only_old[0], found.only_new[0]
