"""Do two requests ask for the same, as far as that can be told without a model?

Judges read statements: who has which value. A request has no such slot, so what they call a different subject is often
only another verb. Here only what matters to a request keeps two apart: numbers, denials, opposites, order, and one
phrase that stands for another. What is left is as sure as the words are near. Pure, and never more than a suggestion.
"""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from festinger.judge.model import ACCEPT, Guard, Judgement, Relation
from festinger.judge.rules.guards import Compared, compare
from festinger.judge.rules.parse import read
from festinger.judge.rules.words import stem
from festinger.proposals.fingerprint import DENIED, words_of

PARTING = frozenset({Guard.NUMBER, Guard.UNIT, Guard.NEGATION, Guard.ANTONYM, Guard.ORDER})
"""What keeps two requests apart however near they are; names and quantities of things do not."""

NEAREST = 0.9
"""A cosine from which nearness adds nothing to how sure this is."""
SUREST = 0.95
BY_RULES = "rules@"


class Suggested(StrEnum):
    SAME = "same"
    OPPOSITE = "opposite"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A proposal as it is held against another: its words, and what is left of them."""

    what: str
    normalised: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """What is suggested of two proposals; none if nothing is."""

    relation: Suggested | None
    confidence: float = 0.0
    why: str = ""


def likeness(a: Request, b: Request, said: Judgement, *, similarity: float, bar: float) -> Likeness:
    """What is suggested of two that lie at least as near as the bar, given what the judges said."""
    if turned := reversal(a.normalised, b.normalised):
        return Likeness(relation=Suggested.OPPOSITE, confidence=SUREST, why=turned)
    if said.relation is Relation.CONTRADICTS and said.confidence >= ACCEPT:
        return Likeness(relation=Suggested.OPPOSITE, confidence=said.confidence, why=said.reasoning)
    if said.relation is Relation.SAME and said.confidence >= ACCEPT:
        return Likeness(relation=Suggested.SAME, confidence=said.confidence, why=said.reasoning)
    asked_a_model = said.final and not said.judge.startswith(BY_RULES)
    if asked_a_model or not _nothing_parts(a.what, b.what):
        return Likeness(relation=None, why=said.reasoning)
    return Likeness(
        relation=Suggested.SAME,
        confidence=confidence(similarity, bar=bar),
        why=f"They are near ({similarity:.2f}) and nothing in the words parts them.",
    )


def confidence(similarity: float, *, bar: float) -> float:
    """How sure nearness alone makes: at the bar just enough to suggest, and never sure."""
    share = (similarity - bar) / max(NEAREST - bar, 1e-9)
    return round(ACCEPT + (SUREST - ACCEPT) * min(1.0, max(0.0, share)), 4)


def reversal(a: str, b: str) -> str:
    """In what two normalised texts go against each other; empty if in nothing."""
    left, right = words_of(a), words_of(b)
    if any(DENIED + word in right for word in left) or any(DENIED + word in left for word in right):
        return "One denies what the other asks for."
    if any(">".join(reversed(each.split(">"))) in _directions(b) for each in _directions(a)):
        return "One goes the other way round."
    one, other = _numbers(left), _numbers(right)
    return "They have other numbers." if one and other and one != other else ""


def _directions(normalised: str) -> set[str]:
    pairs = normalised.partition(" | ")[2].split()
    return {pair for pair in pairs if not pair.startswith("#") and len(set(pair.split(">"))) == 2}


def _numbers(words: frozenset[str]) -> Counter[str]:
    return Counter(word for word in words if word[:1].isdigit())


def _nothing_parts(a: str, b: str) -> bool:
    compared = compare(read(a), read(b))
    return not PARTING & set(compared.guards) and not _swapped(compared)


def _swapped(compared: Compared) -> bool:
    """Whether one phrase stands for another: nearness cannot tell a synonym from something else."""
    found = compared.difference
    return found.swapped and set(map(stem, found.old)) != set(map(stem, found.new))
