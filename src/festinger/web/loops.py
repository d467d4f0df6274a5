"""What repeated itself, and what was done about it?

Reads the events of the loop guard: what it saw, stepped up to, cut and let go of. Which sessions are still in a loop
is told by the last that was heard of each.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from starlette.responses import Response

from festinger.events.event import Event
from festinger.events.feed import history
from festinger.web.access import Scope
from festinger.web.listing import cursor_of, limit_of, page_of
from festinger.web.pages import show
from festinger.web.route import Call, Route, answer

NAMES = ("loop_detected", "loop_recovered", "loop_cut", "breaker_opened", "breaker_closed")

STILL = frozenset({"loop_detected", "breaker_opened"})
"""After these a session is in a loop, until something else is heard of it."""

WORDS = {
    "loop_detected": "loop detected",
    "loop_recovered": "recovered",
    "loop_cut": "stream cut",
    "breaker_opened": "breaker opened",
    "breaker_closed": "breaker closed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One step of the loop guard, in the words that people read."""

    at: datetime
    what: str
    session: str
    rule: str
    level: int | None
    count: int | None
    detail: str


def happening(event: Event) -> Happening:
    said = event.payload
    return Happening(
        at=event.at,
        what=WORDS[event.name],
        session=str(said["session"]),
        rule=str(said["rule"]),
        level=said.get("level"),
        count=said.get("count", said.get("chars")),
        detail=" ".join(str(said[name]) for name in ("key", "did", "channel", "by") if said.get(name)),
    )


def live(newest_first: Iterable[Event]) -> list[Happening]:
    """The sessions that are in a loop now, each by the last that was heard of it."""
    last: dict[str, Event] = {}
    for event in newest_first:
        last.setdefault(str(event.payload["session"]), event)
    return [happening(event) for event in last.values() if event.name in STILL]


async def loops_json(call: Call) -> Response:
    found = await _found(call)
    last = found[-1].seq if found else None
    items = [_item(happening(event)) for event in found]
    return answer(page_of(items, limit=limit_of(call.request), last=last))


async def loops_page(call: Call) -> Response:
    return show(call, "loops.html", await _data(call))


async def loops_twin(call: Call) -> Response:
    return answer(await _data(call))


async def _data(call: Call) -> dict[str, Any]:
    found = await _found(call)
    last = found[-1].seq if len(found) == limit_of(call.request) else None
    return {
        "live": [_item(each) for each in live(found)],
        "events": [_item(happening(event)) for event in found],
        "next": str(last) if last is not None else None,
    }


async def _found(call: Call) -> Sequence[Event]:
    return await history(
        call.app.store,
        space=call.space,
        names=NAMES,
        before=cursor_of(call.request),
        limit=limit_of(call.request),
    )


def _item(each: Happening) -> dict[str, Any]:
    return {name: getattr(each, name) for name in Happening.__slots__}


ROUTES = (
    Route(
        method="GET",
        path="/admin/loops",
        scope=Scope.READ,
        endpoint=loops_page,
        summary="What the loop guard saw.",
        page=True,
    ),
    Route(
        method="GET",
        path="/admin/loops.json",
        scope=Scope.READ,
        endpoint=loops_twin,
        summary="The page of loops as data.",
    ),
    Route(
        method="GET",
        path="/admin/api/loops",
        scope=Scope.READ,
        endpoint=loops_json,
        summary="Events of the loop guard, the newest first.",
    ),
)
