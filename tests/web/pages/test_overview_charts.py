"""Charts: every number within the frame, stacked without a gap, and nothing drawn of nothing."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.web.pages.overview import BOTTOM, HEIGHT, LEFT, TOP, WIDTH, lay_out_chart, pivot_rows

LAST = date(2026, 1, 31)

rows = st.lists(
    st.fixed_dictionaries(
        {
            "day": st.integers(0, 29).map(lambda ago: LAST - timedelta(days=ago)),
            "name": st.sampled_from(["fact", "preference", "insight"]),
            "number": st.integers(0, 10_000),
        }
    ),
    min_size=1,
    unique_by=lambda row: (row["day"], row["name"]),
)


@pytest.mark.requirement("U-40")
@given(rows=rows)
def test_bars_stay_within_the_frame_and_stack_without_a_gap(rows: list[dict[str, object]]):
    pivoted, names = pivot_rows(rows)
    chart = lay_out_chart("x", "X", "a day", pivoted, names=names, last=LAST, days=30)

    if not any(row["number"] for row in rows):
        assert chart is None
        return
    assert chart is not None
    for bar in chart.bars:
        assert LEFT <= bar.x < bar.x + bar.width <= WIDTH
        assert TOP - 0.2 <= bar.y <= bar.y + bar.height <= HEIGHT - BOTTOM + 0.2
    for day, values in chart.table:
        heights = [bar.height for bar in chart.bars if bar.label.startswith(str(day))]
        whole = sum(value or 0 for value in values) / chart.highest * (HEIGHT - TOP - BOTTOM)
        assert abs(sum(heights) - whole) < 0.5


@pytest.mark.requirement("U-40")
def test_nothing_is_drawn_of_nothing_and_a_single_day_is_a_stroke():
    row = {"day": LAST, "p50": 10.0, "p95": 40.0}

    assert lay_out_chart("x", "X", "ms", [], names=["p50"], last=LAST, days=30) is None
    chart = lay_out_chart("x", "X", "ms", [row], names=["p50", "p95"], last=LAST, days=30, stacked=False)
    assert chart is not None
    assert [line.points.count(",") for line in chart.lines] == [2, 2]
