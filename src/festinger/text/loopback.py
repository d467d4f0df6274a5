"""Does this address stay on this machine?

Only what surely does counts: a literal loopback address, or the name `localhost`. Any other name may resolve to
anything, today or tomorrow. What may be spoken to, or let in, is decided by who asks.
"""

from ipaddress import IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

PRIVATE = tuple(map(ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")))
"""Networks of a home or a company (RFC 1918, RFC 4193)."""


def is_loopback(host: str) -> bool:
    """Whether a host, as a name or as an address, is this machine."""
    if host == "localhost":
        return True
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return False
    # `::ffff:127.0.0.1` is how a socket of both families shows a caller of the older one.
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def is_nearby(url: str) -> bool:
    """Whether a URL names a loopback or private address, or `localhost`; other names may lead anywhere."""
    host = urlsplit(url).hostname or ""
    if is_loopback(host):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return any(address in network for network in PRIVATE)


def stays_here(url: str) -> bool:
    """Whether a URL stays on this machine."""
    return is_loopback(urlsplit(url).hostname or "")
