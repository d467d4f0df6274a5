"""Which live session does a request continue?

By its own word first. Else by its history: the session whose history this one goes on with; the one that it goes
back in, if that is only minutes ago; the one whose latest words stand in it though its beginning was cut or
retold. What leaves a known history is a new session beside it. The model has no say in this.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from festinger.ids import SessionId
from festinger.proxy.loops.message import Role
from festinger.proxy.requests.turn import Turn
from festinger.proxy.sessions.chain import Chain
from festinger.proxy.sessions.session import Session

REWIND = timedelta(minutes=10)
REPLY_CHARS = 40
SHARED = 2


class How(StrEnum):
    HEADER = "header"
    CHAIN = "chain"
    REPLY = "reply"
    NEW = "new"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognised:
    how: How
    session: SessionId | None = None
    """None for a new one, which gets its name from whoever keeps it."""
    parent: SessionId | None = None
    rewound: bool = False


def recognise(
    chain: Chain,
    turns: Sequence[Turn],
    *,
    live: Sequence[Session],
    others: Iterable[Session] = (),
    now: datetime,
) -> Recognised:
    """`live` are the caller's sessions that begin alike; `others` those that may have said the same."""
    beside = None
    if chain.head is not None:
        alike = [session for session in live if session.head == chain.head]
        if _is_opening(turns):
            # A session that was answered goes on with its answer; without it, somebody opens a new chat in the
            # same words. One that was not answered yet is tried again.
            alike = [session for session in alike if not session.replies]
        if continued := [session for session in alike if _is_prefix(session.links, chain.links)]:
            best = max(continued, key=lambda session: (len(session.links), session.at))
            return Recognised(how=How.CHAIN, session=best.id)
        if back := [session for session in alike if _is_prefix(chain.links, session.links)]:
            best = max(back, key=lambda session: session.at)
            if now - best.at <= REWIND:
                return Recognised(how=How.CHAIN, session=best.id, rewound=True)
            alike = [session for session in alike if session not in back]
        beside = max(alike, key=lambda each: (shared_length(each.links, chain.links), each.at), default=None)
    for session in sorted({each.id: each for each in (*live, *others)}.values(), key=lambda each: each.at)[
        ::-1
    ]:
        if _speaks_on(session, chain, turns):
            return Recognised(how=How.REPLY, session=session.id)
    return Recognised(how=How.NEW, parent=beside.id if beside is not None else None)


def _is_opening(turns: Sequence[Turn]) -> bool:
    said = [turn.role for turn in turns if turn.role is not Role.SYSTEM]
    return said == [Role.USER]


def shared_length(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """How many links two chains share: all up to the last equal one."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[middle - 1] == other[middle - 1]:
            low = middle
        else:
            high = middle - 1
    return low


def _is_prefix(short: Sequence[bytes], long: Sequence[bytes]) -> bool:
    return 0 < len(short) <= len(long) and short[-1] == long[len(short) - 1]


def _speaks_on(session: Session, chain: Chain, turns: Sequence[Turn]) -> bool:
    """Whether what this session lately said stands in the history, beyond where both begin alike."""
    from_here = shared_length(session.links, chain.links)
    spoken = {
        content
        for content, turn in zip(chain.contents[from_here:], turns[from_here:], strict=True)
        if turn.role in (Role.ASSISTANT, Role.TOOL)
    }
    long_replies = {reply.content for reply in session.replies if len(reply.text) >= REPLY_CHARS}
    return bool(spoken & long_replies) or len(spoken & session.recent) >= SHARED
