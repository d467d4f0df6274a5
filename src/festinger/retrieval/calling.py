"""By which names can a memory be called?

By its tags, as far as they are words: `k8s` and `CI pipeline` name what it tells of. It is found by their words in the
moment it is stored, and a cue in which one of them stands whole calls it. A tag with a colon, like `domain:code`, is a
label to filter by that nobody says; the table leaves it out too.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

LABEL = ":"
SHORTEST = 2
MOST_BEARERS = 5
"""What more memories bear is no name but a class of them: `work` calls none of them."""

_WORD = re.compile(r"[^\W_]+")


def names_of(tags: Iterable[str]) -> list[str]:
    return [tag for tag in tags if LABEL not in tag and len(spoken(tag)) >= SHORTEST]


def spoken(text: str) -> str:
    """The words of a text in small letters, and nothing between them."""
    return " ".join(_WORD.findall(text.casefold()))


def called_by(tags: Sequence[str], said: str) -> tuple[str, ...]:
    """The names that stand whole in what was said, which is given as `spoken`."""
    if not tags:
        return ()
    return tuple(name for name in names_of(tags) if f" {spoken(name)} " in f" {said} ")


def callings(many: Sequence[Sequence[str]], text: str) -> list[tuple[str, ...]]:
    """Of each of many memories, by their tags, the names by which a text calls it and few others."""
    said = spoken(text)
    called = [called_by(tags, said) for tags in many]
    bearers = Counter(name for names in called for name in names)
    return [tuple(name for name in names if bearers[name] <= MOST_BEARERS) for names in called]
