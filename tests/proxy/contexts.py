"""A request as the proxy has admitted it, without a connection."""

from collections.abc import Sequence
from typing import Any, cast

from festinger.ids import DEFAULT_AGENT, MAIN_SPACE
from festinger.proxy.request import RequestContext
from festinger.proxy.routes import find_route
from festinger.settings.tree import ProxySettings, Settings


async def unconnected(*_given: Any) -> Any:
    raise AssertionError("nobody is connected")


def request_context(
    path: str, body: bytes, *, settings: ProxySettings | None = None, headers: Sequence[tuple[bytes, bytes]] = ()
) -> RequestContext:
    ctx = RequestContext(
        request_id="r",
        method="POST",
        version="1.1",
        headers=headers,
        receive=unconnected,
        send=unconnected,
        connection=cast("Any", None),
        client=None,
        settings=Settings(proxy=settings or ProxySettings()),
        began=0.0,
    )
    ctx.route, ctx.target, ctx.path = find_route(path), path.encode(), path
    ctx.space, ctx.agent = MAIN_SPACE, DEFAULT_AGENT
    ctx.received = ctx.body = body
    return ctx
