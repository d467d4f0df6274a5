"""What does an answer say of what happened here?

Each answer carries the request's id, its session, what memory and the loop guard did for it and how long we took, in
headers of ours. An absent memory is always told apart from an empty one. Nothing that was remembered stands in a
header.
"""

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote

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
    RECALL = "recall"
    """The world answered in time, the memory did not."""
    WORDS = "words"
    """The memory was searched by words alone; what vectors add comes in the next turn."""
    BUSY = "busy"
    """The memory had too many questions open to be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTold:
    result: MemoryResult
    reason: str = Reason.NONE
    """One of a closed set, or the class of the error that stood in the way; it becomes a label."""
    notes: int = 0
    tokens: int = 0
    recollection: str = ""
    """The id of the block that is new in the request."""

    def __str__(self) -> str:
        reason = f"; reason={self.reason}" if self.reason else ""
        size = f"; notes={self.notes}; tokens={self.tokens}" if self.notes else ""
        block = f"; recollection={self.recollection}" if self.recollection else ""
        return f"{self.result}{reason}{size}{block}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTold:
    id: str
    how: StrEnum
    """How it was recognised."""

    def __str__(self) -> str:
        # A session is named by clients, in any letters.
        return f"{quote(self.id, safe=_PLAIN)}; how={self.how}"


_PLAIN = "!#$&'()*+,/:=?@[]~ "


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopTold:
    """How far a loop has come, and what was done about it."""

    level: int = 0
    rule: str = ""
    count: int = 0
    did: tuple[str, ...] = ()
    off: bool = False
    """Whether the client asked not to be watched."""

    def __str__(self) -> str:
        if self.off:
            return f"off; reason={Reason.ASKED}"
        what = f"; rule={self.rule}; count={self.count}" if self.rule else ""
        did = f"; did={','.join(self.did)}" if self.did else ""
        return f"level={self.level}{what}{did}"


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
    *,
    request_id: str,
    memory: MemoryTold | None,
    wishes: Wishes,
    overhead: float | None,
    session: SessionTold | None = None,
    loop: LoopTold | None = None,
    learned: object = None,
) -> list[tuple[bytes, bytes]]:
    """The headers that say so. `overhead` is in seconds."""
    headers = [(b"x-festinger-request", request_id.encode())]
    if session is not None:
        headers.append((b"x-festinger-session", str(session).encode()))
    if loop is not None:
        headers.append((b"x-festinger-loop", str(loop).encode()))
    if memory is not None:
        ignored = f"; ignored={','.join(wishes.ignored)}" if wishes.ignored else ""
        headers.append((b"x-festinger-memory", f"{memory}{ignored}".encode()))
    if learned is not None:
        headers.append((b"x-festinger-learned", str(learned).encode()))
    if overhead is not None:
        headers.append((b"x-festinger-overhead-ms", b"%.3f" % (overhead * 1000)))
    return headers
