"""HTTP API for agents: what a mind holds, how it came to its replies, its goals, and talking with it.

Only a person talks with an agent here or changes its goals: what is said counts as a person's word.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Literal
from uuid import UUID

import orjson
from starlette.responses import Response, StreamingResponse

from festinger.agent.goals import GoalChange, GoalState, add_goal, reopen_goal, settle_goal
from festinger.agent.readiness import load_milestones, verify_milestone
from festinger.errors import BadInput, FestingerError, NotFound
from festinger.ids import AgentId, Scope
from festinger.services.agent import choose_chat_scope, describe_mind, list_cycles, say
from festinger.store.connection import cancel_tasks
from festinger.web.auth import AccessScope
from festinger.web.route import (
    LONGEST_NAME,
    AdminCall,
    ApiInput,
    RouteTable,
    build_page,
    json_response,
    parse_cursor,
    parse_limit,
    request_id,
    viewer_of,
)

ROUTES = RouteTable()
AGENTS = "/admin/api/agents/{agent:path}"


class SayRequest(ApiInput):
    text: str
    new: bool = False
    """Whether to begin a new conversation."""


class GoalRequest(ApiInput):
    do: Literal["add", "achieve", "drop", "reopen"]
    text: str = ""
    """The goal to add, or what shows that one was reached or dropped."""
    id: UUID | None = None


class MilestoneRequest(ApiInput):
    name: str
    verified: bool = True
    """Whether it is reached in the eyes of a person; false takes that back."""


def require_agent_in_path(call: AdminCall) -> AgentId:
    """The agent in the path; for a caller with the view of an agent any other counts as not found."""
    named, own = str(call.request.path_params["agent"]), viewer_of(call)
    if not named.strip() or len(named) > LONGEST_NAME or own not in (None, named):
        raise NotFound(f"There is no agent `{named[:80]}` here.")
    return AgentId(named)


@ROUTES.add("GET", f"{AGENTS}/mind", AccessScope.READ)
async def show_mind(call: AdminCall) -> Response:
    return json_response(await describe_mind(call.app, call.space, require_agent_in_path(call)))


@ROUTES.add("GET", f"{AGENTS}/cycles", AccessScope.READ)
async def show_cycles(call: AdminCall) -> Response:
    limit, scope = parse_limit(call.request), Scope(space=call.space, agent=require_agent_in_path(call))
    found = await list_cycles(call.app, scope, before=parse_cursor(call.request), limit=limit)
    return json_response(build_page(found, limit=limit, last=found[-1]["n"] if found else None))


@ROUTES.add("GET", f"{AGENTS}/readiness", AccessScope.READ)
async def show_readiness(call: AdminCall) -> Response:
    found = await load_milestones(call.app.store, Scope(space=call.space, agent=require_agent_in_path(call)))
    return json_response({"milestones": found})


@ROUTES.add("POST", f"{AGENTS}/readiness", AccessScope.REVIEW)
async def change_readiness(call: AdminCall) -> Response:
    await apply_milestone(call, await call.body(MilestoneRequest))
    return await show_readiness(call)


async def apply_milestone(call: AdminCall, asked: MilestoneRequest) -> None:
    """Note what a person says of a milestone. Raises `BadInput`."""
    scope, clock = Scope(space=call.space, agent=require_agent_in_path(call)), call.app.tools.clock
    await verify_milestone(call.app.store, scope, asked.name, by=call.by, clock=clock, verified=asked.verified)


@ROUTES.add("POST", f"{AGENTS}/say", AccessScope.REVIEW)
async def say_to_agent(call: AdminCall) -> Response:
    """Say something to an agent; the answer is one document, or a stream for who accepts `text/event-stream`."""
    body = await call.body(SayRequest)
    scope = await choose_chat_scope(call.app, call.space, require_agent_in_path(call), new=body.new)
    if "text/event-stream" in call.request.headers.get("accept", ""):
        return StreamingResponse(_stream_reply(call, scope, body.text), media_type="text/event-stream")
    return json_response(await say(call.app, scope, body.text))


async def _stream_reply(call: AdminCall, scope: Scope, text: str) -> AsyncIterator[bytes]:
    """The pieces of a reply as they come, then the whole; or the error."""
    parts: asyncio.Queue[tuple[str, Any] | None] = asyncio.Queue()

    async def talk() -> None:
        try:
            reply = await say(call.app, scope, text, on_text=lambda piece: parts.put_nowait(("piece", {"text": piece})))
            parts.put_nowait(("reply", reply))
        except FestingerError as error:
            parts.put_nowait(("error", error.as_json(request_id(call.request))))
        finally:
            parts.put_nowait(None)

    task = asyncio.create_task(talk())
    try:
        while (part := await parts.get()) is not None:
            yield b"event: %s\ndata: %s\n\n" % (part[0].encode(), orjson.dumps(part[1], default=str))
    finally:
        await cancel_tasks([task])


@ROUTES.add("POST", f"{AGENTS}/goals", AccessScope.REVIEW)
async def change_goal(call: AdminCall) -> Response:
    step = await apply_goal_request(call, await call.body(GoalRequest))
    return json_response(
        {"id": step.memory.id, "text": step.memory.content, "state": step.state, "change": step.change}
    )


async def apply_goal_request(call: AdminCall, asked: GoalRequest) -> GoalChange:
    """Do what a person asks with a goal. Raises `BadInput`, `NotFound`, `Refused`."""
    deps, scope = call.app.memory.deps, Scope(space=call.space, agent=require_agent_in_path(call))
    if asked.do == "add":
        return await add_goal(deps, scope, asked.text, by=call.by)
    if asked.id is None:
        raise BadInput("Which goal?", hint="Give its `id`.")
    if asked.do == "reopen":
        return await reopen_goal(deps, scope, asked.id, by=call.by)
    state = GoalState.ACHIEVED if asked.do == "achieve" else GoalState.DROPPED
    return await settle_goal(deps, scope, asked.id, state, evidence=asked.text.strip(), by=call.by)
