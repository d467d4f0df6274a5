"""The door: one ASGI application for everything that arrives on the port.

It judges each request, hands our own paths to the pages, forwards the rest, and answers in the client's
protocol when something stands in the way. All it uses is handed in. It needs the connections of `wire`
under it, which `serve` sets up.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from functools import cache
from typing import Any, cast

import structlog
from prometheus_client import Counter

from festinger.clock import Stopwatch
from festinger.errors import FestingerError, Unwired
from festinger.ids import NewId
from festinger.observability import metrics
from festinger.proxy.attending import Attend
from festinger.proxy.body import ClientLeft, Receive
from festinger.proxy.chat import Call, Means, Send, forward
from festinger.proxy.edge import going_on
from festinger.proxy.guard import Guard, Knock, KnownSpace, Visit
from festinger.proxy.headers import NO_WISHES, RawHeaders, first
from festinger.proxy.keys import FindKey, InFlight
from festinger.proxy.passed import Pass, Passed, unnoticed
from festinger.proxy.routes import Protocol, Treatment
from festinger.proxy.shapes import Answer, refusal, refusal_of, unreachable_page
from festinger.proxy.tap import Listen, nobody
from festinger.proxy.telling import told
from festinger.proxy.upstream import Upstream, UpstreamFailed
from festinger.proxy.wire import EXTENSION
from festinger.settings.tree import Settings

log = structlog.get_logger()

Scope = MutableMapping[str, Any]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

VISIT = "festinger.visit"
"""Where our own pages find the `Visit` in the scope."""

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")


class Proxy:
    def __init__(
        self,
        *,
        settings: Callable[[], Settings],
        own: ASGIApp,
        upstream: Upstream,
        find_key: FindKey,
        known_space: KnownSpace,
        ready: Callable[[], bool],
        new_id: NewId,
        stopwatch: Stopwatch,
        machine_names: Collection[str],
        exposed: bool = False,
        insecure: bool = False,
        listen: Listen = nobody,
        attend: Attend | None = None,
        passed: Pass = unnoticed,
    ) -> None:
        self._settings = settings
        self._own = own
        self._new_id = new_id
        self._means = Means(upstream=upstream, stopwatch=stopwatch, ready=ready, listen=listen, attend=attend)
        self._in_flight = InFlight()
        self._passed = passed
        self._guard = Guard(
            find_key=find_key,
            known_space=known_space,
            machine_names=machine_names,
            exposed=exposed,
            insecure=insecure,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise Unwired("The door answers HTTP only; serve it with `festinger.proxy.serve`.")
        call = Call(
            method=scope["method"],
            version=scope["http_version"],
            headers=scope["headers"],
            receive=receive,
            send=send,
            reply=scope["extensions"][EXTENSION],
            settings=self._settings(),
            began=self._means.stopwatch(),
        )
        task = cast("asyncio.Task[None]", asyncio.current_task())
        call.reply.when_gone(task.cancel)
        try:
            with going_on("proxy door") as attempt:
                await self._answer(scope, call)
            if attempt.failed:
                await _give_up(call)
        except asyncio.CancelledError:
            # The client left, or the server stops: the request ends here, and with it this task.
            call.reply.cut()
            if call.reply.gone:
                _LEFT[call.window].inc()
        finally:
            call.reply.when_gone(None)

    async def _answer(self, scope: Scope, call: Call) -> None:
        request_id = self._request_id(call.headers)
        knock = Knock(
            request_id=request_id,
            target=call.reply.target,
            headers=call.headers,
            caller=scope["client"][0] if scope.get("client") else None,
            here=scope["server"][0] if scope.get("server") else "",
        )
        visit = await self._guard.admit(knock, call.settings)
        if isinstance(visit, Answer):
            await _say(call, visit, request_id=request_id)
            _count(call, "refused")
        elif visit.route.treatment is Treatment.OWN:
            # A client that leaves our pages does not undo what it asked for.
            call.reply.when_gone(None)
            await self._own(_own_scope(scope, visit), call.receive, _noting(call))
        else:
            try:
                await self._forward(call, visit)
            finally:
                self._tell_of(call, visit)
            _count(call, visit.route.label)

    async def _forward(self, call: Call, visit: Visit) -> None:
        protocol, request_id = visit.route.protocol, visit.request_id
        try:
            with self._in_flight.one_more(visit.key):
                await forward(call, visit, self._means)
        except UpstreamFailed as error:
            metrics.PROXY_UPSTREAM_ERRORS.labels(error.kind).inc()
            log.warning("upstream failed", request=request_id, upstream=error.base, kind=error.kind)
            if call.status is not None:
                call.reply.cut()  # the client has seen the same bytes as we did, and now sees the same end
            else:
                await _say(call, _unreachable(call, visit, error), request_id=request_id)
        except ClientLeft:
            call.reply.cut()
        except FestingerError as error:
            await _say(
                call, refusal_of(error, protocol=protocol, request_id=request_id), request_id=request_id
            )

    def _tell_of(self, call: Call, visit: Visit) -> None:
        """Have it written down, however it ended."""
        if visit.route.treatment not in (Treatment.EDITED, Treatment.WATCHED):
            return
        with going_on("request log"):
            self._passed(
                Passed(
                    visit=visit,
                    status=call.status,
                    memory=call.memory.result if call.memory else "",
                    reason=call.memory.reason if call.memory else "",
                    before=call.before,
                    after=call.after,
                    loop=str(call.loop) if call.loop else "",
                )
            )

    def _request_id(self, headers: RawHeaders) -> str:
        given = first(headers, b"x-request-id")
        if given is not None and _REQUEST_ID.fullmatch(given) is not None:
            return given.decode("ascii")
        return str(self._new_id())


def _unreachable(call: Call, visit: Visit, error: UpstreamFailed) -> Answer:
    accepts = first(call.headers, b"accept") or b""
    if call.method == "GET" and visit.path == "/" and b"text/html" in accepts:
        return unreachable_page(error.status, upstream=error.base, message=error.message)
    return refusal(
        error.status,
        error.message,
        code="upstream_unreachable",
        protocol=visit.route.protocol,
        request_id=visit.request_id,
    )


def _noting(call: Call) -> Send:
    """Sends, and notes whether an answer has begun."""

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            call.status = message["status"]
        await call.send(message)

    return send


async def _give_up(call: Call) -> None:
    if call.status is not None:
        call.reply.cut()
        return
    fault = FestingerError()
    await _say(call, refusal_of(fault, protocol=Protocol.NATIVE, request_id=""), request_id="")


async def _say(call: Call, answer: Answer, *, request_id: str) -> None:
    headers = [*answer.headers, (b"content-length", b"%d" % len(answer.body))]
    if call.settings.proxy.headers:
        headers += told(request_id=request_id, memory=call.memory, wishes=NO_WISHES, overhead=None)
    call.status = answer.status
    await call.send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await call.send({"type": "http.response.body", "body": answer.body, "more_body": False})


_LEFT = {window: metrics.PROXY_CANCELLED.labels(window) for window in ("upload", "waiting", "answer")}
_BEFORE = metrics.PROXY_OVERHEAD.labels("before")
_AFTER = metrics.PROXY_OVERHEAD.labels("after")


def _count(call: Call, route: str) -> None:
    _counter_of(metrics.PROXY_REQUESTS, route, call.status).inc()
    if call.memory is not None:
        _counter_of(metrics.PROXY_MEMORY, call.memory.result, call.memory.reason).inc()
        _BEFORE.observe(call.before)
        _AFTER.observe(call.after)


@cache
def _counter_of(counter: Counter, *labels: object) -> Counter:
    """The counter of these labels, found once: their sets are closed, and finding it costs more than counting."""
    return counter.labels(*labels)


def _own_scope(scope: Scope, visit: Visit) -> Scope:
    """The scope of our own pages: without the prefix of space and agent, with the visit in its state."""
    path = visit.target.partition(b"?")[0]
    state = {**scope.get("state", {}), VISIT: visit}
    return {**scope, "path": visit.path, "raw_path": path, "state": state}
