"""How many values can an attribute have?

Lists say it for usual attributes; where none does, grammar often does. `The capital of X` speaks of one thing, and
so does `plays the position of`; something that *was founded* was founded once. What neither list nor grammar tells
is unknown, and then nothing is replaced.
"""

from enum import StrEnum
from functools import cache

from festinger.judge.statement import Holding
from festinger.judge.stems import stem
from festinger.judge.wordlists import members, phrases, words

_PREPOSITIONS = members("grammar", "preposition")


class Frame(StrEnum):
    """In which kind of sentence a value is given."""

    PLAIN = "plain"
    OWNED = "owned"
    """`S's A is V`."""
    DEFINITE = "definite"
    """`The A of S is V`: there is one of them."""
    ANSWER = "answer"
    """A question with its yes or no."""
    LABEL = "label"
    """`A: V`: a line of a record."""
    TYPED = "typed"
    """`works in the field of V`: with the kind of thing that the value is."""
    PASSIVE_PAST = "passive past"
    """`was founded by V`: an event that happens once."""
    COUNT = "count"
    """`has N of them`."""
    SCENE = "scene"
    """`is drinking V`: what goes on now, not what one does."""
    QUALIFIED = "qualified"
    """`is V when …`: one of several, each under its own condition."""


@cache
def _stemmed(name: str) -> frozenset[str]:
    return frozenset(map(stem, words(name)))


@cache
def _relations(name: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(map(stem, phrase)) for phrase in phrases(name))


_NAMING = frozenset({"call", stem("name")})
_DEFINITE = frozenset({Frame.TYPED, Frame.OWNED, Frame.DEFINITE, Frame.LABEL})


def holding(attribute: str, *, frame: Frame) -> Holding:
    """How many values the attribute (stems between blanks) has at a time."""
    stems = tuple(attribute.split())
    if frame in (Frame.COUNT, Frame.ANSWER):
        return Holding.FIXED if _any(stems, "fixed_nouns") else Holding.ONE
    if _is_one_of_many(stems, frame):
        return Holding.MANY
    if _is_fixed(stems):
        return Holding.FIXED
    if frame is Frame.QUALIFIED:
        return Holding.MANY
    if frame is Frame.PASSIVE_PAST and stems and stems[-1] in _PREPOSITIONS:
        return Holding.FIXED
    if frame in _DEFINITE or _is_listed(stems, "one_at_a_time"):
        return Holding.ONE
    if frame is Frame.SCENE:
        return Holding.UNKNOWN
    return Holding.MANY if stems[:1] and stems[0] in _stemmed("many_verbs") else Holding.UNKNOWN


def _is_one_of_many(stems: tuple[str, ...], frame: Frame) -> bool:
    """`My friend is …`, `My hobby: …`; but `my favourite drink` and `Afternoon drink: …` say which one."""
    if frame not in (Frame.OWNED, Frame.LABEL) or _head(stems) not in _stemmed("many_nouns"):
        return False
    return len(stems) == 1 if frame is Frame.LABEL else _UNIQUE.isdisjoint(stems)


_UNIQUE = frozenset(map(stem, members("grammar", "unique")))


def _is_fixed(stems: tuple[str, ...]) -> bool:
    is_fixed_noun = bool(stems) and stems[-1] in _stemmed("fixed_nouns")
    return is_fixed_noun or "birth" in stems or _is_listed(stems, "fixed_attributes")


def _head(stems: tuple[str, ...]) -> str:
    """The noun that an attribute is about."""
    return next((each for each in reversed(stems) if each not in _NAMING), "")


def _any(stems: tuple[str, ...], name: str) -> bool:
    return not _stemmed(name).isdisjoint(stems)


def _is_listed(stems: tuple[str, ...], name: str) -> bool:
    listed = _relations(name)
    return any(
        stems[start:end] in listed for start in range(len(stems)) for end in (start + 1, start + 2, start + 3)
    )
