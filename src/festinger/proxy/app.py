"""ASGI application of the proxy: authorizes each request, forwards it and streams the response back.

Festinger's own paths go to the web app; everything else goes upstream, and errors are answered in the
client's protocol. `forward` is the hot path: read the body, run the pipeline, forward, stream. If memory or
the loop guard fails, the request goes on with its original bytes, and the response headers say so. Requires
the connections of `transport.server`.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from contextlib import closing
from functools import cache
from typing import Any, cast

import aiohttp
import structlog
from prometheus_client import Counter

from festinger.clock import Stopwatch
from festinger.errors import FestingerError, Unwired
from festinger.ids import NewId
from festinger.observability import metrics
from festinger.proxy.auth import AccessGuard, FindKey, InFlightLimiter, KnownSpace, replace_api_key
from festinger.proxy.errors import LocalResponse, build_error_response, fail_open, to_error_response, unreachable_page
from festinger.proxy.headers import (
    MemoryMode,
    MemoryResult,
    MemoryStatus,
    RawHeaders,
    disable_compression,
    filter_request_headers,
    filter_response_headers,
    first_header,
    status_without_memory,
    update_content_length,
)
from festinger.proxy.request import Body, RequestContext, Send
from festinger.proxy.routes import ApiProtocol, RouteTreatment
from festinger.proxy.transport.body import WHOLE_BYTES, ClientDisconnectedError, Receive, read_or_stream_body
from festinger.proxy.transport.server import EXTENSION
from festinger.proxy.transport.streams import StreamCut, open_tap
from festinger.proxy.transport.upstream import (
    UpstreamClient,
    UpstreamUnreachableError,
    find_upstream_base,
    find_upstream_key,
    iter_chunks,
)
from festinger.settings.tree import Settings

Scope = MutableMapping[str, Any]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

BODILESS = (204, 304)
OK = 200
REFUSED = (400, 422)
"""Statuses with which an upstream rejects a request as it is."""
READ = (RouteTreatment.EDITED, RouteTreatment.WATCHED)
VISIT = "festinger.visit"
"""Key under which the web app finds the `RequestContext` in the scope's state."""

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")

log = structlog.get_logger(room="proxy")

ProcessRequest = Callable[[RequestContext], Awaitable[None]]
"""Runs memory and the loop guard on a request, whose fields say what to forward."""


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
        process: ProcessRequest | None = None,
        log_request: Callable[[RequestContext], None] | None = None,
    ) -> None:
        """Without `process`, every request passes unchanged. `log_request` must not block."""
        self._settings = settings
        self._own = own
        self._upstream = upstream
        self._ready = ready
        self._new_id = new_id
        self._stopwatch = stopwatch
        self._process = process
        self._log_request = log_request
        self._in_flight = InFlightLimiter()
        self._access = AccessGuard(
            find_key=find_key, known_space=known_space, machine_names=machine_names, exposed=exposed, insecure=insecure
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise Unwired("The door answers HTTP only; serve it with `festinger.proxy.transport.server`.")
        ctx = RequestContext(
            request_id=self._request_id(scope["headers"]),
            method=scope["method"],
            version=scope["http_version"],
            headers=scope["headers"],
            receive=receive,
            send=send,
            connection=scope["extensions"][EXTENSION],
            client=scope["client"][0] if scope.get("client") else None,
            server_address=scope["server"][0] if scope.get("server") else "",
            settings=self._settings(),
            began=self._stopwatch(),
        )
        task = cast("asyncio.Task[None]", asyncio.current_task())
        ctx.connection.set_disconnect_callback(task.cancel)
        try:
            with fail_open("proxy door") as attempt:
                await self._answer(scope, ctx)
            if attempt.failed:
                await _send_internal_error(ctx)
        except asyncio.CancelledError:
            # The client left or the server is stopping; the request and this task end here.
            ctx.connection.cut()
            if ctx.connection.gone:
                _LEFT[ctx.phase].inc()
        finally:
            ctx.connection.set_disconnect_callback(None)

    def _request_id(self, headers: RawHeaders) -> str:
        given = first_header(headers, b"x-request-id")
        if given is not None and _REQUEST_ID.fullmatch(given) is not None:
            return given.decode("ascii")
        return str(self._new_id())

    async def _answer(self, scope: Scope, ctx: RequestContext) -> None:
        if (refusal := await self._access.admit(ctx)) is not None:
            await _send_error_response(ctx, refusal)
            _count(ctx, "refused")
        elif ctx.route.treatment is RouteTreatment.OWN:
            # A client that disconnects from our own pages does not cancel the operation it asked for.
            ctx.connection.set_disconnect_callback(None)
            await self._own(_build_web_scope(scope, ctx), ctx.receive, _track_status(ctx))
        else:
            try:
                await self._forward_or_explain(ctx)
            finally:
                if self._log_request is not None and ctx.route.treatment in READ:
                    with fail_open("request log"):
                        self._log_request(ctx)
            _count(ctx, ctx.route.label)

    async def _forward_or_explain(self, ctx: RequestContext) -> None:
        try:
            with self._in_flight.count_in_flight(ctx.key):
                await self._forward(ctx)
        except UpstreamUnreachableError as error:
            metrics.PROXY_UPSTREAM_ERRORS.labels(error.kind).inc()
            log.warning("upstream failed", request=ctx.request_id, upstream=error.base, kind=error.kind)
            if ctx.status is not None:
                ctx.connection.cut()  # the client got the same bytes as we did and sees the same end
            else:
                await _send_error_response(ctx, _build_unreachable_response(ctx, error))
        except ClientDisconnectedError:
            ctx.connection.cut()
        except FestingerError as error:
            await _send_error_response(
                ctx, to_error_response(error, protocol=ctx.route.protocol, request_id=ctx.request_id)
            )

    async def _forward(self, ctx: RequestContext) -> None:
        """Read, forward, stream. Raises `UpstreamUnreachableError` and, for the request body, `TooLarge`."""
        proxy = ctx.settings.proxy
        limit = proxy.body_max_bytes if ctx.route.limited else None
        is_read = self._process is not None and ctx.route.treatment in READ
        whole = proxy.edit_max_bytes if is_read else WHOLE_BYTES
        ctx.received = ctx.body = await read_or_stream_body(
            ctx.receive, ctx.headers, limit=limit, complete=ctx.connection.resume_reading_after_body, whole=whole
        )
        await self._run_pipeline(ctx)
        ctx.phase, ctx.before = "waiting", self._stopwatch() - ctx.began
        if ctx.local_response is not None:
            await _send_local_response(ctx, ctx.local_response)
            return
        answer = await self._send_upstream(ctx)
        answered = self._stopwatch()
        listener = ctx.listener if answer.status == OK else None
        with closing(answer), open_tap(listener, answer.raw_headers) as tap:
            headers = filter_response_headers(answer.raw_headers)
            ctx.phase, ctx.after = "answer", self._stopwatch() - answered
            framed = not _ends_with_connection(ctx, headers)
            if ctx.learning is not None:
                ctx.learn_status = await ctx.learning()
            await _start_response(ctx, answer, headers, framed=framed)
            more = True
            async for chunk in iter_chunks(answer):
                if tap is not None and (cut := tap.feed(chunk)) is not None:
                    answer.close()
                    await tap.settle()
                    await _end_cut_response(ctx, chunk, cut, framed=framed)
                    return
                # Send the last chunk together with the end of the response, so that both leave in one packet.
                more = not (framed and answer.content.at_eof())
                if tap is not None and (tap.has_ended or not more):
                    await tap.settle()
                await ctx.send({"type": "http.response.body", "body": chunk, "more_body": more})
            if more:
                if tap is not None:
                    await tap.settle()
                await _finish_response(ctx, framed=framed)

    async def _run_pipeline(self, ctx: RequestContext) -> None:
        """Run the pipeline on a request; leave the request unchanged if memory fails."""
        ctx.memory_status = status_without_memory(ctx.route.treatment, ctx.options, ready=self._ready())
        is_wanted = ctx.options.memory is not MemoryMode.OFF or ctx.options.watch_loops
        if self._process is None or ctx.route.treatment not in READ or not is_wanted:
            return
        if not isinstance(ctx.received, bytes):
            return
        with fail_open("memory") as attempt:
            await self._process(ctx)
        if attempt.failed:
            ctx.forward_as_received()
            ctx.memory_status = MemoryStatus(result=MemoryResult.FAILED, reason=attempt.failed)
            log.warning("memory failed for a request", request=ctx.request_id, error=attempt.failed)

    async def _send_upstream(self, ctx: RequestContext) -> aiohttp.ClientResponse:
        """Send the edited request; if the upstream rejects it, send the original."""
        status = None
        try:
            answer = await _ask_upstream(self._upstream, ctx, ctx.body)
            if ctx.fallback is not None and answer.status in REFUSED:
                answer.close()
                if ctx.guard is not None:
                    ctx.guard.record_rejected_mitigation(ctx)
                answer = await _ask_upstream(self._upstream, ctx, ctx.fallback)
            status = answer.status
        finally:
            if ctx.guard is not None:
                ctx.guard.record_response_status(ctx, status)
        return answer


async def _ask_upstream(upstream: UpstreamClient, ctx: RequestContext, body: Body) -> aiohttp.ClientResponse:
    proxy = ctx.settings.proxy
    base = find_upstream_base(ctx.route.protocol, proxy)
    headers = filter_request_headers(ctx.headers)
    if ctx.route.treatment in READ:
        # What was edited is no longer compressed, however it arrived.
        headers = disable_compression(headers, is_plain=body is not ctx.received)
    if isinstance(body, bytes):
        headers = update_content_length(headers, len(body))
    if ctx.key is not None:
        headers = replace_api_key(headers, protocol=ctx.route.protocol, upstream_key=find_upstream_key(base, proxy))
    return await upstream.send(ctx.method, base, ctx.target, headers=headers, body=body)


async def _start_response(
    ctx: RequestContext, answer: aiohttp.ClientResponse, headers: list[tuple[bytes, bytes]], *, framed: bool
) -> None:
    status = ctx.connection.set_status_line(answer.status, (answer.reason or "").encode("utf-8", "surrogateescape"))
    if not framed:
        ctx.connection.end_by_closing()
    ctx.status = answer.status
    await ctx.send({"type": "http.response.start", "status": status, "headers": headers + _status_headers(ctx)})
    if answer.status in BODILESS:
        ctx.connection.allow_missing_body()


def _status_headers(ctx: RequestContext) -> list[tuple[bytes, bytes]]:
    if not ctx.settings.proxy.headers:
        return []
    ignored = f"; ignored={','.join(ctx.options.ignored)}" if ctx.options.ignored else ""
    statuses = {
        b"x-festinger-request": ctx.request_id,
        b"x-festinger-session": ctx.session_status,
        b"x-festinger-loop": ctx.loop_status,
        b"x-festinger-memory": f"{ctx.memory_status}{ignored}" if ctx.memory_status is not None else None,
        b"x-festinger-learned": ctx.learn_status,
        b"x-festinger-overhead-ms": f"{1000 * (ctx.before + ctx.after):.3f}",
    }
    return [(name, str(status).encode()) for name, status in statuses.items() if status is not None]


async def _send_local_response(ctx: RequestContext, own: LocalResponse) -> None:
    """Answer without contacting the upstream."""
    ctx.phase, ctx.status = "answer", own.status
    headers = [*own.headers, *_status_headers(ctx)]
    framed = not _ends_with_connection(ctx, headers)
    if not framed:
        ctx.connection.end_by_closing()
    await ctx.send({"type": "http.response.start", "status": own.status, "headers": headers})
    for chunk in own.chunks:
        await ctx.send({"type": "http.response.body", "body": chunk, "more_body": True})
    await _finish_response(ctx, framed=framed)


async def _end_cut_response(ctx: RequestContext, chunk: bytes, cut: StreamCut, *, framed: bool) -> None:
    """End a response that is cut within this chunk."""
    last = chunk[: cut.whole] + cut.ending
    await ctx.send({"type": "http.response.body", "body": last, "more_body": not framed})
    if not framed:
        ctx.connection.cut()


async def _finish_response(ctx: RequestContext, *, framed: bool) -> None:
    if framed:
        await ctx.send({"type": "http.response.body", "body": b"", "more_body": False})
    else:
        ctx.connection.cut()


def _ends_with_connection(ctx: RequestContext, headers: RawHeaders) -> bool:
    """Whether the client gets neither a length nor chunked encoding."""
    return ctx.version == "1.0" and first_header(headers, b"content-length") is None


def _build_unreachable_response(ctx: RequestContext, error: UpstreamUnreachableError) -> LocalResponse:
    accepts = first_header(ctx.headers, b"accept") or b""
    if ctx.method == "GET" and ctx.path == "/" and b"text/html" in accepts:
        return unreachable_page(error.status, upstream=error.base, message=error.message)
    return build_error_response(
        error.status, error.message, code="upstream_unreachable", protocol=ctx.route.protocol, request_id=ctx.request_id
    )


def _track_status(ctx: RequestContext) -> Send:
    """Wrap `send` to record whether a response has started."""

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            ctx.status = message["status"]
        await ctx.send(message)

    return send


async def _send_internal_error(ctx: RequestContext) -> None:
    if ctx.status is not None:
        ctx.connection.cut()
        return
    await _send_error_response(
        ctx, to_error_response(FestingerError(), protocol=ApiProtocol.NATIVE, request_id=ctx.request_id)
    )


async def _send_error_response(ctx: RequestContext, answer: LocalResponse) -> None:
    headers = [*answer.headers, answer.content_length]
    if ctx.settings.proxy.headers:
        headers.append((b"x-festinger-request", ctx.request_id.encode()))
        if ctx.memory_status is not None:
            headers.append((b"x-festinger-memory", str(ctx.memory_status).encode()))
    ctx.status = answer.status
    await ctx.send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await ctx.send({"type": "http.response.body", "body": b"".join(answer.chunks), "more_body": False})


_LEFT = {phase: metrics.PROXY_CANCELLED.labels(phase) for phase in ("upload", "waiting", "answer")}
_BEFORE = metrics.PROXY_OVERHEAD.labels("before")
_AFTER = metrics.PROXY_OVERHEAD.labels("after")


def _count(ctx: RequestContext, route: str) -> None:
    _labeled_counter(metrics.PROXY_REQUESTS, route, ctx.status).inc()
    if ctx.memory_status is not None:
        _labeled_counter(metrics.PROXY_MEMORY, ctx.memory_status.result, ctx.memory_status.reason).inc()
        _BEFORE.observe(ctx.before)
        _AFTER.observe(ctx.after)


@cache
def _labeled_counter(counter: Counter, *labels: object) -> Counter:
    """Cache the labeled counter: the label sets are closed, and the lookup costs more than the increment."""
    return counter.labels(*labels)


def _build_web_scope(scope: Scope, ctx: RequestContext) -> Scope:
    """Build the web app's scope: without the space and agent prefix, with the request's context."""
    path = ctx.target.partition(b"?")[0]
    return {**scope, "path": ctx.path, "raw_path": path, "state": {**scope.get("state", {}), VISIT: ctx}}
