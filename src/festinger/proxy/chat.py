"""The way of a request: read its body, bring to mind, forward it, stream the answer back.

This is the hot path of the door. Memory and the loop guard stand between reading and forwarding; whatever happens to
them there, the request goes on with the bytes that it came with, and its answer says so.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp
import structlog

from festinger.clock import Stopwatch
from festinger.proxy.attending import Attend, Attended, Body, OwnReply
from festinger.proxy.body import WHOLE_BYTES, Receive, body_of
from festinger.proxy.edge import going_on
from festinger.proxy.guard import Visit
from festinger.proxy.headers import MemoryWish, RawHeaders, coming_down, first, going_up, readable, sized
from festinger.proxy.keys import without_ours
from festinger.proxy.routes import Treatment
from festinger.proxy.tap import Cut, Listen, tapped
from festinger.proxy.telling import (
    LoopTold,
    MemoryResult,
    MemoryTold,
    SessionTold,
    told,
    told_without_memory,
)
from festinger.proxy.upstream import Asking, Upstream, base_for, chunks, key_for
from festinger.proxy.wire import Reply
from festinger.settings.tree import Settings

if TYPE_CHECKING:
    from festinger.proxy.learn_status import LearnStatus

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

BODILESS = (204, 304)
OK = 200
REFUSED = (400, 422)
"""How an upstream says that it does not take a request as it is."""
READ = (Treatment.EDITED, Treatment.WATCHED)

log = structlog.get_logger(room="proxy")


@dataclass(slots=True, kw_only=True)
class Call:
    """A request under way."""

    method: str
    version: str
    headers: RawHeaders
    receive: Receive
    send: Send
    reply: Reply
    settings: Settings
    began: float
    window: str = "upload"
    """Where it is now, for the count of clients that left."""
    status: int | None = None
    """The status that the client was sent; none until then."""
    memory: MemoryTold | None = None
    session: SessionTold | None = None
    loop: LoopTold | None = None
    learned: "LearnStatus | None" = None
    """What became of what a person asked to have remembered."""
    is_plain: bool = False
    """Whether its body came compressed and goes on as what it says."""
    before: float = 0.0
    """Seconds from its first byte until it was sent on."""
    after: float = 0.0
    """Seconds from the upstream's first byte until the client was written to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What forwarding needs."""

    upstream: Upstream
    stopwatch: Stopwatch
    ready: Callable[[], bool]
    listen: Listen
    attend: Attend | None = None
    """Brings to mind; without it every request passes untouched."""


async def forward(call: Call, visit: Visit, means: Means) -> None:
    """Read, forward, stream. Raises `UpstreamFailed` and, for the body of the request, `TooLarge`."""
    proxy = call.settings.proxy
    limit = proxy.body_max_bytes if visit.route.limited else None
    is_read = means.attend is not None and visit.route.treatment in READ
    whole = proxy.edit_max_bytes if is_read else WHOLE_BYTES
    body = await body_of(call.receive, call.headers, limit=limit, complete=call.reply.listen, whole=whole)
    attended = await _attended(call, visit, means, body)
    call.window, call.before = "waiting", means.stopwatch() - call.began
    if attended.own is not None:
        await _say_own(call, visit, attended.own)
        return
    answer = await _asked(call, visit, means, attended)
    heard = means.stopwatch()
    heard_by = (attended.listener if answer.status == OK else None) or means.listen(visit)
    with closing(answer), tapped(heard_by, answer.raw_headers) as tap:
        headers = coming_down(answer.raw_headers)
        call.window, call.after = "answer", means.stopwatch() - heard
        framed = not _ends_with_connection(call, headers)
        if attended.learning is not None and attended.learning.is_asked:
            call.learned = await attended.learning.status()
        await _start(call, visit, answer, headers, framed=framed)
        more = True
        async for chunk in chunks(answer):
            if tap is not None and (cut := tap.feed(chunk)) is not None:
                answer.close()
                await tap.settle()
                await _end_here(call, chunk, cut, framed=framed)
                return
            # The last piece takes the end of the answer along, so that both leave in one packet.
            more = not (framed and answer.content.at_eof())
            if tap is not None and (tap.has_ended or not more):
                await tap.settle()
            await call.send({"type": "http.response.body", "body": chunk, "more_body": more})
        if more:
            if tap is not None:
                await tap.settle()
            await _finish(call, framed=framed)


async def _attended(call: Call, visit: Visit, means: Means, body: Body) -> Attended:
    """The request as it goes on, and who listens to the answer; as it came, if memory fails."""
    call.memory = told_without_memory(visit.route.treatment, visit.wishes, ready=means.ready())
    wishes = visit.wishes
    is_wanted = wishes.memory is not MemoryWish.OFF or wishes.watch_loops
    untouched = Attended(body=body, told=call.memory)
    if means.attend is None or visit.route.treatment not in READ or not is_wanted:
        return untouched
    if not isinstance(body, bytes):
        return untouched
    with going_on("memory") as attempt:
        attended = await means.attend(visit, call.headers, body, settings=call.settings.proxy)
        call.memory, call.session, call.loop = attended.told, attended.session, attended.loop
        call.is_plain = attended.body is not body
        return attended
    call.memory = MemoryTold(result=MemoryResult.FAILED, reason=attempt.failed)
    log.warning("memory failed for a request", request=visit.request_id, error=attempt.failed)
    return untouched


async def _asked(call: Call, visit: Visit, means: Means, attended: Attended) -> aiohttp.ClientResponse:
    """The upstream's answer: to the changed request, or if it refuses that one, to the original."""
    status = None
    try:
        answer = await means.upstream.ask(_asking(call, visit, attended.body))
        if attended.instead is not None and answer.status in REFUSED:
            answer.close()
            call.loop = attended.regard.refused() if attended.regard else None
            answer = await means.upstream.ask(_asking(call, visit, attended.instead))
        status = answer.status
    finally:
        if attended.regard is not None:
            attended.regard.came(status)
    return answer


def _asking(call: Call, visit: Visit, body: Body) -> Asking:
    proxy = call.settings.proxy
    base = base_for(visit.route.protocol, proxy)
    headers = going_up(call.headers)
    if visit.route.treatment in READ:
        headers = readable(headers, is_plain=call.is_plain)
    if isinstance(body, bytes):
        headers = sized(headers, len(body))
    if visit.key is not None:
        headers = without_ours(headers, protocol=visit.route.protocol, upstream_key=key_for(base, proxy))
    return Asking(method=call.method, base=base, target=visit.target, headers=headers, body=body)


async def _start(
    call: Call,
    visit: Visit,
    answer: aiohttp.ClientResponse,
    headers: list[tuple[bytes, bytes]],
    *,
    framed: bool,
) -> None:
    status = call.reply.speak(answer.status, (answer.reason or "").encode("utf-8", "surrogateescape"))
    if not framed:
        call.reply.without_length()
    headers = headers + _told(call, visit)
    call.status = answer.status
    await call.send({"type": "http.response.start", "status": status, "headers": headers})
    if answer.status in BODILESS:
        call.reply.without_body()


def _told(call: Call, visit: Visit) -> list[tuple[bytes, bytes]]:
    if not call.settings.proxy.headers:
        return []
    return told(
        request_id=visit.request_id,
        memory=call.memory,
        wishes=visit.wishes,
        overhead=call.before + call.after,
        session=call.session,
        loop=call.loop,
        learned=call.learned,
    )


async def _say_own(call: Call, visit: Visit, own: OwnReply) -> None:
    """Answer in the place of the upstream."""
    call.window, call.status = "answer", own.status
    headers = [*own.headers, *_told(call, visit)]
    framed = not _ends_with_connection(call, headers)
    if not framed:
        call.reply.without_length()
    await call.send({"type": "http.response.start", "status": own.status, "headers": headers})
    for chunk in own.chunks:
        await call.send({"type": "http.response.body", "body": chunk, "more_body": True})
    await _finish(call, framed=framed)


async def _end_here(call: Call, chunk: bytes, cut: Cut, *, framed: bool) -> None:
    """The end of an answer that is cut within this chunk."""
    last = chunk[: cut.whole] + cut.ending
    await call.send({"type": "http.response.body", "body": last, "more_body": not framed})
    if not framed:
        call.reply.cut()


async def _finish(call: Call, *, framed: bool) -> None:
    if framed:
        await call.send({"type": "http.response.body", "body": b"", "more_body": False})
    else:
        call.reply.cut()


def _ends_with_connection(call: Call, headers: RawHeaders) -> bool:
    """Whether the client can know neither a length nor chunks."""
    return call.version == "1.0" and first(headers, b"content-length") is None
