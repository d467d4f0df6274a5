"""Watches the sessions of a proxy for loops.

Looks at each request once, before it is forwarded, and gives a `Sighting` that does what is to be done about it. If
the look fails, the request goes on unwatched. What counts as a loop is decided in `loops`.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from festinger.clock import Clock
from festinger.ids import NewId, SpaceId
from festinger.observability.metrics import PROXY_BREAKERS_OPEN, PROXY_LOOPS
from festinger.proxy.capture import session_name
from festinger.proxy.edge import going_on
from festinger.proxy.headers import RawHeaders, first
from festinger.proxy.loops.events import told_of_reset
from festinger.proxy.loops.judging import Judged, Loop, judged, pardoned
from festinger.proxy.loops.keeping import Kept, LoopKey, Loops
from festinger.proxy.loops.remembered import Arrival
from festinger.proxy.loops.steps import Item, Step
from festinger.proxy.loops.turns import Repeat
from festinger.proxy.modelfiles import FindModelfile, none_known
from festinger.proxy.overhearing import PART
from festinger.proxy.recounting import Recount, untold
from festinger.proxy.sighting import Post, Sighting, Stubborn
from festinger.proxy.understanding import Understood
from festinger.runtime.supervisor import LiveLoop
from festinger.settings.tree import ProxySettings
from festinger.text.secrets import without_secrets

RETRIES = b"x-stainless-retry-count"


class LoopGuard:
    """Watches the sessions of one door."""

    def __init__(
        self,
        *,
        clock: Clock,
        new_id: NewId,
        settings: ProxySettings,
        recount: Recount = untold,
        modelfile: FindModelfile = none_known,
    ) -> None:
        idle = timedelta(seconds=settings.session_idle)
        self._loops = Loops(most=settings.sessions_max, idle=idle)
        self._clock = clock
        self._recount = recount
        self._post = Post(
            loops=self._loops,
            clock=clock,
            new_id=new_id,
            recount=recount,
            modelfile=modelfile,
            stubborn=Stubborn(),
        )

    def look(
        self, understood: Understood, headers: RawHeaders, *, settings: ProxySettings
    ) -> Sighting | None:
        """What the guard sees in a request; nothing if it is not to look, or cannot."""
        if not understood.visit.wishes.watch_loops:
            return None
        with going_on(PART):
            return self._look(understood, headers, settings)
        return None

    def _look(self, understood: Understood, headers: RawHeaders, settings: ProxySettings) -> Sighting:
        session = understood.session
        key = LoopKey(caller=session.caller, agent=understood.visit.agent, session=session.id)
        now = self._clock()
        kept = self._loops.find(key, now=now)
        history = understood.request.messages
        found = judged(
            kept.loop,
            history,
            _arrival(understood, headers, kept, length=len(history), at=now.timestamp()),
            keys=self._loops.keys(key),
            now=now.timestamp(),
            settings=settings.loop,
        )
        self._loops.keep(key, replace(kept, at=now, loop=found.loop))
        self._count(kept.loop, found)
        return Sighting(understood, key, before=kept.loop, judged=found, post=self._post, settings=settings)

    def _count(self, before: Loop, after: Judged) -> None:
        standing = after.loop.standing
        if standing is not None and after.rose_from(before):
            PROXY_LOOPS.labels(standing.rule.value, standing.level).inc()
        if before.breaker.opened != after.loop.breaker.opened:
            self._count_breakers()

    def _count_breakers(self) -> None:
        stopped = self._loops.those(lambda _, loop: loop.breaker.opened is not None, now=self._clock())
        PROXY_BREAKERS_OPEN.set(sum(1 for _ in stopped))

    def live(self, space: SpaceId) -> Sequence[LiveLoop]:
        """The loops of a space, the newest first."""
        found = self._loops.those(lambda key, loop: _is_live(key, loop, space), now=self._clock())
        return [_shown(key, kept) for key, kept in found]

    def reset(self, space: SpaceId, session: str, *, by: str) -> bool:
        """Let the sessions of this name go on."""
        found = [
            *self._loops.those(
                lambda key, loop: _is_live(key, loop, space) and session in _names(key), now=self._clock()
            )
        ]
        for key, kept in found:
            self._loops.keep(key, replace(kept, loop=pardoned(kept.loop)))
            told = told_of_reset(session_name(key.session), kept.loop, by=by)
            self._recount(
                space, [replace(each, agent=key.agent, session=session_name(key.session)) for each in told]
            )
        self._count_breakers()
        return bool(found)


def _arrival(understood: Understood, headers: RawHeaders, kept: Kept, *, length: int, at: float) -> Arrival:
    retry = first(headers, RETRIES) or b"0"
    failed = None
    if kept.failed is not None and kept.failed[0] == hash(understood.request.body):
        failed = at - kept.failed[1].timestamp()
    return Arrival(
        length=length,
        retry=int(retry) if retry.isdigit() else 0,
        failed_before=failed,
        waited=at - kept.at.timestamp(),
    )


def _is_live(key: LoopKey, loop: Loop, space: SpaceId) -> bool:
    return key.caller.space == space and (loop.standing is not None or loop.breaker.opened is not None)


def _names(key: LoopKey) -> tuple[str, str]:
    return key.session, session_name(key.session)


def _shown(key: LoopKey, kept: Kept) -> LiveLoop:
    loop = kept.loop
    repeat = loop.breaker.cause or loop.standing
    assert repeat is not None  # only such are live
    return LiveLoop(
        session=key.session,
        agent=key.agent,
        rule=repeat.rule.value,
        level=repeat.level,
        count=repeat.count,
        what=_what(repeat),
        is_stopped=loop.breaker.opened is not None,
        at=kept.at,
    )


def _what(repeat: Repeat) -> tuple[str, ...]:
    return tuple(without_secrets(_line(item)) for item in repeat.block)


def _line(item: Item) -> str:
    return f"{item.tool} {item.arguments}" if isinstance(item, Step) else item.opening
