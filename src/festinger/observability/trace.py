"""Carries the id of the current request into every log line and event written on its behalf.

The id travels with the running task, not through arguments, because nothing may ever be decided by it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from structlog.contextvars import bound_contextvars, get_contextvars

FIELD = "request"
"""The name of the field in a log line."""


@contextmanager
def bind_request(request: str | None) -> Iterator[None]:
    """Attach this request id to everything inside the block; `None` keeps the current one."""
    if request is None:
        yield
        return
    with bound_contextvars(**{FIELD: request}):
        yield


def current_request_id() -> str | None:
    """Return the id of the request that is being served, if any."""
    carried: str | None = get_contextvars().get(FIELD)
    return carried
