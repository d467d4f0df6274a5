"""What does the loop guard do with one request?

It stops it, or changes it, then watches its answer, and in the end has told what came of it. What is known of the
session afterwards is put down with the guard.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil

from festinger.clock import Clock
from festinger.events.event import Happening
from festinger.ids import NewId, TraceId
from festinger.observability.metrics import PROXY_LOOPS, PROXY_STREAM_CUTS
from festinger.proxy.attending import OwnReply
from festinger.proxy.capture import session_name
from festinger.proxy.edge import going_on
from festinger.proxy.headers import NOT_BUFFERED
from festinger.proxy.injection.refusals import why_never
from festinger.proxy.loops.breaker import Passage, explanation, seconds_left, spoken_explanation
from festinger.proxy.loops.channels import Heard as Found
from festinger.proxy.loops.events import told_of_reply, told_of_request
from festinger.proxy.loops.judging import Judged, Loop, after_reply
from festinger.proxy.loops.keeping import LoopKey, Loops
from festinger.proxy.loops.keys import digest
from festinger.proxy.loops.message import Role
from festinger.proxy.loops.spoken import spoken_call
from festinger.proxy.loops.steps import steps_of
from festinger.proxy.loops.turns import Repeat
from festinger.proxy.mitigation.mitigating import Case, Mitigated, mitigated
from festinger.proxy.modelfiles import FindModelfile
from festinger.proxy.overhearing import PART, Overhearing
from festinger.proxy.recounting import Recount
from festinger.proxy.replies.answering import JSON, own_answer
from festinger.proxy.replies.heard import Ear
from festinger.proxy.replies.saying import Finish
from festinger.proxy.requests.cleaning import cleaning
from festinger.proxy.requests.reading import read
from festinger.proxy.requests.turn import Request
from festinger.proxy.requests.untouched import Untouched
from festinger.proxy.routes import Treatment
from festinger.proxy.shapes import refusal
from festinger.proxy.telling import LoopTold
from festinger.proxy.understanding import Understood
from festinger.settings.tree import ProxySettings

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
