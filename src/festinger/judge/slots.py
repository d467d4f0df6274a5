"""What does a statement fill in: which value, of which attribute, of whom?

Reads the plain frames in which English states a fact: `My A is V`, `S's A is V`, `The A of S is V`, `The A that S
does is V`, `S does R V`, `A: V`, and a question with its yes or no. Subjects are read by `subjects`, what is said of
them by `relations`; how many values an attribute can have is told by `holdings`. What fits no frame fills nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from festinger.judge.holdings import Frame, holding
from festinger.judge.lifefacts import USER, life_facts
from festinger.judge.relations import COPULAS, relation_of, verb_of
from festinger.judge.slot_keys import WORD, attribute_key, key, value_key
from festinger.judge.statement import Slot
from festinger.judge.stems import stem
from festinger.judge.subjects import LONGEST_SUBJECT, OURS, SELVES, owner, subject_of
from festinger.judge.wordlists import lines, members, words
from festinger.text.words import FUNCTION_WORDS

_QUALIFIED = members("grammar", "qualifying")
_ANSWERED = re.compile(
    r"(?:is|are|was|were|does|do|did|has|have|can|will)\s([^?]{3,120})\?\s*+(yes|no|true|false)\b",
    re.IGNORECASE,
)
_LABELLED = re.compile(r"([^:.!?;\n]{2,90}):\s++(\S[\s\S]*+)")
_APPOSED = re.compile(r"([^,:()]{1,60}?)\s?\([^()]{1,80}\),?\s([^:()]{1,60})")
_WANTED = re.compile(
    r"(?:for|as for|about)\s(.{2,80}?),?\si\s(?:want|prefer|like|need|use|have)(?:\sthis)?", re.IGNORECASE
)
_SENTENCE_BREAK = re.compile(r"[a-z0-9)]{3}[.!?]\s++[A-Z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A text with straight quotes, and its words as they are written."""

    text: str
    words: tuple[str, ...]
    starts: tuple[bool, ...] = ()


def slots(sentence: Sentence) -> tuple[Slot, ...]:
    """The slots that a text fills, the main one first."""
    text = sentence.text.strip()
    if answered := _ANSWERED.match(text):
        return _answer(answered)
    in_passing = life_facts(text)
    if _SENTENCE_BREAK.search(text):
        return in_passing
    found = _label(text) or _clause(sentence)
    return tuple(dict.fromkeys([*([found] if found else []), *in_passing]))


def _answer(answered: re.Match[str]) -> tuple[Slot, ...]:
    """`Does the user have children? Yes.`"""
    subject, rest = owner(tuple(WORD.findall(answered[1])))
    if subject is None or not rest:
        return ()
    attribute = attribute_key(rest)
    value = "yes" if answered[2].casefold() in ("yes", "true") else "no"
    return (_slot(subject, attribute, value, frame=Frame.ANSWER),)


def _label(text: str) -> Slot | None:
    """`My A: V`, `S's A: V`, `S (who that is), A: V`."""
    labelled = _LABELLED.fullmatch(text)
    if labelled is None:
        return None
    label, value = labelled[1].strip(), value_key(tuple(WORD.findall(labelled[2])))
    if not value:
        return None
    if apposed := _APPOSED.fullmatch(label):
        named, attribute = (tuple(WORD.findall(part)) for part in apposed.groups())
        return _slot(key(named), attribute_key(attribute), value, frame=Frame.LABEL)
    if wanted := _WANTED.fullmatch(label):
        return _slot(USER, attribute_key(tuple(WORD.findall(wanted[1]))), value, frame=Frame.LABEL)
    written = tuple(WORD.findall(label))
    if any(word in COPULAS for word in written) or verb_of(written) is not None:
        return None
    subject, rest = owner(written)
    if subject is None or not rest:
        return None
    return _slot(subject, attribute_key(rest), value, frame=Frame.LABEL)


def _clause(sentence: Sentence) -> Slot | None:
    """A subject, what it does, and to what."""
    written = sentence.words
    at = verb_of(written)
    if at is None or not 0 < at <= LONGEST_SUBJECT or _is_bare_plural(written, at):
        return None
    subject, attribute, put = subject_of(written[:at])
    if subject is None:
        return None
    relation = relation_of(written, at, owned=bool(attribute))
    value = value_key(written[relation.until :])
    frame = relation.frame if relation.frame is not Frame.PLAIN else put
    if not value:
        return None
    if attribute and _is_qualified(sentence, relation.until):
        frame = Frame.QUALIFIED
        value = value_key(written[relation.until : _colon(sentence, relation.until)])
    whole = " ".join([*attribute.split(), *relation.stems]) or "be"
    whole = _named_so().get(whole, whole)
    if numbered := _numbered(whole, value):
        (whole, value), frame = numbered, Frame.TYPED
    if _is_somebody(written[0]) and written[relation.until][:1].isupper():
        whole = _led_to().get(whole, whole)
    return _slot(subject, whole, value, frame=frame)


def _is_somebody(first: str) -> bool:
    """Whether a sentence begins with a name or with the one who speaks: teams and prices move to other things."""
    return first.casefold() in SELVES or (first[:1].isupper() and first.casefold() not in FUNCTION_WORDS)


def _numbered(attribute: str, value: str) -> tuple[str, str] | None:
    """`listens on port 80` says what `its port is 80` says: the noun before a number is what is told."""
    noun, _, number = value.partition(" ")
    is_told = attribute != "be" and number.isdigit() and noun in words("numbered_nouns")
    return (stem(noun), number) if is_told else None


@cache
def _named_so() -> Mapping[str, str]:
    """Attributes that say the same, each with the one under which both are kept."""
    pairs = (line.partition("=") for line in lines("same_attributes"))
    return {_stems(one): _stems(other) for one, _, other in pairs}


@cache
def _led_to() -> Mapping[str, str]:
    """Attributes of a change, each with that of the state after it: who moved to a town lives in it."""
    pairs = (line.partition("=") for line in lines("leads_to"))
    return {_stems(change): _stems(state) for change, _, state in pairs}


def _stems(phrase: str) -> str:
    return " ".join(map(stem, phrase.split()))


def _is_bare_plural(written: tuple[str, ...], at: int) -> bool:
    """`Young children are …`: some of them, nobody in particular."""
    first = written[0].casefold()
    is_pointed_at = first == "the" or first in OURS or any(word.endswith("'s") for word in written[:at])
    return written[at] in ("are", "were") and not is_pointed_at and first not in SELVES


def _slot(subject: str, attribute: str, value: str, *, frame: Frame) -> Slot:
    count, noun = _counted(attribute, value)
    if count:
        attribute, value = f"{attribute} {noun}".strip(), count
    held = holding(attribute, frame=Frame.COUNT if count else frame)
    return Slot(subject=subject, attribute=attribute, value=value, holding=held)


def _counted(attribute: str, value: str) -> tuple[str, str]:
    """`has 2 siblings`: the number is the value, and what is counted the attribute."""
    first, _, rest = value.partition(" ")
    if attribute.split()[-1:] == ["have"] and first.isdigit() and rest:
        return first, " ".join(stem(word) for word in rest.split()[:1])
    return "", ""


def _is_qualified(sentence: Sentence, place: int) -> bool:
    rest = [word.casefold() for word in sentence.words[place:]]
    return not _QUALIFIED.isdisjoint(rest[1:]) or _colon(sentence, place) is not None


def _colon(sentence: Sentence, place: int) -> int | None:
    """The first word behind a colon in the value."""
    left, colon, _ = sentence.text.partition(": ")
    if not colon:
        return None
    at = len(WORD.findall(left))
    return at if at > place else None
