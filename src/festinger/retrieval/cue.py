"""What does a cue ask for, beside its words?

Words in quotes must stand next to each other, `-word` must not stand there at all. Some cues ask for what the assistant
itself said, some for the past. Speakers are known by their names in capital letters and small ones alike; what else is a
name is told by a capital letter where no sentence begins. Times are left to `text.spans`, stems and stopwords to the
database.
"""

import calendar
import re
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from festinger.text.time_spans import Span, span_in

_QUOTED = re.compile(r'["“”]([^"“”]{1,200})["“”]')
_WITHOUT = re.compile(r"(?:(?<=\s)|^)-([A-Za-z][\w.@-]*)")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_INSIDE = re.compile(r"(?<=[^\s.!?:])\s+([^\W\d_][^\W_]*)")
"""A word that begins no sentence."""
_TIMES = frozenset(
    name.lower()
    for names in (calendar.month_name, calendar.month_abbr, calendar.day_name, calendar.day_abbr)
    for name in names
)

LISTS = Path(__file__).parent / "lists"


def phrases(name: str) -> re.Pattern[str]:
    """The phrases of one list as a pattern that finds any of them as whole words."""
    lines = (LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    wanted = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, wanted))})\b", re.IGNORECASE)


_OWN_WORDS = phrases("own_words")
_PAST = phrases("past")
_SUMMARY = phrases("summary")
_ORDER = phrases("order")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    text: str
    """Without what must not stand in a hit."""
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    """Every word of it in small letters, by which speakers are known."""
    proper: frozenset[str] = frozenset()
    """Words in small letters that were written with a capital one, though they begin no sentence and are no times."""
    asks_model: bool = False
    asks_past: bool = False
    asks_summary: bool = False
    asks_order: bool = False
    span: Span | None = None
    goes_on: bool = False
    """Whether the time that it names has not ended: this year, today."""

    @property
    def asks_overview(self) -> bool:
        """Whether it asks for many things, of which each holds a little of the question."""
        return self.asks_summary or self.asks_order

    @property
    def wants_newest(self) -> bool:
        """Whether of two that differ the newer one is meant."""
        return not self.asks_past and (self.span is None or self.goes_on)


def is_time_word(term: str) -> bool:
    """Whether a stem names a day, a month or a number, as a date is made of."""
    return term.isdigit() or any(
        name.startswith(term) for name in _TIMES if name and len(term) >= SHORTEST_TIME
    )


SHORTEST_TIME = 3


def cue_hash(cue: str) -> bytes:
    """Of the words of a cue, whatever their case and spacing."""
    return sha256(" ".join(cue.casefold().split()).encode()).digest()


def read_cue(text: str, *, now: datetime) -> Cue:
    without = tuple(_WITHOUT.findall(text))
    plain = _WITHOUT.sub(" ", text).strip() if without else text
    span = span_in(plain, now=now)
    words = {word.lower() for word in _WORD.findall(plain)}
    return Cue(
        text=plain or text,
        phrases=tuple(_QUOTED.findall(plain)),
        without=without if plain else (),
        names=frozenset(words | {word.removesuffix("'s").removesuffix("’s") for word in words}),
        proper=_proper(plain),
        asks_model=_OWN_WORDS.search(plain) is not None,
        asks_past=_PAST.search(plain) is not None,
        asks_summary=_SUMMARY.search(plain) is not None,
        asks_order=_ORDER.search(plain) is not None,
        span=span,
        goes_on=span is not None and span.start <= now < span.end,
    )


def _proper(text: str) -> frozenset[str]:
    words = _INSIDE.findall(text)
    capital = {word.lower() for word in words if word[0].isupper() and word != "I"}
    # Where most are capital it is a headline, or somebody shouts.
    return frozenset(capital - _TIMES) if 2 * len(capital) <= len(words) else frozenset()
