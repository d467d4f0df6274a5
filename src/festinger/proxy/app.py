"""ASGI application of the proxy: authorizes each request, forwards it and streams the response back.

Festinger's own paths go to the web app; everything else goes upstream, and errors are answered in the
client's protocol. `forward` is the hot path: read the body, run the pipeline, forward, stream. If memory or
the loop guard fails, the request goes on with its original bytes, and the response headers say so. Requires
the connections of `transport.connection`, which `transport.server` sets up.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import aiohttp
import structlog
from prometheus_client import Counter

from festinger.clock import Stopwatch
from festinger.errors import FestingerError, Unwired
from festinger.ids import NewId
from festinger.observability import metrics
from festinger.proxy.auth import (
    AccessGuard,
    AuthorizedRequest,
    FindKey,
    InFlightLimiter,
    KnownSpace,
    UnauthenticatedRequest,
    replace_api_key,
)
from festinger.proxy.errors import ErrorResponse, build_error_response, fail_open, to_error_response, unreachable_page
from festinger.proxy.headers import (
    NO_WISHES,
    LoopStatus,
    MemoryMode,
    MemoryResult,
    MemoryStatus,
    RawHeaders,
    SessionStatus,
    disable_compression,
    filter_request_headers,
    filter_response_headers,
    first_header,
    set_content_length,
    status_headers,
    status_without_memory,
)
from festinger.proxy.hooks import (
    Body,
    FinishedRequest,
    LocalResponse,
    Pass,
    PipelineHandler,
    PipelineResult,
    ignore_finished_request,
)
from festinger.proxy.routes import ApiProtocol, RouteTreatment
from festinger.proxy.transport.body import WHOLE_BYTES, ClientDisconnectedError, Receive, read_body
from festinger.proxy.transport.connection import EXTENSION, ResponseControl
from festinger.proxy.transport.streams import Listen, StreamCut, no_listener, open_tap
from festinger.proxy.transport.upstream import (
    UpstreamClient,
    UpstreamRequest,
    UpstreamUnreachableError,
    find_upstream_base,
    find_upstream_key,
    iter_chunks,
)
from festinger.settings.tree import Settings

if TYPE_CHECKING:
    from festinger.proxy.statements import LearnStatus


Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

BODILESS = (204, 304)
OK = 200
REFUSED = (400, 422)
"""Statuses with which an upstream rejects a request as it is."""
READ = (RouteTreatment.EDITED, RouteTreatment.WATCHED)

log = structlog.get_logger(room="proxy")


@dataclass(slots=True, kw_only=True)
class IncomingRequest:
    """A request in progress."""

    method: str
    version: str
    headers: RawHeaders
    receive: Receive
    send: Send
    reply: ResponseControl
    settings: Settings
    began: float
    window: str = "upload"
    """Current phase, used to count client disconnects."""
    status: int | None = None
    """Status sent to the client; `None` until then."""
    memory: MemoryStatus | None = None
    session: SessionStatus | None = None
    loop: LoopStatus | None = None
    learned: "LearnStatus | None" = None
    """Result of learning what a person explicitly asked to remember."""
    is_plain: bool = False
    """Whether a body that may have arrived compressed is forwarded uncompressed."""
    before: float = 0.0
    """Seconds from the request's first byte until it was forwarded."""
    after: float = 0.0
    """Seconds from the upstream's first byte until the first write to the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyDeps:
    """Dependencies of `forward`."""

    upstream: UpstreamClient
    stopwatch: Stopwatch
    ready: Callable[[], bool]
    listen: Listen
    process: PipelineHandler | None = None
    """Runs memory and the loop guard; without it, every request passes unchanged."""


async def forward(call: IncomingRequest, authorized: AuthorizedRequest, means: ProxyDeps) -> None:
    """Read, forward, stream. Raises `UpstreamUnreachableError` and, for the request body, `TooLarge`."""
    proxy = call.settings.proxy
    limit = proxy.body_max_bytes if authorized.route.limited else None
    is_read = means.process is not None and authorized.route.treatment in READ
    whole = proxy.edit_max_bytes if is_read else WHOLE_BYTES
    body = await read_body(call.receive, call.headers, limit=limit, complete=call.reply.listen, whole=whole)
    processed = await _run_pipeline(call, authorized, means, body)
    call.window, call.before = "waiting", means.stopwatch() - call.began
    if processed.own is not None:
        await _send_local_response(call, authorized, processed.own)
        return
    answer = await _send_upstream(call, authorized, means, processed)
    heard = means.stopwatch()
    heard_by = (processed.listener if answer.status == OK else None) or means.listen(authorized)
    with closing(answer), open_tap(heard_by, answer.raw_headers) as tap:
        headers = filter_response_headers(answer.raw_headers)
        call.window, call.after = "answer", means.stopwatch() - heard
        framed = not _ends_with_connection(call, headers)
        if processed.learning is not None and processed.learning.is_asked:
            call.learned = await processed.learning.status()
        await _start_response(call, authorized, answer, headers, framed=framed)
        more = True
        async for chunk in iter_chunks(answer):
            if tap is not None and (cut := tap.feed(chunk)) is not None:
                answer.close()
                await tap.settle()
                await _send_cut(call, chunk, cut, framed=framed)
                return
            # Send the last chunk together with the end of the response, so that both leave in one packet.
            more = not (framed and answer.content.at_eof())
            if tap is not None and (tap.has_ended or not more):
                await tap.settle()
            await call.send({"type": "http.response.body", "body": chunk, "more_body": more})
        if more:
            if tap is not None:
                await tap.settle()
            await _finish_response(call, framed=framed)


async def _run_pipeline(
    call: IncomingRequest, authorized: AuthorizedRequest, means: ProxyDeps, body: Body
) -> PipelineResult:
    """Run the pipeline on a request; return the request unchanged if memory fails."""
    call.memory = status_without_memory(authorized.route.treatment, authorized.wishes, ready=means.ready())
    wishes = authorized.wishes
    is_wanted = wishes.memory is not MemoryMode.OFF or wishes.watch_loops
    untouched = PipelineResult(body=body, told=call.memory)
    if means.process is None or authorized.route.treatment not in READ or not is_wanted:
        return untouched
    if not isinstance(body, bytes):
        return untouched
    with fail_open("memory") as attempt:
        processed = await means.process(authorized, call.headers, body, settings=call.settings.proxy)
        call.memory, call.session, call.loop = processed.told, processed.session, processed.loop
        call.is_plain = processed.body is not body
        return processed
    call.memory = MemoryStatus(result=MemoryResult.FAILED, reason=attempt.failed)
    log.warning("memory failed for a request", request=authorized.request_id, error=attempt.failed)
    return untouched


async def _send_upstream(
    call: IncomingRequest, authorized: AuthorizedRequest, means: ProxyDeps, processed: PipelineResult
) -> aiohttp.ClientResponse:
    """Send the edited request; if the upstream rejects it, send the original."""
    status = None
    try:
        answer = await means.upstream.ask(_build_upstream_request(call, authorized, processed.body))
        if processed.instead is not None and answer.status in REFUSED:
            answer.close()
            call.loop = processed.regard.refused() if processed.regard else None
            answer = await means.upstream.ask(_build_upstream_request(call, authorized, processed.instead))
        status = answer.status
    finally:
        if processed.regard is not None:
            processed.regard.came(status)
    return answer


def _build_upstream_request(call: IncomingRequest, authorized: AuthorizedRequest, body: Body) -> UpstreamRequest:
    proxy = call.settings.proxy
    base = find_upstream_base(authorized.route.protocol, proxy)
    headers = filter_request_headers(call.headers)
    if authorized.route.treatment in READ:
        headers = disable_compression(headers, is_plain=call.is_plain)
    if isinstance(body, bytes):
        headers = set_content_length(headers, len(body))
    if authorized.key is not None:
        headers = replace_api_key(
            headers, protocol=authorized.route.protocol, upstream_key=find_upstream_key(base, proxy)
        )
    return UpstreamRequest(method=call.method, base=base, target=authorized.target, headers=headers, body=body)


async def _start_response(
    call: IncomingRequest,
    authorized: AuthorizedRequest,
    answer: aiohttp.ClientResponse,
    headers: list[tuple[bytes, bytes]],
    *,
    framed: bool,
) -> None:
    status = call.reply.speak(answer.status, (answer.reason or "").encode("utf-8", "surrogateescape"))
    if not framed:
        call.reply.without_length()
    headers = headers + _build_status_headers(call, authorized)
    call.status = answer.status
    await call.send({"type": "http.response.start", "status": status, "headers": headers})
    if answer.status in BODILESS:
        call.reply.without_body()


def _build_status_headers(call: IncomingRequest, authorized: AuthorizedRequest) -> list[tuple[bytes, bytes]]:
    if not call.settings.proxy.headers:
        return []
    return status_headers(
        request_id=authorized.request_id,
        memory=call.memory,
        wishes=authorized.wishes,
        overhead=call.before + call.after,
        session=call.session,
        loop=call.loop,
        learned=call.learned,
    )


async def _send_local_response(call: IncomingRequest, authorized: AuthorizedRequest, own: LocalResponse) -> None:
    """Answer without contacting the upstream."""
    call.window, call.status = "answer", own.status
    headers = [*own.headers, *_build_status_headers(call, authorized)]
    framed = not _ends_with_connection(call, headers)
    if not framed:
        call.reply.without_length()
    await call.send({"type": "http.response.start", "status": own.status, "headers": headers})
    for chunk in own.chunks:
        await call.send({"type": "http.response.body", "body": chunk, "more_body": True})
    await _finish_response(call, framed=framed)


async def _send_cut(call: IncomingRequest, chunk: bytes, cut: StreamCut, *, framed: bool) -> None:
    """End a response that is cut within this chunk."""
    last = chunk[: cut.whole] + cut.ending
    await call.send({"type": "http.response.body", "body": last, "more_body": not framed})
    if not framed:
        call.reply.cut()


async def _finish_response(call: IncomingRequest, *, framed: bool) -> None:
    if framed:
        await call.send({"type": "http.response.body", "body": b"", "more_body": False})
    else:
        call.reply.cut()


def _ends_with_connection(call: IncomingRequest, headers: RawHeaders) -> bool:
    """Whether the client gets neither a length nor chunked encoding."""
    return call.version == "1.0" and first_header(headers, b"content-length") is None


Scope = MutableMapping[str, Any]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

VISIT = "festinger.visit"
"""Key under which the web app finds the `AuthorizedRequest` in the scope's state."""

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")


class Proxy:
    def __init__(
        self,
        *,
        settings: Callable[[], Settings],
        own: ASGIApp,
        upstream: UpstreamClient,
        find_key: FindKey,
        known_space: KnownSpace,
        ready: Callable[[], bool],
        new_id: NewId,
        stopwatch: Stopwatch,
        machine_names: Collection[str],
        exposed: bool = False,
        insecure: bool = False,
        listen: Listen = no_listener,
        process: PipelineHandler | None = None,
        passed: Pass = ignore_finished_request,
    ) -> None:
        self._settings = settings
        self._own = own
        self._new_id = new_id
        self._means = ProxyDeps(upstream=upstream, stopwatch=stopwatch, ready=ready, listen=listen, process=process)
        self._in_flight = InFlightLimiter()
        self._passed = passed
        self._guard = AccessGuard(
            find_key=find_key, known_space=known_space, machine_names=machine_names, exposed=exposed, insecure=insecure
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise Unwired("The door answers HTTP only; serve it with `festinger.proxy.transport.server`.")
        call = IncomingRequest(
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
            with fail_open("proxy door") as attempt:
                await self._answer(scope, call)
            if attempt.failed:
                await _send_internal_error(call)
        except asyncio.CancelledError:
            # The client left or the server is stopping; the request and this task end here.
            call.reply.cut()
            if call.reply.gone:
                _LEFT[call.window].inc()
        finally:
            call.reply.when_gone(None)

    async def _answer(self, scope: Scope, call: IncomingRequest) -> None:
        request_id = self._request_id(call.headers)
        incoming = UnauthenticatedRequest(
            request_id=request_id,
            target=call.reply.target,
            headers=call.headers,
            caller=scope["client"][0] if scope.get("client") else None,
            here=scope["server"][0] if scope.get("server") else "",
        )
        authorized = await self._guard.admit(incoming, call.settings)
        if isinstance(authorized, ErrorResponse):
            await _send_error_response(call, authorized, request_id=request_id)
            _count(call, "refused")
        elif authorized.route.treatment is RouteTreatment.OWN:
            # A client that disconnects from our own pages does not cancel the operation it asked for.
            call.reply.when_gone(None)
            await self._own(_own_scope(scope, authorized), call.receive, _track_status(call))
        else:
            try:
                await self._forward(call, authorized)
            finally:
                self._tell_of(call, authorized)
            _count(call, authorized.route.label)

    async def _forward(self, call: IncomingRequest, authorized: AuthorizedRequest) -> None:
        protocol, request_id = authorized.route.protocol, authorized.request_id
        try:
            with self._in_flight.one_more(authorized.key):
                await forward(call, authorized, self._means)
        except UpstreamUnreachableError as error:
            metrics.PROXY_UPSTREAM_ERRORS.labels(error.kind).inc()
            log.warning("upstream failed", request=request_id, upstream=error.base, kind=error.kind)
            if call.status is not None:
                call.reply.cut()  # the client got the same bytes as we did and sees the same end
            else:
                await _send_error_response(
                    call, _build_unreachable_response(call, authorized, error), request_id=request_id
                )
        except ClientDisconnectedError:
            call.reply.cut()
        except FestingerError as error:
            await _send_error_response(
                call, to_error_response(error, protocol=protocol, request_id=request_id), request_id=request_id
            )

    def _tell_of(self, call: IncomingRequest, authorized: AuthorizedRequest) -> None:
        """Report the request to the request log, however it ended."""
        if authorized.route.treatment not in (RouteTreatment.EDITED, RouteTreatment.WATCHED):
            return
        with fail_open("request log"):
            self._passed(
                FinishedRequest(
                    authorized=authorized,
                    status=call.status,
                    memory=call.memory.result if call.memory else "",
                    reason=call.memory.reason if call.memory else "",
                    before=call.before,
                    after=call.after,
                    loop=str(call.loop) if call.loop else "",
                )
            )

    def _request_id(self, headers: RawHeaders) -> str:
        given = first_header(headers, b"x-request-id")
        if given is not None and _REQUEST_ID.fullmatch(given) is not None:
            return given.decode("ascii")
        return str(self._new_id())


def _build_unreachable_response(
    call: IncomingRequest, authorized: AuthorizedRequest, error: UpstreamUnreachableError
) -> ErrorResponse:
    accepts = first_header(call.headers, b"accept") or b""
    if call.method == "GET" and authorized.path == "/" and b"text/html" in accepts:
        return unreachable_page(error.status, upstream=error.base, message=error.message)
    return build_error_response(
        error.status,
        error.message,
        code="upstream_unreachable",
        protocol=authorized.route.protocol,
        request_id=authorized.request_id,
    )


def _track_status(call: IncomingRequest) -> Send:
    """Wrap `send` to record whether a response has started."""

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            call.status = message["status"]
        await call.send(message)

    return send


async def _send_internal_error(call: IncomingRequest) -> None:
    if call.status is not None:
        call.reply.cut()
        return
    fault = FestingerError()
    await _send_error_response(
        call, to_error_response(fault, protocol=ApiProtocol.NATIVE, request_id=""), request_id=""
    )


async def _send_error_response(call: IncomingRequest, answer: ErrorResponse, *, request_id: str) -> None:
    headers = [*answer.headers, (b"content-length", b"%d" % len(answer.body))]
    if call.settings.proxy.headers:
        headers += status_headers(request_id=request_id, memory=call.memory, wishes=NO_WISHES, overhead=None)
    call.status = answer.status
    await call.send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await call.send({"type": "http.response.body", "body": answer.body, "more_body": False})


_LEFT = {window: metrics.PROXY_CANCELLED.labels(window) for window in ("upload", "waiting", "answer")}
_BEFORE = metrics.PROXY_OVERHEAD.labels("before")
_AFTER = metrics.PROXY_OVERHEAD.labels("after")


def _count(call: IncomingRequest, route: str) -> None:
    _labeled_counter(metrics.PROXY_REQUESTS, route, call.status).inc()
    if call.memory is not None:
        _labeled_counter(metrics.PROXY_MEMORY, call.memory.result, call.memory.reason).inc()
        _BEFORE.observe(call.before)
        _AFTER.observe(call.after)


@cache
def _labeled_counter(counter: Counter, *labels: object) -> Counter:
    """Cache the labeled counter: the label sets are closed, and the lookup costs more than the increment."""
    return counter.labels(*labels)


def _own_scope(scope: Scope, authorized: AuthorizedRequest) -> Scope:
    """Build the web app's scope: without the space and agent prefix, with the authorized request."""
    path = authorized.target.partition(b"?")[0]
    state = {**scope.get("state", {}), VISIT: authorized}
    return {**scope, "path": authorized.path, "raw_path": path, "state": state}
