"""Decides whether a request is let in, and for which space, agent and key.

Checked before any body byte is read, in this order: Host, Origin, target, key, space and, on a server
reachable from other machines, the right to manage models. Unlike the rest of the proxy, this fails closed.
Host and Origin checks stop DNS rebinding by foreign web pages; names are judged by their text, without
lookups. Festinger keys are recognized by their prefix in three headers and are never forwarded: the
upstream's own key, or none, takes their place. Keys without the prefix belong to the upstream and pass
unchanged.
"""

import ipaddress
import re
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

import structlog

from festinger.errors import FestingerError, NotAuthenticated, NotAuthorised, NotFound, TooMany
from festinger.ids import DEFAULT_AGENT, EVERY_SPACE, MAIN_SPACE, AgentId, SpaceId
from festinger.proxy.errors import LocalResponse, build_error_response, to_error_response
from festinger.proxy.headers import RawHeaders, first_header, header_values, parse_request_options
from festinger.proxy.request import RequestContext
from festinger.proxy.routes import (
    ApiProtocol,
    RouteTreatment,
    decode_path,
    find_route,
    find_target_fault,
    protocol_for_path,
    split_scope_prefix,
    split_target,
)
from festinger.settings.tree import Settings
from festinger.store.repositories.auth import PREFIX, AccessRole, ApiKey
from festinger.text.addresses import is_loopback

LOCAL_NAME_ENDINGS = (".localhost", ".local", ".internal")
ORIGIN_HOSTS = frozenset({"localhost", "127.0.0.1", "0.0.0.0"})  # noqa: S104 - a name in a header, not a bind
ORIGIN_SCHEMES = frozenset({"app", "file", "tauri"})
DEFAULT_PORTS = {"http": 80, "https": 443}

_AUTHORITY = re.compile(r"(?P<name>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")
_ORIGIN = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#@\\\s]*)")


def own_hostnames() -> frozenset[str]:
    """Return the names of this machine in lowercase, full and short."""
    names = {socket.gethostname().lower(), socket.getfqdn().lower()}
    return frozenset(names | {name.partition(".")[0] for name in names}) - {""}


def is_allowed_host(
    values: Sequence[bytes], *, names: Collection[str], listed: Collection[str], here: str = ""
) -> bool:
    """Whether the request has exactly one Host header and it names this machine.

    `here` is the local address that the connection came in on.
    """
    return len(values) == 1 and _is_own_host(values[0], tuple(names), tuple(listed), here)


def is_allowed_origin(values: Sequence[bytes], *, host: bytes, listed: Collection[str]) -> bool:
    """Whether the Origin, if any, is allowed: same host, local, a desktop scheme, or listed in settings."""
    if not values:
        return True
    if len(values) > 1:
        return False
    text = values[0].decode("latin-1").lower()
    if text in {origin.lower().rstrip("/") for origin in listed}:
        return True
    origin = _ORIGIN.fullmatch(text)
    return origin is not None and _is_trusted_origin(origin["scheme"], origin["authority"], host=host)


def _is_trusted_origin(scheme: str, authority: str, *, host: bytes) -> bool:
    if scheme in ORIGIN_SCHEMES or scheme.startswith("vscode-"):
        return True
    parts = _parse_authority(authority) if scheme in DEFAULT_PORTS else None
    if parts is None:
        return False
    return parts[0] in ORIGIN_HOSTS or _with_port(parts, scheme) == _with_port(
        _parse_authority(host.decode("latin-1")), scheme
    )


def _with_port(parts: tuple[str, int | None] | None, scheme: str) -> tuple[str, int] | None:
    return None if parts is None else (parts[0], parts[1] or DEFAULT_PORTS[scheme])


def _parse_authority(authority: str) -> tuple[str, int | None] | None:
    """Parse the lowercase name and the port; `None` if the text is not `name[:port]`."""
    found = _AUTHORITY.fullmatch(authority)
    if found is None or (found["port"] and int(found["port"]) > 65_535):
        return None
    return found["name"].lower(), int(found["port"]) if found["port"] else None


# Clients repeat the same Host; checking it again each time would cost more than the rest of the guard.
@lru_cache(maxsize=1024)
def _is_own_host(host: bytes, names: tuple[str, ...], listed: tuple[str, ...], here: str) -> bool:
    parts = _parse_authority(host.decode("latin-1"))
    if parts is None:
        return False
    # One trailing dot makes a name absolute; it is the same name.
    name = parts[0].removesuffix(".")
    if name == "localhost" or name in names or name in {entry.lower() for entry in listed}:
        return True
    if name.endswith(LOCAL_NAME_ENDINGS) and "" not in name.split("."):
        return True
    address = _parse_ip(name)
    if address is None:
        return False
    return address.is_loopback or address.is_private or address.is_unspecified or str(address) == here


def _parse_ip(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        if name.startswith("["):
            address = ipaddress.IPv6Address(name[1:-1])
            return address.ipv4_mapped or address
        return ipaddress.IPv4Address(name)
    except ValueError:
        return None


FindKey = Callable[[str], Awaitable[ApiKey | None]]
"""Returns the live key with this secret, if any."""

IN_FLIGHT = 256
"""Maximum concurrent requests per key."""

_PREFIX = PREFIX.encode()
_BEARER = b"bearer "
_KEY_HEADERS = (b"x-festinger-key", b"authorization", b"x-api-key")


def _strip_bearer(name: bytes, value: bytes) -> bytes:
    if name == b"authorization":
        return value[len(_BEARER) :].strip() if value[: len(_BEARER)].lower() == _BEARER else b""
    return value.strip()


def find_festinger_key(headers: RawHeaders) -> str | None:
    """Find the Festinger key of a request, checking headers in order of trust."""
    found = {
        name: bare
        for name, value in headers
        if name in _KEY_HEADERS and (bare := _strip_bearer(name, value)).startswith(_PREFIX)
    }
    return next((found[name].decode("latin-1") for name in _KEY_HEADERS if name in found), None)


def replace_api_key(
    headers: list[tuple[bytes, bytes]], *, protocol: ApiProtocol, upstream_key: str | None
) -> list[tuple[bytes, bytes]]:
    """Remove every Festinger key from the headers and add the upstream's key once."""
    others = [pair for pair in headers if not _strip_bearer(*pair).startswith(_PREFIX) or pair[0] not in _KEY_HEADERS]
    if upstream_key is None or any(name in _KEY_HEADERS for name, _ in others):
        return others
    if protocol is ApiProtocol.ANTHROPIC:
        return [*others, (b"x-api-key", upstream_key.encode())]
    return [*others, (b"authorization", b"Bearer " + upstream_key.encode())]


class InFlightLimiter:
    """Counts the open requests of each key."""

    def __init__(self, limit: int = IN_FLIGHT) -> None:
        self._limit = limit
        self._open: Counter[UUID] = Counter()

    @contextmanager
    def count_in_flight(self, key: ApiKey | None) -> Iterator[None]:
        """Count one open request of a key. Callers without a key are on this machine and are not counted."""
        if key is None:
            yield
            return
        if self._open[key.id] >= self._limit:
            raise TooMany(f"This key has {self._limit} requests open already.")
        self._open[key.id] += 1
        try:
            yield
        finally:
            self._open[key.id] -= 1
            if not self._open[key.id]:
                del self._open[key.id]


log = structlog.get_logger()

KnownSpace = Callable[[str], SpaceId | None]
"""Returns the id of the space with this name, if any."""

_UNSPEAKABLE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessGuard:
    find_key: FindKey
    known_space: KnownSpace
    machine_names: Collection[str]
    exposed: bool
    """Whether the server listens beyond this machine."""
    insecure: bool = False
    """Whether a person accepted that anyone who can reach the server may use it."""

    async def admit(self, ctx: RequestContext) -> LocalResponse | None:
        """Authorize the request, or return the response that rejects it."""
        if refusal := self._check_head(ctx):
            return refusal
        scoped = split_scope_prefix(ctx.connection.target)
        ctx.target, space, agent = scoped or (ctx.connection.target, None, None)
        ctx.path = decode_path(split_target(ctx.target)[0])
        ctx.route, ctx.options = find_route(ctx.path), parse_request_options(ctx.headers)
        try:
            ctx.key = await self._key(ctx.headers)
            if ctx.key is None and self._needs_key(ctx):
                raise NotAuthenticated
            if (
                ctx.key is not None
                and ctx.key.role is AccessRole.HOOK
                and ctx.route.treatment is not RouteTreatment.OWN
            ):
                raise NotAuthorised("A key of role `hook` does not talk to models.")
            if scoped is None:
                raise NotFound("The address begins with `/@` but does not go on as `/@space/agent/…`.")
            ctx.space = self._space(space or ctx.options.space, ctx.key)
            ctx.agent = AgentId(agent or ctx.options.agent or (ctx.key and ctx.key.agent) or DEFAULT_AGENT)
            if self.exposed and ctx.route.treatment is RouteTreatment.MANAGED:
                _check_management(ctx.key, ctx.settings)
        except FestingerError as error:
            log.info("request refused", request=ctx.request_id, error=error.name)
            return to_error_response(error, protocol=protocol_for_path(ctx.path), request_id=ctx.request_id)
        return None

    def _check_head(self, ctx: RequestContext) -> LocalResponse | None:
        server, given = ctx.settings.server, header_values(ctx.headers, b"host")
        if not is_allowed_host(given, names=self.machine_names, listed=server.hosts, here=ctx.server_address):
            return LocalResponse(status=403)
        origins = header_values(ctx.headers, b"origin")
        if not is_allowed_origin(origins, host=given[0], listed=server.origins):
            return LocalResponse(status=403)
        if fault := find_target_fault(ctx.connection.target) or _find_header_fault(ctx.headers):
            return build_error_response(
                400, fault, code="bad_request", protocol=ApiProtocol.NATIVE, request_id=ctx.request_id
            )
        return None

    async def _key(self, headers: RawHeaders) -> ApiKey | None:
        secret = find_festinger_key(headers)
        if secret is None:
            return None
        try:
            key = await self.find_key(secret)
        except FestingerError as error:
            # Fail closed while keys cannot be looked up.
            raise NotAuthenticated("This key cannot be checked now.") from error
        if key is None:
            raise NotAuthenticated("This key is not known, or was revoked.")
        return key

    def _needs_key(self, ctx: RequestContext) -> bool:
        if ctx.route.treatment is RouteTreatment.OWN or self.insecure:
            return False  # our own pages decide for themselves what needs a key
        return not is_local_caller(ctx.client) or ctx.settings.auth.loopback == "strict"

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
    if not settings.proxy.allow_management and (key is None or key.role is not AccessRole.ADMIN):
        raise NotAuthorised(
            "Managing models is not allowed from here.",
            hint="Set `proxy.allow_management`, or use a key of role `admin`.",
            code="management_disabled",
        )


def _find_header_fault(headers: RawHeaders) -> str | None:
    for _, value in headers:
        if _UNSPEAKABLE.search(value) is not None:
            return "A header holds control characters."
        if not value.isascii() and not _is_utf8(value):
            return "A header is not UTF-8."
    upgrade = first_header(headers, b"upgrade")
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
def is_local_caller(caller: str | None) -> bool:
    """Whether the caller is on this machine; no address means a local Unix socket."""
    return caller is None or is_loopback(caller)
