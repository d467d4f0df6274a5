"""Events over HTTP: what happened, and a live feed of what happens.

Requests over HTTP: what happened to each that memory served.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import asdict
from typing import Any
from uuid import UUID

import orjson
from starlette.responses import Response, StreamingResponse

from festinger.errors import Unavailable
from festinger.events.event import Event
from festinger.events.feed import Gap, history
from festinger.ids import EventId, SessionId, read_id
from festinger.outcomes.capture import inferred_of
from festinger.outcomes.model import How
from festinger.outcomes.surface import surfaced_in
from festinger.services.status import follow_from_here
from festinger.store.connection import end_all
from festinger.store.repositories.request_log import LoggedRequest, find_request, list_requests
from festinger.web.auth import Scope
from festinger.web.pagination import EPOCH, MICROSECOND, cursor_of, limit_of, page_of
from festinger.web.route import Call, Route, answer

KEEP_ALIVE_SECONDS = 15.0
"""A comment line this often keeps proxies and readers from taking silence for an end."""


async def events(call: Call) -> Response:
    asked, limit = call.request.query_params, limit_of(call.request)
    found = await history(
        call.app.store,
        space=call.space,
        trace=asked.get("trace"),
        subject=asked.get("subject"),
        names=asked.getlist("name"),
        before=cursor_of(call.request),
        limit=limit,
    )
    last = found[-1].seq if found else None
    return answer(page_of([asdict(event) for event in found], limit=limit, last=last))


async def stream(call: Call) -> Response:
    """Server-sent events from the last one that the reader has, or from now."""
    last = call.request.headers.get("last-event-id") or call.request.query_params.get("after")
    after = EventId(read_id(last)) if last else None
    names = call.request.query_params.getlist("name")
    news = await follow_from_here(call.app, space=call.space, names=names, after=after)
    return StreamingResponse(spoken(news, until=call.keeper.closing), media_type="text/event-stream")


async def spoken(
    news: AsyncGenerator[Event | Gap, None],
    *,
    until: asyncio.Event,
    keep_alive: float = KEEP_ALIVE_SECONDS,
) -> AsyncIterator[bytes]:
    """The feed as lines of the wire, until the server stops; a comment when nothing happens for a while."""
    coming, stopping = asyncio.ensure_future(anext(news)), asyncio.ensure_future(until.wait())
    try:
        while not until.is_set():
            await asyncio.wait({coming, stopping}, timeout=keep_alive, return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                yield b": still here\n\n"
                continue
            try:
                happened = coming.result()
            except (StopAsyncIteration, Unavailable):
                # With the store away the stream ends; its reader comes again with the last event that it has.
                return
            yield _line(happened)
            coming = asyncio.ensure_future(anext(news))
    finally:
        await end_all([coming, stopping])
        await news.aclose()


def _line(happened: Event | Gap) -> bytes:
    if isinstance(happened, Gap):
        return b"event: gap\ndata: " + orjson.dumps({"after": str(happened.after)}) + b"\n\n"
    data = orjson.dumps(asdict(happened), default=str)
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (str(happened.id).encode(), happened.name.encode(), data)


ROUTES = (
    Route(
        method="GET",
        path="/admin/api/events",
        scope=Scope.READ,
        endpoint=events,
        summary="What happened, the newest first.",
    ),
    Route(
        method="GET",
        path="/admin/api/events/stream",
        scope=Scope.READ,
        endpoint=stream,
        summary="What happens, live.",
    ),
)


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


REQUEST_ROUTES = (
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
