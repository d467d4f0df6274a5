"""Draws charts of daily numbers as data for SVG: stacked bars for counts, lines for quantities.

Positions are computed here and drawn by the template, with a table of the same numbers below. A chart without
numbers is not drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import accumulate
from typing import Any

WIDTH, HEIGHT = 460, 160
LEFT, TOP, BOTTOM = 40, 12, 24
HUES = 6

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartBar:
    x: float
    y: float
    width: float
    height: float
    hue: int
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartLine:
    points: str
    hue: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    id: str
    title: str
    unit: str
    days: Sequence[date]
    names: Sequence[str]
    table: Sequence[tuple[date, Sequence[float | None]]]
    """Days that have numbers, with a number for each name."""
    highest: float
    bars: Sequence[ChartBar] = ()
    lines: Sequence[ChartLine] = ()


def draw_chart(
    id_: str, title: str, unit: str, rows: Rows, *, names: Sequence[str], last: date, days: int, stacked: bool = True
) -> Chart | None:
    """Draw rows of a day and a number for each name; nothing if there is no number above zero."""
    if not any(row.get(name) for row in rows for name in names):
        return None
    shown = [last - timedelta(days=days - 1 - at) for at in range(days)]
    by_day = {row["day"]: row for row in rows}
    table = [(day, [by_day[day].get(name) for name in names]) for day in shown if day in by_day]
    tops = [
        sum(value or 0 for value in values) if stacked else max(value or 0 for value in values) for _, values in table
    ]
    highest = max(tops, default=0) or 1
    step, scale = (WIDTH - LEFT) / days, (HEIGHT - TOP - BOTTOM) / highest
    places = {day: LEFT + at * step for at, day in enumerate(shown)}
    bars = [bar for day, values in table for bar in _stack(day, values, names, places[day], step, scale)]
    lines = [_line([(places[day], values[at]) for day, values in table], at, step, scale) for at in range(len(names))]
    return Chart(
        id=id_,
        title=title,
        unit=unit,
        days=shown,
        names=names,
        table=table,
        highest=highest,
        bars=bars if stacked else (),
        lines=() if stacked else lines,
    )


def pivot_rows(rows: Rows) -> tuple[list[dict[str, Any]], list[str]]:
    """Turn rows of day, name and number into a row a day; with the names, most frequent first."""
    days: dict[date, dict[str, Any]] = {}
    totals: dict[str, float] = {}
    for row in rows:
        days.setdefault(row["day"], {"day": row["day"]})[row["name"]] = row["number"]
        totals[row["name"]] = totals.get(row["name"], 0) + row["number"]
    return list(days.values()), sorted(totals, key=lambda name: (-totals[name], name))


def _stack(
    day: date, values: Sequence[float | None], names: Sequence[str], x: float, step: float, scale: float
) -> list[ChartBar]:
    tops = accumulate(value or 0 for value in values)
    return [
        ChartBar(
            x=round(x + 1, 1),
            y=round(HEIGHT - BOTTOM - top * scale, 1),
            width=round(max(step - 2, 1), 1),
            height=round(value * scale, 1),
            hue=at % HUES,
            label=f"{day}: {value:g} {names[at]}",
        )
        for at, (value, top) in enumerate(zip(values, tops, strict=True))
        if value
    ]


def _line(found: Sequence[tuple[float, float | None]], at: int, step: float, scale: float) -> ChartLine:
    points = [(x + step / 2, HEIGHT - BOTTOM - value * scale) for x, value in found if value is not None]
    if len(points) == 1:
        # One point alone would not be seen: a day wide.
        (x, y) = points[0]
        points = [(x - step / 2, y), (x + step / 2, y)]
    return ChartLine(points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), hue=at % HUES)
