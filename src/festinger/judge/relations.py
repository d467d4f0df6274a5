"""What does a clause say of its subject: where is its verb, and what stands between that and the value?

`is married to`, `plays the position of`, `used to live in`: the verb, its preposition, and the noun that says what
kind of thing the value is. Adverbs and negations are no part of a relation.
"""

from dataclasses import dataclass, field

from festinger.judge.holdings import Frame
from festinger.judge.slot_keys import ARTICLES
from festinger.judge.stems import stem
from festinger.judge.subjects import OURS, RELATIVES, SKIPPED
from festinger.judge.wordlists import members, words
from festinger.text.words import words as text_words

COPULAS = members("grammar", "copula")
AUXILIARIES = members("grammar", "auxiliary")
LEAST_PARTICIPLE = 4
"""Letters: `bed` and `king` are no participles."""

_PAST_COPULAS = members("grammar", "past_copula")
_DOING = members("grammar", "doing")
_PREPOSITIONS = members("grammar", "preposition")
_PASTS = members("grammar", "past")
_PRONOUNS = frozenset({"i", "we", "you", "they"})
_VERB_STEMS = frozenset(map(stem, words("verbs")))


@dataclass(slots=True)
class Relation:
    """What stands between subject and value."""

    stems: list[str] = field(default_factory=list)
    frame: Frame = Frame.PLAIN
    until: int = 0
    """The first word of the value."""


def verb_of(written: tuple[str, ...]) -> int | None:
    """The place of the main verb, as it is written in small letters."""
    first = next((at for at, word in enumerate(written) if at and word in COPULAS), None)
    relative = written and written[0].casefold() == "the" and not RELATIVES.isdisjoint(written[1:6])
    if relative:
        return max((at for at, word in enumerate(written[:-1]) if at and word in COPULAS), default=None)
    other = next((at for at in range(1, len(written)) if _is_verb(written, at)), None)
    places = [at for at in (first, other) if at is not None]
    return min(places, default=None)


def _is_verb(written: tuple[str, ...], at: int) -> bool:
    word = written[at]
    before = next((each.casefold() for each in written[at - 1 :: -1] if each.casefold() not in SKIPPED), "")
    if word in AUXILIARIES or (word == "used" and written[at + 1 : at + 2] == ("to",)):
        return True
    if not word.islower() or before in ARTICLES or before in OURS or before.endswith("'s"):
        return False
    is_inflected = word.endswith(("s", "ed")) or word in _PASTS
    return (is_inflected or before in _PRONOUNS) and stem(word) in _VERB_STEMS


_VERB_STEMS = frozenset(map(stem, words("verbs")))


def relation_of(written: tuple[str, ...], at: int, *, owned: bool) -> Relation:
    """What stands between subject and value, from the verb on."""
    found = Relation()
    is_copula = written[at] in COPULAS
    is_past = written[at] in _PAST_COPULAS
    place = skipped(written, at + 1)
    if written[at] == "used" and written[place : place + 1] == ("to",):
        place += 1
    if is_copula or written[at] in AUXILIARIES or written[at] == "used":
        verb = written[place] if place < len(written) else ""
        if _is_participle(verb) and place + 1 < len(written):
            found.stems.append(stem(verb))
            place = skipped(written, place + 1)
            if is_copula:
                found.frame = _frame_of(verb, is_past=is_past)
        elif not is_copula and written[at] in _DOING and verb:
            found.stems.append(stem(verb))
            place = skipped(written, place + 1)
        elif not is_copula:
            found.stems.append("have")
    else:
        found.stems.append(stem(written[at].casefold()))
    if owned and not found.stems:
        # `S's A is V`: all behind the verb is the value.
        found.until = place
        return found
    return _object(written, place, found=found, is_copula=is_copula and not found.stems)


def _frame_of(participle: str, *, is_past: bool) -> Frame:
    if participle.endswith("ing"):
        return Frame.SCENE
    return Frame.PASSIVE_PAST if is_past else Frame.PLAIN


def _object(written: tuple[str, ...], place: int, *, found: Relation, is_copula: bool) -> Relation:
    """Take in the preposition and the noun that says what kind of thing the value is."""
    small = [word.casefold() for word in written[place : place + 6]]
    if (
        is_copula
        and len(small) > 2
        and small[1] in _PREPOSITIONS
        and small[0] not in ARTICLES
        and small[1] != "of"
    ):
        found.stems.append(stem(small[0]))
        place, small = place + 1, small[1:]
    if small and small[0] in _PREPOSITIONS and (found.stems or is_copula):
        found.stems.append(small[0])
        place, small = place + 1, small[1:]
    if len(small) > 3 and small[0] in ARTICLES and small[2] == "of" and written[place + 1].islower():
        found.stems += [stem(small[1]), "of"]
        if small[0] == "the" and found.frame is Frame.PLAIN:
            found.frame = Frame.TYPED
        place += 3
    elif _is_apposed(written, place):
        found.stems.append(stem(small[1]))
        if found.frame is Frame.PLAIN:
            found.frame = Frame.TYPED
        place += 2
    found.until = place
    return found


def _is_apposed(written: tuple[str, ...], place: int) -> bool:
    """`the industry Media`: a kind, and which one of it."""
    if place + 2 >= len(written) or written[place].casefold() != "the":
        return False
    return written[place + 1].islower() and written[place + 2][0].isupper()


def _is_participle(word: str) -> bool:
    if not word.islower():
        return False
    return word in text_words("participles") or (
        word.endswith(("ed", "ing")) and len(word) > LEAST_PARTICIPLE
    )


def skipped(written: tuple[str, ...], place: int) -> int:
    while place < len(written) and written[place].casefold() in SKIPPED:
        place += 1
    return place
