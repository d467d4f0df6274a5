"""Finds the time span that a text names.

Dates, months, years, and words such as `yesterday` or `last week` are resolved against the current time, with
days in UTC. Readers are tried in a fixed order, and the first that can be resolved wins.
"""

import calendar
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSpan:
    """A half-open interval: `end` is excluded."""

    start: datetime
    end: datetime
    certainty: float = 1.0
    """1 for a date; less where the words only hint at one."""


MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
MONTHS |= {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_DAY = "|".join(WEEKDAYS)
_COUNTS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10}
_COUNT = "|".join(_COUNTS)

ONE_DAY = timedelta(days=1)
HINT = 0.5
RECENT = timedelta(days=14)


def find_time_span(text: str, *, now: datetime) -> TimeSpan | None:
    """Return the first time span that a text names."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    lowered = text.lower()
    for pattern, read in _READERS:
        for match in pattern.finditer(lowered):
            if (span := read(match, today)) is not None:
                return span
    return None


Reader = Callable[["re.Match[str]", datetime], TimeSpan | None]


def _day(at: datetime) -> TimeSpan:
    return TimeSpan(start=at, end=at + ONE_DAY)


def _date(year: int, month: int, day: int) -> TimeSpan | None:
    if not (1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]):
        return None
    return _day(datetime(year, month, day, tzinfo=UTC))


def _month(year: int, month: int) -> TimeSpan:
    start = datetime(year, month, 1, tzinfo=UTC)
    return TimeSpan(start=start, end=start + timedelta(days=calendar.monthrange(year, month)[1]))


def _iso_date(match: re.Match[str], _today: datetime) -> TimeSpan | None:
    return _date(int(match["y"]), int(match["m"]), int(match["d"]))


def _named_date(match: re.Match[str], today: datetime) -> TimeSpan | None:
    month, day = MONTHS[match["month"]], int(match["d"])
    if match["y"]:
        return _date(int(match["y"]), month, day)
    this_year = _date(today.year, month, day)
    if this_year is None or this_year.start <= today:
        return this_year
    return _date(today.year - 1, month, day)


def _named_month(match: re.Match[str], today: datetime) -> TimeSpan | None:
    month = MONTHS[match["month"]]
    if match["y"]:
        return _month(int(match["y"]), month)
    return _month(today.year if month <= today.month else today.year - 1, month)


def _year(match: re.Match[str], _today: datetime) -> TimeSpan | None:
    year = int(match["y"])
    return TimeSpan(start=datetime(year, 1, 1, tzinfo=UTC), end=datetime(year + 1, 1, 1, tzinfo=UTC))


def _near_day(match: re.Match[str], today: datetime) -> TimeSpan | None:
    back = {"today": 0, "tonight": 0, "this morning": 0, "yesterday": 1, "last night": 1}
    if match["near"] == "the day before yesterday":
        return _day(today - 2 * ONE_DAY)
    return _day(today - back[match["near"]] * ONE_DAY)


def _ago(match: re.Match[str], today: datetime) -> TimeSpan | None:
    count = _COUNTS.get(match["n"]) or int(match["n"])
    if count > 1000:
        return None
    if match["unit"] == "day":
        return _day(today - count * ONE_DAY)
    if match["unit"] == "week":
        middle = today - 7 * count * ONE_DAY
        return TimeSpan(start=middle - 3 * ONE_DAY, end=middle + 4 * ONE_DAY)
    months = count if match["unit"] == "month" else 12 * count
    year, month = divmod(today.year * 12 + today.month - 1 - months, 12)
    if year < 1:
        return None
    if match["unit"] == "year":
        return TimeSpan(start=datetime(year, 1, 1, tzinfo=UTC), end=datetime(year + 1, 1, 1, tzinfo=UTC))
    return _month(year, month + 1)


def _read_calendar_unit(match: re.Match[str], today: datetime) -> TimeSpan | None:
    """Resolve `last week` or `this month` to calendar units."""
    back = 1 if match["which"] in ("last", "past", "previous") else 0
    if match["unit"] == "week":
        monday = today - (today.weekday() + 7 * back) * ONE_DAY
        return TimeSpan(start=monday, end=monday + 7 * ONE_DAY)
    if match["unit"] == "month":
        year, month = divmod(today.year * 12 + today.month - 1 - back, 12)
        return _month(year, month + 1)
    year = today.year - back
    return TimeSpan(start=datetime(year, 1, 1, tzinfo=UTC), end=datetime(year + 1, 1, 1, tzinfo=UTC))


def _weekday(match: re.Match[str], today: datetime) -> TimeSpan | None:
    back = (today.weekday() - WEEKDAYS[match["day"]]) % 7 or 7
    return _day(today - back * ONE_DAY)


def _ordinal(match: re.Match[str], today: datetime) -> TimeSpan | None:
    day = int(match["d"])
    this_month = _date(today.year, today.month, day)
    if this_month is not None and this_month.start <= today:
        return this_month
    year, month = divmod(today.year * 12 + today.month - 2, 12)
    return _date(year, month + 1, day)


def _recently(_match: re.Match[str], today: datetime) -> TimeSpan | None:
    return TimeSpan(start=today - RECENT, end=today + ONE_DAY, certainty=HINT)


_READERS: Sequence[tuple["re.Pattern[str]", Reader]] = (
    (re.compile(r"\b(?P<y>(?:19|20)\d\d)-(?P<m>\d\d?)-(?P<d>\d\d?)\b"), _iso_date),
    (re.compile(rf"\b(?P<month>{_MONTH})\.? (?P<d>\d\d?)(?:st|nd|rd|th)?(?:,? (?P<y>(?:19|20)\d\d))?\b"), _named_date),
    (
        re.compile(rf"\b(?P<d>\d\d?)(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH})\b\.?(?:,? (?P<y>(?:19|20)\d\d)\b)?"),
        _named_date,
    ),
    (re.compile(rf"\b(?P<month>{_MONTH})\.?,?(?: of)? (?P<y>(?:19|20)\d\d)\b"), _named_month),
    (re.compile(rf"\b(?:in|during|since|last|this|early|late|of) (?P<month>{_MONTH})\b(?P<y>)"), _named_month),
    (re.compile(r"\b(?P<near>the day before yesterday|yesterday|today|tonight|this morning|last night)\b"), _near_day),
    (re.compile(rf"\b(?P<n>\d{{1,4}}|{_COUNT}) (?P<unit>day|week|month|year)s? ago\b"), _ago),
    (re.compile(r"\b(?P<which>last|this|past|previous) (?P<unit>week|month|year)\b"), _read_calendar_unit),
    (re.compile(rf"\b(?:on|last|this|past) (?P<day>{_DAY})\b"), _weekday),
    (re.compile(r"\bon the (?P<d>\d\d?)(?:st|nd|rd|th)\b"), _ordinal),
    (re.compile(r"\b(?:in|during|of|since|year) (?P<y>(?:19|20)\d\d)\b"), _year),
    (re.compile(r"\b(?:recently|lately|these days)\b"), _recently),
)
