"""What came of what was brought to mind?

The page at `/admin/outcomes`: how much of it comes to an outcome, who tells of it and how, and which memories helped,
misled or were shown for nothing. Memories are named by their ids. `/admin/outcomes.json` has the same data.
"""

from typing import Any

from starlette.responses import Response

from festinger.outcomes.stats import GROUPS, SPANS, lists, tally
from festinger.web.auth import Scope
from festinger.web.render import show
from festinger.web.route import Call, Route, answer

SHOWN = {"24h": "24 hours", "7d": "7 days", "all": "all time"}
LISTS = {
    "helpful": "Helped most often",
    "misleading": "Misled most often",
    "idle": "Shown ten times or more, and never used",
}


async def usefulness(call: Call) -> dict[str, Any]:
    desk = call.app.outcomes.desk
    found = await tally(desk, call.space)
    named = await lists(desk, call.space)
    return {
        "spans": [{"span": SHOWN[name], **found[name]} for name in SPANS],
        "groups": list(GROUPS),
        "pending": found["pending"],
        "unreadable": found["unreadable"],
        "lists": [{"title": title, "memories": named[name]} for name, title in LISTS.items()],
    }


async def usefulness_page(call: Call) -> Response:
    return await show(call, "outcomes.html", await usefulness(call))


async def usefulness_json(call: Call) -> Response:
    return answer(await usefulness(call))


ROUTES = (
    Route(
        method="GET",
        path="/admin/outcomes",
        scope=Scope.READ,
        endpoint=usefulness_page,
        summary="What came of what was brought to mind.",
        page=True,
    ),
    Route(
        method="GET",
        path="/admin/outcomes.json",
        scope=Scope.READ,
        endpoint=usefulness_json,
        summary="The page of outcomes as data.",
    ),
)
