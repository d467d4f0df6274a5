"""The pages of nights: what a run of consolidation noticed, made, moved and refused, before and after.

A night is started or only previewed here, and taken back as a whole or item by item.
"""

from typing import Any

from starlette.responses import Response

from festinger.ids import read_id
from festinger.services.nights import get_night, list_nights, run_night, undo_night
from festinger.web.auth import AccessScope
from festinger.web.render import add_page, redirect_to
from festinger.web.route import AdminCall, RouteTable

ROUTES = RouteTable()
NIGHTS = "/admin/nights"
SHOWN = 30


@add_page(ROUTES, NIGHTS, "nights.html")
async def load_nights_page(call: AdminCall) -> dict[str, Any]:
    cursor = call.request.query_params.get("cursor")
    found = await list_nights(call.app, space=call.space, limit=SHOWN, cursor=read_id(cursor) if cursor else None)
    return {"items": [each.as_json() for each in found], "next": str(found[-1].id) if len(found) == SHOWN else None}


@add_page(ROUTES, f"{NIGHTS}/{{id}}", "night.html")
async def load_night_page(call: AdminCall) -> dict[str, Any]:
    """What one night did, in words and item by item."""
    said = call.request.query_params.get("said", "")[:200]
    return {"item": (await get_night(call.app, space=call.space, id=call.id)).as_json(), "said": said}


@ROUTES.add("POST", f"{NIGHTS}/run", AccessScope.REVIEW, page=True)
async def submit_run_night(call: AdminCall) -> Response:
    form = await call.form()
    night = await run_night(call.app, space=call.space, dry_run=form.get("dry_run") == "yes")
    return redirect_to(call, f"{NIGHTS}/{night}", said="Started. Load the page again to see how far it is.")


@ROUTES.add("POST", f"{NIGHTS}/{{id}}/undo", AccessScope.REVIEW, page=True)
async def submit_undo_night(call: AdminCall) -> Response:
    item = (await call.form()).get("item", "")
    undone = await undo_night(call.app, space=call.space, id=call.id, item=read_id(item) if item else None, by=call.by)
    return redirect_to(call, f"{NIGHTS}/{call.id}", said=f"Taken back: {undone}.")
