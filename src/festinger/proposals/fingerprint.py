"""When are two wordings one proposal?

When nothing is left that tells them apart: case, order of words, repeats and small words fall out; what is denied,
what goes before what, and numbers stay, because "retry" and "do not retry" must never be one. It knows spellings, not
meanings: `retry` and `retries` stay apart here, and `meaning` may suggest that they belong together.

Two further profiles do as earlier systems did, for comparing with them and for reading their logs. Pure.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from festinger.proposals.hidden import without_hidden

LENGTH = 16
"""Hexadecimal digits of a fingerprint."""


class Profile(StrEnum):
    FESTINGER = "festinger"
    COMPAT_COURSE = "compat-course"
    COMPAT_AGENT = "compat-agent"


STOPWORDS = frozenset({
    "a", "an", "the", "to", "of", "in", "for", "on", "with", "and", "or", "but", "this", "that", "it", "its", "we",
    "our", "add",
})  # fmt: skip
COURSE_STOPWORDS = STOPWORDS | {"not"}
AGENT_STOPWORDS = (STOPWORDS - {"add"}) | {
    "is", "are", "was", "were", "be", "been", "being", "at", "by", "from", "not", "should", "could", "would", "can",
    "will", "do", "does", "did", "has", "have", "had", "may", "might",
}  # fmt: skip

DENYING = frozenset({"not", "no", "never", "nor", "without", "cannot"})
AUXILIARIES = frozenset({"do", "does", "did"})
"""They fall out before a denial: `do not retry` and `never retry` are one."""

TURNING = frozenset({"over", "than", "before", "after", "instead", "versus", "into"})
"""What stands on their left and on their right may not be swapped."""

FRAMES = (("from", frozenset({"to"})), ("replace", frozenset({"with", "by"})))
"""Openings of a direction, and the words on whose two sides it lies."""

DENIED = "!"

_CONTRACTED = re.compile(r"\b\w++(?<=\wn)['\u2019]t(?!\w)")
_ASCII_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word that is left, and the place at which it stood."""

    text: str
    place: int
    denials: int = 0

    @property
    def marked(self) -> str:
        return DENIED * self.denials + self.text


def fingerprint(*, category: str, scope: str, normalised: str) -> str:
    """The key under which a proposal is found again. The space is part of the row, not of this."""
    return sha256(f"{category}:{scope}:{normalised}".encode()).hexdigest()[:LENGTH]


def normalise(text: str, profile: Profile = Profile.FESTINGER) -> str:
    """What is left of a text; empty if nothing is."""
    plain = without_hidden(text)
    if profile is Profile.COMPAT_COURSE:
        return _compatible(plain, COURSE_STOPWORDS)
    if profile is Profile.COMPAT_AGENT:
        return _compatible(plain, AGENT_STOPWORDS)
    return _normalised(folded(plain))


def words_of(normalised: str) -> frozenset[str]:
    """The words of a normalised text, without what was appended to them."""
    return frozenset(normalised.partition(" | ")[0].split())


def sense_of(normalised: str) -> tuple[frozenset[str], str]:
    """What is denied in a normalised text, and which directions and numbers it has: what no meaning may override."""
    words, _, tail = normalised.partition(" | ")
    return frozenset(word for word in words.split() if word.startswith(DENIED)), tail


def folded(text: str) -> str:
    """One form for all forms of the same letters."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _compatible(text: str, stopwords: frozenset[str]) -> str:
    return " ".join(sorted(set(_ASCII_WORD.findall(text.lower())) - stopwords))


def _normalised(text: str) -> str:
    spoken = list(spoken_words(text))
    words = _denied(spoken)
    if not any(word.text for word in words):
        return ""
    bag = " ".join(sorted({word.marked for word in words}))
    tail = [*sorted(set(_directions(spoken, words))), *_numbers(words)]
    return f"{bag} | {' '.join(tail)}" if tail else bag


def spoken_words(text: str) -> Iterator[str]:
    """The words of a folded text in their order; every contracted denial is one `not`."""
    yield from _runs(_CONTRACTED.sub(" not ", text))


def _runs(text: str) -> Iterator[str]:
    """Runs of letters, marks and digits; a number keeps the point or comma inside it."""
    run: list[str] = []
    for place, char in enumerate(text):
        inside_number = char in ".," and run and run[-1].isdigit() and text[place + 1 : place + 2].isdigit()
        if char.isalnum() or inside_number or (run and unicodedata.category(char).startswith("M")):
            run.append(char)
        elif run:
            yield "".join(run)
            run.clear()
    if run:
        yield "".join(run)


def _denied(spoken: Sequence[str]) -> list[Word]:
    """The words that stay, each with how often it is denied. A denial of nothing stays alone, so that it shows."""
    words: list[Word] = []
    denials = 0
    for place, text in enumerate(spoken):
        is_auxiliary = text in AUXILIARIES and place + 1 < len(spoken) and spoken[place + 1] in DENYING
        if text in DENYING:
            denials += 1
        elif text not in STOPWORDS and not is_auxiliary:
            words.append(Word(text=text, place=place, denials=denials))
            denials = 0
    return [*words, Word(text="", place=len(spoken), denials=denials)] if denials else words


def _directions(spoken: Sequence[str], words: Sequence[Word]) -> Iterator[str]:
    named = [word for word in words if word.text and word.text not in TURNING]
    for pivot in _pivots(spoken):
        left = next((word.marked for word in reversed(named) if word.place < pivot), "")
        right = next((word.marked for word in named if word.place > pivot), "")
        # Nobody writes an article before these words: there `a` is a name, as in "prefer plan A over plan B".
        if pivot and spoken[pivot - 1] == "a":
            left = "a"
        if left or right:
            yield f"{left}>{right}"


def _pivots(spoken: Sequence[str]) -> Iterator[int]:
    for place, text in enumerate(spoken):
        if text in TURNING:
            yield place
        for opening, turns in FRAMES:
            if text == opening:
                rest = range(place + 1, len(spoken))
                yield from (later for later in rest if spoken[later] in turns)


def _numbers(words: Sequence[Word]) -> Iterator[str]:
    numbers = [word.text for word in words if word.text.replace(".", "").replace(",", "").isdecimal()]
    if len(numbers) > 1:
        yield "#" + ">".join(numbers)
