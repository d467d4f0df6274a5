"""The page at `/admin/outcomes`: what became of recalled memories.

Shows how many recalls get an outcome, who reports it and how, and which memories helped, misled or were shown
in vain. Memories are named by their ids. `/admin/outcomes.json` has the same data.
"""

from typing import Any

from starlette.responses import Response

from festinger.outcomes.stats import GROUPS, SPANS, outcome_stats, top_memories
from festinger.web.auth import AccessScope
from festinger.web.render import render_page
from festinger.web.route import AdminCall, RouteTable, json_response

ROUTES = RouteTable()
SHOWN = {"24h": "24 hours", "7d": "7 days", "all": "all time"}
LISTS = {
    "helpful": "Helped most often",
    "misleading": "Misled most often",
    "idle": "Shown ten times or more, and never used",
}


async def build_usefulness(call: AdminCall) -> dict[str, Any]:
    deps = call.app.outcomes.deps
    found = await outcome_stats(deps, call.space)
    named = await top_memories(deps, call.space)
    return {
        "spans": [{"span": SHOWN[name], **found[name]} for name in SPANS],
        "groups": list(GROUPS),
        "pending": found["pending"],
        "unreadable": found["unreadable"],
        "lists": [{"title": title, "memories": named[name]} for name, title in LISTS.items()],
    }


@ROUTES.add("GET", "/admin/outcomes", AccessScope.READ, page=True)
async def usefulness_page(call: AdminCall) -> Response:
    """What came of what was brought to mind."""
    return await render_page(call, "outcomes.html", await build_usefulness(call))


@ROUTES.add("GET", "/admin/outcomes.json", AccessScope.READ)
async def usefulness_json(call: AdminCall) -> Response:
    """The page of outcomes as data."""
    return json_response(await build_usefulness(call))
