"""`festinger login`: a link that opens the console once."""

import pytest
from tests.cli.shell import Shell

from festinger.runtime.environment import local_base_url


def test_a_link_is_printed_alone_and_is_different_each_time(shell: Shell):
    first, second = shell("login"), shell("login", "--name", "ann", "--at", "http://box:9/")

    assert first.out.startswith("http://127.0.0.1:11435/admin/login?code=fsl_")
    assert second.out.startswith("http://box:9/admin/login?code=fsl_")
    assert first.out.partition("code=")[2] != second.out.partition("code=")[2]
    assert "10 minutes" in first.err
    assert shell("login", "--at", "nowhere").code == 2


@pytest.mark.parametrize(
    ("host", "base"),
    [
        ("127.0.0.1", "http://127.0.0.1:1"),
        ("0.0.0.0", "http://127.0.0.1:1"),
        ("::", "http://127.0.0.1:1"),
        ("::1", "http://[::1]:1"),
        ("box", "http://box:1"),
    ],
)
def test_the_address_is_one_that_a_person_here_reaches(host: str, base: str):
    assert local_base_url(host, 1) == base
