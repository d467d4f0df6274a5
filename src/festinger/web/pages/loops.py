"""The page of loops: what repeated, and what the loop guard did about it.

Reads the events of the loop guard: what it saw, escalated, cut and released. The last event of a session says
whether it is still in a loop; what it repeats is known only to the proxy of this process. Closing a breaker and
calling a loop a false alarm are for people: an agent must not release itself. Both let the session go on; the
false alarm is also recorded, and can be taken back.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from starlette.responses import Response

from festinger.errors import NotFound
from festinger.events.catalogue import Event
from festinger.events.outbox import event_history, find_event
from festinger.web.auth import AccessScope
from festinger.web.render import add_page, redirect_to
from festinger.web.route import AdminCall, RouteTable, build_page, json_response, parse_cursor, parse_limit

ROUTES = RouteTable()
LOOPS = "/admin/loops"
MARKED, WITHDRAWN = "false_alarm_marked", "false_alarm_withdrawn"
KIND = "loop"
MOST_MARKS = 1000

STILL = frozenset({"loop_detected", "breaker_opened"})
"""Events after which a session is in a loop until another one arrives; a mere notice is not among them."""

WORDS = {
    "loop_detected": "loop detected",
    "loop_recovered": "recovered",
    "loop_cut": "stream cut",
    "breaker_opened": "breaker opened",
    "breaker_closed": "breaker closed",
}
NAMES = tuple(WORDS)


def describe_loop_event(event: Event) -> dict[str, Any]:
    """One step of the loop guard, for people."""
    said = event.payload
    return {
        "id": str(event.id),
        "at": event.at,
        "name": event.name,
        "what": WORDS[event.name],
        "session": str(said["session"]),
        "rule": str(said["rule"]),
        "level": said.get("level"),
        "count": said.get("count", said.get("chars")),
        "did": said.get("did", ""),
        "by": said.get("by", ""),
        "detail": " ".join(str(said[name]) for name in ("key", "did", "channel", "by") if said.get(name)),
    }


def looping_sessions(newest_first: Iterable[Event]) -> list[dict[str, Any]]:
    """The sessions that are in a loop now, each with its last event."""
    last: dict[str, Event] = {}
    for event in newest_first:
        last.setdefault(str(event.payload["session"]), event)
    return [
        describe_loop_event(event) for event in last.values() if event.name in STILL and event.payload.get("level", 1)
    ]


@ROUTES.add("GET", "/admin/api/loops", AccessScope.READ)
async def loops_json(call: AdminCall) -> Response:
    """Events of the loop guard, the newest first, and what repeats now."""
    found = await _found(call)
    last = found[-1].seq if found else None
    items = [describe_loop_event(event) for event in found]
    return json_response({**build_page(items, limit=parse_limit(call.request), last=last), "live": _live_loops(call)})


@ROUTES.add("POST", "/admin/api/loops/{session:path}/reset", AccessScope.REVIEW)
async def reset_loop(call: AdminCall) -> Response:
    session = call.request.path_params["session"]
    _reset(call, session)
    return json_response({"reset": session})


@ROUTES.add("POST", f"{LOOPS}/reset", AccessScope.REVIEW, page=True)
async def submit_reset(call: AdminCall) -> Response:
    _reset(call, (await call.form()).get("session", ""))
    return redirect_to(call, LOOPS, said="It goes on. What it did so far no longer counts.")


@ROUTES.add("POST", f"{LOOPS}/{{id}}/false-alarm", AccessScope.REVIEW, page=True)
async def submit_false_alarm(call: AdminCall) -> Response:
    """Call a loop a false alarm and let its session go on, or take that back, from the page."""
    found = await find_event(call.app.store, call.space, call.id)
    if found is None or found.name not in NAMES:
        raise NotFound(f"There is no loop `{call.id}`.")
    name = WITHDRAWN if (await call.form()).get("undo") else MARKED
    async with call.app.store.transaction() as transaction:
        payload = {"kind": KIND, "id": str(call.id), "by": call.by}
        await call.app.outbox.emit(transaction, name, space=call.space, subject=f"loop:{call.id}", payload=payload)
    if name == MARKED:
        call.supervisor.loops.reset(call.space, str(found.payload["session"]), by=call.by)
    return redirect_to(call, LOOPS, marked=str(call.id))


def _reset(call: AdminCall, session: str) -> None:
    if not call.supervisor.loops.reset(call.space, session, by=call.by):
        raise NotFound(f"No loop of a session `{session[:80]}` is known here.")


def _live_loops(call: AdminCall) -> list[dict[str, Any]]:
    """The loops that the proxy of this process sees, with what repeats."""
    return [asdict(loop) for loop in call.supervisor.loops.live(call.space)]


@add_page(ROUTES, LOOPS, "loops.html")
async def load_loops_page(call: AdminCall) -> dict[str, Any]:
    found, false_alarms = await _found(call), await _false_alarms(call)
    last = found[-1].seq if len(found) == parse_limit(call.request) else None
    return {
        "live": looping_sessions(found),
        "now": _live_loops(call),
        "events": [describe_loop_event(event) | {"false_alarm_by": false_alarms.get(str(event.id))} for event in found],
        "false_alarms": len(false_alarms),
        "next": str(last) if last is not None else None,
        "marked": call.request.query_params.get("marked", ""),
        "said": call.request.query_params.get("said", "")[:200],
    }


async def _false_alarms(call: AdminCall) -> dict[str, str]:
    """The events that were called false alarms, and by whom."""
    marks = await event_history(call.app.store, space=call.space, names=(MARKED, WITHDRAWN), limit=MOST_MARKS)
    last = {mark.payload["id"]: mark for mark in reversed(marks) if mark.payload["kind"] == KIND}
    return {id_: mark.payload["by"] for id_, mark in last.items() if mark.name == MARKED}


async def _found(call: AdminCall) -> Sequence[Event]:
    return await event_history(
        call.app.store,
        space=call.space,
        names=NAMES,
        before=parse_cursor(call.request),
        limit=parse_limit(call.request),
    )
