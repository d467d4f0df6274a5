"""Extracts the quantities, days and times from a text.

A quantity is a number with the dimension of its unit, normalized: 1.5 GB and 1500 MB are one quantity, 5 ms
and 5 s are two. Numbers may be digits, with separators, words, with a currency or a percentage. Days are read
before numbers, so that the parts of a date are not numbers of their own. Linear in the length of the text.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from festinger.judge.rules.words import load_words_of_kind, read_lines
from festinger.text.words import SMALL_NUMBERS, TENS

PLAIN = ""
"""The dimension of a number without a unit."""

SIGNIFICANT = 9
"""Digits compared: differences beyond them come from conversion, not from the writer."""

_ORDINALS = [
    "zeroth",
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
    "twentieth",
]
_WORDS: Mapping[str, float] = {
    **{word: value for value, word in enumerate(SMALL_NUMBERS) if word != "one"},
    **{word: 20 + 10 * place for place, word in enumerate(TENS)},
    "dozen": 12,
}
_TIMES = {"twice": 2.0, "thrice": 3.0}
NO_HOUR = 25
_SINGLE = frozenset({"a", "an", "one"})
_NTH = frozenset(_ORDINALS[1:])
_NUMERIC = frozenset({*_NTH, *_WORDS, *_TIMES, *_SINGLE, "half"})
"""Words that may be or begin a number."""
_BEFORE_SPAN = load_words_of_kind("grammar", "spanning")
_SCALES: Mapping[str, float] = {"hundred": 100, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SUFFIXES: Mapping[str, float] = {"k": 1e3, "m": 1e6, "bn": 1e9, "mn": 1e6}
_CURRENCIES = {"$": "usd", "€": "eur", "£": "gbp", "¥": "jpy"}
UNITS: Mapping[str, tuple[str, float]] = {
    unit: (dimension, float(size))
    for head, _, names in (line.partition(":") for line in read_lines("units"))
    for dimension, size in [head.split()]
    for unit in names.split()
}
_NUMBER = re.compile(
    r"(?P<currency>[$€£¥])?\s?(?<![\w.])(?P<sign>[-+])?(?P<digits>\d++(?:[,_ ]\d{3}(?!\d))*+(?:\.\d++)?+)"
    r"(?P<ordinal>st|nd|rd|th)?\s?-?(?P<unit>[%µ°]?[a-z]++|%)?"
)
_WORD = re.compile(r"[a-zµ°%$€£¥]++")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_DATE = re.compile(
    r"\b(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})\b"
    rf"|\b(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?(?P<m2>{_MONTH})\b\.?,?(?:\s(?P<y2>\d{{4}})\b)?"
    rf"|\b(?P<m3>{_MONTH})\.?\s(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s(?P<y3>\d{{4}})\b)?"
    rf"|\b(?P<m4>{_MONTH})\.?,?\s(?P<y4>(?:19|20)\d{{2}})\b"
    r"|\b(?:in|since|until|till|by|from|to|year|of|during|before|after|for)\s(?P<y5>(?:1[5-9]|20)\d{2})\b(?![-.,]?\d)"
    r"|\b(?P<day>today|yesterday|tomorrow|tonight)\b"
    r"|\b(?P<ago>\d{1,3})\sdays?\sago\b"
)
_IN_DATE = re.compile(r"\d|today|yesterday|tomorrow|tonight")
MONTH_NAME = re.compile(_MONTH)
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_CLOCK = re.compile(
    r"\b(?P<h>\d{1,2}):(?P<min>\d{2})(?:\s?(?P<half>[ap])\.?m\b\.?)?"
    r"|\b(?P<h2>\d{1,2})(?=\s?(?:-|to|till|until)\s?\d{1,2}\s?(?P<half2>[ap])\.?m\b)"
    r"|\b(?P<h3>\d{1,2})\s?(?:(?P<half3>[ap])\.?m\b\.?|(?:o'clock\s)?in the (?P<part>morning|afternoon|evening)\b)"
    r"|\b(?P<fraction>half|quarter) (?P<side>past|to) (?P<h4>[a-z]+|\d{1,2})\b"
    r"|\b(?P<name>midnight|noon|midday)\b"
)
_IN_CLOCK = re.compile(r"\d\s?[:a-z-]|half|quarter|midnight|noon|midday")
_RELATIVE = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantities:
    """The numbers of a text, in order, as (dimension, size); its days and years; its times of day."""

    numbers: tuple[tuple[str, float], ...] = ()
    counts: frozenset[float] = frozenset()
    """Numbers without a unit before a word: a count of something, not the name of something."""
    days: frozenset[str] = frozenset()


def parse_quantities(text: str, *, said_at: datetime | None = None) -> Quantities:
    """Parse the quantities of a lowercase text; relative days are resolved by the time of saying."""
    days: set[str] = set()
    # Both try many ways at every word, and most texts have neither a date nor an hour.
    rest = _DATE.sub(lambda found: _day(found, days, said_at), text) if _IN_DATE.search(text) else text
    rest = _CLOCK.sub(lambda found: _clock(found, days), rest) if _IN_CLOCK.search(rest) else rest
    numbers: list[tuple[str, float]] = []
    counts: set[float] = set()
    for dimension, size, counted in _numbers(rest):
        numbers.append((dimension, size))
        if counted:
            counts.add(size)
    return Quantities(numbers=tuple(numbers), counts=frozenset(counts), days=frozenset(days))


def _day(found: re.Match[str], days: set[str], said_at: datetime | None) -> str:
    named = _named_day(found, said_at)
    if named is None:
        return found.group()
    days.add(named)
    return " "


def _named_day(found: re.Match[str], said_at: datetime | None) -> str | None:
    part = found.groupdict()
    if part["day"] or part["ago"]:
        shift = _RELATIVE[part["day"]] if part["day"] else -int(part["ago"])
        return str((said_at + timedelta(days=shift)).date()) if said_at else f"{shift:+d}"
    if part["y5"] or part["y4"]:
        month = _month(part["m4"])
        return f"{part['y5'] or part['y4']}-{month:02d}" if month else str(part["y5"])
    year = part["y"] or part["y2"] or part["y3"]
    month = int(part["m"]) if part["m"] else _month(part["m2"] or part["m3"])
    day = int(part["d"] or part["d2"] or part["d3"])
    if month is None or not _is_day(int(year or 2000), month, day):
        return None
    return f"{year or '----'}-{month:02d}-{day:02d}"


def _month(name: str | None) -> int | None:
    return MONTHS.index(name[:3]) + 1 if name else None


def _is_day(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def _clock(found: re.Match[str], days: set[str]) -> str:
    part = found.groupdict()
    if part["name"]:
        hour, minute = (0, 0) if part["name"] == "midnight" else (12, 0)
    elif part["fraction"]:
        minute = 30 if part["fraction"] == "half" else 15
        named = part["h4"]
        hour = int(named) if named.isdigit() else SMALL_NUMBERS.index(named) if named in SMALL_NUMBERS else NO_HOUR
        hour, minute = (hour, minute) if part["side"] == "past" else (hour - 1, 60 - minute)
    else:
        hour, minute = int(part["h"] or part["h2"] or part["h3"]), int(part["min"] or 0)
    if hour > 24 or minute > 59:
        return found.group()
    half = part["half"] or part["half2"] or part["half3"]
    if part["part"]:
        half = "a" if part["part"] == "morning" else "p"
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    days.add(f"T{hour % 24:02d}:{minute:02d}")
    return " "


def _numbers(text: str) -> Iterator[tuple[str, float, bool]]:
    """Yield dimension, size, and whether it counts something."""
    at = 0
    for found in _NUMBER.finditer(text):
        yield from _parse_number_words(text[at : found.start()])
        at = found.end()
        yield _digits(text, found)
    yield from _parse_number_words(text[at:])


def _digits(text: str, found: re.Match[str]) -> tuple[str, float, bool]:
    size = float(re.sub(r"[,_ ]", "", found["digits"])) * (-1 if found["sign"] == "-" else 1)
    unit = found["unit"] or ""
    if found["ordinal"]:
        return "ordinal", size, False
    if unit in _SCALES or (unit in _SUFFIXES and (found["currency"] or unit != "m")):
        size, unit = size * (_SCALES.get(unit) or _SUFFIXES[unit]), ""
        following = _WORD.match(text, found.end() + 1)
        unit = following.group() if following and following.group() in UNITS else unit
    if found["currency"]:
        return _CURRENCIES[found["currency"]], _rounded(size), False
    return _convert_to_dimension(size, unit, counted=unit.isalpha())


def _convert_to_dimension(size: float, unit: str, *, counted: bool) -> tuple[str, float, bool]:
    dimension, factor = UNITS.get(unit, (PLAIN, 1.0))
    return dimension, _rounded(size * factor), counted and dimension is PLAIN


def _rounded(size: float) -> float:
    return float(f"{size:.{SIGNIFICANT}g}")


def _parse_number_words(text: str) -> Iterator[tuple[str, float, bool]]:
    """Yield the numbers written as words, except `one`, which is rarely a number."""
    words = _WORD.findall(text)
    at = 0 if not _NUMERIC.isdisjoint(words) else len(words)
    while at < len(words):
        if words[at] in _NTH and words[at] != "second":
            yield "ordinal", float(_ORDINALS.index(words[at])), False
        elif words[at] == "second" and (at + 1 < len(words)) and words[at - 1] not in _WORDS:
            yield "ordinal", 2.0, False
        elif words[at] in _WORDS:
            size, at = _parse_spelled_number(words, at)
            unit = words[at + 1] if at + 1 < len(words) else ""
            yield _convert_to_dimension(size, unit, counted=bool(unit))
        elif words[at] in _TIMES:
            yield PLAIN, _TIMES[words[at]], True
        elif words[at] == "half":
            yield _half(words, at)
        elif words[at] in _SINGLE and _is_span(words, at):
            at += 1
            is_longer = words[at + 1 : at + 4] == ["and", "a", "half"]
            yield _convert_to_dimension(1.5 if is_longer else 1.0, words[at], counted=False)
            at += 3 * is_longer
        at += 1


def _half(words: list[str], at: int) -> tuple[str, float, bool]:
    """Read `half a gigabyte`, `half a million`, or `half of the team`."""
    following = words[at + 1 : at + 3]
    if following[:1] in (["a"], ["an"]) and len(following) > 1:
        if following[1] in _SCALES:
            return PLAIN, 0.5 * _SCALES[following[1]], True
        if following[1] in UNITS:
            return _convert_to_dimension(0.5, following[1], counted=False)
    return "percent", 50.0, False


def _is_span(words: list[str], at: int) -> bool:
    """Whether `an hour` is a length of time or size: `in an hour` is, `60 an hour` is a rate."""
    return at > 0 and words[at - 1] in _BEFORE_SPAN and at + 1 < len(words) and words[at + 1] in UNITS


def _parse_spelled_number(words: list[str], at: int) -> tuple[float, int]:
    """Return the number that begins at a word, and the index of its last word."""
    total, current = 0.0, float(_WORDS[words[at]])
    while at + 1 < len(words):
        following = words[at + 1]
        if following in _SCALES:
            current *= _SCALES[following]
            if following != "hundred":
                total, current = total + current, 0.0
        elif following in _WORDS and (current % 100 == 0 or (current % 10 == 0 and _WORDS[following] < 10)):
            current += _WORDS[following]
        else:
            break
        at += 1
    if words[at + 1 : at + 4] == ["and", "a", "half"]:
        return total + current + 0.5, at + 3
    return total + current, at
