"""How is a message posted to an address that a person named?

One POST, no redirect, ten seconds. It stands in this room because this room speaks HTTP to others; what the message
says, and who is told, is not known here. `ProviderDown` where trying again may help, `ProviderRefused` where it will
not.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx2

from festinger import __version__
from festinger.errors import ProviderDown, ProviderRefused
from festinger.llm.endpoint import Resolve, refuse_forbidden, resolve_host
from festinger.text.addresses import stays_here

SECONDS = 10.0
TRY_AGAIN = frozenset({408, 425, 429})


async def post(
    url: str,
    body: bytes,
    *,
    headers: Mapping[str, str],
    offline: bool = False,
    seconds: float = SECONDS,
    resolve: Resolve = resolve_host,
) -> int:
    """The status with which the message was taken."""
    here = stays_here(url)
    if offline and not here:
        raise ProviderRefused(f"`{_host(url)}` is beyond this machine, and Festinger is offline.")
    await refuse_forbidden(_host(url), resolve)
    sent = {**headers, "User-Agent": f"festinger/{__version__}"}
    try:
        async with (
            httpx2.AsyncClient(follow_redirects=False, timeout=seconds, trust_env=not here) as client,
            client.stream("POST", url, content=body, headers=sent) as answer,
        ):
            status = answer.status_code
    except httpx2.HTTPError as error:
        raise ProviderDown(f"`{_host(url)}` cannot be reached: {type(error).__name__}.") from error
    if 200 <= status < 300:
        return status
    if status >= 500 or status in TRY_AGAIN:
        raise ProviderDown(f"`{_host(url)}` answered {status}.")
    raise ProviderRefused(f"`{_host(url)}` answered {status}.")


def _host(url: str) -> str:
    """What may be shown of an address: its path may hold a secret."""
    return urlsplit(url).hostname or "?"
