"""Which sessions are kept in memory, and for how long?

Bounded in number, in size and in idle time; the least recently used go first. Sessions of different callers lie
in different drawers and never meet. Changes are whole values that replace each other, so requests of one session
may run side by side.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice

from festinger.ids import SessionId
from festinger.proxy.sessions.session import Caller, Session

SESSION_BYTES = 256 * 2**10
ALIKE = 32
"""Sessions that begin alike, of which so many of the newest are looked at."""

Key = tuple[Caller, SessionId]


class Sessions:
    def __init__(self, *, most: int, idle: timedelta, session_bytes: int = SESSION_BYTES) -> None:
        self._most = most
        self._idle = idle
        self._session_bytes = session_bytes
        self._kept: OrderedDict[Key, Session] = OrderedDict()
        self._by_head: dict[tuple[Caller, bytes], dict[SessionId, None]] = {}
        self._by_word: dict[tuple[Caller, bytes], dict[SessionId, None]] = {}
        self._by_response: dict[tuple[Caller, str], SessionId] = {}
        self._ours: dict[tuple[Caller, str], int] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, caller: Caller, session: SessionId, *, now: datetime) -> Session | None:
        found = self._kept.get((caller, session))
        return found if found is not None and now - found.at <= self._idle else None

    def alike(self, caller: Caller, head: bytes | None, *, now: datetime) -> list[Session]:
        """The caller's newest sessions that begin with this hash."""
        if head is None:
            return []
        return self._living(caller, self._by_head.get((caller, head), ()), now)

    def that_said(self, caller: Caller, contents: Iterable[bytes], *, now: datetime) -> list[Session]:
        """The caller's sessions in which one of these was lately said."""
        named = dict.fromkeys(
            session for content in contents for session in self._by_word.get((caller, content), ())
        )
        return self._living(caller, named, now)

    def newest(self, caller: Caller, *, now: datetime, limit: int) -> list[Session]:
        mine = (session for (owner, _), session in reversed(self._kept.items()) if owner == caller)
        return [session for session in islice(mine, limit) if now - session.at <= self._idle]

    def is_ours(self, caller: Caller, block: str) -> bool:
        """Whether this text is a block that a live session of the caller was given."""
        return (caller, block) in self._ours

    def of_response(self, caller: Caller, response: str) -> SessionId | None:
        return self._by_response.get((caller, response))

    def remember_response(self, caller: Caller, response: str, session: SessionId) -> None:
        self._by_response.pop((caller, response), None)
        self._by_response[caller, response] = session
        while len(self._by_response) > self._most:
            del self._by_response[next(iter(self._by_response))]

    def keep(self, session: Session) -> Session:
        """Put a session in the place of what was known of it. What is too much for one is left out."""
        key = (session.caller, session.id)
        self._drop(key)
        kept = _within(session, self._session_bytes)
        self._kept[key] = kept
        for index, hashes in self._indexed(kept):
            for entry in hashes:
                index.setdefault((kept.caller, entry), {})[kept.id] = None
        for block in _blocks(kept):
            self._ours[kept.caller, block] = self._ours.get((kept.caller, block), 0) + 1
        while len(self._kept) > self._most:
            self._drop(next(iter(self._kept)))
        return kept

    def tidy(self, *, now: datetime) -> int:
        """Forget what was idle for too long; says how many went."""
        # The order is that of use, so the first that is fresh ends the search.
        gone = []
        for key, session in self._kept.items():
            if now - session.at <= self._idle:
                break
            gone.append(key)
        for key in gone:
            self._drop(key)
        return len(gone)

    def _living(self, caller: Caller, named: Iterable[SessionId], now: datetime) -> list[Session]:
        newest_first = reversed(list(named))
        found = (self.find(caller, session, now=now) for session in islice(newest_first, ALIKE))
        return [session for session in found if session is not None]

    def _drop(self, key: Key) -> None:
        session = self._kept.pop(key, None)
        if session is None:
            return
        for index, hashes in self._indexed(session):
            for entry in hashes:
                named = index.get((session.caller, entry), {})
                named.pop(session.id, None)
                if not named:
                    index.pop((session.caller, entry), None)
        for block in _blocks(session):
            left = self._ours.get((session.caller, block), 0) - 1
            if left > 0:
                self._ours[session.caller, block] = left
            else:
                self._ours.pop((session.caller, block), None)

    def _indexed(
        self, session: Session
    ) -> Iterator[tuple[dict[tuple[Caller, bytes], dict[SessionId, None]], Iterable[bytes]]]:
        yield self._by_head, [session.head] if session.head is not None else []
        yield self._by_word, {*session.recent, *(reply.content for reply in session.replies)}


def _blocks(session: Session) -> Iterator[str]:
    for block in session.blocks.values():
        yield block.text
    if session.system_block is not None:
        yield session.system_block.text


def _within(session: Session, limit: int) -> Session:
    """The session without as much of its oldest as is too much: replies first, then blocks, then hashes."""
    while session.size > limit and session.replies:
        session = replace(session, replies=session.replies[1:])
    blocks = dict(session.blocks)
    while blocks and session.size > limit:
        del blocks[next(iter(blocks))]
        session = replace(session, blocks=dict(blocks))
    if session.size > limit:
        # A history of thousands of messages: without its chain it will be known by its words again.
        session = replace(session, links=session.links[:1], recent=frozenset())
    return session
