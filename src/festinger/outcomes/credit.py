"""Who among the notes that helped gets how much of the credit?

The gains of one reply sum to at most one. The caller may say how they are shared; else the words that only a note
could have brought decide, and without any such knowledge all get the same. Pure.
"""

import math
from collections.abc import Collection, Mapping
from typing import TypeVar

from festinger.errors import BadInput

Id = TypeVar("Id")


def shares(acted: Collection[Id], credit: Mapping[Id, float] | None = None) -> dict[Id, float]:
    """The share of each memory that was acted on."""
    if credit is None:
        return {each: 1.0 / len(acted) for each in acted}
    for id_, share in credit.items():
        if not math.isfinite(share) or share < 0:
            raise BadInput(f"A credit is 0 or more; {share} (for `{id_}`) is not.")
    total = math.fsum(credit.get(each, 0.0) for each in acted)
    return {each: credit.get(each, 0.0) / total if total else 0.0 for each in acted}


def shares_by_words(own: Mapping[Id, Mapping[str, float]]) -> dict[Id, float]:
    """The share of each note by its own words that were said, with their worth; what k notes share counts 1/k each."""
    holders: dict[str, int] = {}
    for words in own.values():
        for word in words:
            holders[word] = holders.get(word, 0) + 1
    worth = {
        id_: math.fsum(value / holders[word] for word, value in words.items()) for id_, words in own.items()
    }
    total = math.fsum(worth.values())
    return {id_: value / total for id_, value in worth.items()} if total else shares(list(own))
