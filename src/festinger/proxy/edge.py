"""What happens when something of ours breaks while a conversation goes on?

It goes on. Every part that a request can do without runs inside `going_on`: whatever it raises is logged and
counted, and the request continues as if the part were not there. This is the one place of the door that
catches everything.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import structlog

from festinger.observability import metrics

log = structlog.get_logger()


@dataclass(slots=True)
class Attempt:
    failed: str = ""
    """The class of the error, if there was one."""


@contextmanager
def going_on(part: str) -> Iterator[Attempt]:
    """Runs a part that may fail. `part` is one of a closed set: it becomes a label."""
    attempt = Attempt()
    try:
        yield attempt
    except Exception as error:  # memory never breaks the conversation: there is nobody above to tell
        attempt.failed = type(error).__name__
        metrics.DEGRADED.labels(part).inc()
        log.exception("going on without a part", part=part, error=attempt.failed)
