"""May a request come under this Host, and from this Origin?

A page of a foreign site can make a browser send requests to this machine, under a name that was bent to
point here. So the Host must be a name that only this machine, or a network of its own, can have, and the
Origin must be one that a person put here. Nothing is looked up: a name is judged by its letters.
"""

import ipaddress
import re
import socket
from collections.abc import Collection, Sequence
from functools import lru_cache

LOCAL_NAME_ENDINGS = (".localhost", ".local", ".internal")
ORIGIN_HOSTS = frozenset({"localhost", "127.0.0.1", "0.0.0.0"})  # noqa: S104 - a name in a header, not a bind
ORIGIN_SCHEMES = frozenset({"app", "file", "tauri"})
DEFAULT_PORTS = {"http": 80, "https": 443}

_AUTHORITY = re.compile(r"(?P<name>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")
_ORIGIN = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#@\\\s]*)")


def machine_names() -> frozenset[str]:
    """The names by which this machine is called, as it knows them itself."""
    name = socket.gethostname().lower()
    return frozenset({name, name.split(".", 1)[0]} - {""})


def is_allowed_host(
    values: Sequence[bytes], *, names: Collection[str], listed: Collection[str], here: str = ""
) -> bool:
    """Whether the Host headers of a request, all of them, name this machine.

    `here` is the address of ours that the connection came in on.
    """
    return len(values) == 1 and _is_ours(values[0], tuple(names), tuple(listed), here)


def is_allowed_origin(values: Sequence[bytes], *, host: bytes, listed: Collection[str]) -> bool:
    """Whether the Origin headers of a request, if there are any, name a place that a person put here."""
    if not values:
        return True
    if len(values) > 1:
        return False
    text = values[0].decode("latin-1").lower()
    if text in {origin.lower().rstrip("/") for origin in listed}:
        return True
    origin = _ORIGIN.fullmatch(text)
    return origin is not None and _is_listed_origin(origin["scheme"], origin["authority"], host=host)


def _is_listed_origin(scheme: str, authority: str, *, host: bytes) -> bool:
    if scheme in ORIGIN_SCHEMES or scheme.startswith("vscode-"):
        return True
    parts = _parts(authority) if scheme in DEFAULT_PORTS else None
    if parts is None:
        return False
    return parts[0] in ORIGIN_HOSTS or _with_port(parts, scheme) == _with_port(
        _parts(host.decode("latin-1")), scheme
    )


def _with_port(parts: tuple[str, int | None] | None, scheme: str) -> tuple[str, int] | None:
    return None if parts is None else (parts[0], parts[1] or DEFAULT_PORTS[scheme])


def _parts(authority: str) -> tuple[str, int | None] | None:
    """The lower-case name and the port, or nothing if it is not written as name and port."""
    found = _AUTHORITY.fullmatch(authority)
    if found is None or (found["port"] and int(found["port"]) > 65_535):
        return None
    return found["name"].lower(), int(found["port"]) if found["port"] else None


# A client sends the same Host over and over; judging it anew each time would cost more than the rest of the guard.
@lru_cache(maxsize=1024)
def _is_ours(host: bytes, names: tuple[str, ...], listed: tuple[str, ...], here: str) -> bool:
    parts = _parts(host.decode("latin-1"))
    if parts is None:
        return False
    # One trailing dot makes a name absolute; it is the same name.
    name = parts[0].removesuffix(".")
    if name == "localhost" or name in names or name in {entry.lower() for entry in listed}:
        return True
    if name.endswith(LOCAL_NAME_ENDINGS) and "" not in name.split("."):
        return True
    address = _address(name)
    if address is None:
        return False
    return address.is_loopback or address.is_private or address.is_unspecified or str(address) == here


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        if name.startswith("["):
            address = ipaddress.IPv6Address(name[1:-1])
            return address.ipv4_mapped or address
        return ipaddress.IPv4Address(name)
    except ValueError:
        return None
