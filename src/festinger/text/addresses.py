"""Classifies addresses: loopback, private, or never to be connected to.

Only a literal loopback address or the name `localhost` counts as this machine. Any other name may resolve to
anything, today or tomorrow. Callers decide what may be contacted or admitted.
"""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

PRIVATE = tuple(map(ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")))
"""Networks of a home or a company (RFC 1918, RFC 4193)."""
METADATA = frozenset(map(ip_address, ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254")))
"""Where clouds hand out credentials of the machine, besides the link-local 169.254.169.254."""


def is_forbidden(address: str) -> bool:
    """Return whether a resolved address may never be connected to: link-local, or a cloud's metadata service.

    Such an address gives any program on the machine the machine's own credentials. Anything that is not an
    address, such as a name, is not known to be forbidden.
    """
    known = _address(address)
    return known is not None and (known.is_link_local or known in METADATA)


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    # `::ffff:127.0.0.1` is how a dual-stack socket shows an IPv4 caller.
    return (isinstance(address, IPv6Address) and address.ipv4_mapped) or address


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine."""
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def is_private_url(url: str) -> bool:
    """Return whether a URL names a loopback or private address or `localhost`; others may be anything."""
    host = urlsplit(url).hostname or ""
    address = _address(host)
    return is_loopback(host) or (address is not None and any(address in network for network in PRIVATE))


def is_loopback_url(url: str) -> bool:
    """Return whether a URL stays on this machine."""
    return is_loopback(urlsplit(url).hostname or "")
