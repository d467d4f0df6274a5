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
    ABSENT = "absent"
    """No memory was wired into this door."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTold:
    result: MemoryResult
    reason: Reason = Reason.NONE

    def __str__(self) -> str:
        return f"{self.result}; reason={self.reason}" if self.reason else self.result.value


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
