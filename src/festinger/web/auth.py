"""Decides who may do what under `/admin`.

A route names the scope that it needs; a key's role grants scopes. Probes give anyone their bare answer. A few
routes that show no memory are open to callers on this machine. Everything else needs a key or a console
session, even here: other users of the machine, and the agent itself, can reach loopback. When keys cannot be
read, nobody gets in.

A browser sends the session cookie whoever triggered the request. So a change by cookie must come from
one of our pages with that page's token, and a change with neither key nor session is refused from any
browser.
"""

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from starlette.requests import Request

from festinger.errors import NotAuthenticated, NotAuthorised, Unavailable
from festinger.ids import EVERY_SPACE, Origin, SpaceId
from festinger.store.repositories.auth import AccessRole, ApiKey, LoginSession, derive_csrf_token, is_api_key
from festinger.text.addresses import is_loopback

FindKey = Callable[[str], Awaitable[ApiKey | None]]
FindSession = Callable[[str], Awaitable[LoginSession | None]]

COOKIE = "festinger_session"
TOKEN_FIELD = "token"  # noqa: S105 - the name of a field
TOKEN_HEADER = "x-festinger-token"  # noqa: S105 - the name of a header
ORIGIN_HEADER = "x-festinger-origin"
"""With the value `model`, a caller counts as a model whatever its key; nothing else can be claimed."""
READING = frozenset({"GET", "HEAD"})


class AccessScope(StrEnum):
    PROBE = "probe"
    """Answers anyone; details only for callers that an open route would answer."""
    OPEN = "open"
    """Answers callers on this machine, and remote callers with any key."""
    KNOWN = "known"
    """Answers any key or session; the handler refuses and records what the caller may not do."""
    HOOK = "hook"
    """What the hooks of a coding agent do: brief, recollect and capture."""
    READ = "read"
    WRITE = "write"
    REVIEW = "review"
    ADMIN = "admin"


FOR_ANY_ROLE = frozenset({AccessScope.PROBE, AccessScope.OPEN, AccessScope.KNOWN})
"""Scopes that every known caller has, whatever the role."""

SCOPES: dict[AccessRole, frozenset[AccessScope]] = {
    AccessRole.PROXY: frozenset(),
    AccessRole.HOOK: frozenset({AccessScope.HOOK}),
    AccessRole.AGENT: frozenset({AccessScope.READ, AccessScope.WRITE}),
    AccessRole.REVIEWER: frozenset({AccessScope.READ, AccessScope.WRITE, AccessScope.REVIEW}),
    # An administrator operates the server but does not decide for the reviewers.
    AccessRole.ADMIN: frozenset({AccessScope.READ, AccessScope.WRITE, AccessScope.ADMIN}),
}


def read_request_key(request: Request) -> str | None:
    """The Festinger key that a request carries, if any."""
    bearer = request.headers.get("authorization", "")
    candidates = (
        request.headers.get("x-festinger-key"),
        bearer[7:] if bearer[:7].lower() == "bearer " else None,
        request.headers.get("x-api-key"),
    )
    return next((value.strip() for value in candidates if value and is_api_key(value.strip())), None)


def is_local_caller(request: Request) -> bool:
    """Whether the caller is on this machine; one without an address came through a local socket."""
    return request.client is None or is_loopback(request.client.host)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOwner:
    """The person at a terminal who opened the store in this process; nothing that comes over HTTP is one."""

    name: str
    uid: int
    role: AccessRole = AccessRole.REVIEWER
    space: SpaceId = EVERY_SPACE


Who = TypeVar("Who", ApiKey, LoginSession, StoreOwner)


def _limit_to_agent_role(who: Who | None) -> Who | None:
    """Whoever it is, with the role of an agent at most."""
    return who if who is None or who.role is AccessRole.PROXY else replace(who, role=AccessRole.AGENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerIdentity:
    """A caller who was admitted. Only `trusted` callers may see how this server is configured."""

    key: ApiKey | None
    trusted: bool
    session: LoginSession | None = None
    owner: StoreOwner | None = None
    token: str = ""
    """The token that a form on a page of this session must send back."""

    @property
    def who(self) -> LoginSession | ApiKey | StoreOwner | None:
        """Whoever the caller is known as."""
        return self.session or self.key or self.owner

    def speaking(self, request: Request) -> "CallerIdentity":
        """The same caller; without a person's say if the request says that it speaks for a model."""
        if request.headers.get(ORIGIN_HEADER) != Origin.MODEL:
            return self
        return replace(
            self,
            key=_limit_to_agent_role(self.key),
            session=_limit_to_agent_role(self.session),
            owner=_limit_to_agent_role(self.owner),
        )

    def may(self, scope: AccessScope) -> bool:
        """Whether this caller's role grants a scope."""
        return self.who is not None and scope in SCOPES[self.who.role]

    def check_csrf_token(self, given: str | None) -> None:
        """Refuse a change by a session that does not bring the session's token."""
        if not hmac.compare_digest(self.token.encode(), (given or "").encode()):
            raise NotAuthorised("This form belongs to another session.", hint="Load the page again and repeat it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthDeps:
    """How callers are identified, and whether local callers need a key too."""

    find_key: FindKey
    find_session: FindSession
    strict: bool


async def authorize(
    request: Request, scope: AccessScope, doorway: AuthDeps, *, keyless: bool = False
) -> CallerIdentity:
    """Admit a request or raise the reason why not. `keyless`: a local caller needs no key for it."""
    given = read_request_key(request)
    if given is not None:
        return CallerIdentity(key=_allowed(await _known(given, doorway.find_key), scope), trusted=True)
    if (session := await _session(request, scope, doorway)) is not None:
        return session
    here = is_local_caller(request) and not doorway.strict
    open_here = scope is AccessScope.OPEN or (keyless and not _is_change_from_browser(request))
    if scope is AccessScope.PROBE or (here and open_here):
        return CallerIdentity(key=None, trusted=here)
    raise NotAuthenticated


async def _session(request: Request, scope: AccessScope, doorway: AuthDeps) -> CallerIdentity | None:
    """The identity of a logged-in caller; a session without the right is refused."""
    cookie = request.cookies.get(COOKIE)
    if not cookie:
        return None
    try:
        session = await doorway.find_session(cookie)
    except Unavailable:
        # Sessions cannot be looked up now: what is open to anybody stays open, the rest says that it is down.
        if scope not in (AccessScope.PROBE, AccessScope.OPEN):
            raise
        return None
    if session is None:
        return None
    if scope not in FOR_ANY_ROLE and scope not in SCOPES[session.role]:
        raise NotAuthorised(f"Your session has the role `{session.role}`; this needs the scope `{scope}`.")
    if request.method not in READING and not is_same_origin(request):
        raise NotAuthorised("This came from a page of another site.")
    return CallerIdentity(key=None, trusted=True, session=session, token=derive_csrf_token(cookie))


def is_same_origin(request: Request) -> bool:
    """Whether a browser sent this from one of our pages."""
    return request.headers.get("origin") == f"{request.url.scheme}://{request.headers.get('host')}"


def _is_change_from_browser(request: Request) -> bool:
    """Whether a page in a browser wants to change something; programs send neither header."""
    asked = request.headers
    return request.method not in READING and ("origin" in asked or "sec-fetch-site" in asked)


async def _known(secret: str, find_key: FindKey) -> ApiKey:
    try:
        key = await find_key(secret)
    except Unavailable as error:
        # Keys cannot be looked up now: nobody is admitted.
        raise NotAuthenticated("This key cannot be checked now.", hint=error.hint) from error
    if key is None:
        raise NotAuthenticated("This key is not known, or was revoked.")
    return key


def _allowed(key: ApiKey, scope: AccessScope) -> ApiKey:
    if scope not in FOR_ANY_ROLE and scope not in SCOPES[key.role]:
        raise NotAuthorised(f"A key of role `{key.role}` may not do this; it needs the scope `{scope}`.")
    return key
