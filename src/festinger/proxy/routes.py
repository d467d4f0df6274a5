"""Maps request paths to protocols and treatments, and rejects ambiguous targets.

Everything is forwarded except our own few paths. Routes are matched on the decoded path, because the upstream
decodes it too: an escaped letter must not turn a management route into an unknown one. A path that two
servers may read differently can slip past a guard, so it is rejected before forwarding. Everything else is
forwarded byte for byte. Queries are not checked.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote_to_bytes


class ApiProtocol(StrEnum):
    """The protocol that the client speaks; our own errors use it too."""

    NATIVE = "native"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"


class RouteTreatment(StrEnum):
    EDITED = "edited"
    WATCHED = "watched"
    """Read but never edited."""
    PASSED = "passed"
    MANAGED = "managed"
    OWN = "own"


class Framing(StrEnum):
    NDJSON = "ndjson"
    SSE = "sse"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyRoute:
    label: str
    """Metric label from a closed set; never the client's path."""
    protocol: ApiProtocol
    treatment: RouteTreatment
    framing: Framing = Framing.NONE
    limited: bool = False
    """Whether the body is JSON and therefore size-limited; other bodies stream at any length."""


def _build_route(
    label: str, treatment: RouteTreatment, *, framing: Framing = Framing.NONE, limited: bool = True
) -> ProxyRoute:
    return ProxyRoute(
        label=label, protocol=protocol_for_path(label), treatment=treatment, framing=framing, limited=limited
    )


def protocol_for_path(path: str) -> ApiProtocol:
    if path == "/v1/messages" or path.startswith("/v1/messages/"):
        return ApiProtocol.ANTHROPIC
    if path.startswith("/v1/"):
        return ApiProtocol.OPENAI
    return ApiProtocol.NATIVE


_EXACT = {
    route.label: route
    for route in (
        _build_route("/api/chat", RouteTreatment.EDITED, framing=Framing.NDJSON),
        _build_route("/api/generate", RouteTreatment.EDITED, framing=Framing.NDJSON),
        _build_route("/v1/chat/completions", RouteTreatment.EDITED, framing=Framing.SSE),
        _build_route("/v1/messages", RouteTreatment.EDITED, framing=Framing.SSE),
        _build_route("/v1/responses", RouteTreatment.EDITED, framing=Framing.SSE),
        _build_route("/v1/completions", RouteTreatment.WATCHED, framing=Framing.SSE),
        *(
            _build_route(path, RouteTreatment.PASSED)
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
            _build_route(path, RouteTreatment.MANAGED)
            for path in ("/api/pull", "/api/push", "/api/create", "/api/copy", "/api/delete", "/api/signout")
        ),
    )
}

_BY_PREFIX = (
    ("/api/blobs/", _build_route("/api/blobs/", RouteTreatment.MANAGED, limited=False)),
    ("/api/user/keys/", _build_route("/api/user/keys/", RouteTreatment.MANAGED)),
    ("/api/experimental/web_", _build_route("/api/experimental/web_", RouteTreatment.MANAGED)),
    ("/v1/models/", _build_route("/v1/models/", RouteTreatment.PASSED)),
    ("/v1/audio/", _build_route("/v1/audio/", RouteTreatment.PASSED, limited=False)),
)

_OTHER = {
    protocol: ProxyRoute(label=f"other {protocol}", protocol=protocol, treatment=RouteTreatment.PASSED)
    for protocol in ApiProtocol
}

_OWN = ProxyRoute(label="own", protocol=ApiProtocol.NATIVE, treatment=RouteTreatment.OWN, limited=False)
_OWN_EXACT = frozenset({"/iknowthat", "/reload"})
_OWN_PREFIXES = ("/admin", "/conflicts", "/resolve/")


def find_route(path: str) -> ProxyRoute:
    """Find the route of a decoded path without its `/@space/agent` prefix."""
    if (known := _EXACT.get(path)) is not None:
        return known
    if path in _OWN_EXACT or path.startswith(_OWN_PREFIXES):
        return _OWN
    for prefix, route in _BY_PREFIX:
        if path.startswith(prefix):
            return route
    return _OTHER[protocol_for_path(path)]


_SCOPE = re.compile(rb"/@([A-Za-z0-9._-]{1,63})/([A-Za-z0-9._-]{1,63})(?=[/?]|\Z)")


def split_scope_prefix(target: bytes) -> tuple[bytes, str | None, str | None] | None:
    """Cut `/@space/agent` off a request target; return the rest and both names, `None` if the prefix is malformed."""
    if not target.startswith(b"/@"):
        return target, None, None
    named = _SCOPE.match(target)
    if named is None:
        return None
    rest = target[named.end() :]
    return rest if rest.startswith(b"/") else b"/" + rest, named[1].decode(), named[2].decode()


_DOUBTFUL = re.compile(
    rb"//"
    rb"|\\"
    rb"|%2f|%5c"  # an encoded slash is one segment to some servers and two to others
    rb"|%0a|%0d|%00"
    rb"|(?:/|\A)(?:\.|%2e){1,2}(?:/|\Z)",
    re.IGNORECASE,
)
_ALLOWED = re.compile(rb"[\x21-\x7e]*")


def split_target(target: bytes) -> tuple[bytes, bytes]:
    """Split into the path, and the query with its question mark."""
    path, mark, query = target.partition(b"?")
    return path, mark + query


def find_target_fault(target: bytes) -> str | None:
    """Why a target cannot be forwarded, if so."""
    if not target.startswith(b"/"):
        return "The request target must be a path."
    if _ALLOWED.fullmatch(target) is None or b"#" in target:
        return "The request target holds characters that no target may hold."
    if _DOUBTFUL.search(split_target(target)[0]) is not None:
        return "The path holds `..`, `//` or an encoded slash or line break."
    return None


def decode_path(path: bytes) -> str:
    return unquote_to_bytes(path).decode("utf-8", "replace") if b"%" in path else path.decode("ascii")
