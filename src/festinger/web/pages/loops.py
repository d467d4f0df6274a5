"""The page of loops: what repeated, and what the loop guard did about it.

Reads the events of the loop guard: what it saw, escalated, cut and released. The last event of a session says
whether it is still in a loop; what it repeats is known only to the proxy of this process. Closing a breaker
is for people: an agent must not release itself.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from starlette.responses import Response

from festinger.errors import NotFound
from festinger.events.event import Event
from festinger.events.feed import event_history
from festinger.web.auth import AccessScope
from festinger.web.render import add_page
from festinger.web.route import AdminCall, RouteTable, build_page, json_response, parse_cursor, parse_limit

ROUTES = RouteTable()
NAMES = ("loop_detected", "loop_recovered", "loop_cut", "breaker_opened", "breaker_closed")

STILL = frozenset({"loop_detected", "breaker_opened"})
"""Events after which a session is in a loop until another one arrives; a mere notice is not among them."""

WORDS = {
    "loop_detected": "loop detected",
    "loop_recovered": "recovered",
    "loop_cut": "stream cut",
    "breaker_opened": "breaker opened",
    "breaker_closed": "breaker closed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopEventView:
    """One step of the loop guard, in words for people."""

    at: datetime
    what: str
    session: str
    rule: str
    level: int | None
    count: int | None
    detail: str


def build_event_view(event: Event) -> LoopEventView:
    said = event.payload
    return LoopEventView(
        at=event.at,
        what=WORDS[event.name],
        session=str(said["session"]),
        rule=str(said["rule"]),
        level=said.get("level"),
        count=said.get("count", said.get("chars")),
        detail=" ".join(str(said[name]) for name in ("key", "did", "channel", "by") if said.get(name)),
    )


def looping_sessions(newest_first: Iterable[Event]) -> list[LoopEventView]:
    """The sessions that are in a loop now, each with its last event."""
    last: dict[str, Event] = {}
    for event in newest_first:
        last.setdefault(str(event.payload["session"]), event)
    return [build_event_view(event) for event in last.values() if event.name in STILL and event.payload.get("level", 1)]


@ROUTES.add("GET", "/admin/api/loops", AccessScope.READ)
async def loops_json(call: AdminCall) -> Response:
    """Events of the loop guard, the newest first, and what repeats now."""
    found = await _found(call)
    last = found[-1].seq if found else None
    items = [_item(build_event_view(event)) for event in found]
    return json_response({**build_page(items, limit=parse_limit(call.request), last=last), "live": _now(call)})


@ROUTES.add("POST", "/admin/api/loops/{session:path}/reset", AccessScope.REVIEW)
async def reset_loop(call: AdminCall) -> Response:
    """Close a breaker, and let its session go on."""
    session = call.request.path_params["session"]
    if not call.supervisor.loops.reset(call.space, session, by=call.by):
        raise NotFound(f"No loop of a session `{session[:80]}` is known here.")
    return json_response({"reset": session})


def _now(call: AdminCall) -> list[dict[str, Any]]:
    """The loops that the proxy of this process sees, with what repeats."""
    return [asdict(loop) for loop in call.supervisor.loops.live(call.space)]


@add_page(ROUTES, "/admin/loops", "loops.html")
async def loops_page(call: AdminCall) -> dict[str, Any]:
    """What the loop guard saw."""
    found = await _found(call)
    last = found[-1].seq if len(found) == parse_limit(call.request) else None
    return {
        "live": [_item(each) for each in looping_sessions(found)],
        "now": _now(call),
        "events": [_item(build_event_view(event)) for event in found],
        "next": str(last) if last is not None else None,
    }


async def _found(call: AdminCall) -> Sequence[Event]:
    return await event_history(
        call.app.store,
        space=call.space,
        names=NAMES,
        before=parse_cursor(call.request),
        limit=parse_limit(call.request),
    )


def _item(each: LoopEventView) -> dict[str, Any]:
    return {name: getattr(each, name) for name in LoopEventView.__slots__}
