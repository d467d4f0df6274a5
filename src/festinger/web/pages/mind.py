"""The page of a mind: what an agent holds, how it came to its last replies, its goals, and a line to talk with it."""

from typing import Any
from urllib.parse import quote

from pydantic import ValidationError
from starlette.responses import Response

from festinger.agent.readiness import load_milestones
from festinger.errors import BadInput
from festinger.ids import DEFAULT_AGENT, AgentId, Scope
from festinger.memory.query import list_owners
from festinger.services.agent import choose_chat_scope, describe_mind, say
from festinger.web.api.agents import (
    GoalRequest,
    MilestoneRequest,
    apply_goal_request,
    apply_milestone,
    require_agent_in_path,
)
from festinger.web.auth import AccessScope
from festinger.web.pages.changes import load_just_made_change
from festinger.web.render import add_page, redirect_to
from festinger.web.route import AdminCall, RouteTable, viewer_of

ROUTES = RouteTable()
MIND = "/admin/mind"


@add_page(ROUTES, MIND, "mind.html")
async def load_own_mind_page(call: AdminCall) -> dict[str, Any]:
    """The mind of the default agent, or of the agent that the caller is."""
    return await _load(call, viewer_of(call) or DEFAULT_AGENT)


@add_page(ROUTES, f"{MIND}/{{agent:path}}", "mind.html")
async def load_mind_page(call: AdminCall) -> dict[str, Any]:
    return await _load(call, require_agent_in_path(call))


async def _load(call: AdminCall, agent: AgentId) -> dict[str, Any]:
    others = await list_owners(call.app.memory.deps, call.space) if viewer_of(call) is None else ()
    mind = await describe_mind(call.app, call.space, agent)
    if "readiness" in call.request.query_params:  # reads every weight, so only when asked
        mind["readiness"] = await load_milestones(call.app.store, Scope(space=call.space, agent=agent))
    return {**mind, "agents": sorted({agent, *others}), "done": await load_just_made_change(call)}


@ROUTES.add("POST", f"{MIND}/{{agent:path}}/say", AccessScope.REVIEW, page=True)
async def submit_say(call: AdminCall) -> Response:
    form, agent = await call.form(), require_agent_in_path(call)
    scope = await choose_chat_scope(call.app, call.space, agent, new=form.get("new") == "yes")
    await say(call.app, scope, form.get("text", ""))
    return redirect_to(call, f"{MIND}/{quote(agent, safe='')}")


@ROUTES.add("POST", f"{MIND}/{{agent:path}}/goal", AccessScope.REVIEW, page=True)
async def submit_goal_change(call: AdminCall) -> Response:
    form = await call.form()
    try:
        asked = GoalRequest.model_validate({name: form[name] for name in ("do", "text", "id") if name in form})
    except ValidationError as error:
        raise BadInput("This form does not fit.", hint="Load the page again and repeat it.") from error
    step = await apply_goal_request(call, asked)
    done = {"done": str(step.change)} if step.change else {}
    return redirect_to(call, f"{MIND}/{quote(require_agent_in_path(call), safe='')}", **done)


@ROUTES.add("POST", f"{MIND}/{{agent:path}}/milestone", AccessScope.REVIEW, page=True)
async def submit_milestone(call: AdminCall) -> Response:
    form = await call.form()
    asked = MilestoneRequest(name=form.get("name", ""), verified=form.get("verified") == "yes")
    await apply_milestone(call, asked)
    return redirect_to(call, f"{MIND}/{quote(require_agent_in_path(call), safe='')}", readiness="yes")
