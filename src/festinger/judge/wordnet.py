"""Which words does WordNet call opposites?

Debian's package `wordnet-base` puts the database where any program may read it. Where it is not installed there are
no antonyms here, and our own list stands alone. Only the pointers of antonymy are read, once.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from festinger.judge.stems import stem

FOLDER = Path("/usr/share/wordnet")
_PARTS = ("adj", "adv", "noun", "verb")
_ANTONYM = "!"
_HEADER = "  "
"""The licence at the top of each file is indented."""

_NOTHING: frozenset[str] = frozenset()


def antonyms(word: str) -> frozenset[str]:
    """The stems of the antonyms of a stem."""
    return _all(FOLDER).get(word, _NOTHING)


@cache
def _all(folder: Path) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for part in _PARTS:
        if (file := folder / f"data.{part}").is_file():
            _read(file, found)
    return {word: frozenset(against) for word, against in found.items()}


def _read(file: Path, found: dict[str, set[str]]) -> None:
    """Add the pairs of one file, whose pointers name a synset by its place and a word in it by its number."""
    words: dict[str, list[str]] = {}
    pointers: list[tuple[str, str, str]] = []
    for line in file.read_text(encoding="ascii", errors="replace").splitlines():
        if not line.startswith(_HEADER):
            place, held, against = _synset(line)
            words[place] = held
            pointers += [(place, target, numbers) for target, numbers in against]
    for place, target, numbers in pointers:
        source, other = divmod(int(numbers, 16), 256)
        if source and other and target in words:
            one, two = stem(words[place][source - 1]), stem(words[target][other - 1])
            found.setdefault(one, set()).add(two)


def _synset(line: str) -> tuple[str, list[str], list[tuple[str, str]]]:
    """Place, words, and the antonym pointers as (place, numbers of the two words)."""
    fields = line.split(" ")
    count = int(fields[3], 16)
    words = [fields[4 + 2 * at].partition("(")[0].lower().replace("_", " ") for at in range(count)]
    first = 5 + 2 * count
    pointers = [fields[first + 4 * at : first + 4 * at + 4] for at in range(int(fields[first - 1]))]
    return fields[0], words, [(each[1], each[3]) for each in pointers if each[0] == _ANTONYM]
