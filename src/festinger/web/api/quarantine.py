"""Quarantine over HTTP: statements that nobody vouches for, and letting them in or keeping them out.

Listing needs to read; deciding is for reviewers alone, because what is admitted changes what agents are told.
"""

from dataclasses import asdict
from typing import Any

from starlette.responses import Response

from festinger.errors import BadInput
from festinger.ids import read_id
from festinger.web.auth import Scope
from festinger.web.pagination import limit_of
from festinger.web.render import back_to
from festinger.web.route import Call, Route, answer
from festinger.world.conflicts import find_conflict, item_json
from festinger.world.quarantine import (
    Quarantined,
    Votes,
    admit,
    find_quarantined,
    quarantined,
    reject,
    votes_of,
)

STATUSES = ("waiting", "expired", "admitted", "rejected")
UNDECIDED = ("waiting", "expired")


async def list_quarantine(call: Call) -> Response:
    status = call.request.query_params.get("status", "waiting")
    if status not in (*STATUSES, "all"):
        raise BadInput(f"`status` must be one of {', '.join((*STATUSES, 'all'))}.")
    limit, desk = limit_of(call.request), call.app.world.desk
    found = await quarantined(
        desk,
        call.space,
        statuses=None if status == "all" else (status,),
        after=await _after(call),
        limit=limit,
    )
    items = await items_of(call, found)
    return answer({"items": items, "next": str(found[-1].id) if len(found) == limit else None})


async def admit_one(call: Call) -> Response:
    stated = await admit(call.app.world.desk, call.space, call.id, because=call.cause)
    if stated.conflict is None:
        return answer({"status": stated.did.value, "conflict": None})
    async with call.app.store.transaction() as transaction:
        conflict = await find_conflict(transaction, call.space, stated.conflict)
    return answer(
        {
            "status": stated.did.value,
            "conflict": await item_json(call.app.world.desk, call.space, conflict),
        },
        202,
    )


async def reject_one(call: Call) -> Response:
    held = await reject(call.app.world.desk, call.space, call.id, by=call.by)
    return answer({"status": held.status, "id": held.id})


async def admit_form(call: Call) -> Response:
    stated = await admit(call.app.world.desk, call.space, call.id, because=call.cause)
    if stated.conflict is not None:
        return back_to(call, f"/admin/conflicts/{stated.conflict}")
    return back_to(call, "/admin/world", decided=str(call.id))


async def reject_form(call: Call) -> Response:
    await reject(call.app.world.desk, call.space, call.id, by=call.by)
    return back_to(call, "/admin/world", decided=str(call.id))


async def items_of(call: Call, held: list[Quarantined]) -> list[dict[str, Any]]:
    """Statements with how much speaks for each."""
    votes = await votes_of(call.app.world.desk, call.space, held)
    return [_item(each, votes[each.id]) for each in held]


def _item(held: Quarantined, votes: Votes) -> dict[str, Any]:
    return {
        "id": str(held.id),
        "concept": held.concept,
        "parent": held.parent,
        "dimension": held.dim,
        "is_isa": held.is_isa,
        "pattern": held.pattern,
        "origin": held.origin,
        "status": held.status,
        "first_seen": held.first_seen,
        "votes": asdict(votes),
    }


async def _after(call: Call) -> Quarantined | None:
    cursor = call.request.query_params.get("cursor") or call.request.query_params.get("after")
    return await find_quarantined(call.app.world.desk, call.space, read_id(cursor)) if cursor else None


ROUTES = (
    Route(
        method="GET",
        path="/admin/api/quarantine",
        scope=Scope.READ,
        endpoint=list_quarantine,
        summary="Statements that nobody vouches for, newest first.",
    ),
    Route(
        method="POST",
        path="/admin/api/quarantine/{id}/admit",
        scope=Scope.REVIEW,
        endpoint=admit_one,
        summary="Let a statement in.",
    ),
    Route(
        method="POST",
        path="/admin/api/quarantine/{id}/reject",
        scope=Scope.REVIEW,
        endpoint=reject_one,
        summary="Keep a statement out.",
    ),
    Route(
        method="POST",
        path="/admin/world/quarantine/{id}/admit",
        scope=Scope.REVIEW,
        endpoint=admit_form,
        summary="Let a statement in, from the page.",
        page=True,
    ),
    Route(
        method="POST",
        path="/admin/world/quarantine/{id}/reject",
        scope=Scope.REVIEW,
        endpoint=reject_form,
        summary="Keep a statement out, from the page.",
        page=True,
    ),
)
