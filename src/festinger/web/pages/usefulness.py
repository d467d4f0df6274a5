"""The page at `/admin/outcomes`: what became of recalled memories.

Shows how many recalls get an outcome, who reports it and how, and which memories helped, misled or were shown
in vain. `/admin/outcomes.json` has the same data.
"""

from typing import Any

from festinger.memory.query import count_memories_by_weight
from festinger.outcomes.stats import GROUPS, SPANS, outcome_stats, top_memories
from festinger.web.pages.changes import load_visible_texts
from festinger.web.render import add_page
from festinger.web.route import AdminCall, RouteTable

ROUTES = RouteTable()
SHOWN = {"24h": "24 hours", "7d": "7 days", "all": "all time"}
LISTS = {
    "helpful": "Helped most often",
    "misleading": "Misled most often",
    "idle": "Shown ten times or more, and never used",
}


@add_page(ROUTES, "/admin/outcomes", "outcomes.html")
async def load_usefulness_page(call: AdminCall) -> dict[str, Any]:
    deps = call.app.outcomes.deps
    found = await outcome_stats(deps, call.space)
    named = await top_memories(deps, call.space)
    texts = await load_visible_texts(call, [each["memory"] for those in named.values() for each in those])
    return {
        "spans": [{"span": SHOWN[name], **found[name]} for name in SPANS],
        "groups": list(GROUPS),
        "weights": await count_memories_by_weight(call.app.memory.deps, call.space),
        "pending": found["pending"],
        "unreadable": found["unreadable"],
        "lists": [
            {"title": title, "memories": [each | {"text": texts.get(each["memory"])} for each in named[name]]}
            for name, title in LISTS.items()
        ],
    }
