"""Who may do what under `/admin`?

A route names the scope that it needs; a key's role gives scopes. Probes get their bare answer from anywhere. A
few routes that show no memory are open to callers on this machine. Everything else needs a key, here too:
other users of the machine, and the agent itself, reach loopback. When the keys cannot be read, nobody gets in.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from starlette.requests import Request

from festinger.errors import NotAuthenticated, NotAuthorised, Unavailable
from festinger.store.keys import ApiKey, Role, is_ours
from festinger.text.loopback import is_loopback

FindKey = Callable[[str], Awaitable[ApiKey | None]]


class Scope(StrEnum):
    PROBE = "probe"
    """Answers anybody; the details only those to whom an open route would answer."""
    OPEN = "open"
    """Answers callers on this machine, and from beyond it whoever has any key."""
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
    return next((value.strip() for value in candidates if value and is_ours(value.strip())), None)


def is_here(request: Request) -> bool:
    """Whether the caller is on this machine. A caller without address came through a socket of this machine."""
    return request.client is None or is_loopback(request.client.host)


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Somebody who was let in. `trusted` callers may see how this server is set up, others only that it is."""

    key: ApiKey | None
    trusted: bool


async def admit(
    request: Request, scope: Scope, find_key: FindKey, *, strict: bool, keyless: bool = False
) -> Admission:
    """Let a request through, or say why not. `keyless`: a caller on this machine needs no key for it."""
    given = presented_key(request)
    if given is not None:
        return Admission(key=_allowed(await _known(given, find_key), scope), trusted=True)
    here = is_here(request) and not strict
    if scope is Scope.PROBE or (here and (keyless or scope is Scope.OPEN)):
        return Admission(key=None, trusted=here)
    raise NotAuthenticated


async def _known(secret: str, find_key: FindKey) -> ApiKey:
    try:
        key = await find_key(secret)
    except Unavailable as error:
        # Keys cannot be looked up now. Nobody gets in on the strength of that.
        raise NotAuthenticated("This key cannot be checked now.", hint=error.hint) from error
    if key is None:
        raise NotAuthenticated("This key is not known, or was revoked.")
    return key


def _allowed(key: ApiKey, scope: Scope) -> ApiKey:
    if scope not in (Scope.PROBE, Scope.OPEN) and scope not in SCOPES[key.role]:
        raise NotAuthorised(f"A key of role `{key.role}` may not do this; it needs the scope `{scope}`.")
    return key
