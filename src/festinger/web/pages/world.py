"""The page where a person explores the world.

A search field, a drawing of the neighborhood of a word with the same edges in a table, the quarantine, what
nobody has explained, and a field to state a fact.

The drawing has the word in the middle, parents above and children below, in rows of a few: the same words
give the same picture. This module computes positions; the template draws. A line is solid for a kind and
dashed for a part, numbered by dimension, thicker with confidence, and pale when not confirmed recently.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from starlette.responses import Response

from festinger.errors import NoSuchConcept
from festinger.ids import read_id
from festinger.text.tokens import join_tokens
from festinger.web.api.quarantine import UNDECIDED, quarantine_items
from festinger.web.api.world import DEEPEST, find_neighbourhood, parse_depth, wanted_json
from festinger.web.auth import AccessScope
from festinger.web.render import add_page, redirect_to
from festinger.web.route import AdminCall, RouteTable, parse_cursor
from festinger.world.explain import list_unexplained_names
from festinger.world.learn import iknowthat
from festinger.world.quarantine import find_quarantine_entry, load_quarantine
from festinger.world.query import NearbyConcept, NearbyEdge, Neighborhood, browse_edges

ROUTES = RouteTable()
IN_A_ROW = 4
WIDTH, HEIGHT = 150, 34
GAP, DROP = 18, 76
MARGIN = 12
LONGEST = 18
"""Letters of a word that fit into its box; the title has the whole word."""

HUES = 6
"""Dimensions with a color of their own; others share them, and all have their name on the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphBox:
    token: str
    label: str
    x: int
    y: int
    is_centre: bool
    beyond: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphLine:
    x1: int
    y1: int
    x2: int
    y2: int
    dimension: str
    hue: int
    is_isa: bool
    disputed: bool
    faded: bool
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphDrawing:
    width: int
    height: int
    boxes: Sequence[GraphBox]
    lines: Sequence[GraphLine]
    dimensions: Sequence[tuple[str, int]]
    """The legend: each dimension with the number of its color."""


def draw_graph(found: Neighborhood, *, now: datetime, recent: timedelta) -> GraphDrawing:
    """Compute all positions; what was not confirmed within `recent` is pale."""
    rows = _rows(found.words)
    width = MARGIN * 2 + max(len(row) for row in rows) * (WIDTH + GAP) - GAP
    boxes = {box.token: box for box in _boxes(rows, found, width=width)}
    hues = {name: at % HUES for at, name in enumerate(sorted({edge.dimension for edge in found.edges}))}
    return GraphDrawing(
        width=width,
        height=MARGIN * 2 + len(rows) * DROP - (DROP - HEIGHT),
        boxes=list(boxes.values()),
        lines=[_line(edge, boxes, hues[edge.dimension], now=now, recent=recent) for edge in found.edges],
        dimensions=list(hues.items()),
    )


def _rows(words: Sequence[NearbyConcept]) -> list[list[str]]:
    """The words of each level in rows of a few; levels never share a row."""
    rows = []
    for _, level in groupby(words, key=lambda word: word.level):
        tokens = [word.token for word in level]
        rows += [tokens[at : at + IN_A_ROW] for at in range(0, len(tokens), IN_A_ROW)]
    return rows


def _boxes(rows: Sequence[Sequence[str]], found: Neighborhood, *, width: int) -> list[GraphBox]:
    boxes = []
    for number, row in enumerate(rows):
        left = (width - len(row) * (WIDTH + GAP) + GAP) // 2
        for place, token in enumerate(row):
            boxes.append(
                GraphBox(
                    token=token,
                    label=token if len(token) <= LONGEST else token[: LONGEST - 1] + "…",
                    x=left + place * (WIDTH + GAP),
                    y=MARGIN + number * DROP,
                    is_centre=token == found.centre,
                    beyond=found.beyond.get(token, 0),
                )
            )
    return boxes


def _line(edge: NearbyEdge, boxes: dict[str, GraphBox], hue: int, *, now: datetime, recent: timedelta) -> GraphLine:
    below, above = boxes[edge.concept], boxes[edge.parent]
    # From the child's nearer side to the parent's, wherever the two were placed.
    is_upwards = above.y <= below.y
    return GraphLine(
        x1=below.x + WIDTH // 2,
        y1=below.y if is_upwards else below.y + HEIGHT,
        x2=above.x + WIDTH // 2,
        y2=above.y + HEIGHT if is_upwards and above.y < below.y else above.y,
        dimension=edge.dimension,
        hue=hue,
        is_isa=edge.is_isa,
        disputed=edge.disputed,
        faded=edge.last_confirmed is not None and now - edge.last_confirmed > recent,
        width=round(1 + 2 * edge.confidence, 1),
    )


WORLD = "/admin/world"
SHOWN = 50
MAX_ASKED = 200


@add_page(ROUTES, WORLD, "world.html")
async def world_page(call: AdminCall) -> dict[str, Any]:
    """A look around in the world: around a word, or around the one that was met last."""
    deps, settings = call.app.world.deps, call.supervisor.settings.now.world
    edges = await browse_edges(deps, call.space, before=parse_cursor(call.request), limit=SHOWN)
    asked = call.request.query_params.get("concept", "").strip()[:MAX_ASKED]
    found, problem, nearest = await _looked_up(call, asked or (edges[0]["concept"] if edges else ""))
    recent = timedelta(days=settings.recollection_recency_days)
    return {
        "asked": asked,
        "depth": parse_depth(call),
        "depths": list(range(1, DEEPEST + 1)),
        "problem": problem,
        "nearest": nearest,
        "found": asdict(found) if found else None,
        "picture": asdict(draw_graph(found, now=call.app.tools.clock(), recent=recent)) if found else None,
        "edges": edges,
        "next": str(edges[-1]["id"]) if len(edges) == SHOWN else None,
        "quarantine": await _quarantine(call),
        "decided": await _decided(call),
        "wanted": [wanted_json(row) for row in await list_unexplained_names(deps, call.space, limit=SHOWN)],
    }


@ROUTES.add("POST", f"{WORLD}/iknowthat", AccessScope.WRITE, page=True)
async def fact_form(call: AdminCall) -> Response:
    """State a fact, from the page."""
    fact = (await call.form()).get("fact", "")
    await call.app.world.need(call.space)
    (known,) = await iknowthat(call.app.world.deps, call.space, [fact], because=call.cause)
    if known.stated.conflict is not None:
        return redirect_to(call, f"/admin/conflicts/{known.stated.conflict}")
    return redirect_to(call, WORLD, concept=known.statement.concept)


async def _looked_up(call: AdminCall, asked: str) -> tuple[Neighborhood | None, str, list[str]]:
    """The neighborhood of the word that was asked for; or why there is none, and the nearest spellings."""
    if not asked:
        return None, "", []
    try:
        return await find_neighbourhood(call, join_tokens(asked)), "", []
    except NoSuchConcept as error:
        return None, error.message, list(error.details.get("nearest", []))


async def _quarantine(call: AdminCall) -> list[dict[str, Any]]:
    held = await load_quarantine(call.app.world.deps, call.space, statuses=UNDECIDED, limit=SHOWN)
    return await quarantine_items(call, held)


async def _decided(call: AdminCall) -> dict[str, Any] | None:
    """The quarantine entry that was just admitted or rejected on this page."""
    decided = call.request.query_params.get("decided")
    if not decided:
        return None
    held = await find_quarantine_entry(call.app.world.deps, call.space, read_id(decided))
    return {"concept": held.concept, "parent": held.parent, "status": held.status}
