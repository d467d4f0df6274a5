"""HTTP API for quarantine: list statements that nobody vouches for, and admit or reject them.

Listing needs the right to read; deciding is for reviewers alone, because what is admitted changes what agents
see.
"""

from dataclasses import asdict
from typing import Any

from starlette.responses import Response

from festinger.errors import BadInput
from festinger.ids import read_id
from festinger.web.auth import AccessScope
from festinger.web.render import redirect_to
from festinger.web.route import AdminCall, RouteTable, json_response, parse_limit
from festinger.world.conflicts import edge_conflict_json, find_conflict
from festinger.world.erase import forget_edge
from festinger.world.model import StatementEffect
from festinger.world.quarantine import (
    QuarantineEntry,
    admit_entry,
    find_quarantine_entry,
    load_quarantine,
    load_vote_counts,
    reject_entry,
    reopen_entry,
)

ROUTES = RouteTable()
STATUSES = ("waiting", "expired", "admitted", "rejected")
UNDECIDED = ("waiting", "expired")


@ROUTES.add("GET", "/admin/api/quarantine", AccessScope.READ)
async def list_quarantine(call: AdminCall) -> Response:
    status = call.request.query_params.get("status", "waiting")
    if status not in (*STATUSES, "all"):
        raise BadInput(f"`status` must be one of {', '.join((*STATUSES, 'all'))}.")
    limit, deps = parse_limit(call.request), call.app.world.deps
    found = await load_quarantine(
        deps, call.space, statuses=None if status == "all" else (status,), after=await _after(call), limit=limit
    )
    items = await quarantine_items(call, found)
    return json_response({"items": items, "next": str(found[-1].id) if len(found) == limit else None})


@ROUTES.add("POST", "/admin/api/quarantine/{id}/admit", AccessScope.REVIEW)
async def admit_one(call: AdminCall) -> Response:
    stated = await admit_entry(call.app.world.deps, call.space, call.id, because=call.cause)
    if stated.conflict is None:
        return json_response({"status": stated.did.value, "conflict": None})
    async with call.app.store.transaction() as transaction:
        conflict = await find_conflict(transaction, call.space, stated.conflict)
    return json_response(
        {"status": stated.did.value, "conflict": await edge_conflict_json(call.app.world.deps, call.space, conflict)},
        202,
    )


@ROUTES.add("POST", "/admin/api/quarantine/{id}/reject", AccessScope.REVIEW)
async def reject_one(call: AdminCall) -> Response:
    held = await reject_entry(call.app.world.deps, call.space, call.id, by=call.by)
    return json_response({"status": held.status, "id": held.id})


@ROUTES.add("POST", "/admin/world/quarantine/{id}/admit", AccessScope.REVIEW, page=True)
async def submit_admit(call: AdminCall) -> Response:
    stated = await admit_entry(call.app.world.deps, call.space, call.id, because=call.cause)
    if stated.conflict is not None:
        return redirect_to(call, f"/admin/conflicts/{stated.conflict}")
    # What others have said too cannot be taken back by erasing it.
    added = {"added": "yes"} if stated.did is StatementEffect.ADDED else {}
    return redirect_to(call, "/admin/world", decided=str(call.id), **added)


@ROUTES.add("POST", "/admin/world/quarantine/{id}/undo", AccessScope.REVIEW, page=True)
async def submit_undo(call: AdminCall) -> Response:
    """Put a statement back into quarantine that was just decided, from the page."""
    deps, form = call.app.world.deps, await call.form()
    held = await find_quarantine_entry(deps, call.space, call.id)
    if held.status == "admitted" and form.get("added"):
        await forget_edge(deps, call.space, concept=held.concept, parent=held.parent, dimension=held.dim, by=call.by)
    await reopen_entry(deps, call.space, call.id, by=call.by)
    return redirect_to(call, "/admin/world", decided=str(call.id))


@ROUTES.add("POST", "/admin/world/quarantine/{id}/reject", AccessScope.REVIEW, page=True)
async def submit_reject(call: AdminCall) -> Response:
    await reject_entry(call.app.world.deps, call.space, call.id, by=call.by)
    return redirect_to(call, "/admin/world", decided=str(call.id))


async def quarantine_items(call: AdminCall, held: list[QuarantineEntry]) -> list[dict[str, Any]]:
    """Statements with the evidence for each."""
    votes = await load_vote_counts(call.app.world.deps.store, call.space, held)
    return [asdict(each) | {"dimension": each.dim, "votes": asdict(votes[each.id])} for each in held]


async def _after(call: AdminCall) -> QuarantineEntry | None:
    cursor = call.request.query_params.get("cursor") or call.request.query_params.get("after")
    return await find_quarantine_entry(call.app.world.deps, call.space, read_id(cursor)) if cursor else None
