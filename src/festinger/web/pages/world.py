"""The page where a person explores the world.

A search field, a drawing of the neighborhood of a word with the same edges in a table, the quarantine, what
nobody has explained, and a field to state a fact.
"""

from dataclasses import asdict
from typing import Any

from starlette.responses import Response

from festinger.errors import BadInput, NoSuchConcept
from festinger.ids import read_id
from festinger.text.tokens import to_single_token
from festinger.web.api.quarantine import UNDECIDED, quarantine_items
from festinger.web.api.world import (
    DEEPEST,
    graph_drawing_options,
    load_requested_neighborhood,
    parse_depth,
    unexplained_word_json,
)
from festinger.web.auth import AccessScope
from festinger.web.graph import lay_out_graph
from festinger.web.render import add_page, redirect_to
from festinger.web.route import AdminCall, RouteTable, parse_cursor
from festinger.world.erase import forget_message
from festinger.world.explain import list_unexplained_names
from festinger.world.learn import iknowthat
from festinger.world.model import StatementEffect
from festinger.world.quarantine import find_quarantine_entry, load_quarantine
from festinger.world.query import Neighborhood, page_edges

ROUTES = RouteTable()
WORLD = "/admin/world"
FROM_PAGE = "console:"
"""How the names of messages begin that were written on this page."""
SHOWN = 50
MAX_ASKED = 200


@add_page(ROUTES, WORLD, "world.html")
async def load_world_page(call: AdminCall) -> dict[str, Any]:
    """A look around in the world: around a word, or around the one that was met last."""
    deps = call.app.world.deps
    edges = await page_edges(deps, call.space, before=parse_cursor(call.request), limit=SHOWN)
    asked = call.request.query_params.get("concept", "").strip()[:MAX_ASKED]
    found, problem, nearest = await _find_neighborhood_or_error(call, asked or (edges[0]["concept"] if edges else ""))
    return {
        "asked": asked,
        "depth": parse_depth(call),
        "depths": list(range(1, DEEPEST + 1)),
        "problem": problem,
        "nearest": nearest,
        "found": asdict(found) if found else None,
        "picture": asdict(lay_out_graph(found, **graph_drawing_options(call))) if found else None,
        "edges": edges,
        "next": str(edges[-1]["id"]) if len(edges) == SHOWN else None,
        "quarantine": await _quarantine(call),
        "decided": await _load_decided_entry(call),
        **{name: call.request.query_params.get(name, "")[:MAX_ASKED] for name in ("added", "stated", "taken_back")},
        "wanted": [unexplained_word_json(row) for row in await list_unexplained_names(deps, call.space, limit=SHOWN)],
    }


@ROUTES.add("POST", f"{WORLD}/iknowthat", AccessScope.WRITE, page=True)
async def submit_fact(call: AdminCall) -> Response:
    fact = (await call.form()).get("fact", "")
    await call.app.world.need(call.space)
    message = f"{FROM_PAGE}{call.app.tools.new_id()}"
    (known,) = await iknowthat(call.app.world.deps, call.space, [fact], because=call.cause, message=message)
    if known.stated.conflict is not None:
        return redirect_to(call, f"/admin/conflicts/{known.stated.conflict}")
    stated = {"stated": message} if known.stated.did is StatementEffect.ADDED else {}
    return redirect_to(call, WORLD, concept=known.statement.concept, **stated)


@ROUTES.add("POST", f"{WORLD}/undo", AccessScope.REVIEW, page=True)
async def submit_undo_fact(call: AdminCall) -> Response:
    """Take back a fact that was just stated, from the page; what others have said too stands."""
    stated = (await call.form()).get("stated", "")
    if not stated.startswith(FROM_PAGE):
        raise BadInput("There is nothing to undo.")
    await forget_message(call.app.world.deps, call.space, stated, by=call.by)
    return redirect_to(call, WORLD, taken_back="yes")


async def _find_neighborhood_or_error(call: AdminCall, asked: str) -> tuple[Neighborhood | None, str, list[str]]:
    """The neighborhood of the word that was asked for; or why there is none, and the nearest spellings."""
    if not asked:
        return None, "", []
    try:
        return await load_requested_neighborhood(call, to_single_token(asked)), "", []
    except NoSuchConcept as error:
        return None, error.message, list(error.details.get("nearest", []))


async def _quarantine(call: AdminCall) -> list[dict[str, Any]]:
    held = await load_quarantine(call.app.world.deps, call.space, statuses=UNDECIDED, limit=SHOWN)
    return await quarantine_items(call, held)


async def _load_decided_entry(call: AdminCall) -> dict[str, Any] | None:
    """The quarantine entry that was just admitted or rejected on this page."""
    decided = call.request.query_params.get("decided")
    if not decided:
        return None
    held = await find_quarantine_entry(call.app.world.deps, call.space, read_id(decided))
    return asdict(held)
