"""Which stretch of time a text names."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.text.time_spans import find_time_span

WEDNESDAY = datetime(2026, 1, 14, 15, 30, tzinfo=UTC)


def day(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("what did I do yesterday?", day(2026, 1, 13), day(2026, 1, 14)),
        ("the day before yesterday", day(2026, 1, 12), day(2026, 1, 13)),
        ("last week we met", day(2026, 1, 5), day(2026, 1, 12)),
        ("last month", day(2025, 12, 1), day(2026, 1, 1)),
        ("in May 2023", day(2023, 5, 1), day(2023, 6, 1)),
        ("in May", day(2025, 5, 1), day(2025, 6, 1)),
        ("on May 3, 2023", day(2023, 5, 3), day(2023, 5, 4)),
        ("on 3rd of May 2023", day(2023, 5, 3), day(2023, 5, 4)),
        ("on 2023-05-03", day(2023, 5, 3), day(2023, 5, 4)),
        ("on the 3rd", day(2026, 1, 3), day(2026, 1, 4)),
        ("on the 20th", day(2025, 12, 20), day(2025, 12, 21)),
        ("three days ago", day(2026, 1, 11), day(2026, 1, 12)),
        ("2 months ago", day(2025, 11, 1), day(2025, 12, 1)),
        ("last Monday", day(2026, 1, 12), day(2026, 1, 13)),
        ("in 2022", day(2022, 1, 1), day(2023, 1, 1)),
        ("a year ago", day(2025, 1, 1), day(2026, 1, 1)),
    ],
)
def test_a_stretch_of_time_is_read(text: str, start: datetime, end: datetime):
    span = find_time_span(text, now=WEDNESDAY)

    assert span is not None
    assert (span.start, span.end) == (start, end)
    assert span.certainty == 1.0


def test_a_hint_is_less_certain_than_a_date():
    span = find_time_span("what happened recently?", now=WEDNESDAY)

    assert span is not None
    assert span.certainty == 0.5
    assert span.start < WEDNESDAY < span.end


@pytest.mark.parametrize("text", ["", "green tea", "you may go", "march on", "room 2022"])
def test_what_names_no_time_is_not_read_as_one(text: str):
    assert find_time_span(text, now=WEDNESDAY) is None


@given(st.text(max_size=80))
def test_no_text_breaks_it(text: str):
    span = find_time_span(text, now=WEDNESDAY)

    assert span is None or span.start < span.end <= WEDNESDAY.replace(year=2101) + timedelta(days=1)
