"""Which addresses does the server listen on, and may it?

Loopback is always allowed. Anything else can be reached by others, so it needs a key first, or a person who
accepts that it has none. The sockets are opened before anything else starts: a taken port is then the first
thing that is said, and nothing is left running.
"""

import errno
import socket
from collections.abc import Sequence

from festinger.errors import CannotStart, NeedsKey, PortTaken
from festinger.text.addresses import is_loopback

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
BACKLOG = 2048


def is_exposed(host: str) -> bool:
    """Whether others than this machine can reach an address."""
    return not is_loopback(host)


def check_bind(host: str, *, any_key: bool, insecure: bool) -> None:
    """`NeedsKey` if listening on `host` would let everybody in."""
    if is_exposed(host) and not any_key and not insecure:
        raise NeedsKey(f"Listening on `{host}` lets others in, and there is no API key yet.", host=host)


def addresses(host: str) -> tuple[str, ...]:
    """The usual loopback address stands for both of its kinds."""
    return ("127.0.0.1", "::1") if host in LOOPBACK_NAMES else (host,)


def open_sockets(host: str, port: int) -> list[socket.socket]:
    """Listening sockets on every address that `host` stands for. Port 0 chooses one for all of them."""
    opened: list[socket.socket] = []
    try:
        for address in addresses(host):
            if address == "::1" and opened and not _has_ipv6_loopback():
                continue
            opened.append(_listen(address, opened[0].getsockname()[1] if opened else port))
    except CannotStart:
        close_sockets(opened)
        raise
    return opened


def close_sockets(sockets: Sequence[socket.socket]) -> None:
    for opened in sockets:
        opened.close()


def _listen(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # The protocol is named because asyncio turns Nagle's delay off only where it is: without it, every answer of
    # more than one write waits some 40 ms for the client's delayed acknowledgement.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # Without this a restart would have to wait for the connections of the run before to fade.
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family is socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        opened.bind((address, port))
        opened.listen(BACKLOG)
        opened.setblocking(False)
    except OSError as error:
        opened.close()
        raise _refused(error, address, port) from error
    return opened


def _refused(error: OSError, address: str, port: int) -> CannotStart:
    if error.errno == errno.EADDRINUSE:
        return PortTaken(
            f"Port {port} on {address} is already in use.",
            hint="Choose another one with `--port`, or stop what listens there.",
            port=port,
        )
    return CannotStart(
        f"Cannot listen on `{address}` port {port}: {error.strerror or error}.",
        hint="Choose an address of this machine with `--host` and a free port above 1023 with `--port`.",
        port=port,
    )


def _has_ipv6_loopback() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True
