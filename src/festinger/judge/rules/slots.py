"""Parses the slots that a statement fills: a value, of an attribute, of a subject.

Reads the plain frames in which English states a fact: `My A is V`, `S's A is V`, `The A of S is V`, `The A
that S does is V`, `S does R V`, `A: V`, and a question with its yes or no. A text that fits no frame fills no
slot. The speaker is one subject, however named. Only named or definite things are subjects: *a* man or *some*
men are nobody in particular. A relation is the verb, its preposition and the noun that types the value (`is
married to`, `plays the position of`, `used to live in`), without adverbs and negations.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from festinger.judge.model import Slot
from festinger.judge.rules.attributes import (
    ARTICLES,
    USER,
    WORD,
    SentenceKind,
    attribute_cardinality,
    attribute_key,
    extract_life_facts,
    phrase_key,
    value_key,
)
from festinger.judge.rules.words import load_words, load_words_of_kind, read_lines, stem
from festinger.text.words import FUNCTION_WORDS
from festinger.text.words import load_words as text_words

LONGEST_SUBJECT = 14
"""Words before a verb."""

SELVES = load_words_of_kind("grammar", "self")
OURS = load_words_of_kind("grammar", "our")
RELATIVES = load_words_of_kind("grammar", "relative")
SKIPPED = text_words("adverbs") | load_words("negations") | load_words_of_kind("grammar", "adverb")
"""Words that may stand before and after a verb and name nothing."""

_INDEFINITE = load_words_of_kind("grammar", "indefinite")
_POSSESSIVES = load_words_of_kind("grammar", "possessive")
_DEEDS = load_words_of_kind("grammar", "deed")
_JOINING = load_words_of_kind("grammar", "joining")


def parse_subject_and_attribute(left: tuple[str, ...]) -> tuple[str | None, str, SentenceKind]:
    """Return subject, attribute and sentence frame; no subject if it is nobody in particular."""
    left = _without_adverbs(left)
    small = [word.casefold() for word in left]
    if not left or small[0] in _INDEFINITE or small[0] in _POSSESSIVES or _is_no_noun(left):
        return None, "", SentenceKind.PLAIN
    subject, rest = parse_owner(left)
    if subject is not None and (rest or subject == USER):
        return subject, attribute_key(rest), SentenceKind.OWNED if rest else SentenceKind.PLAIN
    if small[0] == "the" and not RELATIVES.isdisjoint(small[1:6]):
        return (
            _names_in(left) or phrase_key(left),
            attribute_key(left[1:], without=_names_in(left)),
            SentenceKind.DEFINITE,
        )
    if small[0] == "the" and "of" in small[1:6]:
        at = small.index("of")
        return phrase_key(left[at + 1 :]) or None, attribute_key(left[1:at]), SentenceKind.DEFINITE
    return phrase_key(left) or None, "", SentenceKind.PLAIN


def _is_no_noun(left: tuple[str, ...]) -> bool:
    """Whether the words before a verb name nobody: an action, a mid-sentence word, a quantity."""
    small = [word.casefold() for word in left]
    is_deed = small[0] in _DEEDS or small[0].endswith(("ed", "ly"))
    goes_on = len(left) > 1 and left[1].islower()
    counts = len(small) > 1 and small[0] == "the" and (small[1] in _INDEFINITE or small[1].isdigit())
    return small[-1] in _JOINING or counts or (is_deed and goes_on)


def _without_adverbs(left: tuple[str, ...]) -> tuple[str, ...]:
    while left and left[0].casefold() in SKIPPED:
        left = left[1:]
    while left and left[-1].casefold() in SKIPPED:
        left = left[:-1]
    return left


def parse_owner(written: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    small = [word.casefold() for word in written]
    if small and small[0] in OURS:
        return USER, written[1:]
    start = 1 if small and small[0] == "the" else 0
    if small[start : start + 1] and small[start] in SELVES:
        return USER, written[start + 1 :]
    for at, word in enumerate(small):
        if word.endswith("'s") and at < LONGEST_SUBJECT:
            owner = phrase_key((*written[:at], written[at][:-2]))
            return (USER if owner == USER else owner) or None, written[at + 1 :]
    return None, ()


def _names_in(left: tuple[str, ...]) -> str:
    return phrase_key(tuple(word for word in left[1:] if word[0].isupper() or word[0].isdigit()))


COPULAS = load_words_of_kind("grammar", "copula")
AUXILIARIES = load_words_of_kind("grammar", "auxiliary")
LEAST_PARTICIPLE = 4
"""Letters: `bed` and `king` are not participles."""

_PAST_COPULAS = load_words_of_kind("grammar", "past_copula")
_DOING = load_words_of_kind("grammar", "doing")
_PREPOSITIONS = load_words_of_kind("grammar", "preposition")
_PASTS = load_words_of_kind("grammar", "past")
_PRONOUNS = frozenset({"i", "we", "you", "they"})
_VERB_STEMS = frozenset(map(stem, load_words("verbs")))


@dataclass(slots=True)
class SlotRelation:
    """What stands between subject and value."""

    stems: list[str] = field(default_factory=list)
    frame: SentenceKind = SentenceKind.PLAIN
    until: int = 0
    """The index of the first word of the value."""


def find_verb_index(written: tuple[str, ...]) -> int | None:
    """Return the index of the main verb."""
    first = next((at for at, word in enumerate(written) if at and word in COPULAS), None)
    relative = written and written[0].casefold() == "the" and not RELATIVES.isdisjoint(written[1:6])
    if relative:
        return max((at for at, word in enumerate(written[:-1]) if at and word in COPULAS), default=None)
    other = next((at for at in range(1, len(written)) if _is_verb(written, at)), None)
    places = [at for at in (first, other) if at is not None]
    return min(places, default=None)


def _is_verb(written: tuple[str, ...], at: int) -> bool:
    word = written[at]
    if word in AUXILIARIES or (word == "used" and written[at + 1 : at + 2] == ("to",)):
        return True
    if not word.islower() or stem(word) not in _VERB_STEMS:
        return False
    before = next((each.casefold() for each in written[at - 1 :: -1] if each.casefold() not in SKIPPED), "")
    if before in ARTICLES or before in OURS or before.endswith("'s"):
        return False
    return word.endswith(("s", "ed")) or word in _PASTS or before in _PRONOUNS


_VERB_STEMS = frozenset(map(stem, load_words("verbs")))


def parse_relation(written: tuple[str, ...], at: int, *, owned: bool) -> SlotRelation:
    """Parse the words between subject and value, from the verb on."""
    found = SlotRelation()
    is_copula = written[at] in COPULAS
    is_past = written[at] in _PAST_COPULAS
    place = skip_adverbs(written, at + 1)
    if written[at] == "used" and written[place : place + 1] == ("to",):
        place += 1
    if is_copula or written[at] in AUXILIARIES or written[at] == "used":
        verb = written[place] if place < len(written) else ""
        if _is_participle(verb) and place + 1 < len(written):
            found.stems.append(stem(verb))
            place = skip_adverbs(written, place + 1)
            if is_copula:
                found.frame = _frame_of(verb, is_past=is_past)
        elif not is_copula and written[at] in _DOING and verb:
            found.stems.append(stem(verb))
            place = skip_adverbs(written, place + 1)
        elif not is_copula:
            found.stems.append("have")
    else:
        found.stems.append(stem(written[at].casefold()))
    if owned and not found.stems:
        # `S's A is V`: all after the verb is the value.
        found.until = place
        return found
    return _object(written, place, found=found, is_copula=is_copula and not found.stems)


def _frame_of(participle: str, *, is_past: bool) -> SentenceKind:
    if participle.endswith("ing"):
        return SentenceKind.SCENE
    return SentenceKind.PASSIVE_PAST if is_past else SentenceKind.PLAIN


def _object(written: tuple[str, ...], place: int, *, found: SlotRelation, is_copula: bool) -> SlotRelation:
    """Include the preposition and the noun that types the value."""
    small = [word.casefold() for word in written[place : place + 6]]
    if is_copula and len(small) > 2 and small[1] in _PREPOSITIONS and small[0] not in ARTICLES and small[1] != "of":
        found.stems.append(stem(small[0]))
        place, small = place + 1, small[1:]
    if small and small[0] in _PREPOSITIONS and (found.stems or is_copula):
        found.stems.append(small[0])
        place, small = place + 1, small[1:]
    if len(small) > 3 and small[0] in ARTICLES and small[2] == "of" and written[place + 1].islower():
        found.stems += [stem(small[1]), "of"]
        if small[0] == "the" and found.frame is SentenceKind.PLAIN:
            found.frame = SentenceKind.TYPED
        place += 3
    elif _is_apposed(written, place):
        found.stems.append(stem(small[1]))
        if found.frame is SentenceKind.PLAIN:
            found.frame = SentenceKind.TYPED
        place += 2
    found.until = place
    return found


def _is_apposed(written: tuple[str, ...], place: int) -> bool:
    """Whether a type noun is followed by its value, as in `the industry Media`."""
    if place + 2 >= len(written) or written[place].casefold() != "the":
        return False
    return written[place + 1].islower() and written[place + 2][0].isupper()


def _is_participle(word: str) -> bool:
    if not word.islower():
        return False
    return word in text_words("participles") or (word.endswith(("ed", "ing")) and len(word) > LEAST_PARTICIPLE)


def skip_adverbs(written: tuple[str, ...], place: int) -> int:
    while place < len(written) and written[place].casefold() in SKIPPED:
        place += 1
    return place


_QUALIFIED = load_words_of_kind("grammar", "qualifying")
_ANSWERED = re.compile(
    r"(?:is|are|was|were|does|do|did|has|have|can|will)\s([^?]{3,120})\?\s*+(yes|no|true|false)\b", re.IGNORECASE
)
_LABELLED = re.compile(r"([^:.!?;\n]{2,90}):\s++(\S[\s\S]*+)")
_APPOSED = re.compile(r"([^,:()]{1,60}?)\s?\([^()]{1,80}\),?\s([^:()]{1,60})")
_WANTED = re.compile(
    r"(?:for|as for|about)\s(.{2,80}?),?\si\s(?:want|prefer|like|need|use|have)(?:\sthis)?", re.IGNORECASE
)
_SENTENCE_BREAK = re.compile(r"[a-z0-9)]{3}[.!?]\s++[A-Z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizedSentence:
    """A text with straight quotes, and its words as written."""

    text: str
    words: tuple[str, ...]
    starts: tuple[bool, ...] = ()


def parse_slots(sentence: TokenizedSentence) -> tuple[Slot, ...]:
    """Return the slots that a text fills, the main one first."""
    text = sentence.text.strip()
    if answered := _ANSWERED.match(text):
        return _answer(answered)
    in_passing = extract_life_facts(text)
    if _SENTENCE_BREAK.search(text):
        return in_passing
    found = _label(text) or _clause(sentence), _holder(sentence.words)
    return tuple(dict.fromkeys([*(slot for slot in found if slot), *in_passing]))


def _holder(written: tuple[str, ...]) -> Slot | None:
    """Read `X is the A of Y` like `Y's A is X`."""
    at = find_verb_index(written)
    if at is None or written[at] != "is" or written[at + 1 : at + 2] != ("the",) or not written[0][:1].isupper():
        return None
    of = next((place for place in range(at + 3, min(at + 6, len(written) - 1)) if written[place] == "of"), None)
    if of is None or written[0].casefold() in FUNCTION_WORDS:
        return None
    owner, attribute = value_key(written[of + 1 :]), attribute_key(written[at + 2 : of])
    return _slot(owner, attribute, phrase_key(written[:at]), frame=SentenceKind.DEFINITE) if attribute else None


def _answer(answered: re.Match[str]) -> tuple[Slot, ...]:
    """Parse a question with its answer: `Does the user have children`, then `Yes.`"""
    subject, rest = parse_owner(tuple(WORD.findall(answered[1])))
    if subject is None or not rest:
        return ()
    attribute = attribute_key(rest)
    value = "yes" if answered[2].casefold() in ("yes", "true") else "no"
    return (_slot(subject, attribute, value, frame=SentenceKind.ANSWER),)


def _label(text: str) -> Slot | None:
    """Parse `My A: V`, `S's A: V` or `S (who that is), A: V`."""
    labelled = _LABELLED.fullmatch(text)
    if labelled is None:
        return None
    label, value = labelled[1].strip(), value_key(tuple(WORD.findall(labelled[2])))
    if not value:
        return None
    if apposed := _APPOSED.fullmatch(label):
        named, attribute = (tuple(WORD.findall(part)) for part in apposed.groups())
        return _slot(phrase_key(named), attribute_key(attribute), value, frame=SentenceKind.LABEL)
    if wanted := _WANTED.fullmatch(label):
        return _slot(USER, attribute_key(tuple(WORD.findall(wanted[1]))), value, frame=SentenceKind.LABEL)
    written = tuple(WORD.findall(label))
    if any(word in COPULAS for word in written) or find_verb_index(written) is not None:
        return None
    subject, rest = parse_owner(written)
    if subject is None or not rest:
        return None
    return _slot(subject, attribute_key(rest), value, frame=SentenceKind.LABEL)


def _clause(sentence: TokenizedSentence) -> Slot | None:
    """Parse a subject, what it does, and to what."""
    written = sentence.words
    at = find_verb_index(written)
    if at is None or not 0 < at <= LONGEST_SUBJECT or _is_bare_plural(written, at):
        return None
    subject, attribute, put = parse_subject_and_attribute(written[:at])
    if subject is None:
        return None
    relation = parse_relation(written, at, owned=bool(attribute))
    value = value_key(written[relation.until :])
    frame = relation.frame if relation.frame is not SentenceKind.PLAIN else put
    if not value:
        return None
    if attribute and _is_qualified(sentence, relation.until):
        frame = SentenceKind.QUALIFIED
        value = value_key(written[relation.until : _colon(sentence, relation.until)])
    whole = " ".join([*attribute.split(), *relation.stems]) or "be"
    whole = _load_attribute_synonyms().get(whole, whole)
    if numbered := _numbered(whole, value):
        (whole, value), frame = numbered, SentenceKind.TYPED
    if _is_somebody(written[0]) and written[relation.until][:1].isupper():
        whole = _load_resulting_attributes().get(whole, whole)
    return _slot(subject, whole, value, frame=frame)


def _is_somebody(first: str) -> bool:
    """Whether a sentence begins with a name or the speaker: teams and prices move to other things."""
    return first.casefold() in SELVES or (first[:1].isupper() and first.casefold() not in FUNCTION_WORDS)


def _numbered(attribute: str, value: str) -> tuple[str, str] | None:
    """Read `listens on port 80` like `its port is 80`: the noun before a number is the attribute."""
    noun, _, number = value.partition(" ")
    is_told = attribute != "be" and number.isdigit() and noun in load_words("numbered_nouns")
    return (stem(noun), number) if is_told else None


@cache
def _load_attribute_synonyms() -> Mapping[str, str]:
    """Map attributes that mean the same to the one under which they are kept."""
    pairs = (line.partition("=") for line in read_lines("same_attributes"))
    return {_stems(one): _stems(other) for one, _, other in pairs}


@cache
def _load_resulting_attributes() -> Mapping[str, str]:
    """Map attributes of a change to that of the resulting state: whoever moved to a town lives there."""
    pairs = (line.partition("=") for line in read_lines("leads_to"))
    return {_stems(change): _stems(state) for change, _, state in pairs}


def _stems(phrase: str) -> str:
    return " ".join(map(stem, phrase.split()))


def _is_bare_plural(written: tuple[str, ...], at: int) -> bool:
    """Whether it is a bare plural such as `Young children are …`: nobody in particular."""
    first = written[0].casefold()
    is_pointed_at = first == "the" or first in OURS or any(word.endswith("'s") for word in written[:at])
    return written[at] in ("are", "were") and not is_pointed_at and first not in SELVES


def _slot(subject: str, attribute: str, value: str, *, frame: SentenceKind) -> Slot:
    count, noun = _counted(attribute, value)
    if count:
        attribute, value = f"{attribute} {noun}".strip(), count
    held = attribute_cardinality(attribute, frame=SentenceKind.COUNT if count else frame)
    return Slot(subject=subject, attribute=attribute, value=value, holding=held)


def _counted(attribute: str, value: str) -> tuple[str, str]:
    """Split `has 2 siblings`: the number is the value, and what is counted the attribute."""
    first, _, rest = value.partition(" ")
    if attribute.split()[-1:] == ["have"] and first.isdigit() and rest:
        return first, " ".join(stem(word) for word in rest.split()[:1])
    return "", ""


def _is_qualified(sentence: TokenizedSentence, place: int) -> bool:
    rest = [word.casefold() for word in sentence.words[place:]]
    return not _QUALIFIED.isdisjoint(rest[1:]) or _colon(sentence, place) is not None


def _colon(sentence: TokenizedSentence, place: int) -> int | None:
    """Return the index of the first word after a colon in the value."""
    left, colon, _ = sentence.text.partition(": ")
    if not colon:
        return None
    at = len(WORD.findall(left))
    return at if at > place else None
