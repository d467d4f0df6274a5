"""Which words does the judge know something about?

Plain text files in `lists/`, of our own writing: they hold what any grammar or picture dictionary would, and no word
because it stands in a test. How a list is used is left to the modules that read one.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

LISTS = Path(__file__).parent / "lists"


def lines(name: str) -> Iterator[str]:
    """The lines of a list, without its comments."""
    for line in (LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.strip()


@cache
def words(name: str) -> frozenset[str]:
    """The words of a list that is nothing but words."""
    return frozenset(word for line in lines(name) for word in line.split())


@cache
def phrases(name: str) -> frozenset[tuple[str, ...]]:
    """The phrases of a list with one a line, each as its words."""
    return frozenset(tuple(line.split()) for line in lines(name))


@cache
def kinds(name: str) -> Mapping[str, frozenset[str]]:
    """Which kinds a word is of, in a list of lines `kind: word word`."""
    found: dict[str, set[str]] = {}
    for line in lines(name):
        kind, _, members = line.partition(": ")
        for word in members.split():
            found.setdefault(word.replace("_", " "), set()).add(kind)
    return {word: frozenset(kinds_of) for word, kinds_of in found.items()}


@cache
def oppositions(name: str) -> Mapping[str, frozenset[str]]:
    """What a word or phrase stands against, in a list of lines `this | that | that too`."""
    found: dict[str, set[str]] = {}
    for line in lines(name):
        group = [word.strip() for word in line.split("|")]
        # The first stands against all others; the others may be near to each other.
        for other in group[1:]:
            found.setdefault(group[0], set()).add(other)
            found.setdefault(other, set()).add(group[0])
    return {word: frozenset(against) for word, against in found.items()}


@cache
def members(name: str, kind: str) -> frozenset[str]:
    """The words of one kind, in a list of lines `kind: word word`."""
    return frozenset(word for word, of in kinds(name).items() if kind in of)
