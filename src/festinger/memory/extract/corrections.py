"""Finds corrections of earlier statements and rewords those statements.

`Actually it moved to 5434`, `no, Meyer, not Mayer`, `make that 11`: the new value replaces one of the same
form in what was stated before in this conversation. All functions are pure.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from festinger.memory.extract.clauses import split_clauses, split_words
from festinger.text.words import FUNCTION_WORDS, SMALL_NUMBERS, TENS

LONGEST = 16
"""Maximum words of a correction; longer clauses stand for themselves."""
ALIKE = 0.6
"""Letter similarity from which two names may be one with a typo."""

_MARK = re.compile(
    r"(?:\*|(?:no|nope|nah|wait|oops|sorry|actually|correction|hmm+|oh)\b[\s,:;.!–—-]*|(?:scratch|strike)\s+that\b[\s,:;.!–—-]*"
    r"|i\s+mean(?:t)?\b[\s,:;–—-]*|make\s+(?:that|it)\s+|change\s+(?:that|it)\s+to\s+|rather\b[\s,]*|i\s+(?:said|wrote)\b)+",
    re.IGNORECASE,
)
_BACK = re.compile(r"(?:it|that|this|they|those|these)(?:'s|'re|'ve|'ll)?\b", re.IGNORECASE)
_STRONG = re.compile(
    r"\*|\W*(?:\w+\W+)?(?:correction|(?:scratch|strike)\s+that|i\s+mean(?:t)?|make\s+(?:that|it)|change\s+(?:that|it)|i\s+(?:said|wrote))\b",
    re.IGNORECASE,
)
"""Markers used only for corrections."""
_CHANGES = re.compile(r"\b(?:moved?|changed?|switched|renamed|became|now|instead|should\s+be)\b", re.IGNORECASE)
_NOT = re.compile(
    r"(?<![\w.:/@-])(?P<new>[\w.:/@-]{1,60}+)\W{1,3}not\s{1,3}(?:the\s|an?\s)?(?P<old>[\w.:/@-]+)", re.IGNORECASE
)
_NOT_BUT = re.compile(r"\bnot\s+(?P<old>[\w.:/@-]+)\W+(?:but\s+)?(?P<new>[\w.:/@-]+)", re.IGNORECASE)
_NUMBERS = frozenset([*SMALL_NUMBERS[1:], *TENS, "hundred"])
_DAYS = frozenset(["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"])
_MONTHS = frozenset(
    [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ]
)
CALENDAR = _DAYS | _MONTHS
_TOKEN = re.compile(r"[^\W_]++(?:[.:/@_'-]++[^\W_]++)*+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A clause that corrects an earlier statement."""

    clause: str
    text: str
    """The earlier statement, reworded."""
    corrects: int
    """Its index among the earlier statements."""


def may_correct(message: str) -> bool:
    """Whether a message has a clause that refers back and names a value. Cheap: most messages do not."""
    return any(
        _NOT.search(text) or _NOT_BUT.search(text) or any(map(_form, _TOKEN.findall(text)))
        for _, text in _find_correction_clauses(message)
    )


def find_corrections(message: str, earlier: Sequence[str], *, here: int | None = None) -> list[Correction]:
    """Return what a message corrects in `earlier`, which is sorted newest first.

    The first `here` of them come from the same conversation; others must share a word with the correction.
    """
    found: list[Correction] = []
    for clause, words in _find_correction_clauses(message):
        taken = {each.corrects for each in found}
        match = next(
            (
                Correction(clause=clause, text=text, corrects=place)
                for place, statement in enumerate(earlier)
                if place not in taken
                and (here is None or place < here or _shares_a_word(words, statement))
                and (text := _apply_correction(words, statement, is_sure=_STRONG.match(clause) is not None)) is not None
            ),
            None,
        )
        if match is not None:
            found.append(match)
    return found


def _find_correction_clauses(message: str) -> Iterator[tuple[str, str]]:
    """Yield clauses that begin like a correction, with and without the marker.

    After one that does, the next may say what is right: `wait no, I misread it! It's the 19th`.
    """
    is_marked = False
    for clause in split_clauses(message):
        if clause.text.endswith("?") or len(split_words(clause.text)) > LONGEST:
            continue
        mark = _MARK.match(clause.text)
        text = clause.text[mark.end() :] if mark else clause.text
        back = _BACK.match(text)
        points_back = back is not None and _CHANGES.search(text) is not None
        if back and is_marked and not (mark or points_back):
            # Without the pronoun, so that only a bare value counts, or one beside a word of the statement.
            text, points_back = text[back.end() :], True
        is_marked = is_marked or mark is not None
        if text.strip() and (mark or points_back):
            yield clause.text, text


def _apply_correction(text: str, statement: str, *, is_sure: bool) -> str | None:
    for form in (_NOT, _NOT_BUT):
        if match := form.search(text):
            old, new = _find_word_span(match["old"], statement), _pick_new_value(match, text)
            return _put(statement, old, new) if old and new else None
    if not (is_sure or _BACK.match(text) or _is_fragment(text) or _shares_a_word(text, statement)):
        return None
    return _replace_value_by_form(text, statement, first=is_sure)


def _pick_new_value(match: re.Match[str], text: str) -> str | None:
    """The new value beside `not`: of `15 January, not 14` the number, for a number is never a month."""
    old, new = match["old"], match["new"]
    wanted = _form(old)
    if wanted in ("", "name") or _form(new) == wanted:
        return new
    alike = [token for token in _TOKEN.finditer(text) if _form(token.group()) == wanted and token.group() != old]
    return min(alike, key=lambda token: abs(token.start() - match.start("new"))).group() if alike else None


def _replace_value_by_form(text: str, statement: str, *, first: bool) -> str | None:
    """Put the new value in place of one of the same form; None if there is no such place.

    After `make that` the new value comes first; otherwise the clause ends with it.
    """
    found = [word for word in _TOKEN.findall(text) if _form(word)]
    values = found if first else found[::-1]
    places = [match for match in _TOKEN.finditer(statement) if _form(match.group())]
    for value in values:
        if any(place.group().casefold() == value.casefold() for place in places):
            continue
        alike = [place for place in places if _form(place.group()) == _form(value)]
        if _form(value) == "name":
            # Names differ in kind: accept only a near-identical spelling, or the only name there is.
            near = [place for place in alike if _are_alike(place.group(), value)]
            alike = near or (alike if len(alike) == 1 and alike[0].start() else [])
        if alike:
            neighbors = [place for place in alike if _next_word(statement, place.end()) in split_words(text.casefold())]
            return _put(statement, (neighbors or alike)[-1].span(), value)
    return None


def _next_word(statement: str, at: int) -> str:
    following = _TOKEN.search(statement, at)
    return following.group().casefold() if following else ""


def _form(word: str) -> str:
    small = word.casefold()
    if small[0].isdigit():
        return "time" if ":" in small else "number"
    if small in _NUMBERS:
        return "number"
    if small in _DAYS:
        return "day"
    if small in _MONTHS:
        return "month"
    return "name" if word[0].isupper() and small not in FUNCTION_WORDS else ""


def _are_alike(one: str, other: str) -> bool:
    return SequenceMatcher(None, one.casefold(), other.casefold()).ratio() >= ALIKE


def _find_word_span(word: str, statement: str) -> tuple[int, int] | None:
    tokens = list(_TOKEN.finditer(statement))
    exact = [match for match in tokens if match.group().casefold() == word.casefold()]
    near = [match for match in tokens if _form(match.group()) == "name" and _are_alike(match.group(), word)]
    found = exact or near
    return found[-1].span() if found else None


def _put(statement: str, span: tuple[int, int], value: str) -> str:
    return statement[: span[0]] + value + statement[span[1] :]


def _is_fragment(text: str) -> bool:
    """Whether it is little more than a value: `11`, `with a z`."""
    return not any(word.casefold() not in FUNCTION_WORDS and not _form(word) for word in split_words(text))


def _shares_a_word(correction: str, statement: str) -> bool:
    def content(text: str) -> set[str]:
        return {
            word.casefold() for word in split_words(text) if word.casefold() not in FUNCTION_WORDS and not _form(word)
        }

    return bool(content(correction) & content(statement))
