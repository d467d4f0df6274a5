"""What of memory is there in time, and what becomes of what is late?

A request waits for memory as long as its deadline allows and then goes on without. The question is not called off:
its answer is kept for the session and told in its next turn. Only the newest answers are kept, and whoever never
comes back loses nothing but that.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass

from festinger.app.background import Background
from festinger.clock import Stopwatch, system_stopwatch
from festinger.ids import SessionId
from festinger.proxy.mind import Mind
from festinger.proxy.sessions.session import Caller
from festinger.proxy.understanding import Understood
from festinger.world.recollection import Recollection

KEPT = 1000
"""Sessions whose late answers are kept."""

Key = tuple[Caller, SessionId]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What came to mind."""

    found: Recollection | None = None
    """Of this request, if it came in time."""
    kept: tuple[Recollection, ...] = ()
    """What came too late for the requests before and was not told yet."""
    is_late: bool = False
    is_ready: bool = True


class InTime:
    """Asks the mind on behalf of requests that do not wait long."""

    def __init__(
        self,
        mind: Mind,
        *,
        beside: Background | None = None,
        stopwatch: Stopwatch = system_stopwatch,
        most: int = KEPT,
    ) -> None:
        self._mind = mind
        self._beside = beside or Background()
        self._stopwatch = stopwatch
        self._most = most
        self._late: OrderedDict[Key, tuple[Recollection, ...]] = OrderedDict()

    async def remembered(self, understood: Understood, *, seconds: float) -> Remembered:
        """What the request brings to mind within so many seconds of its beginning, and what came late before."""
        key = (understood.session.caller, understood.session.id)
        asked = asyncio.ensure_future(self._mind.recollect(understood.place, understood.unasked))
        try:
            left = seconds - (self._stopwatch() - understood.began)
            await asyncio.wait({asked}, timeout=max(0.0, left))
        except asyncio.CancelledError:
            asked.cancel()
            raise
        kept = self._late.get(key, ())
        if not asked.done():
            self._beside.start(self._keep(key, asked))
            return Remembered(kept=kept, is_late=True)
        found = asked.result()
        return Remembered(found=found, kept=kept, is_ready=found is not None)

    def told(self, understood: Understood) -> None:
        """What was kept has been told."""
        self._late.pop((understood.session.caller, understood.session.id), None)

    async def _keep(self, key: Key, asked: asyncio.Future[Recollection | None]) -> None:
        if found := await asked:
            self._late[key] = (found, *self._late.pop(key, ()))
        while len(self._late) > self._most:
            self._late.popitem(last=False)
