"""HTTP API for events (history and live feed) and for the log of requests that memory served."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import asdict
from typing import Any
from uuid import UUID

import orjson
from starlette.responses import Response, StreamingResponse

from festinger.errors import TooMany, Unavailable
from festinger.events.catalogue import Event
from festinger.events.outbox import FeedGap, event_history
from festinger.ids import EventId, SessionId, read_id
from festinger.outcomes.capture import load_inferred_edge_outcomes
from festinger.outcomes.model import ReportSource
from festinger.outcomes.surface import surfacings_of_recall
from festinger.services.status import start_following_events
from festinger.store.connection import cancel_tasks
from festinger.store.repositories.request_log import LoggedRequest, find_request, list_requests
from festinger.web.auth import AccessScope
from festinger.web.route import (
    EPOCH,
    MICROSECOND,
    AdminCall,
    RouteTable,
    build_page,
    json_response,
    parse_cursor,
    parse_limit,
)

ROUTES = RouteTable()
MAX_STREAMS = 5
OPEN_STREAMS: Counter[UUID | None] = Counter()
"""Feeds that are read now, by login."""
KEEP_ALIVE_SECONDS = 15.0
"""A comment line this often keeps proxies and readers from mistaking silence for the end."""


@ROUTES.add("GET", "/admin/api/events", AccessScope.READ)
async def list_events(call: AdminCall) -> Response:
    asked, limit = call.request.query_params, parse_limit(call.request)
    found = await event_history(
        call.app.store,
        space=call.space,
        trace=asked.get("trace"),
        subject=asked.get("subject"),
        names=asked.getlist("name"),
        before=parse_cursor(call.request),
        limit=limit,
    )
    last = found[-1].seq if found else None
    return json_response(build_page([asdict(event) for event in found], limit=limit, last=last))


@ROUTES.add("GET", "/admin/api/events/stream", AccessScope.READ)
async def stream_events(call: AdminCall) -> Response:
    """Server-sent events from the last one that the reader has, or from now."""
    last = call.request.headers.get("last-event-id") or call.request.query_params.get("after")
    after = EventId(read_id(last)) if last else None
    names = call.request.query_params.getlist("name")
    reader = call.session.id if call.session else None
    if reader is not None and OPEN_STREAMS[reader] >= MAX_STREAMS:
        raise TooMany(f"At most {MAX_STREAMS} pages of one login can be live.", hint="Close some of them.")
    news = await start_following_events(call.app, space=call.space, names=names, after=after)
    lines = encode_sse(news, until=call.supervisor.closing, reader=reader)
    return StreamingResponse(lines, media_type="text/event-stream")


async def encode_sse(
    news: AsyncGenerator[Event | FeedGap, None],
    *,
    until: asyncio.Event,
    keep_alive: float = KEEP_ALIVE_SECONDS,
    reader: UUID | None = None,
) -> AsyncIterator[bytes]:
    """Encode the feed as server-sent events until the server stops, with a comment line when it is silent."""
    OPEN_STREAMS[reader] += 1
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
                # When the store is down the stream ends; the reader reconnects with the id of its last event.
                return
            yield _line(happened)
            coming = asyncio.ensure_future(anext(news))
    finally:
        OPEN_STREAMS[reader] -= 1
        await cancel_tasks([coming, stopping])
        await news.aclose()


def _line(happened: Event | FeedGap) -> bytes:
    if isinstance(happened, FeedGap):
        return b"event: gap\ndata: " + orjson.dumps({"after": str(happened.after)}) + b"\n\n"
    data = orjson.dumps(asdict(happened), default=str)
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (str(happened.id).encode(), happened.name.encode(), data)


HAPPENED = 100
"""The most events shown for one request."""


@ROUTES.add("GET", "/admin/api/requests", AccessScope.READ)
async def list_request_log(call: AdminCall) -> Response:
    asked, limit = call.request.query_params, parse_limit(call.request)
    session = asked.get("session")
    cursor = parse_cursor(call.request)
    found = await list_requests(
        call.app.store,
        call.space,
        session=SessionId(session) if session else None,
        before=EPOCH + cursor * MICROSECOND if cursor else None,
        limit=limit,
    )
    last = (found[-1].at - EPOCH) // MICROSECOND if found else None
    return json_response(build_page([asdict(each) for each in found], limit=limit, last=last))


@ROUTES.add("GET", "/admin/api/requests/{id}", AccessScope.READ)
async def show_request(call: AdminCall) -> Response:
    """One request, with the events that it caused and what became of its notes.

    What came too late for a header is among the events.
    """
    name = call.request.path_params["id"]
    found = await find_request(call.app.store, call.space, name)
    events = await event_history(call.app.store, space=call.space, trace=name, limit=HAPPENED)
    told = [{"name": event.name, "at": event.at, "payload": dict(event.payload)} for event in reversed(events)]
    return json_response(asdict(found) | {"events": told, "outcomes": await _outcomes(call, found)})


async def _outcomes(call: AdminCall, found: LoggedRequest) -> list[dict[str, Any]]:
    """The outcomes known so far for the notes put into the request, memories and edges."""
    recollection = found.details.get("recollection")
    if recollection is None:
        return []
    surfaced = await surfacings_of_recall(call.app.store, call.space, UUID(recollection))
    edges = await load_inferred_edge_outcomes(call.app.store, call.space, found.id)
    return [
        {"memory": str(each.memory_id), "outcome": each.outcome, "how": each.how, "at": each.resolved_at}
        for each in surfaced
    ] + [{"edge": note, "outcome": outcome, "how": ReportSource.INFERRED} for note, outcome in edges.items()]
