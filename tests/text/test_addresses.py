import pytest

from festinger.text.addresses import is_loopback, is_loopback_url


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "::1%lo"])
def test_loopback_in_any_form_is_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    ["", "localhost.evil.example", "127.0.0.1.nip.io", "0.0.0.0", "10.0.0.1", "::", "::ffff:10.0.0.1", "2130706433"],
)
def test_what_may_be_another_machine_is_not_this_one(host: str) -> None:
    assert not is_loopback(host)


def test_a_url_stays_here_if_its_host_does() -> None:
    assert is_loopback_url("http://127.0.0.1:11434/v1")
    assert is_loopback_url("http://[::1]:11434")
    assert not is_loopback_url("http://user@example.test@127.0.0.1.example/")
