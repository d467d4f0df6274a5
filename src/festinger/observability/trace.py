"""For which request is this work done?

The id that a request came in with, or was given, follows everything that is done for it: it stands in each log
line and in each event that is written meanwhile. It travels with the running task and not through arguments,
because nothing may ever be decided by it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from structlog.contextvars import bound_contextvars, get_contextvars

FIELD = "request"
"""The name of the field in a log line."""


@contextmanager
def bind_request(request: str | None) -> Iterator[None]:
    """Let everything inside carry this id; without one, what was carried before goes on."""
    if request is None:
        yield
        return
    with bound_contextvars(**{FIELD: request}):
        yield


def current_request_id() -> str | None:
    """The id of the request that is served now, if any."""
    carried: str | None = get_contextvars().get(FIELD)
    return carried
