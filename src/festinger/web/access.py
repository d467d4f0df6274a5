"""Who may do what under `/admin`?

A route names the scope that it needs; a key's role gives scopes. A few routes that show no memory are open
to callers on this machine. Everything else needs a key, here too: other users of the machine, and the agent
itself, reach loopback. When the keys cannot be read, nobody gets in.
"""

import ipaddress
from collections.abc import Awaitable, Callable
from enum import StrEnum

from starlette.requests import Request

from festinger.errors import NotAuthenticated, NotAuthorised
from festinger.store.keys import ApiKey, Role

FindKey = Callable[[str], Awaitable[ApiKey | None]]

KEY_PREFIX = "fst_"


class Scope(StrEnum):
    OPEN = "open"
    READ = "read"
    WRITE = "write"
    REVIEW = "review"
    ADMIN = "admin"


SCOPES: dict[Role, frozenset[Scope]] = {
    Role.PROXY: frozenset(),
    Role.AGENT: frozenset({Scope.READ, Scope.WRITE}),
    Role.REVIEWER: frozenset({Scope.READ, Scope.WRITE, Scope.REVIEW}),
    # An administrator runs the house but does not decide for the people who review.
    Role.ADMIN: frozenset({Scope.READ, Scope.WRITE, Scope.ADMIN}),
}


def presented_key(request: Request) -> str | None:
    """The key of ours that a request carries, if any."""
    bearer = request.headers.get("authorization", "")
    candidates = (
        request.headers.get("x-festinger-key"),
        bearer[7:] if bearer[:7].lower() == "bearer " else None,
        request.headers.get("x-api-key"),
    )
    return next(
        (value.strip() for value in candidates if value and value.strip().startswith(KEY_PREFIX)), None
    )


def is_loopback(request: Request) -> bool:
    """Whether the caller is on this machine. A caller without address came through a socket of this machine."""
    if request.client is None:
        return True
    try:
        return ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False


async def admit(request: Request, scope: Scope, find_key: FindKey, *, strict: bool) -> ApiKey | None:
    """The key that lets this request through, or none where none is needed; else an error."""
    given = presented_key(request)
    if given is None:
        if scope is Scope.OPEN and is_loopback(request) and not strict:
            return None
        raise NotAuthenticated
    key = await find_key(given)
    if key is None:
        raise NotAuthenticated("This key is not known, or was revoked.")
    if scope is not Scope.OPEN and scope not in SCOPES[key.role]:
        raise NotAuthorised(f"A key of role `{key.role}` may not do this; it needs the scope `{scope}`.")
    return key
