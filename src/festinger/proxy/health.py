"""Does the upstream answer?

A check as data, for `doctor` and the health pages. Any HTTP answer counts: an upstream that asks for a key
is there. It asks with a small request of its own and changes nothing.
"""

import asyncio

from festinger.proxy.routes import Protocol
from festinger.proxy.upstream import Asking, Upstream, UpstreamFailed, base_for
from festinger.seeing.checks import Check, ok, warn
from festinger.settings.tree import ProxySettings

NAME = "proxy.upstream"
PATIENCE_SECONDS = 5.0


async def check_upstreams(
    upstream: Upstream, settings: ProxySettings, *, patience: float = PATIENCE_SECONDS
) -> list[Check]:
    """One check for each upstream that is configured."""
    bases = dict.fromkeys(base_for(protocol, settings) for protocol in Protocol)
    return list(await asyncio.gather(*(_check(upstream, base, patience) for base in bases)))


async def _check(upstream: Upstream, base: str, patience: float) -> Check:
    asking = Asking(method="GET", base=base, target=b"/", headers=(), body=None)
    try:
        async with asyncio.timeout(patience):
            answer = await upstream.ask(asking)
    except UpstreamFailed as error:
        return warn(NAME, error.message, error.hint, upstream=base, kind=error.kind)
    except TimeoutError:
        return warn(
            NAME, f"The upstream `{base}` does not answer.", "Look at its log.", upstream=base, kind="silent"
        )
    answer.close()
    return ok(NAME, f"The upstream `{base}` answers.", upstream=base, status=answer.status)
