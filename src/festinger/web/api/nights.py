"""HTTP API for nights: list, read, start and undo runs of consolidation."""

from typing import Any
from uuid import UUID

from starlette.responses import Response

from festinger.ids import read_id
from festinger.services.nights import get_night, list_nights, run_night, undo_night
from festinger.web.auth import AccessScope
from festinger.web.route import AdminCall, ApiInput, RouteTable, json_response, parse_limit

ROUTES = RouteTable()


class RunNightRequest(ApiInput):
    agent: str | None = None
    dry_run: bool = False
    step: str = ""


class UndoNightRequest(ApiInput):
    item: UUID | None = None


@ROUTES.add("GET", "/admin/api/nights", AccessScope.READ)
async def show_nights(call: AdminCall) -> Response:
    limit, cursor = parse_limit(call.request), call.request.query_params.get("cursor")
    found = await list_nights(call.app, space=call.space, limit=limit, cursor=read_id(cursor) if cursor else None)
    items: list[dict[str, Any]] = [each.as_json() for each in found]
    return json_response({"items": items, "next": str(found[-1].id) if len(found) == limit else None})


@ROUTES.add("GET", "/admin/api/nights/{id}", AccessScope.READ)
async def show_night(call: AdminCall) -> Response:
    """What a night did, in words and item by item."""
    return json_response((await get_night(call.app, space=call.space, id=call.id)).as_json())


@ROUTES.add("POST", "/admin/api/nights", AccessScope.REVIEW)
async def start_night(call: AdminCall) -> Response:
    body = await call.body(RunNightRequest)
    night = await run_night(call.app, space=call.space, agent=body.agent, dry_run=body.dry_run, step=body.step)
    return json_response({"night": str(night)}, 202)


@ROUTES.add("POST", "/admin/api/nights/{id}/undo", AccessScope.REVIEW)
async def post_night_undo(call: AdminCall) -> Response:
    body = await call.body(UndoNightRequest)
    undone = await undo_night(call.app, space=call.space, id=call.id, item=body.item, by=call.by)
    return json_response({"night": str(call.id), "undone": undone})
