"""HTTP API for the hooks of coding agents."""

from typing import Literal

from pydantic import Field
from starlette.responses import Response

from festinger.errors import NotFound
from festinger.ids import MAIN_SPACE, AgentId, Scope, SessionId
from festinger.runtime.supervisor import HookEvent
from festinger.web.auth import AccessScope
from festinger.web.route import LONGEST_NAME, AdminCall, ApiInput, RouteTable, json_response

ROUTES = RouteTable()


class HookRequest(ApiInput):
    tool: Literal["claude-code", "codex", "cursor", "opencode"]
    event: Literal["start", "prompt", "reply", "stop", "close"]
    session: str = Field(min_length=1, max_length=LONGEST_NAME)
    agent: str = Field(min_length=1, max_length=LONGEST_NAME)
    """The root of the git repository, or the folder."""
    model: str = Field(default="", max_length=LONGEST_NAME)
    text: str = ""


@ROUTES.add("POST", "/admin/api/hooks", AccessScope.HOOK)
async def answer_hook_event(call: AdminCall) -> Response:
    """What to show a coding agent, and what was said there."""
    if call.supervisor.handle_hook is None:
        raise NotFound("This process serves no hooks.")
    body = await call.body(HookRequest)
    session = SessionId(f"{body.tool}:{body.session}")
    event = HookEvent(
        scope=Scope(space=call.own_space or MAIN_SPACE, agent=AgentId(body.agent), session=session),
        kind=body.event,
        text=body.text,
        model=body.model,
        wants_notes=body.tool != "cursor",
    )
    text = await call.supervisor.handle_hook(call.app, event, call.request.is_disconnected)
    return json_response({"text": text})
