"""Formats errors in the client's protocol, and lets requests continue when an optional part fails.

Each client library expects its own error shape and shows people the message inside. A browser that opens the
start page while the upstream is down gets an HTML page that says what to do. `fail_open` wraps every part
that a request can do without: it logs and counts the error, and the request continues. It is the only place
in the proxy that catches everything.
"""

import html
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import Any

import orjson
import structlog

from festinger.errors import FestingerError, TooMany
from festinger.observability import metrics
from festinger.proxy.routes import ApiProtocol

JSON = (b"content-type", b"application/json")
HTML = (b"content-type", b"text/html; charset=utf-8")
NOSNIFF = (b"x-content-type-options", b"nosniff")
PAGE_POLICY = (
    b"content-security-policy",
    b"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
)

_OPENAI_TYPES: dict[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
}
_ANTHROPIC_TYPES: dict[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalResponse:
    """A response of our own instead of the upstream's."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...] = ()
    chunks: tuple[bytes, ...] = ()
    """Sent one after the other."""

    @property
    def content_length(self) -> tuple[bytes, bytes]:
        return b"content-length", b"%d" % sum(map(len, self.chunks))


def build_error_response(
    status: int,
    message: str,
    *,
    code: str,
    protocol: ApiProtocol,
    request_id: str,
    more: tuple[tuple[bytes, bytes], ...] = (),
) -> LocalResponse:
    document: dict[str, Any]
    match protocol:
        case ApiProtocol.NATIVE:
            document = {"error": message}
        case ApiProtocol.OPENAI:
            kind = _OPENAI_TYPES.get(status, "api_error")
            document = {"error": {"message": message, "type": kind, "param": None, "code": code}}
        case ApiProtocol.ANTHROPIC:
            kind = _ANTHROPIC_TYPES.get(status, "api_error")
            document = {"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id}
    return LocalResponse(status=status, headers=(JSON, NOSNIFF, *more), chunks=(orjson.dumps(document),))


def to_error_response(error: FestingerError, *, protocol: ApiProtocol, request_id: str) -> LocalResponse:
    more = ((b"retry-after", b"1"),) if isinstance(error, TooMany) else ()
    return build_error_response(
        error.http,
        f"{error.message} {error.hint}",
        code=error.details.get("code", error.name),
        protocol=protocol,
        request_id=request_id,
        more=more,
    )


def unreachable_page(status: int, *, upstream: str, message: str) -> LocalResponse:
    """The page for a browser that opens the start page while the upstream is down."""
    template = Template(files("festinger.proxy").joinpath("unreachable.html").read_text(encoding="utf-8"))
    page = template.substitute(upstream=html.escape(upstream), message=html.escape(message))
    return LocalResponse(status=status, headers=(HTML, NOSNIFF, PAGE_POLICY), chunks=(page.encode(),))


log = structlog.get_logger()


@dataclass(slots=True)
class FailOpenAttempt:
    failed: str = ""
    """Class name of the error, if there was one."""


@contextmanager
def fail_open(part: str) -> Iterator[FailOpenAttempt]:
    """Run a part that may fail. `part` becomes a metric label, so it must come from a closed set."""
    attempt = FailOpenAttempt()
    try:
        yield attempt
    except Exception as error:  # memory never breaks the conversation, and no caller could handle this
        attempt.failed = type(error).__name__
        metrics.DEGRADED.labels(part).inc()
        log.exception("going on without a part", part=part, error=attempt.failed)
