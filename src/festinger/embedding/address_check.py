"""Checks whether a provider's address may be contacted.

A provider on this machine always may. Others are used only because a person named them in the settings, and
never when offline. Link-local and metadata addresses are refused on the resolved address, at connection time.
"""

import socket
from typing import Any
from urllib.parse import urlsplit

from festinger.errors import BadSetting, ProviderRefused
from festinger.text.addresses import is_forbidden, is_loopback_url


def check_address_allowed(url: str, *, offline: bool) -> str:
    """Return `url` if it may be contacted."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise BadSetting(f"`{url}` is not an http address.", hint="Write it like `http://127.0.0.1:11434`.")
    if offline and not is_loopback_url(url):
        raise ProviderRefused(
            f"`{urlsplit(url).hostname}` is beyond this machine, and Festinger is offline.",
            hint="Unset `FESTINGER_OFFLINE`, or choose a provider on this machine.",
        )
    return url.rstrip("/")


def open_checked_socket(info: Any) -> socket.socket:
    """Open a socket for a resolved address, for aiohttp's `socket_factory`. Raises `OSError` if forbidden."""
    family, kind, protocol, _, where = info
    if is_forbidden(where[0]):
        raise ForbiddenAddressError
    return socket.socket(family, kind, protocol)


class ForbiddenAddressError(OSError):
    """The name resolves to a link-local or metadata address, which is never contacted."""
