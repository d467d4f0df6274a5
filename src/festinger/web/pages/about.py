"""The pages of what is known of a person, a project or a thing: one page to read and correct.

Shows memories whose subject it is, those that wait for a decision apart, what the world says of the name, and what
else mentions it. Something can be added right there.
"""

from typing import Any

from starlette.responses import Response

from festinger.errors import NoSuchConcept
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import build_refused_error
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import LearnAction, Status
from festinger.memory.query import MemoryFilter, list_subjects, load_memories_about
from festinger.services.search import search_memories
from festinger.text.tokens import to_single_token
from festinger.web.auth import AccessScope
from festinger.web.pages.changes import load_just_made_change
from festinger.web.render import add_page, redirect_to
from festinger.web.route import AdminCall, RouteTable, caller_scope, can_see, origin_of, viewer_of
from festinger.world.query import build_concept_report

ROUTES = RouteTable()
ABOUT = "/admin/about"
LISTED = 100
MENTIONS = 20
MAX_SUBJECT = 200


@add_page(ROUTES, ABOUT, "subjects.html")
async def load_subjects_page(call: AdminCall) -> dict[str, Any]:
    after = call.request.query_params.get("cursor", "")[:MAX_SUBJECT]
    found = await list_subjects(call.app.memory.deps, call.space, agent=viewer_of(call), after=after, limit=LISTED)
    return {"items": found, "next": found[-1]["key"] if len(found) == LISTED else None}


@add_page(ROUTES, f"{ABOUT}/{{subject:path}}", "about.html")
async def load_about_page(call: AdminCall) -> dict[str, Any]:
    """Everything known of a person, a project or a thing."""
    subject, agent = str(call.request.path_params["subject"])[:MAX_SUBJECT], viewer_of(call)
    found = await load_memories_about(call.app.memory.deps, call.space, subject, agent=agent)
    ids = {each.id for each in found}
    hits = await search_memories(call.app, call.space, subject, MemoryFilter(), agent=agent, limit=MENTIONS)
    mentions = [each.memory for each in hits if not each.weak and each.memory.id not in ids]
    return {
        "subject": next((each.subject for each in found if each.subject), subject),
        "known": [each.as_json() for each in found if each.status is Status.ACTIVE],
        "disputed": [each.as_json() for each in found if each.status is not Status.ACTIVE],
        "world": await _load_concept_facts(call, subject),
        "mentions": [each.as_json() for each in mentions if can_see(call, each)],
        "done": await load_just_made_change(call),
    }


async def _load_concept_facts(call: AdminCall, subject: str) -> dict[str, Any] | None:
    """What the world says of this name; nothing if it does not know it."""
    token = to_single_token(subject).casefold()
    try:
        found = await build_concept_report(call.app.world.deps, call.space, token)
    except NoSuchConcept:
        return None
    pending = [str(each.id) for each in found.conflicts if each.status == "pending"]
    return {"concept": token, "edges": [dict(each.edge) for each in found.edges], "conflicts": pending}


@ROUTES.add("POST", ABOUT, AccessScope.WRITE, page=True)
async def submit_new_memory(call: AdminCall) -> Response:
    form = await call.form()
    subject = form.get("subject", "").strip()[:MAX_SUBJECT] or None
    request = LearnRequest(text=form.get("text", ""), subject=subject, origin=origin_of(call, None), shared=True)
    learned = await learn(call.app.memory.deps, caller_scope(call), request)
    if learned.action is LearnAction.REFUSED or learned.memory is None:
        raise build_refused_error(learned)
    if learned.conflict is not None:
        return redirect_to(call, f"/admin/conflicts/{learned.conflict}")
    said = {"done": str(learned.change)} if learned.change else {"said": f"It is {learned.action.value}."}
    return redirect_to(call, f"/admin/memories/{learned.memory.id}", **said)
