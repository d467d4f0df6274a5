"""Watches the sessions of a proxy for loops.

Looks at each request once, before it is forwarded, and gives a `Sighting` that does what is to be done about it. If
the look fails, the request goes on unwatched. What counts as a loop is decided in `loops`.

What does the loop guard do with one request?

It stops it, or changes it, then watches its answer, and in the end has told what came of it. What is known of the
session afterwards is put down with the guard.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil

from festinger.clock import Clock
from festinger.events.event import Happening
from festinger.ids import NewId, SpaceId, TraceId
from festinger.observability.metrics import PROXY_BREAKERS_OPEN, PROXY_LOOPS, PROXY_STREAM_CUTS
from festinger.proxy.capture.exchange import session_name
from festinger.proxy.context.edit import FindModelfile, none_known
from festinger.proxy.errors import going_on, refusal
from festinger.proxy.headers import NOT_BUFFERED, LoopTold, RawHeaders, first
from festinger.proxy.hooks import OwnReply, Recount, untold
from festinger.proxy.loops.actions import Passage, explanation, seconds_left, spoken_explanation
from festinger.proxy.loops.history import Item, Repeat, Step, steps_of
from festinger.proxy.loops.judge import (
    Arrival,
    Judged,
    Kept,
    Loop,
    LoopKey,
    Loops,
    after_reply,
    judged,
    pardoned,
    told_of_reply,
    told_of_request,
    told_of_reset,
)
from festinger.proxy.loops.keys import Role, digest, spoken_call
from festinger.proxy.loops.mitigation import Case, Mitigated, mitigated
from festinger.proxy.loops.stream import Heard as Found
from festinger.proxy.loops.watcher import PART, Overhearing
from festinger.proxy.parsed_request import Understood, why_never
from festinger.proxy.protocols.messages import Request, Untouched, cleaning
from festinger.proxy.protocols.parse import read
from festinger.proxy.protocols.replies import Ear
from festinger.proxy.protocols.synthetic import JSON, Finish, own_answer
from festinger.proxy.routes import Treatment
from festinger.runtime.supervisor import LiveLoop
from festinger.settings.tree import ProxySettings
from festinger.text.secrets import without_secrets

OK = 200
TOO_MANY = 429
FAILED = 499
"""From here on an answer is none: the client had left, or the upstream has failed."""
STUBBORN = 1024

UNWRITTEN = frozenset(
    {Untouched.RAW, Untouched.SUFFIX, Untouched.TEMPLATE, Untouched.CONTEXT, Untouched.DEBUG}
)
"""Where the client writes the prompt itself, so that no word may be put into it."""


class Stubborn:
    """Models whose upstream refuses other sampling."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()

    def add(self, request: Request) -> None:
        self._known[request.kind.protocol.value, request.model] = None
        if len(self._known) > STUBBORN:
            self._known.popitem(last=False)

    def __contains__(self, request: Request) -> bool:
        return (request.kind.protocol.value, request.model) in self._known


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """What the sightings of one door share."""

    loops: Loops
    clock: Clock
    new_id: NewId
    recount: Recount
    modelfile: FindModelfile
    stubborn: Stubborn


class Sighting:
    """One request under watch."""

    def __init__(
        self,
        understood: Understood,
        key: LoopKey,
        *,
        before: Loop,
        judged: Judged,
        post: Post,
        settings: ProxySettings,
    ) -> None:
        self._understood = understood
        self._key = key
        self._before = before
        self._judged = judged
        self._post = post
        self._settings = settings
        self._did: tuple[str, ...] = ()
        self._name = str(session_name(key.session))

    @property
    def is_stopped(self) -> bool:
        return self._judged.passage is Passage.STOPPED

    @property
    def told(self) -> LoopTold:
        found = self._cause if self.is_stopped else self._judged.repeat
        if found is None:
            return LoopTold()
        return LoopTold(level=found.level, rule=found.rule.value, count=found.count, did=self._did)

    @property
    def _cause(self) -> Repeat | None:
        return self._judged.loop.breaker.cause

    def stop(self) -> tuple[OwnReply, str]:
        """The answer in the model's place, and the words that it says."""
        assert self._cause is not None
        self._did = ("breaker",)
        self._recount(self._of_request())
        if self._settings.loop.breaker == "error":
            return self._refusal(self._cause), ""
        request = self._understood.request
        explain = spoken_explanation if _speaks_json(request) else explanation
        text = explain(self._cause, self._settings.loop)
        now = self._post.clock()
        own = own_answer(
            request, text, finish=Finish.STOP, answer_id=f"festinger-{self._post.new_id()}", at=now
        )
        length = sum(map(len, own.chunks))
        framed = (b"content-length", b"%d" % length) if own.content_type == JSON else NOT_BUFFERED
        reply = OwnReply(status=OK, headers=((b"content-type", own.content_type), framed), chunks=own.chunks)
        return reply, text

    def _refusal(self, cause: Repeat) -> OwnReply:
        left = seconds_left(
            self._judged.loop.breaker, now=self._post.clock().timestamp(), settings=self._settings.loop
        )
        visit = self._understood.visit
        said = refusal(
            TOO_MANY,
            explanation(cause, self._settings.loop),
            code="loop_stopped",
            protocol=visit.route.protocol,
            request_id=visit.request_id,
            more=((b"x-should-retry", b"false"), (b"retry-after", b"%d" % max(1, ceil(left)))),
        )
        length = (b"content-length", b"%d" % len(said.body))
        return OwnReply(status=said.status, headers=(*said.headers, length), chunks=(said.body,))

    def mitigate(self, body: bytes) -> bytes:
        """The request with what is done about its loop; `body` is what would go on without."""
        found = Mitigated(body=body)
        with going_on(PART):
            found = self._mitigated(body)
        self._did = found.did
        return found.body

    def _mitigated(self, body: bytes) -> Mitigated:
        loop, settings = self._judged.loop, self._settings.loop
        is_quiet = self._judged.repeat is None and not loop.cuts and not loop.limited
        may_write = self._understood.visit.route.treatment is Treatment.EDITED
        if is_quiet or not may_write or not settings.enabled:
            return Mitigated(body=body)
        request = self._as_it_goes(body)
        if request is None:
            return Mitigated(body=body)
        own = steps_of(request.messages, self._post.loops.keys(self._key))[loop.pardoned :]
        case = Case(
            repeat=self._judged.repeat,
            items=own,
            cut=frozenset(loop.cuts),
            limited=loop.limited,
            temperature=self._temperature(request) if self._judged.repeat else None,
            boosts=request not in self._post.stubborn,
            speaks=why_never(request) not in UNWRITTEN,
        )
        return mitigated(request, case, settings)

    def _temperature(self, request: Request) -> float | None:
        """What the model's own file says, asked for from the first level on: it must be known at the second."""
        found = self._post.modelfile(request.model, request.kind.protocol, self._settings)
        return found.temperature if found else None

    def _as_it_goes(self, body: bytes) -> Request | None:
        """The request that this body holds: notes have moved its places."""
        request = self._understood.request
        if body is request.body:
            return request
        rules = cleaning(self._understood.mark, self._settings.volatile_markers)
        found = read(body, request.kind, rules=rules, limit=len(body))
        return None if isinstance(found, Untouched) else found

    def overhear(self, ear: Ear) -> Overhearing:
        """Somebody who watches the answer."""
        return Overhearing(
            self._understood.request, ear, settings=self._settings.loop, clock=self._post.clock
        )

    def over(self, overheard: Overhearing, text: str) -> tuple[Happening, ...]:
        """The answer is over, and this is what it said: put down what was found in it. What there is to tell."""
        found, cut = overheard.found(), overheard.cut
        self._change(
            lambda loop: after_reply(loop, noticed=bool(found), cut=digest(text.strip()) if cut else None)
        )
        if cut is not None:
            PROXY_STREAM_CUTS.labels(cut.finding.rule.value).inc()
        return (*self._of_request(), *self._of_reply(found, cut))

    def refused(self) -> LoopTold:
        if "temperature" in self._did:
            self._post.stubborn.add(self._understood.request)
        self._did = ()
        return self.told

    def came(self, status: int | None) -> None:
        if status is None or status >= FAILED:
            now = self._post.clock()
            kept = self._post.loops.find(self._key, now=now)
            self._post.loops.keep(self._key, replace(kept, failed=(hash(self._understood.request.body), now)))
        if status != OK:
            # Nobody will hear this answer to its end.
            self._recount(self._of_request())

    def _change(self, change: Callable[[Loop], Loop]) -> None:
        now: datetime = self._post.clock()
        kept = self._post.loops.find(self._key, now=now)
        self._post.loops.keep(self._key, replace(kept, at=now, loop=change(kept.loop)))

    def _of_request(self) -> tuple[Happening, ...]:
        told = told_of_request(self._name, self._before, self._judged, did=self._did)
        return self._traced([*told])

    def _of_reply(self, found: Sequence[Found], cut: Found | None) -> tuple[Happening, ...]:
        told = [*told_of_reply(self._name, found, cut)]
        for happening in told:
            if happening.name == "loop_detected":
                PROXY_LOOPS.labels(happening.payload["rule"], 0).inc()
        return self._traced(told)

    def _traced(self, happenings: Sequence[Happening]) -> tuple[Happening, ...]:
        visit = self._understood.visit
        return tuple(
            replace(
                each,
                agent=visit.agent,
                session=session_name(self._key.session),
                trace=TraceId(visit.request_id),
            )
            for each in happenings
        )

    def _recount(self, happenings: Sequence[Happening]) -> None:
        self._post.recount(self._understood.visit.space, happenings)


def _speaks_json(request: Request) -> bool:
    """Whether the agent speaks its calls as JSON in text."""
    said = (message for message in reversed(request.messages) if message.role is Role.ASSISTANT)
    latest = next(said, None)
    return latest is not None and not latest.calls and spoken_call(latest.text) is not None


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
