"""Generates what a person wants kept over a month, and the words in which it is said.

Facts of a life that somebody else wrote down, relations of made-up things, and facts of made-up people whose
value changes. A third is repeated later in other words, and the changing ones, a tenth of all, get another
value. Rewording is mechanical: synonyms, another order, a phrase in front. That is easier than life: its
numbers say that repeated statements are recognized, not how freely people paraphrase.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchmarks.large_world import name

AGAIN, CHANGED = 1 / 3, 1 / 10
"""The shares of truths that are repeated, and that change."""
RELATIONS = 1 / 4
"""The share of relations among the truths that do not change."""


class Form(StrEnum):
    """How a truth was said."""

    FIRST = "first"
    AGAIN = "again"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthSaying:
    """A truth as it is said once."""

    truth: str
    form: Form
    text: str
    is_relation: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What is said first, perhaps again, and perhaps with a later value."""

    id: str
    sayings: tuple[TruthSaying, ...]

    @property
    def changes(self) -> bool:
        return any(saying.form is Form.CHANGED for saying in self.sayings)


def truths(facts: Sequence[str], *, number: int, seed: int) -> list[Truth]:
    """This many truths; deterministic for a seed and facts."""
    chance = random.Random(seed)  # noqa: S311 - sentences to learn, not a secret
    changing = round(number * CHANGED)
    relations = max(round((number - changing) * RELATIONS), number - changing - len(facts))
    lives = chance.sample(list(facts), number - changing - relations)
    made = [
        *(_life(f"life {at}", text, chance) for at, text in enumerate(lives)),
        *(_relation(f"relation {at}", at, chance) for at in range(relations)),
        *(_changing(f"change {at}", at, chance) for at in range(changing)),
    ]
    repeated = set(chance.sample(range(len(made)), round(number * AGAIN)))
    return [truth if at in repeated else _once(truth) for at, truth in enumerate(made)]


def _once(truth: Truth) -> Truth:
    return Truth(id=truth.id, sayings=tuple(saying for saying in truth.sayings if saying.form is not Form.AGAIN))


def _life(id_: str, text: str, chance: random.Random) -> Truth:
    return Truth(
        id=id_,
        sayings=(
            TruthSaying(truth=id_, form=Form.FIRST, text=text),
            TruthSaying(truth=id_, form=Form.AGAIN, text=reworded(text, chance)),
        ),
    )


_KINDS = ("lamp", "river", "database", "website", "ferry", "library", "compiler", "bakery", "violin", "tractor")
_IS_A = ("{0} is a {1}.", "{0} is a kind of {1}.")
_IS_PART = ("{0} is part of {1}.", "{0} is a part of {1}.")


def _relation(id_: str, at: int, chance: random.Random) -> Truth:
    concept = name(300_000 + at)
    if chance.random() < 0.7:
        wordings, parent = _IS_A, chance.choice(_KINDS)
    else:
        wordings, parent = _IS_PART, name(400_000 + at // 3)
    first, again = chance.sample(wordings, 2)
    return Truth(
        id=id_,
        sayings=(
            TruthSaying(truth=id_, form=Form.FIRST, text=first.format(concept, parent), is_relation=True),
            TruthSaying(truth=id_, form=Form.AGAIN, text=again.format(concept, parent), is_relation=True),
        ),
    )


_CITIES = ("Bergen", "Porto", "Tartu", "Ghent", "Graz", "Cork", "Lugano", "Aarhus", "Brno", "Turku")
_JOBS = ("baker", "carpenter", "nurse", "pilot", "gardener", "librarian", "welder", "tailor", "geologist")
_COLOURS = ("teal", "crimson", "mauve", "amber", "olive", "indigo")
_CHANGING: Sequence[tuple[Sequence[str], str, str, str]] = (
    (_CITIES, "{0} lives in {1}.", "{0}'s home is in {1}.", "{0} moved to {1}."),
    (_JOBS, "{0} works as a {1}.", "{0}'s job is {1}.", "{0} now works as a {1}."),
    (
        _COLOURS,
        "{0}'s favourite colour is {1}.",
        "The favourite colour of {0} is {1}.",
        "{0}'s favourite colour is now {1}.",
    ),
    (
        [str(port) for port in range(2100, 9100, 700)],
        "The {0} server listens on port {1}.",
        "The port of the {0} server is {1}.",
        "The {0} server now listens on port {1}.",
    ),
)


def _changing(id_: str, at: int, chance: random.Random) -> Truth:
    values, first, again, changed = chance.choice(_CHANGING)
    who = name(500_000 + at).capitalize()
    before, after = chance.sample(list(values), 2)
    return Truth(
        id=id_,
        sayings=(
            TruthSaying(truth=id_, form=Form.FIRST, text=first.format(who, before)),
            TruthSaying(truth=id_, form=Form.AGAIN, text=again.format(who, before)),
            TruthSaying(truth=id_, form=Form.CHANGED, text=changed.format(who, after)),
        ),
    )


_SAME = {
    "started": "began",
    "wants to": "would like to",
    "bought": "purchased",
    "currently": "at present",
    "recently": "lately",
    "a lot of": "many",
    "because": "since",
    "enjoys": "likes",
    "loves": "adores",
    "is planning to": "plans to",
    "is considering": "considers",
    "thinks": "believes",
    "received": "got",
    "finds": "considers",
    "is excited about": "looks forward to",
    "is": "'s",
}
"""Phrases and their alternatives. The last is tried when none of the others is in the text."""

_IN_FRONT = ("", "Just so you know, ", "As I said before, ", "By the way, ")


def reworded(text: str, chance: random.Random) -> str:
    """The same in other words: listed phrases are exchanged, and a phrase may be put in front."""
    said = text
    for this, other in _SAME.items():
        pattern = rf"(?<=\w) {re.escape(this)}\b" if other == "'s" else rf"\b{re.escape(this)}\b"
        if (other != "'s" or said == text) and re.search(pattern, said):
            said = re.sub(pattern, other, said, count=1)
    front = chance.choice(_IN_FRONT[1:] if said == text else _IN_FRONT)
    return f"{front}{said}"
