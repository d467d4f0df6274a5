"""What repeated itself, and what was done about it?

Reads the events of the loop guard: what it saw, stepped up to, cut and let go of. Which sessions are still in a loop
is told by the last that was heard of each; what they repeat is known to the door of this process only. Closing a
breaker is for people: an agent does not let itself go on.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from starlette.responses import Response

from festinger.errors import NotFound
from festinger.events.event import Event
from festinger.events.feed import history
from festinger.web.auth import Scope
from festinger.web.pagination import cursor_of, limit_of, page_of
from festinger.web.render import show
from festinger.web.route import Call, Route, answer

NAMES = ("loop_detected", "loop_recovered", "loop_cut", "breaker_opened", "breaker_closed")

STILL = frozenset({"loop_detected", "breaker_opened"})
"""After these a session is in a loop, until something else is heard of it; of a mere notice it is not."""

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
    return [
        happening(event) for event in last.values() if event.name in STILL and event.payload.get("level", 1)
    ]


async def loops_json(call: Call) -> Response:
    found = await _found(call)
    last = found[-1].seq if found else None
    items = [_item(happening(event)) for event in found]
    return answer({**page_of(items, limit=limit_of(call.request), last=last), "live": _now(call)})


async def reset(call: Call) -> Response:
    session = call.request.path_params["session"]
    if not call.keeper.loops.reset(call.space, session, by=call.by):
        raise NotFound(f"No loop of a session `{session[:80]}` is known here.")
    return answer({"reset": session})


def _now(call: Call) -> list[dict[str, Any]]:
    """The loops that the door of this process sees, with what repeats."""
    return [asdict(loop) for loop in call.keeper.loops.live(call.space)]


async def loops_page(call: Call) -> Response:
    return await show(call, "loops.html", await _data(call))


async def loops_twin(call: Call) -> Response:
    return answer(await _data(call))


async def _data(call: Call) -> dict[str, Any]:
    found = await _found(call)
    last = found[-1].seq if len(found) == limit_of(call.request) else None
    return {
        "live": [_item(each) for each in live(found)],
        "now": _now(call),
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
        summary="Events of the loop guard, the newest first, and what repeats now.",
    ),
    Route(
        method="POST",
        path="/admin/api/loops/{session:path}/reset",
        scope=Scope.REVIEW,
        endpoint=reset,
        summary="Close a breaker, and let its session go on.",
    ),
)
