import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.cli.terminal import build_line_reporter, format_progress


@pytest.mark.requirement("X-57")
def test_a_long_deed_says_a_line_every_ten_seconds():
    said: list[str] = []
    now = 0.0
    report = build_line_reporter(said.append, "Copying", stopwatch=lambda: now)
    for step in range(61):
        now = step / 2
        report(step * 2, 120, "rows")

    assert said == [
        "Copying: 40/120 rows, 4.0/s, 20 s left",
        "Copying: 80/120 rows, 4.0/s, 10 s left",
        "Copying: 120/120 rows, 4.0/s, 0 s left",
    ]


def test_a_short_deed_says_nothing():
    said: list[str] = []
    now = 0.0
    report = build_line_reporter(said.append, "Copying", stopwatch=lambda: now)
    now = 9.9
    report(99, 100, "")

    assert said == []


@given(st.integers(0, 10**9), st.none() | st.integers(0, 10**9), st.floats(0, 10**6))
def test_any_report_can_be_said(done: int, total: int | None, seconds: float):
    said = format_progress("Copying", done, total=total, note="", seconds=seconds)

    assert said.startswith(f"Copying: {done}")
    assert "left" not in said or total
