"""Of which sessions is it known how they repeat themselves, and for how long?

Bounded in number and in idle time, the least recently used go first. What is kept of a session is a value that is
replaced as a whole. The keys of what was read before are dear and kept for the busiest sessions only.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from festinger.ids import AgentId, SessionId
from festinger.proxy.loops.judging import Loop
from festinger.proxy.loops.steps import Keys
from festinger.proxy.sessions.session import Caller

READ = 256
"""Sessions whose steps need not be read anew with each request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopKey:
    caller: Caller
    agent: AgentId
    session: SessionId


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    at: datetime
    loop: Loop
    failed: tuple[int, datetime] | None = None
    """A request that got no answer: its hash, and when that was."""


class Loops:
    def __init__(self, *, most: int, idle: timedelta) -> None:
        self._most = most
        self._idle = idle
        self._kept: OrderedDict[LoopKey, Kept] = OrderedDict()
        self._keys: OrderedDict[LoopKey, Keys] = OrderedDict()

    def find(self, key: LoopKey, *, now: datetime) -> Kept:
        found = self._kept.get(key)
        return found if found is not None and now - found.at <= self._idle else Kept(at=now, loop=Loop())

    def keys(self, key: LoopKey) -> Keys:
        """What was read of a session before."""
        found = self._keys.setdefault(key, Keys())
        self._keys.move_to_end(key)
        if len(self._keys) > READ:
            self._keys.popitem(last=False)
        return found

    def keep(self, key: LoopKey, kept: Kept) -> None:
        self._kept[key] = kept
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            gone, _ = self._kept.popitem(last=False)
            self._keys.pop(gone, None)

    def those(
        self, wanted: Callable[[LoopKey, Loop], bool], *, now: datetime
    ) -> Iterator[tuple[LoopKey, Kept]]:
        """The live ones that are wanted, the newest first."""
        for key, kept in reversed(self._kept.items()):
            if now - kept.at <= self._idle and wanted(key, kept.loop):
                yield key, kept
