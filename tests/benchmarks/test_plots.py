"""Plots are plain SVG with axes, units and a legend."""

import re
from xml.etree.ElementTree import fromstring

import pytest
from benchmarks.curve import Curve
from benchmarks.plots import HEIGHT, WIDTH, PlotBar, bars, plot
from hypothesis import given
from hypothesis import strategies as st

points = st.lists(
    st.tuples(st.floats(0, 1e6, allow_subnormal=False), st.floats(0, 1e6, allow_subnormal=False)),
    min_size=1,
    max_size=20,
)


def test_bars_are_as_long_as_their_values_and_the_goal_is_marked():
    drawn = bars(
        [
            PlotBar(name="festinger", value=1.0, colour=0, interval=(0.9, 1.0), mark=0.5),
            PlotBar(name="is_a", value=0.5, colour=1),
        ],
        unit="share",
    )

    widths = [float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)"', drawn)]
    assert widths[0] == pytest.approx(2 * widths[1], abs=0.2)
    assert drawn.count('class="goal"') == drawn.count('class="whisker"') == 1
    assert "0 to 1 share" in drawn


def test_no_line_is_drawn_through_a_number():
    drawn = bars([PlotBar(name="us", value=0.4, colour=0, interval=(0.3, 0.6), mark=0.5)], unit="share")

    (number,) = [
        float(x) for x, said in re.findall(r'<text class="axis" x="([\d.]+)"[^>]*>([^<]+)', drawn) if said == "0.4"
    ]
    whisker_ends, goal = re.findall(r'd="M[\d.]+ [\d.]+H([\d.]+)"|class="goal" d="M([\d.]+)', drawn)
    assert number > max(float(whisker_ends[0]), float(goal[1]))


def test_a_plot_names_its_axes_and_its_systems():
    curve = Curve(name="n", title="t", x="k", y="recall (share)", points={"<us>": [(1, 0.5), (10, 0.9)]})

    root = fromstring(plot(curve))
    said = [element.text for element in root.iter() if element.text]

    assert {"k", "recall (share)", "<us>"} <= set(said)


@given(points, st.booleans(), st.booleans())
def test_every_point_lies_within_the_frame(points: list[tuple[float, float]], log: bool, joined: bool):
    curve = Curve(name="n", title="t", x="x", y="y", points={"us": points}, log_x=log, log_y=log, joined=joined)
    drawn = plot(curve)

    placed = re.findall(r'cx="([-\d.]+)" cy="([-\d.]+)"', drawn) or [
        tuple(pair.split(",")) for line in re.findall(r'points="([^"]+)"', drawn) for pair in line.split()
    ]
    assert len(placed) == len(points)
    assert all(0 <= float(x) <= WIDTH and 0 <= float(y) <= HEIGHT for x, y in placed)


def test_nothing_to_draw_is_nothing():
    assert bars([], unit="") == ""
    assert plot(Curve(name="n", title="t", x="x", y="y", points={})) == ""
