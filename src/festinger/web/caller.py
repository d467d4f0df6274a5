"""Who speaks through HTTP, as whom, and what may that caller see?

A key or a session says it, never a body: whoever has no person's key is taken for a model, because the agent itself
reaches this machine. A key that is bound to an agent speaks as that agent and sees what is shared and what is the
agent's own. People see the whole space, and may look through an agent's eyes by naming one.
"""

from festinger.errors import BadInput, NotAuthorised, NotFound
from festinger.ids import DEFAULT_AGENT, AgentId, Origin, SessionId
from festinger.memory.model import Memory, Scope
from festinger.store.repositories.auth import AccessRole
from festinger.web.route import PEOPLE, VISIT, AdminCall

SESSION_HEADER = "x-festinger-session"
LONGEST_NAME = 200


def is_person(call: AdminCall) -> bool:
    """Whether a person's key or session speaks."""
    who = call.session or call.key
    return who is not None and AccessRole(who.role) in PEOPLE


def agent_of(call: AdminCall) -> AgentId:
    """As which agent a call is made. A bound key that names another one finds nobody there."""
    named = call.request.query_params.get("agent") or _visiting(call)
    own = call.key.agent if call.key else None
    if own and named not in (None, own):
        raise NotFound(f"There is no agent `{named[:80] if named else ''}` for this key.")
    return AgentId((own or named or DEFAULT_AGENT)[:LONGEST_NAME])


def caller_scope(call: AdminCall) -> Scope:
    """From where a call is made: the space, the agent, and the session that it names or its key stands for."""
    session = call.request.headers.get(SESSION_HEADER, "").strip()[:LONGEST_NAME]
    return Scope(space=call.space, agent=agent_of(call), session=SessionId(session or call.by))


def viewer_of(call: AdminCall) -> AgentId | None:
    """Through whose eyes a call looks; none sees the whole space, and that is for people."""
    if is_person(call) and "agent" not in call.request.query_params:
        return None
    return agent_of(call)


def can_see(call: AdminCall, memory: Memory) -> bool:
    """Whether a caller may see the words of a memory. Whoever shows no key sees none."""
    if call.session is None and call.key is None:
        return False
    viewer = viewer_of(call)
    return viewer is None or memory.agent_id in (None, viewer)


def origin_of(call: AdminCall, claimed: str | None) -> Origin:
    """Whose word a statement is. A person may say that it is another's; of others a claim is refused."""
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
    """The agent that stands in front of the path or in a header; the door has read it."""
    visit = call.request.scope.get("state", {}).get(VISIT)
    named = getattr(visit, "agent", None)
    return str(named) if named and named != DEFAULT_AGENT else None
