"""Requests over HTTP: what happened to each that memory served."""

from dataclasses import asdict
from typing import Any
from uuid import UUID

from starlette.responses import Response

from festinger.events.feed import history
from festinger.ids import SessionId
from festinger.outcomes.capture import inferred_of
from festinger.outcomes.model import How
from festinger.outcomes.surface import surfaced_in
from festinger.store.repositories.request_log import LoggedRequest, find_request, list_requests
from festinger.web.access import Scope
from festinger.web.listing import EPOCH, MICROSECOND, cursor_of, limit_of, page_of
from festinger.web.route import Call, Route, answer

HAPPENED = 100
"""Events that are shown of a request at most."""


async def requests(call: Call) -> Response:
    asked, limit = call.request.query_params, limit_of(call.request)
    session = asked.get("session")
    cursor = cursor_of(call.request)
    found = await list_requests(
        call.app.store,
        call.space,
        session=SessionId(session) if session else None,
        before=EPOCH + cursor * MICROSECOND if cursor else None,
        limit=limit,
    )
    last = (found[-1].at - EPOCH) // MICROSECOND if found else None
    return answer(page_of([asdict(each) for each in found], limit=limit, last=last))


async def request(call: Call) -> Response:
    """One request, with the events that it caused and what became of its notes.

    What came too late for a header is among the events.
    """
    name = call.request.path_params["id"]
    found = await find_request(call.app.store, call.space, name)
    events = await history(call.app.store, space=call.space, trace=name, limit=HAPPENED)
    told = [
        {"name": event.name, "at": event.at, "payload": dict(event.payload)} for event in reversed(events)
    ]
    return answer(asdict(found) | {"events": told, "outcomes": await _outcomes(call, found)})


async def _outcomes(call: Call, found: LoggedRequest) -> list[dict[str, Any]]:
    """What became of the notes that were put into it, memories and edges, as far as that is known by now."""
    recollection = found.details.get("recollection")
    if recollection is None:
        return []
    surfaced = await surfaced_in(call.app.store, call.space, UUID(recollection))
    edges = await inferred_of(call.app.store, call.space, found.id)
    return [
        {"memory": str(each.memory_id), "outcome": each.outcome, "how": each.how, "at": each.resolved_at}
        for each in surfaced
    ] + [{"edge": note, "outcome": outcome, "how": How.INFERRED} for note, outcome in edges.items()]


ROUTES = (
    Route(
        method="GET",
        path="/admin/api/requests",
        scope=Scope.READ,
        endpoint=requests,
        summary="Requests that memory served, the newest first.",
    ),
    Route(
        method="GET",
        path="/admin/api/requests/{id}",
        scope=Scope.READ,
        endpoint=request,
        summary="What happened to one request.",
    ),
)
