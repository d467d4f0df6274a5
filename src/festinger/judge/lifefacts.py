"""Which facts of a life does a sentence tell in passing?

Some attributes of a person are told in many ways that have no frame of their own: `an only child` has no siblings,
`she/her pronouns` tell a gender, `born and raised in` a place. They are read wherever they stand in a sentence about
the one who speaks, beside what its frame fills in. Of whom a sentence is about is told by its first words; what is
said of others, by name, is left alone.
"""

import re

from festinger.judge.statement import Holding, Slot

USER = "user"
"""The one who speaks, however named: `I`, `my`, `the user`."""

_ABOUT_USER = re.compile(r"\s*(?:the user|users?|i|my|we|they|their|he|she|his|her)\b", re.IGNORECASE)
_NOBODY_NAMED = re.compile(r"\s*(?:born|raised|\w+(?:ly|ed)\s[a-z]|all\s[a-z])", re.IGNORECASE)
_PLACE = r"([A-Z][^.;]*?)(?=\s(?:and|as|in|on|to|where|when|with|but|before|since)\b|[.;]|$)"
_FEMALE = re.compile(
    r"\bshe/her\b|\b(?:identif\w+|registered|presents?|known|listed) as (?:a )?(?:female|woman|girl)\b"
)
_MALE = re.compile(
    r"\bhe/him\b|\b(?:identif\w+|registered|presents?|known|listed) as (?:a )?(?:male|man|boy)\b"
)
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


def life_facts(text: str) -> tuple[Slot, ...]:
    """What a sentence about the one who speaks tells in passing."""
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
    return Slot(subject=USER, attribute=attribute, value=" ".join(words), holding=Holding.FIXED)
