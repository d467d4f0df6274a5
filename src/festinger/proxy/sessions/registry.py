"""Keeps live sessions in memory, bounded in number, size and idle time.

The least recently used go first. Sessions of different callers never mix. Sessions are immutable values that
are replaced as a whole, so requests of one session may run concurrently.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import TypeVar

from cachetools import LRUCache

from festinger.ids import SessionId
from festinger.proxy.sessions.session import ProxyCaller, ProxySession

SESSION_BYTES = 256 * 2**10
ALIKE = 32
"""Maximum sessions with the same beginning that are examined, newest first."""

Name = tuple[ProxyCaller, SessionId]
Key = TypeVar("Key")


class SessionRegistry:
    def __init__(self, *, most: int, idle: timedelta, session_bytes: int = SESSION_BYTES) -> None:
        self._most = most
        self._idle = idle
        self._session_bytes = session_bytes
        self._kept: OrderedDict[Name, ProxySession] = OrderedDict()
        self._by_head: dict[tuple[ProxyCaller, bytes], dict[SessionId, None]] = {}
        self._by_word: dict[ProxyCaller, dict[bytes, dict[SessionId, None]]] = {}
        self._by_response: LRUCache[tuple[ProxyCaller, str], SessionId] = LRUCache(most)
        self._by_caller: dict[ProxyCaller, dict[SessionId, None]] = {}
        self._ours: Counter[tuple[ProxyCaller, str]] = Counter()

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, caller: ProxyCaller, session: SessionId, *, now: datetime) -> ProxySession | None:
        found = self._kept.get((caller, session))
        return found if found is not None and now - found.at <= self._idle else None

    def alike(self, caller: ProxyCaller, head: bytes | None, *, now: datetime) -> list[ProxySession]:
        """The caller's newest sessions whose head has this hash."""
        if head is None:
            return []
        return self._living(caller, self._by_head.get((caller, head), ()), now)

    def that_said(self, caller: ProxyCaller, contents: Iterable[bytes], *, now: datetime) -> Iterator[ProxySession]:
        """The caller's sessions with one of these recent contents; computed lazily."""
        words = self._by_word.get(caller, {})
        known = (words[content] for content in contents if content in words)
        yield from self._living(caller, dict.fromkeys(chain.from_iterable(known)), now)

    def newest(self, caller: ProxyCaller, *, now: datetime, limit: int) -> list[ProxySession]:
        """The caller's sessions, most recently used first."""
        mine = islice(reversed(self._by_caller.get(caller, {})), limit)
        return [found for name in mine if (found := self.find(caller, name, now=now)) is not None]

    def is_ours(self, caller: ProxyCaller, block: str) -> bool:
        """Whether this text is a block that a live session of the caller was given."""
        return (caller, block) in self._ours

    def of_response(self, caller: ProxyCaller, response: str) -> SessionId | None:
        return self._by_response.get((caller, response))

    def remember_response(self, caller: ProxyCaller, response: str, session: SessionId) -> None:
        self._by_response[caller, response] = session

    def put(self, session: ProxySession) -> ProxySession:
        """Store a session, replacing its previous state and trimming it to the size limit."""
        key = (session.caller, session.id)
        kept = _trim_session(session, self._session_bytes)
        self._reindex(self._kept.pop(key, None), kept)
        self._kept[key] = kept
        while len(self._kept) > self._most:
            self._drop(next(iter(self._kept)))
        return kept

    def tidy(self, *, now: datetime) -> int:
        """Drop idle sessions; return how many."""
        # Ordered by use, so the first fresh one ends the search.
        gone = []
        for key, session in self._kept.items():
            if now - session.at <= self._idle:
                break
            gone.append(key)
        for key in gone:
            self._drop(key)
        return len(gone)

    def _living(self, caller: ProxyCaller, named: Iterable[SessionId], now: datetime) -> list[ProxySession]:
        newest_first = reversed(list(named))
        found = (self.find(caller, session, now=now) for session in islice(newest_first, ALIKE))
        return [session for session in found if session is not None]

    def _drop(self, key: Name) -> None:
        session = self._kept.pop(key, None)
        if session is not None:
            self._reindex(session, None)

    def _reindex(self, before: ProxySession | None, after: ProxySession | None) -> None:
        """Update the indexes from the previous state of a session to the new one; most entries stay."""
        some = after or before
        if some is None:
            return
        caller, name = some.caller, some.id
        if before is not None and before.head is not None:
            _remove_from_index(self._by_head, (caller, before.head), name)
        if after is not None and after.head is not None:
            # Reinsert each time, to keep sessions with the same beginning in order of use.
            self._by_head.setdefault((caller, after.head), {})[name] = None
        old, new = _content_hashes(before), _content_hashes(after)
        words = self._by_word.setdefault(caller, {})
        for word in old - new:
            _remove_from_index(words, word, name)
        for word in new - old:
            words.setdefault(word, {})[name] = None
        self._emit(caller, _block_counts(before), _block_counts(after))
        mine = self._by_caller.setdefault(caller, {})
        mine.pop(name, None)
        if after is not None:
            mine[name] = None
        elif not mine:
            del self._by_caller[caller], self._by_word[caller]

    def _emit(self, caller: ProxyCaller, old: Counter[str], new: Counter[str]) -> None:
        new.subtract(old)
        for block, times in new.items():
            self._ours[caller, block] += times
            if not self._ours[caller, block]:
                del self._ours[caller, block]


def _remove_from_index(index: dict[Key, dict[SessionId, None]], key: Key, name: SessionId) -> None:
    named = index.get(key, {})
    named.pop(name, None)
    if not named:
        index.pop(key, None)


def _content_hashes(session: ProxySession | None) -> frozenset[bytes]:
    """Hashes by which a session is recognized when its beginning was cut."""
    if session is None:
        return frozenset()
    return session.recent.union([reply.content for reply in session.replies])


def _block_counts(session: ProxySession | None) -> Counter[str]:
    if session is None:
        return Counter()
    above = [session.system_block] if session.system_block is not None else []
    return Counter([block.text for block in (*session.blocks.values(), *above)])


def _trim_session(session: ProxySession, limit: int) -> ProxySession:
    """Trim the oldest parts until the session fits: replies first, then blocks, then hashes."""
    while session.size > limit and session.replies:
        session = replace(session, replies=session.replies[1:])
    blocks = dict(session.blocks)
    while blocks and session.size > limit:
        del blocks[next(iter(blocks))]
        session = replace(session, blocks=dict(blocks))
    if session.size > limit:
        # A history of thousands of messages: without its chain, it is recognized by its contents.
        session = replace(session, links=session.links[:1], recent=frozenset())
    return session
