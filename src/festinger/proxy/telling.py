"""What does an answer say of what happened here?

Each answer carries the request's id, what memory did for it and how long we took, in headers of ours. An
absent memory is always told apart from an empty one. Nothing that was remembered stands in a header.
"""

from dataclasses import dataclass
from enum import StrEnum

from festinger.proxy.headers import MemoryWish, Wishes
from festinger.proxy.routes import Treatment


class MemoryResult(StrEnum):
    INJECTED = "injected"
    REUSED = "reused"
    EMPTY = "empty"
    LATE = "late"
    NOT_READY = "not-ready"
    FAILED = "failed"
    OFF = "off"


class Reason(StrEnum):
    NONE = ""
    ROUTE = "route"
    """This route is never written into."""
    ASKED = "asked"
    """The client asked for no memory."""
    STORE = "store"
    """The store is not open (yet)."""
    FAULT = "fault"
    """Something of ours broke; the log says what."""
    ABSENT = "absent"
    """No memory was wired into this door."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTold:
    result: MemoryResult
    reason: StrEnum = Reason.NONE
    """One of a closed set; it becomes a label."""
    notes: int = 0
    tokens: int = 0

    def __str__(self) -> str:
        reason = f"; reason={self.reason}" if self.reason else ""
        size = f"; notes={self.notes}; tokens={self.tokens}" if self.notes else ""
        return f"{self.result}{reason}{size}"


def told_without_memory(treatment: Treatment, wishes: Wishes, *, ready: bool) -> MemoryTold:
    """Why nothing was remembered for a request that is passed through."""
    if treatment is not Treatment.EDITED:
        return MemoryTold(result=MemoryResult.OFF, reason=Reason.ROUTE)
    if wishes.memory is MemoryWish.OFF:
        return MemoryTold(result=MemoryResult.OFF, reason=Reason.ASKED)
    if not ready:
        return MemoryTold(result=MemoryResult.NOT_READY, reason=Reason.STORE)
    return MemoryTold(result=MemoryResult.OFF, reason=Reason.ABSENT)


def told(
    *, request_id: str, memory: MemoryTold | None, wishes: Wishes, overhead: float | None
) -> list[tuple[bytes, bytes]]:
    """The headers that say so. `overhead` is in seconds."""
    headers = [(b"x-festinger-request", request_id.encode())]
    if memory is not None:
        ignored = f"; ignored={','.join(wishes.ignored)}" if wishes.ignored else ""
        headers.append((b"x-festinger-memory", f"{memory}{ignored}".encode()))
    if overhead is not None:
        headers.append((b"x-festinger-overhead-ms", b"%.3f" % (overhead * 1000)))
    return headers
