"""Determines who calls through HTTP, as which agent, and what the caller may see.

The key or session says so, never the body: without a person's key a caller counts as a model, because the
agent itself can reach this machine. A key bound to an agent speaks as that agent and sees what is shared and
the agent's own. People see the whole space, and may view it as an agent by naming one.
"""

from festinger.errors import BadInput, NotAuthorised, NotFound
from festinger.ids import DEFAULT_AGENT, AgentId, Origin, Scope, SessionId
from festinger.memory.model import Memory
from festinger.store.repositories.auth import AccessRole
from festinger.web.route import PEOPLE, VISIT, AdminCall

SESSION_HEADER = "x-festinger-session"
LONGEST_NAME = 200


def is_person(call: AdminCall) -> bool:
    """Whether the caller uses a person's key or session."""
    who = call.session or call.key
    return who is not None and AccessRole(who.role) in PEOPLE


def agent_of(call: AdminCall) -> AgentId:
    """The agent that a call is made as; for a bound key that names another agent, `NotFound`."""
    named = call.request.query_params.get("agent") or _visiting(call)
    own = call.key.agent if call.key else None
    if own and named not in (None, own):
        raise NotFound(f"There is no agent `{named[:80] if named else ''}` for this key.")
    return AgentId((own or named or DEFAULT_AGENT)[:LONGEST_NAME])


def caller_scope(call: AdminCall) -> Scope:
    """The scope of a call: the space, the agent, and the session that it names or its key stands for."""
    session = call.request.headers.get(SESSION_HEADER, "").strip()[:LONGEST_NAME]
    return Scope(space=call.space, agent=agent_of(call), session=SessionId(session or call.by))


def viewer_of(call: AdminCall) -> AgentId | None:
    """The agent whose view applies; `None` sees the whole space, which is for people."""
    if is_person(call) and "agent" not in call.request.query_params:
        return None
    return agent_of(call)


def can_see(call: AdminCall, memory: Memory) -> bool:
    """Whether a caller may see the text of a memory; without a key, none."""
    if call.session is None and call.key is None:
        return False
    viewer = viewer_of(call)
    return viewer is None or memory.agent_id in (None, viewer)


def origin_of(call: AdminCall, claimed: str | None) -> Origin:
    """The origin of a statement. A person may claim another one; from anyone else a claim is refused."""
    own = Origin.PERSON if is_person(call) else Origin.MODEL
    if claimed is None or claimed == own:
        return own
    if not is_person(call):
        raise NotAuthorised(
            f"What this key says is the word of a `{own}`, whatever it claims.",
            hint="Leave `origin` out, or use a key of a reviewer or an administrator.",
        )
    try:
        return Origin(claimed)
    except ValueError as error:
        known = ", ".join(f"`{each}`" for each in Origin)
        raise BadInput(f"`{claimed[:40]}` is no origin.", hint=f"The origins are {known}.") from error


def _visiting(call: AdminCall) -> str | None:
    """The agent from the path prefix or a header, as the proxy parsed it."""
    authorized = call.request.scope.get("state", {}).get(VISIT)
    named = getattr(authorized, "agent", None)
    return str(named) if named and named != DEFAULT_AGENT else None
