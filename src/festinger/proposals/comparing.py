"""Why are two proposals not one?

The words that only one of them has, and what the fingerprint cannot see. It knows spellings and not meanings, so that
it never joins by mistake; what means the same in other words is for `meaning` to suggest and for a person to say. Pure.
"""

from dataclasses import dataclass
from typing import Any

from festinger.proposals.fingerprint import DENIED, words_of
from festinger.proposals.proposal import Proposal

ONE = "They are one: nothing tells their words apart."
DENIES = "One asks for what the other denies, and a denial is never dropped."
TURNED = "The same words stand in another direction or with other numbers, and that is never dropped."
ELSEWHERE = "The words are the same, but they are of another category or scope."
SPELLINGS = (
    "The fingerprint knows spellings, not meanings: {left} and {right} are different words to it, whether or not they "
    "mean the same."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    a: str
    b: str
    """The normalised forms."""
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    why: str

    def as_json(self) -> dict[str, Any]:
        return {
            "a": self.a,
            "b": self.b,
            "only_a": list(self.only_a),
            "only_b": list(self.only_b),
            "why": self.why,
        }


def compare(a: Proposal, b: Proposal) -> Comparison:
    """What the fingerprint sees of two proposals."""
    left, right = words_of(a.normalised), words_of(b.normalised)
    only_a, only_b = tuple(sorted(left - right)), tuple(sorted(right - left))
    is_elsewhere = (a.category, a.scope) != (b.category, b.scope)
    return Comparison(
        a=a.normalised,
        b=b.normalised,
        only_a=only_a,
        only_b=only_b,
        why=_why(a.normalised, b.normalised, only_a=only_a, only_b=only_b, is_elsewhere=is_elsewhere),
    )


def _why(a: str, b: str, *, only_a: tuple[str, ...], only_b: tuple[str, ...], is_elsewhere: bool) -> str:
    if a == b:
        return ELSEWHERE if is_elsewhere else ONE
    bare = ({word.lstrip(DENIED) for word in only} for only in (only_a, only_b))
    if any(word.startswith(DENIED) for word in (*only_a, *only_b)) and set.intersection(*bare):
        return DENIES
    if not only_a and not only_b:
        return TURNED
    return SPELLINGS.format(left=_listed(only_a), right=_listed(only_b))


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words) or "nothing"
