"""What does a statement fill in: which value, of which attribute, of whom?

Reads the plain frames in which English states a fact: `My A is V`, `S's A is V`, `The A of S is V`, `The A that S
does is V`, `S does R V`, `A: V`, and a question with its yes or no. Only a definite subject has slots: what is said
of *a* man is said of nobody in particular. How many values an attribute can have is told by `holdings`; anything
that fits no frame fills nothing.
"""

import re
from dataclasses import dataclass, field

from festinger.judge.holdings import Frame, holding
from festinger.judge.lifefacts import USER, life_facts
from festinger.judge.statement import Slot
from festinger.judge.stems import stem
from festinger.judge.wordlists import words
from festinger.text.words import FUNCTION_WORDS
from festinger.text.words import words as text_words

LONGEST_SUBJECT = 14
LONGEST_VALUE = 60
LEAST_PARTICIPLE = 4
"""Words; a frame that is filled with more was none."""

_ARTICLES = frozenset({"a", "an", "the"})
_SELVES = frozenset({"i", "we", "user", "me"})
_OURS = frozenset({"my", "our"})
_COPULAS = frozenset({"is", "are", "was", "were", "isn't", "aren't", "wasn't", "weren't", "be", "am"})
_PAST_COPULAS = frozenset({"was", "were", "wasn't", "weren't"})
_AUXILIARIES = frozenset(
    [
        "has",
        "have",
        "had",
        "hasn't",
        "haven't",
        "hadn't",
        "does",
        "do",
        "did",
        "doesn't",
        "don't",
        "didn't",
        "will",
        "would",
        "won't",
    ]
)
_PREPOSITIONS = frozenset(
    ["in", "at", "on", "by", "to", "for", "with", "from", "of", "as", "into", "under", "near"]
)
_INDEFINITE = frozenset(
    [
        "a",
        "an",
        "some",
        "any",
        "no",
        "every",
        "each",
        "all",
        "most",
        "many",
        "several",
        "few",
        "both",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "there",
        "it",
        "he",
        "she",
        "they",
        "this",
        "that",
        "these",
        "those",
        "one",
        "what",
        "who",
        "which",
        "when",
        "where",
        "why",
        "how",
        "if",
    ]
)
_SKIPPED = (
    text_words("adverbs")
    | words("negations")
    | frozenset(
        [
            "not",
            "no",
            "longer",
            "now",
            "currently",
            "still",
            "also",
            "always",
            "never",
            "just",
            "only",
            "already",
            "recently",
            "been",
            "anymore",
            "once",
        ]
    )
)
_RELATIVES = frozenset({"where", "that", "which", "who", "whom", "when"})
_QUALIFIED = frozenset(["when", "whenever", "while", "during", "if", "unless", "depending", "sometimes"])
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
_WORDS = re.compile(r"[^\W_]++(?:['.@/_+#&:-]++[^\W_]++)*+(?:\+\+|#(?!\w))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A text with straight quotes, and its words as they are written."""

    text: str
    words: tuple[str, ...]
    starts: tuple[bool, ...] = ()


@dataclass(slots=True)
class _Relation:
    """What stands between subject and value."""

    stems: list[str] = field(default_factory=list)
    frame: Frame = Frame.PLAIN
    until: int = 0
    """The first word of the value."""


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
    subject, rest = _owner(tuple(_WORDS.findall(answered[1])))
    if subject is None or not rest:
        return ()
    attribute = _attribute(rest)
    value = "yes" if answered[2].casefold() in ("yes", "true") else "no"
    return (_slot(subject, attribute, value, frame=Frame.ANSWER),)


def _label(text: str) -> Slot | None:
    """`My A: V`, `S's A: V`, `S (who that is), A: V`."""
    labelled = _LABELLED.fullmatch(text)
    if labelled is None:
        return None
    label, value = labelled[1].strip(), _value(tuple(_WORDS.findall(labelled[2])))
    if not value:
        return None
    if apposed := _APPOSED.fullmatch(label):
        named, attribute = (tuple(_WORDS.findall(part)) for part in apposed.groups())
        return _slot(_key(named), _attribute(attribute), value, frame=Frame.LABEL)
    if wanted := _WANTED.fullmatch(label):
        return _slot(USER, _attribute(tuple(_WORDS.findall(wanted[1]))), value, frame=Frame.LABEL)
    written = tuple(_WORDS.findall(label))
    if any(word in _COPULAS for word in written) or _verb(written) is not None:
        return None
    subject, rest = _owner(written)
    if subject is None or not rest:
        return None
    return _slot(subject, _attribute(rest), value, frame=Frame.LABEL)


def _clause(sentence: Sentence) -> Slot | None:
    """A subject, what it does, and to what."""
    written = sentence.words
    at = _verb(written)
    if at is None or not 0 < at <= LONGEST_SUBJECT or _is_bare_plural(written, at):
        return None
    subject, attribute, put = _subject(written[:at])
    if subject is None:
        return None
    relation = _relation(written, at, owned=bool(attribute))
    value = _value(written[relation.until :])
    frame = relation.frame if relation.frame is not Frame.PLAIN else put
    if not value:
        return None
    if attribute and _is_qualified(sentence, relation.until):
        frame = Frame.QUALIFIED
        value = _value(written[relation.until : _colon(sentence, relation.until)])
    whole = " ".join([*attribute.split(), *relation.stems]) or "be"
    return _slot(subject, whole, value, frame=frame)


def _is_bare_plural(written: tuple[str, ...], at: int) -> bool:
    """`Young children are …`: some of them, nobody in particular."""
    first = written[0].casefold()
    is_pointed_at = first == "the" or first in _OURS or any(word.endswith("'s") for word in written[:at])
    return written[at] in ("are", "were") and not is_pointed_at and first not in _SELVES


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


def _verb(written: tuple[str, ...]) -> int | None:
    """The place of the main verb, as it is written in small letters."""
    first = next((at for at, word in enumerate(written) if at and word in _COPULAS), None)
    relative = written and written[0].casefold() == "the" and not _RELATIVES.isdisjoint(written[1:6])
    if relative:
        return max((at for at, word in enumerate(written[:-1]) if at and word in _COPULAS), default=None)
    other = next((at for at in range(1, len(written)) if _is_verb(written, at)), None)
    places = [at for at in (first, other) if at is not None]
    return min(places, default=None)


def _is_verb(written: tuple[str, ...], at: int) -> bool:
    word = written[at]
    before = next((each.casefold() for each in written[at - 1 :: -1] if each.casefold() not in _SKIPPED), "")
    if word in _AUXILIARIES or (word == "used" and written[at + 1 : at + 2] == ("to",)):
        return True
    if not word.islower() or before in _ARTICLES or before in _OURS or before.endswith("'s"):
        return False
    is_inflected = word.endswith(("s", "ed")) or word in _PASTS
    return (is_inflected or before in ("i", "we", "you", "they")) and stem(word) in _VERB_STEMS


_VERB_STEMS = frozenset(map(stem, words("verbs")))
_PASTS = frozenset(
    [
        "knew",
        "wrote",
        "spoke",
        "ran",
        "made",
        "bought",
        "sold",
        "taught",
        "led",
        "came",
        "became",
        "began",
        "drove",
        "rode",
        "wore",
        "ate",
        "drank",
    ]
)


def _subject(left: tuple[str, ...]) -> tuple[str | None, str, Frame]:
    """Subject, attribute and how they are put; no subject if it is nobody in particular."""
    left = _without_adverbs(left)
    small = [word.casefold() for word in left]
    if not left or small[0] in _INDEFINITE or small[0] in _POSSESSIVES or _is_no_noun(left):
        return None, "", Frame.PLAIN
    subject, rest = _owner(left)
    if subject is not None and (rest or subject == USER):
        return subject, _attribute(rest), Frame.OWNED if rest else Frame.PLAIN
    if small[0] == "the" and not _RELATIVES.isdisjoint(small[1:6]):
        return _names_in(left) or _key(left), _attribute(left[1:], without=_names_in(left)), Frame.DEFINITE
    if small[0] == "the" and "of" in small[1:6]:
        at = small.index("of")
        return _key(left[at + 1 :]) or None, _attribute(left[1:at]), Frame.DEFINITE
    return _key(left) or None, "", Frame.PLAIN


def _is_no_noun(left: tuple[str, ...]) -> bool:
    """Whether the words before a verb name nobody in particular: a deed, the middle of a sentence, a number of some."""
    small = [word.casefold() for word in left]
    is_deed = small[0] in _DEEDS or small[0].endswith(("ed", "ly"))
    goes_on = len(left) > 1 and left[1].islower()
    counts = len(small) > 1 and small[0] == "the" and (small[1] in _INDEFINITE or small[1].isdigit())
    return small[-1] in _JOINING or counts or (is_deed and goes_on)


_DEEDS = frozenset({"born", "grew", "made", "found", "given"})
_JOINING = frozenset({"and", "or", "but", "who", "which", "that", "also"})
_POSSESSIVES = frozenset({"their", "his", "her", "its", "your", "whose"})


def _without_adverbs(left: tuple[str, ...]) -> tuple[str, ...]:
    while left and left[0].casefold() in _SKIPPED:
        left = left[1:]
    while left and left[-1].casefold() in _SKIPPED:
        left = left[:-1]
    return left


def _owner(written: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """Whose it is, and what."""
    small = [word.casefold() for word in written]
    if small and small[0] in _OURS:
        return USER, written[1:]
    start = 1 if small and small[0] == "the" else 0
    if small[start : start + 1] and small[start] in _SELVES:
        return USER, written[start + 1 :]
    for at, word in enumerate(small):
        if word.endswith("'s") and at < LONGEST_SUBJECT:
            owner = _key((*written[:at], written[at][:-2]))
            return (USER if owner == USER else owner) or None, written[at + 1 :]
    return None, ()


def _names_in(left: tuple[str, ...]) -> str:
    return _key(tuple(word for word in left[1:] if word[0].isupper() or word[0].isdigit()))


def _relation(written: tuple[str, ...], at: int, *, owned: bool) -> _Relation:
    """What stands between subject and value, from the verb on."""
    found = _Relation()
    is_copula = written[at] in _COPULAS
    is_past = written[at] in _PAST_COPULAS
    place = _skipped(written, at + 1)
    if written[at] == "used" and written[place : place + 1] == ("to",):
        place += 1
    if is_copula or written[at] in _AUXILIARIES or written[at] == "used":
        verb = written[place] if place < len(written) else ""
        if _is_participle(verb) and place + 1 < len(written):
            found.stems.append(stem(verb))
            place = _skipped(written, place + 1)
            if is_copula:
                found.frame = _frame_of(verb, is_past=is_past)
        elif (
            not is_copula
            and written[at].removesuffix("n't") in ("do", "does", "did", "will", "would")
            and verb
        ):
            found.stems.append(stem(verb))
            place = _skipped(written, place + 1)
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


def _object(written: tuple[str, ...], place: int, *, found: _Relation, is_copula: bool) -> _Relation:
    """Take in the preposition and the noun that says what kind of thing the value is."""
    small = [word.casefold() for word in written[place : place + 6]]
    if (
        is_copula
        and len(small) > 2
        and small[1] in _PREPOSITIONS
        and small[0] not in _ARTICLES
        and small[1] != "of"
    ):
        found.stems.append(stem(small[0]))
        place, small = place + 1, small[1:]
    if small and small[0] in _PREPOSITIONS and (found.stems or is_copula):
        found.stems.append(small[0])
        place, small = place + 1, small[1:]
    if len(small) > 3 and small[0] in _ARTICLES and small[2] == "of" and written[place + 1].islower():
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


def _skipped(written: tuple[str, ...], place: int) -> int:
    while place < len(written) and written[place].casefold() in _SKIPPED:
        place += 1
    return place


def _is_qualified(sentence: Sentence, place: int) -> bool:
    rest = [word.casefold() for word in sentence.words[place:]]
    return not _QUALIFIED.isdisjoint(rest[1:]) or _colon(sentence, place) is not None


def _colon(sentence: Sentence, place: int) -> int | None:
    """The first word behind a colon in the value."""
    left, colon, _ = sentence.text.partition(": ")
    if not colon:
        return None
    at = len(_WORDS.findall(left))
    return at if at > place else None


def _attribute(written: tuple[str, ...], *, without: str = "") -> str:
    left_out = set(without.split())
    kept = [_bare(word.casefold()) for word in written]
    named = [word for word in kept if word not in FUNCTION_WORDS and word not in left_out]
    tastes = words("taste_nouns")
    while len(named) > 1 and named[-1] in tastes:
        named.pop()
    return " ".join(map(stem, named))


def _value(written: tuple[str, ...]) -> str:
    return _key(written) if len(written) <= LONGEST_VALUE else ""


def _key(written: tuple[str, ...]) -> str:
    return " ".join(_bare(word.casefold()) for word in written if word.casefold() not in _ARTICLES)


def _bare(word: str) -> str:
    return word.removesuffix("'s").rstrip("'")
