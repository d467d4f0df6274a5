"""Derives the keys of slots, how many values an attribute can have, and facts of a life told in passing.

Lists give the cardinality of common attributes; otherwise grammar often does: `The capital of X` is one
thing, and something that *was founded* was founded once. If neither tells, it is unknown and nothing is
replaced. Keys are lowercase, without articles, and stemmed where word forms must match. Facts told in passing
have no frame of their own (`an only child` has no siblings, `she/her pronouns` tell a gender, `born and
raised in` a place). They are read only in sentences whose first words are about the speaker; what is said
about others by name is left alone.
"""

import re
from enum import StrEnum
from functools import cache

from festinger.judge.model import Cardinality, Slot
from festinger.judge.rules.words import load_phrases, load_words, load_words_of_kind, stem
from festinger.text.words import FUNCTION_WORDS

_PREPOSITIONS = load_words_of_kind("grammar", "preposition")


class SentenceKind(StrEnum):
    """The kind of sentence in which a value is given."""

    PLAIN = "plain"
    OWNED = "owned"
    """`S's A is V`."""
    DEFINITE = "definite"
    """`The A of S is V`: there is exactly one."""
    ANSWER = "answer"
    """A question with a yes or no."""
    LABEL = "label"
    """`A: V`: a line of a record."""
    TYPED = "typed"
    """`works in the field of V`: names the type of the value."""
    PASSIVE_PAST = "passive past"
    """`was founded by V`: an event that happens once."""
    COUNT = "count"
    """`has N of them`."""
    SCENE = "scene"
    """`is drinking V`: happening now, not a habit."""
    QUALIFIED = "qualified"
    """`is V when …`: one of several, each under its own condition."""


@cache
def _stemmed(name: str) -> frozenset[str]:
    return frozenset(map(stem, load_words(name)))


@cache
def _relations(name: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(map(stem, phrase)) for phrase in load_phrases(name))


_NAMING = frozenset({"call", stem("name")})
_DEFINITE = frozenset({SentenceKind.TYPED, SentenceKind.OWNED, SentenceKind.DEFINITE, SentenceKind.LABEL})


def attribute_cardinality(attribute: str, *, frame: SentenceKind) -> Cardinality:
    """Return how many values the attribute (stems separated by spaces) has at a time."""
    stems = tuple(attribute.split())
    if frame in (SentenceKind.COUNT, SentenceKind.ANSWER):
        return Cardinality.ONE if _stemmed("fixed_nouns").isdisjoint(stems) else Cardinality.FIXED
    if _is_one_of_many(stems, frame):
        return Cardinality.MANY
    if _is_fixed(stems):
        return Cardinality.FIXED
    if frame is SentenceKind.QUALIFIED:
        return Cardinality.MANY
    if frame is SentenceKind.PASSIVE_PAST and stems and stems[-1] in _PREPOSITIONS:
        return Cardinality.FIXED
    if frame in _DEFINITE or _is_listed(stems, "one_at_a_time"):
        return Cardinality.ONE
    if frame is SentenceKind.SCENE:
        return Cardinality.UNKNOWN
    return Cardinality.MANY if stems[:1] and stems[0] in _stemmed("many_verbs") else Cardinality.UNKNOWN


def _is_one_of_many(stems: tuple[str, ...], frame: SentenceKind) -> bool:
    """Whether it is `My friend is …` or `My hobby: …`; `my favorite drink` or `Afternoon drink: …` is one."""
    if frame not in (SentenceKind.OWNED, SentenceKind.LABEL) or _head(stems) not in _stemmed("many_nouns"):
        return False
    return len(stems) == 1 if frame is SentenceKind.LABEL else _UNIQUE.isdisjoint(stems)


_UNIQUE = frozenset(map(stem, load_words_of_kind("grammar", "unique")))


def _is_fixed(stems: tuple[str, ...]) -> bool:
    is_fixed_noun = bool(stems) and stems[-1] in _stemmed("fixed_nouns")
    return is_fixed_noun or "birth" in stems or _is_listed(stems, "fixed_attributes")


def _head(stems: tuple[str, ...]) -> str:
    """Return the noun that an attribute is about."""
    return next((each for each in reversed(stems) if each not in _NAMING), "")


def _is_listed(stems: tuple[str, ...], name: str) -> bool:
    listed = _relations(name)
    return any(stems[start:end] in listed for start in range(len(stems)) for end in (start + 1, start + 2, start + 3))


LONGEST_VALUE = 60
"""Words; a longer value means it was not a slot."""

ARTICLES = load_words_of_kind("grammar", "article")
WORD = re.compile(r"[^\W_]++(?:['.@/_+#&:-]++[^\W_]++)*+(?:\+\+|#(?!\w))?")


def attribute_key(written: tuple[str, ...], *, without: str = "") -> str:
    left_out = set(without.split())
    kept = [strip_possessive(word.casefold()) for word in written]
    named = [word for word in kept if word not in FUNCTION_WORDS and word not in left_out]
    tastes = load_words("taste_nouns")
    while len(named) > 1 and named[-1] in tastes:
        named.pop()
    return " ".join(map(stem, named))


def value_key(written: tuple[str, ...]) -> str:
    return phrase_key(written) if len(written) <= LONGEST_VALUE else ""


def phrase_key(written: tuple[str, ...]) -> str:
    return " ".join(strip_possessive(word.casefold()) for word in written if word.casefold() not in ARTICLES)


def strip_possessive(word: str) -> str:
    return word.removesuffix("'s").rstrip("'")


USER = "user"
"""The speaker, however named: `I`, `my`, `the user`."""

_ABOUT_USER = re.compile(r"\s*(?:the user|users?|i|my|we|they|their|he|she|his|her)\b", re.IGNORECASE)
_NOBODY_NAMED = re.compile(r"\s*(?:born|raised|\w+(?:ly|ed)\s[a-z]|all\s[a-z])", re.IGNORECASE)
_PLACE = r"([A-Z][^.;]*?)(?=\s(?:and|as|in|on|to|where|when|with|but|before|since)\b|[.;]|$)"
_FEMALE = re.compile(
    r"\bshe/her\b|\b(?:identif\w+|registered|presents?|known|listed) as (?:a )?(?:female|woman|girl)\b"
)
_MALE = re.compile(r"\bhe/him\b|\b(?:identif\w+|registered|presents?|known|listed) as (?:a )?(?:male|man|boy)\b")
_ALONE = re.compile(
    r"\bonly child\b|\b(?:no|without(?: any)?|never had(?: any)?) (?:siblings|brothers (?:or|and) sisters)\b"
)
_BORN = re.compile(rf"\b[Bb]orn(?: and raised)? in {_PLACE}")
_LISTED_BIRTH = re.compile(
    r"\b(?:lists?|show|give)s? ([A-Z][^.;]{0,100}?) as (?:the|their|his|her) (?:place of birth|birthplace)"
)
_STUDIED = re.compile(
    rf"\b(?:degrees?|coursework|diplomas?|majored|bachelor'?s?|master'?s?)(?: and [a-z]+){{0,2}} in {_PLACE.replace('[A-Z]', '[A-Za-z]')}"
)
_KIN_NAMED = re.compile(
    r"\b(?:their|my|his|her|the user's|user's) (father|mother|brother|sister|wife|husband|partner)(?:'s name is| is (?:called|named)) "
    r"((?:[A-Z][\w'-]*\s?)+)"
)
_COUNTED = re.compile(r"\b(?:has|have) (\d+) sibling")


def extract_life_facts(text: str) -> tuple[Slot, ...]:
    """Extract what a sentence about the speaker tells in passing."""
    if not (_ABOUT_USER.match(text) or _NOBODY_NAMED.match(text)):
        return ()
    small = text.casefold()
    found = [
        *_gender(small),
        *_siblings(small),
        *(_fact("bear in", match[1]) for match in (_BORN.search(text), _LISTED_BIRTH.search(text)) if match),
        *(_fact("major", match[1]) for match in [_STUDIED.search(text)] if match),
        *(_fact(f"{match[1]} nam", match[2]) for match in [_KIN_NAMED.search(text)] if match),
    ]
    return tuple(found)


def _gender(small: str) -> list[Slot]:
    female, male = _FEMALE.search(small), _MALE.search(small)
    if bool(female) == bool(male):
        return []
    return [_fact("gender", "female" if female else "male")]


def _siblings(small: str) -> list[Slot]:
    if counted := _COUNTED.search(small):
        return [_fact("sibl", "no" if int(counted[1]) == 0 else "yes")]
    return [_fact("sibl", "no")] if _ALONE.search(small) else []


def _fact(attribute: str, value: str) -> Slot:
    words = re.findall(r"[^\W_]+(?:['-][^\W_]+)*", value.casefold())
    return Slot(subject=USER, attribute=attribute, value=" ".join(words), holding=Cardinality.FIXED)
