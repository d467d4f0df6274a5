"""May this request come in, and on whose behalf?

Judged before a byte of the body is read, in this order: the Host, the Origin, the target, the key, the space,
and on a server that is reachable from beyond this machine the right to manage models. What is not
clearly allowed is refused: unlike everything else here, this fails closed.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache

import structlog

from festinger.errors import FestingerError, NotAuthenticated, NotAuthorised, NotFound
from festinger.ids import DEFAULT_AGENT, EVERY_SPACE, MAIN_SPACE, AgentId, SpaceId
from festinger.proxy import hosts
from festinger.proxy.headers import RawHeaders, Wishes, first, values_of, wishes_in
from festinger.proxy.keys import FindKey, secret_in
from festinger.proxy.routes import Place, Protocol, Route, Treatment, place_in, protocol_of, route_of
from festinger.proxy.shapes import Answer, refusal, refusal_of
from festinger.proxy.targets import decoded, doubt_about, path_and_query
from festinger.settings.tree import Settings
from festinger.store.repositories.auth import ApiKey, Role
from festinger.text.addresses import is_loopback

log = structlog.get_logger()

KnownSpace = Callable[[str], SpaceId | None]
"""The id of the space that is called so, if there is one."""

_UNSPEAKABLE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Knock:
    """A request as it stands before the door: all that may be judged without its body."""

    request_id: str
    target: bytes
    headers: RawHeaders
    caller: str | None
    """The address of the caller; none came through a socket file of this machine."""
    here: str = ""
    """The address of ours that it came in on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request that may come in."""

    request_id: str
    route: Route
    target: bytes
    path: str
    space: SpaceId
    agent: AgentId
    key: ApiKey | None
    local: bool
    wishes: Wishes


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    find_key: FindKey
    known_space: KnownSpace
    machine_names: Collection[str]
    exposed: bool
    """Whether this server listens beyond this machine."""
    insecure: bool = False
    """Whether a person accepted that anybody who reaches it may use it."""

    async def admit(self, knock: Knock, settings: Settings) -> Visit | Answer:
        """The visit, or the answer that turns it away."""
        if refused := self._refused_unread(knock, settings):
            return refused
        place = place_in(knock.target)
        path = decoded(path_and_query((place or Place(target=knock.target)).target)[0])
        try:
            return await self._visit(knock, place, path, settings)
        except FestingerError as error:
            log.info("request refused", request=knock.request_id, error=error.name)
            return refusal_of(error, protocol=protocol_of(path), request_id=knock.request_id)

    def _refused_unread(self, knock: Knock, settings: Settings) -> Answer | None:
        server, given = settings.server, values_of(knock.headers, b"host")
        if not hosts.is_allowed_host(given, names=self.machine_names, listed=server.hosts, here=knock.here):
            return Answer(status=403)
        origins = values_of(knock.headers, b"origin")
        if not hosts.is_allowed_origin(origins, host=given[0], listed=server.origins):
            return Answer(status=403)
        if doubt := doubt_about(knock.target) or _doubt_about_headers(knock.headers):
            return refusal(
                400, doubt, code="bad_request", protocol=Protocol.NATIVE, request_id=knock.request_id
            )
        return None

    async def _visit(self, knock: Knock, place: Place | None, path: str, settings: Settings) -> Visit:
        route, local, wishes = route_of(path), is_here(knock.caller), wishes_in(knock.headers)
        key = await self._key(knock.headers)
        if key is None and self._needs_key(route, local, settings):
            raise NotAuthenticated
        if place is None:
            raise NotFound("The address begins with `/@` but does not go on as `/@space/agent/…`.")
        space = self._space(place.space or wishes.space, key)
        if self.exposed and route.treatment is Treatment.MANAGED:
            _check_management(key, settings)
        agent = place.agent or wishes.agent or (key and key.agent) or DEFAULT_AGENT
        return Visit(
            request_id=knock.request_id,
            route=route,
            target=place.target,
            path=path,
            space=space,
            agent=AgentId(agent),
            key=key,
            local=local,
            wishes=wishes,
        )

    async def _key(self, headers: RawHeaders) -> ApiKey | None:
        secret = secret_in(headers)
        if secret is None:
            return None
        try:
            key = await self.find_key(secret)
        except FestingerError as error:
            # Keys cannot be looked up now. Nobody gets in on the strength of that.
            raise NotAuthenticated("This key cannot be checked now.") from error
        if key is None:
            raise NotAuthenticated("This key is not known, or was revoked.")
        return key

    def _needs_key(self, route: Route, local: bool, settings: Settings) -> bool:
        if route.treatment is Treatment.OWN or self.insecure:
            return False  # our own pages decide for themselves what needs a key
        return not local or settings.auth.loopback == "strict"

    def _space(self, named: str | None, key: ApiKey | None) -> SpaceId:
        own = key.space if key is not None and key.space != EVERY_SPACE else None
        if named is None:
            return own or MAIN_SPACE
        space = self.known_space(named)
        if own is not None and space != own:
            raise NotAuthorised("This key belongs to another space.")
        if space is None:
            raise NotFound(f"There is no space `{named}`.", hint="`festinger spaces` lists them.")
        return space


def _check_management(key: ApiKey | None, settings: Settings) -> None:
    if not settings.proxy.allow_management and (key is None or key.role is not Role.ADMIN):
        raise NotAuthorised(
            "Managing models is not allowed from here.",
            hint="Set `proxy.allow_management`, or use a key of role `admin`.",
            code="management_disabled",
        )


def _doubt_about_headers(headers: RawHeaders) -> str | None:
    for _, value in headers:
        if _UNSPEAKABLE.search(value) is not None:
            return "A header holds control characters."
        if not value.isascii() and not _is_utf8(value):
            return "A header is not UTF-8."
    upgrade = first(headers, b"upgrade")
    if upgrade is not None and upgrade.strip().lower() == b"websocket":
        return "WebSockets are not spoken here."
    return None


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


@lru_cache(maxsize=1024)
def is_here(caller: str | None) -> bool:
    """Whether a caller is on this machine; one without address came through a socket file of it."""
    return caller is None or is_loopback(caller)
