"""Draws the neighborhood of a word, for its page and for a file.

The word is in the middle, parents above and children below, in rows of a few: the same words give the same
picture. This module computes positions; the template draws. A line is solid for a kind and dashed for a part,
colored by dimension, thicker with confidence, and pale when not confirmed recently.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from festinger.web.render import render_template
from festinger.world.query import NearbyConcept, NearbyEdge, Neighborhood

IN_A_ROW = 4
WIDTH, HEIGHT = 150, 34
GAP, DROP = 18, 76
MARGIN = 12
LONGEST = 18
"""Letters of a word that fit into its box; the title has the whole word."""

HUES = 6
"""Dimensions with a color of their own; others share them, and all have their name on the line."""


Shape = dict[str, Any]
"""The place of a box or a line, and how it is drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphDrawing:
    width: int
    height: int
    boxes: Sequence[Shape]
    lines: Sequence[Shape]
    dimensions: Sequence[tuple[str, int]]
    """The legend: each dimension with the number of its color."""


def lay_out_graph(found: Neighborhood, *, now: datetime, recent: timedelta) -> GraphDrawing:
    """Compute all positions; what was not confirmed within `recent` is pale."""
    rows = _rows(found.words)
    width = MARGIN * 2 + max(len(row) for row in rows) * (WIDTH + GAP) - GAP
    boxes = {box["token"]: box for box in _lay_out_boxes(rows, found, width=width)}
    hues = {name: at % HUES for at, name in enumerate(sorted({edge.dimension for edge in found.edges}))}
    return GraphDrawing(
        width=width,
        height=MARGIN * 2 + len(rows) * DROP - (DROP - HEIGHT),
        boxes=list(boxes.values()),
        lines=[_line(edge, boxes, hues[edge.dimension], now=now, recent=recent) for edge in found.edges],
        dimensions=list(hues.items()),
    )


def render_svg(drawing: GraphDrawing) -> str:
    """The drawing as a file of its own, in the colors of a light page."""
    return str(bytes(render_template("graph.svg", {"picture": drawing}).body), "utf-8")


def _rows(words: Sequence[NearbyConcept]) -> list[list[str]]:
    """The words of each level in rows of a few; levels never share a row."""
    rows = []
    for _, level in groupby(words, key=lambda word: word.level):
        tokens = [word.token for word in level]
        rows += [tokens[at : at + IN_A_ROW] for at in range(0, len(tokens), IN_A_ROW)]
    return rows


def _lay_out_boxes(rows: Sequence[Sequence[str]], found: Neighborhood, *, width: int) -> list[Shape]:
    boxes = []
    for number, row in enumerate(rows):
        left = (width - len(row) * (WIDTH + GAP) + GAP) // 2
        for place, token in enumerate(row):
            boxes.append(
                {
                    "token": token,
                    "label": token if len(token) <= LONGEST else token[: LONGEST - 1] + "…",
                    "x": left + place * (WIDTH + GAP),
                    "y": MARGIN + number * DROP,
                    "is_centre": token == found.centre,
                    "beyond": found.beyond.get(token, 0),
                }
            )
    return boxes


def _line(edge: NearbyEdge, boxes: dict[str, Shape], hue: int, *, now: datetime, recent: timedelta) -> Shape:
    below, above = boxes[edge.concept], boxes[edge.parent]
    # From the child's nearer side to the parent's, wherever the two were placed.
    is_upwards = above["y"] <= below["y"]
    return {
        "x1": below["x"] + WIDTH // 2,
        "y1": below["y"] if is_upwards else below["y"] + HEIGHT,
        "x2": above["x"] + WIDTH // 2,
        "y2": above["y"] + HEIGHT if is_upwards and above["y"] < below["y"] else above["y"],
        "dimension": edge.dimension,
        "hue": hue,
        "is_isa": edge.is_isa,
        "disputed": edge.disputed,
        "faded": edge.last_confirmed is not None and now - edge.last_confirmed > recent,
        "width": round(1 + 2 * edge.confidence, 1),
    }
