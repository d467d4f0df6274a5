"""Which protocol does a path belong to, and what may happen to it on its way?

Everything is forwarded but our own few paths. A route is read from the decoded path, because the upstream
decodes it too: an escaped letter must not turn a managing route into an unknown one. Where the request goes
then is `upstream`'s matter, and whether it may go there `guard`'s.

Is this request target one that every server reads the same way?

A path that two servers may read differently is how a request slips past a guard, so such targets are
refused before anything is forwarded. What passes is forwarded byte for byte. Queries are left alone: no
guard looks at them.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote_to_bytes


class Protocol(StrEnum):
    """Whose words the client speaks; errors of ours are said in the same."""

    NATIVE = "native"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"


class Treatment(StrEnum):
    EDITED = "edited"
    WATCHED = "watched"
    """Read, but never written into."""
    PASSED = "passed"
    MANAGED = "managed"
    OWN = "own"


class Framing(StrEnum):
    """How the answers of a route are cut into pieces when they stream."""

    NDJSON = "ndjson"
    SSE = "sse"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    label: str
    """One of a closed set, for metrics; never the path that somebody sent."""
    protocol: Protocol
    treatment: Treatment
    framing: Framing = Framing.NONE
    limited: bool = False
    """Whether its body is JSON and so has a largest size; others stream, whatever their length."""


def _route(
    label: str, treatment: Treatment, *, framing: Framing = Framing.NONE, limited: bool = True
) -> Route:
    return Route(
        label=label, protocol=protocol_of(label), treatment=treatment, framing=framing, limited=limited
    )


def protocol_of(path: str) -> Protocol:
    if path == "/v1/messages" or path.startswith("/v1/messages/"):
        return Protocol.ANTHROPIC
    if path.startswith("/v1/"):
        return Protocol.OPENAI
    return Protocol.NATIVE


_EXACT = {
    route.label: route
    for route in (
        _route("/api/chat", Treatment.EDITED, framing=Framing.NDJSON),
        _route("/api/generate", Treatment.EDITED, framing=Framing.NDJSON),
        _route("/v1/chat/completions", Treatment.EDITED, framing=Framing.SSE),
        _route("/v1/messages", Treatment.EDITED, framing=Framing.SSE),
        _route("/v1/responses", Treatment.EDITED, framing=Framing.SSE),
        _route("/v1/completions", Treatment.WATCHED, framing=Framing.SSE),
        *(
            _route(path, Treatment.PASSED)
            for path in (
                "/",
                "/api/version",
                "/api/tags",
                "/api/ps",
                "/api/status",
                "/api/show",
                "/api/me",
                "/api/embed",
                "/api/embeddings",
                "/v1/models",
                "/v1/embeddings",
                "/v1/messages/count_tokens",
            )
        ),
        *(
            _route(path, Treatment.MANAGED)
            for path in (
                "/api/pull",
                "/api/push",
                "/api/create",
                "/api/copy",
                "/api/delete",
                "/api/signout",
            )
        ),
    )
}

_BY_PREFIX = (
    ("/api/blobs/", _route("/api/blobs/", Treatment.MANAGED, limited=False)),
    ("/api/user/keys/", _route("/api/user/keys/", Treatment.MANAGED)),
    ("/api/experimental/web_", _route("/api/experimental/web_", Treatment.MANAGED)),
    ("/v1/models/", _route("/v1/models/", Treatment.PASSED)),
    ("/v1/audio/", _route("/v1/audio/", Treatment.PASSED, limited=False)),
)

_OTHER = {
    protocol: Route(label=f"other {protocol}", protocol=protocol, treatment=Treatment.PASSED)
    for protocol in Protocol
}

_OWN = Route(label="own", protocol=Protocol.NATIVE, treatment=Treatment.OWN, limited=False)
_OWN_EXACT = frozenset({"/iknowthat", "/reload"})
_OWN_PREFIXES = ("/admin", "/conflicts", "/resolve/")


def route_of(path: str) -> Route:
    """The route of a decoded path, without its `/@space/agent` prefix."""
    if (known := _EXACT.get(path)) is not None:
        return known
    if path in _OWN_EXACT or path.startswith(_OWN_PREFIXES):
        return _OWN
    for prefix, route in _BY_PREFIX:
        if path.startswith(prefix):
            return route
    return _OTHER[protocol_of(path)]


_PLACE = re.compile(rb"/@([A-Za-z0-9._-]{1,63})/([A-Za-z0-9._-]{1,63})(?=[/?]|\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The space and agent that a URL names, and the target that is left without them."""

    target: bytes
    space: str | None = None
    agent: str | None = None


def place_in(target: bytes) -> Place | None:
    """Cut `/@space/agent` off a request target; nothing if there is a prefix that cannot be read."""
    if not target.startswith(b"/@"):
        return Place(target=target)
    named = _PLACE.match(target)
    if named is None:
        return None
    rest = target[named.end() :]
    return Place(
        target=rest if rest.startswith(b"/") else b"/" + rest,
        space=named[1].decode(),
        agent=named[2].decode(),
    )


_DOUBTFUL = re.compile(
    rb"//"
    rb"|\\"
    rb"|%2f|%5c"  # an encoded slash is one segment to some servers and two to others
    rb"|%0a|%0d|%00"
    rb"|(?:/|\A)(?:\.|%2e){1,2}(?:/|\Z)",
    re.IGNORECASE,
)
_ALLOWED = re.compile(rb"[\x21-\x7e]*")


def path_and_query(target: bytes) -> tuple[bytes, bytes]:
    """The path, and the query with its question mark."""
    path, mark, query = target.partition(b"?")
    return path, mark + query


def doubt_about(target: bytes) -> str | None:
    """Why a target cannot be forwarded, if it cannot."""
    if not target.startswith(b"/"):
        return "The request target must be a path."
    if _ALLOWED.fullmatch(target) is None or b"#" in target:
        return "The request target holds characters that no target may hold."
    if _DOUBTFUL.search(path_and_query(target)[0]) is not None:
        return "The path holds `..`, `//` or an encoded slash or line break."
    return None


def decoded(path: bytes) -> str:
    """The path as a server reads it."""
    return unquote_to_bytes(path).decode("utf-8", "replace") if b"%" in path else path.decode("ascii")
