"""Draws plots as plain SVG.

Bars and points with axes, units and a legend, in colors that the page sets for light and dark. No script,
font or image from elsewhere. `scorecard` chooses the plots.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

from benchmarks.curve import Curve

WIDTH, HEIGHT = 520, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 14, 46
TICKS = 5
COLOURS = 6
BAR = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotBar:
    """A named length; `mark` is the goal, `low` and `high` the interval."""

    name: str
    value: float
    colour: int
    interval: tuple[float, float] | None = None
    mark: float | None = None


def bars(rows: Sequence[PlotBar], *, unit: str) -> str:
    """Horizontal bars one below the other, from zero to the greatest."""
    if not rows:
        return ""
    most = max(max(row.value, row.mark or 0.0, (row.interval or (0, 0))[1]) for row in rows) or 1.0
    label = 8 * max(len(row.name) for row in rows) + 12
    across = WIDTH - label - RIGHT - 40
    height = len(rows) * (BAR + 8) + 24

    def x(value: float) -> float:
        return label + across * max(value, 0.0) / most

    parts = [_bar(row, x, y=number * (BAR + 8) + 4) for number, row in enumerate(rows)]
    parts.append(_text(label, height - 6, f"0 to {_short(most)} {unit}", kind="axis"))
    return _svg(height, parts)


def _bar(row: PlotBar, x: Callable[[float], float], *, y: float) -> str:
    middle = y + BAR / 2
    reach = max(row.value, row.interval[1] if row.interval else 0.0, row.mark or 0.0)
    drawn = [
        _text(x(0) - 6, middle + 4, row.name, kind="end"),
        f'<rect class="c{row.colour % COLOURS}" x="{x(0):.1f}" y="{y}" width="{x(row.value) - x(0):.1f}" height="{BAR}"/>',
        _text(x(reach) + 6, middle + 4, _short(row.value), kind="axis"),
    ]
    if row.interval is not None:
        low, high = (x(value) for value in row.interval)
        drawn.append(f'<path class="whisker" d="M{low:.1f} {middle}H{high:.1f}"/>')
    if row.mark is not None:
        drawn.append(f'<path class="goal" d="M{x(row.mark):.1f} {y - 3}v{BAR + 6}"/>')
    return "".join(drawn)


def plot(curve: Curve) -> str:
    """The points of every system over two axes."""
    every = [point for points in curve.points.values() for point in points]
    if not every:
        return ""
    across = _scale((x for x, _ in every), LEFT, WIDTH - RIGHT, log=curve.log_x)
    up = _scale((y for _, y in every), HEIGHT - BOTTOM, TOP, log=curve.log_y)
    parts = [*_axes(curve, across, up)]
    for number, (system, points) in enumerate(curve.points.items()):
        placed = [(across.at(x), up.at(y)) for x, y in points]
        colour = number % COLOURS
        if curve.joined:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
            parts.append(f'<polyline class="l{colour}" points="{path}"/>')
        else:
            parts += [f'<circle class="c{colour}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in placed]
        parts.append(_legend(system, number))
    return _svg(HEIGHT + 18 * len(curve.points), parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The position of a value on an axis, and the values of its ticks."""

    ticks: Sequence[float]
    at: Callable[[float], float]


def _scale(values: Iterable[float], begin: float, end: float, *, log: bool) -> Scale:
    known = list(values)
    if log:
        low, high = floor(log10(max(min(known), 1e-9))), ceil(log10(max(max(known), 1e-9)))
        high = max(high, low + 1)
        span = high - low
        return Scale(
            ticks=[10.0**power for power in range(low, high + 1)],
            at=lambda value: begin + (end - begin) * (log10(max(value, 1e-9)) - low) / span,
        )
    least, most = min(0.0, *known), max(known)
    width = (most - least) or 1.0
    return Scale(
        ticks=[least + width * step / TICKS for step in range(TICKS + 1)],
        at=lambda value: begin + (end - begin) * (value - least) / width,
    )


def _axes(curve: Curve, across: Scale, up: Scale) -> list[str]:
    floor_y, wall_x = HEIGHT - BOTTOM, LEFT
    lines = [f'<path class="frame" d="M{wall_x} {TOP}V{floor_y}H{WIDTH - RIGHT}"/>']
    lines += [_text(across.at(tick), floor_y + 16, _short(tick), kind="mid") for tick in across.ticks]
    lines += [_text(wall_x - 6, up.at(tick) + 4, _short(tick), kind="end") for tick in up.ticks]
    lines.append(_text((WIDTH + LEFT) / 2, HEIGHT - 8, curve.x, kind="mid"))
    lines.append(_text(LEFT + 4, TOP + 6, curve.y, kind="axis"))
    return lines


def _legend(system: str, number: int) -> str:
    y = HEIGHT + 18 * number + 4
    return f'<rect class="c{number % COLOURS}" x="{LEFT}" y="{y}" width="10" height="10"/>' + _text(
        LEFT + 16, y + 9, system, kind="axis"
    )


def _text(x: float, y: float, words: str, *, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def _svg(height: float, parts: Iterable[str]) -> str:
    drawn = "".join(parts)
    return f'<svg viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" role="img">{drawn}</svg>'


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def shades(light: Sequence[str], dark: Sequence[str]) -> Mapping[str, str]:
    """Style rules for the colors of systems."""

    def rules(colours: Sequence[str]) -> str:
        return "".join(
            f".c{number}{{fill:{colour}}}.l{number}{{stroke:{colour};fill:none;stroke-width:2}}"
            for number, colour in enumerate(colours)
        )

    return {"light": rules(light), "dark": rules(dark)}
