"""Where the server may listen, and what is said if it cannot."""

import socket

import pytest

from festinger.errors import CannotStart, NeedsKey, PortTaken
from festinger.proxy.transport.server import (
    close_sockets,
    expand_loopback,
    is_exposed,
    open_sockets,
    require_key_if_exposed,
)


@pytest.mark.requirement("P-80")
@pytest.mark.parametrize(
    ("host", "exposed"),
    [
        ("127.0.0.1", False),
        ("127.3.2.1", False),
        ("localhost", False),
        ("::1", False),
        ("0.0.0.0", True),
        ("::", True),
        ("192.168.1.7", True),
        ("workbench", True),
        ("", True),
    ],
)
def test_only_loopback_is_unexposed(host: str, exposed: bool):
    assert is_exposed(host) is exposed


@pytest.mark.requirement("P-80")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", ""])
def test_an_exposed_server_without_a_key_does_not_start(host: str):
    with pytest.raises(NeedsKey) as refused:
        require_key_if_exposed(host, any_key=False, insecure=False)

    assert "--insecure-bind" in refused.value.hint


@pytest.mark.requirement("P-80")
@pytest.mark.parametrize(
    ("host", "any_key", "insecure", "starts"),
    [
        ("0.0.0.0", True, False, True),
        ("0.0.0.0", False, True, True),
        ("127.0.0.1", False, False, True),
        ("0.0.0.0", False, False, False),
    ],
)
def test_a_key_or_a_person_who_accepts_the_risk_lets_it_start(host: str, any_key: bool, insecure: bool, starts: bool):
    assert is_let_start(host, any_key=any_key, insecure=insecure) is starts


def is_let_start(host: str, *, any_key: bool, insecure: bool) -> bool:
    try:
        require_key_if_exposed(host, any_key=any_key, insecure=insecure)
    except NeedsKey:
        return False
    return True


@pytest.mark.requirement("P-01")
def test_loopback_stands_for_both_of_its_addresses():
    assert expand_loopback("127.0.0.1") == ("127.0.0.1", "::1")

    opened = open_sockets("127.0.0.1", 0)

    families = [one.family for one in opened]
    ports = {one.getsockname()[1] for one in opened}
    close_sockets(opened)
    assert families in ([socket.AF_INET, socket.AF_INET6], [socket.AF_INET])
    assert len(ports) == 1


@pytest.mark.requirement("P-01")
def test_a_taken_port_is_named_with_the_flag_that_changes_it():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(PortTaken) as refused:
            open_sockets("127.0.0.1", port)

    assert str(port) in refused.value.message
    assert "--port" in refused.value.hint
    assert refused.value.exit == 5


def test_an_address_of_another_machine_is_said_to_be_so():
    with pytest.raises(CannotStart) as refused:
        open_sockets("203.0.113.9", 0)

    assert "203.0.113.9" in refused.value.message


def test_a_listening_socket_names_its_protocol_so_that_answers_are_not_held_back():
    opened = open_sockets("127.0.0.1", 0)
    protocols = {one.proto for one in opened}
    close_sockets(opened)

    # asyncio turns Nagle's delay off for accepted connections only if the protocol is named.
    assert protocols == {socket.IPPROTO_TCP}
