"""Normalizes suggestions to fingerprints and compares two requests without a model.

Case, word order, repeats and stopwords are dropped; negation, direction and numbers stay, because "retry" and
"do not retry" must never be one. Fingerprints know spellings, not meanings: `retry` and `retries` differ
here, and `similarity` may suggest merging them. Hidden characters, which can disguise a text, are dropped before
comparing and shown by code point to people. Judges compare statements by slot and value, which requests lack,
so here only numbers, negation, antonyms, order and swapped phrases set two apart, and, where they are not very
near, a judge that takes them for something else than the same. Pure.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from festinger.judge.model import ACCEPT, GuardKind, Judgement, Relation
from festinger.judge.rules.guards import ReadingComparison, compare_readings
from festinger.judge.rules.parse import parse_statement
from festinger.judge.rules.words import stem

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co"})
_VARIATIONS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f")
"""Letters and marks that render as nothing."""


def strip_hidden_chars(text: str) -> str:
    """Return the text as it looks; line breaks and tabs become spaces."""
    return "".join(" " if char.isspace() else char for char in text if char.isspace() or not is_hidden_char(char))


def escape_hidden_chars(text: str) -> str:
    """Show every hidden character by its code point, as in `⟦U+202E⟧`; newlines stay."""
    return "".join(f"⟦U+{ord(char):04X}⟧" if is_hidden_char(char) and char != "\n" else char for char in text)


def is_hidden_char(char: str) -> bool:
    return (
        unicodedata.category(char) in _UNSEEN
        or char in _FILLERS
        or any(ord(char) in variations for variations in _VARIATIONS)
    )


def to_storable_text(text: str) -> str:
    """Replace characters that a database cannot store with U+FFFD."""
    return "".join("\ufffd" if char == "\x00" or "\ud800" <= char <= "\udfff" else char for char in text)


LENGTH = 16
"""Hexadecimal digits of a fingerprint."""


STOPWORDS = frozenset({
    "a", "an", "the", "to", "of", "in", "for", "on", "with", "and", "or", "but", "this", "that", "it", "its", "we",
    "our", "add",
})  # fmt: skip

DENYING = frozenset({"not", "no", "never", "nor", "without", "cannot"})
AUXILIARIES = frozenset({"do", "does", "did"})
"""Dropped before a negation: `do not retry` and `never retry` are one."""

TURNING = frozenset({"over", "than", "before", "after", "instead", "versus", "into"})
"""What is on their left and on their right may not be swapped."""

FRAMES = (("from", frozenset({"to"})), ("replace", frozenset({"with", "by"})))
"""Openings of a direction, and the words that divide its two sides."""

DENIED = "!"

_PLAIN_WORD = re.compile(r"[a-z0-9]+")
_CONTRACTED = re.compile(r"\b\w++(?<=\wn)['\u2019]t(?!\w)")


@dataclass(frozen=True, slots=True, kw_only=True)
class FingerprintWord:
    """A remaining word and its position."""

    text: str
    position: int
    denials: int = 0

    @property
    def marked(self) -> str:
        return DENIED * self.denials + self.text


def compute_fingerprint(*, category: str, scope: str, normalised: str) -> str:
    """Compute the key of a proposal. The space is part of the row, not of the key."""
    return sha256(f"{category}:{scope}:{normalised}".encode()).hexdigest()[:LENGTH]


def normalize_suggestion(text: str) -> str:
    """Return what is left of a text; empty if nothing is."""
    spoken = list(tokenize(fold_text(strip_hidden_chars(text))))
    words = _mark_denials(spoken)
    if not any(word.text for word in words):
        return ""
    bag = " ".join(sorted({word.marked for word in words}))
    tail = [*sorted(set(_find_directions(spoken, words))), *_numbers(words)]
    return f"{bag} | {' '.join(tail)}" if tail else bag


def split_normalized_words(normalised: str) -> frozenset[str]:
    """Return the words of a normalized text, without the appended directions and numbers."""
    return frozenset(normalised.partition(" | ")[0].split())


def topic_words(text: str) -> frozenset[str]:
    """Return the words that tell what a text is about, whether it asks for that or forbids it."""
    return frozenset(_PLAIN_WORD.findall(strip_hidden_chars(text).lower())) - STOPWORDS - {"not"}


def fold_text(text: str) -> str:
    """Map all forms of the same letters to one."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def tokenize(text: str) -> Iterator[str]:
    """Yield the words of a folded text in order; every contracted negation is one `not`."""
    yield from _word_runs(_CONTRACTED.sub(" not ", text))


def _word_runs(text: str) -> Iterator[str]:
    """Yield runs of letters, marks and digits; a number keeps its inner point or comma."""
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


def _mark_denials(spoken: Sequence[str]) -> list[FingerprintWord]:
    """Return the remaining words with their negations. A negation of nothing is kept as a word of its own."""
    words: list[FingerprintWord] = []
    denials = 0
    for place, text in enumerate(spoken):
        is_auxiliary = text in AUXILIARIES and place + 1 < len(spoken) and spoken[place + 1] in DENYING
        if text in DENYING:
            denials += 1
        elif text not in STOPWORDS and not is_auxiliary:
            words.append(FingerprintWord(text=text, position=place, denials=denials))
            denials = 0
    return [*words, FingerprintWord(text="", position=len(spoken), denials=denials)] if denials else words


def _find_directions(spoken: Sequence[str], words: Sequence[FingerprintWord]) -> Iterator[str]:
    named = [word for word in words if word.text and word.text not in TURNING]
    for pivot in _find_turning_positions(spoken):
        left = next((word.marked for word in reversed(named) if word.position < pivot), "")
        right = next((word.marked for word in named if word.position > pivot), "")
        # Nobody writes an article before these words: here `a` is a name, as in "prefer plan A over plan B".
        if pivot and spoken[pivot - 1] == "a":
            left = "a"
        if left or right:
            yield f"{left}>{right}"


def _find_turning_positions(spoken: Sequence[str]) -> Iterator[int]:
    for place, text in enumerate(spoken):
        if text in TURNING:
            yield place
        for opening, turns in FRAMES:
            if text == opening:
                rest = range(place + 1, len(spoken))
                yield from (later for later in rest if spoken[later] in turns)


def _numbers(words: Sequence[FingerprintWord]) -> Iterator[str]:
    numbers = [word.text for word in words if word.text.replace(".", "").replace(",", "").isdecimal()]
    if len(numbers) > 1:
        yield "#" + ">".join(numbers)


PARTING = frozenset({GuardKind.NUMBER, GuardKind.UNIT, GuardKind.NEGATION, GuardKind.ANTONYM, GuardKind.ORDER})
"""What keeps two requests apart however similar they are; names and quantities of things do not."""

NEAREST = 0.9
"""Cosine from which similarity adds no more confidence."""
SUREST = 0.95
NEAR_SURE = 0.9
"""Confidence from similarity at which two requests are one whatever a judge that is not sure leans to."""
BY_RULES = "rules@"


class PairRelation(StrEnum):
    SAME = "same"
    OPPOSITE = "opposite"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonInput:
    """A proposal to compare: its text and its normalized form."""

    what: str
    normalised: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSuggestion:
    """The suggested relation of two proposals; None if there is none."""

    relation: PairRelation | None
    confidence: float = 0.0
    why: str = ""


def suggest_relation(
    a: ComparisonInput, b: ComparisonInput, judgement: Judgement, *, similarity: float, bar: float
) -> PairSuggestion:
    """Suggest a relation for two proposals at least as similar as `bar`, given the judgment."""
    if turned := describe_opposition(a.normalised, b.normalised):
        return PairSuggestion(relation=PairRelation.OPPOSITE, confidence=SUREST, why=turned)
    if judgement.relation is Relation.CONTRADICTS and judgement.confidence >= ACCEPT:
        return PairSuggestion(relation=PairRelation.OPPOSITE, confidence=judgement.confidence, why=judgement.reasoning)
    if judgement.relation is Relation.SAME and judgement.confidence >= ACCEPT:
        return PairSuggestion(relation=PairRelation.SAME, confidence=judgement.confidence, why=judgement.reasoning)
    asked_a_model = judgement.final and judgement.leaning is None and not judgement.judge.startswith(BY_RULES)
    if asked_a_model or not _has_no_guarded_difference(a.what, b.what):
        return PairSuggestion(relation=None, why=judgement.reasoning)
    confidence = similarity_confidence(similarity, bar=bar)
    if judgement.leaning not in (Relation.SAME, None) and confidence < NEAR_SURE:
        return PairSuggestion(relation=None, why=judgement.reasoning)
    return PairSuggestion(
        relation=PairRelation.SAME,
        confidence=confidence,
        why=f"They are near ({similarity:.2f}) and nothing in the words parts them.",
    )


def similarity_confidence(similarity: float, *, bar: float) -> float:
    """Return the confidence from similarity alone: at the bar just enough to suggest, and never certain."""
    share = (similarity - bar) / max(NEAREST - bar, 1e-9)
    return round(ACCEPT + (SUREST - ACCEPT) * min(1.0, max(0.0, share)), 4)


def describe_opposition(a: str, b: str) -> str:
    """Say how two normalized texts oppose each other; empty if they do not."""
    left, right = split_normalized_words(a), split_normalized_words(b)
    if any(DENIED + word in right for word in left) or any(DENIED + word in left for word in right):
        return "One denies what the other asks for."
    if any(">".join(reversed(each.split(">"))) in _parse_directions(b) for each in _parse_directions(a)):
        return "One goes the other way round."
    one, other = _count_numbers(left), _count_numbers(right)
    return "They have other numbers." if one and other and one != other else ""


def _parse_directions(normalised: str) -> set[str]:
    pairs = normalised.partition(" | ")[2].split()
    return {pair for pair in pairs if not pair.startswith("#") and len(set(pair.split(">"))) == 2}


def _count_numbers(words: frozenset[str]) -> Counter[str]:
    return Counter(word for word in words if word[:1].isdigit())


def _has_no_guarded_difference(a: str, b: str) -> bool:
    compared = compare_readings(parse_statement(a), parse_statement(b))
    return not PARTING & set(compared.guards) and not _is_phrase_swapped(compared)


def _is_phrase_swapped(compared: ReadingComparison) -> bool:
    """Whether one phrase replaces another: similarity cannot tell a synonym from something else."""
    found = compared.difference
    return found.swapped and set(map(stem, found.old)) != set(map(stem, found.new))
