"""Sixty ways to come under a name, and which of them this machine answers to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proxy.proxy_server import exchange, open_door
from tests.upstream import always, reply, scripted

from festinger.proxy.auth import is_allowed_host, is_allowed_origin, own_hostnames
from festinger.settings.tree import ProxySettings, ServerSettings, Settings

NAMES = frozenset({"workbench"})
LISTED = ("festinger", "memory.example")

HOSTS = [
    ("localhost", True),
    ("localhost:11435", True),
    ("LOCALHOST", True),
    ("localhost.", True),
    ("localhost..", False),
    ("app.localhost", True),
    (".localhost", False),
    ("localhost.evil.example", False),
    ("evil-localhost", False),
    ("localhost:99999", False),
    ("localhost:", False),
    ("localhost:80:80", False),
    ("localhost:11435@evil.example", False),
    ("user@localhost", False),
    ("127.0.0.1", True),
    ("127.0.0.1:1", True),
    ("127.8.9.10", True),
    ("127.0.0.1.evil.example", False),
    ("127.1", False),
    ("2130706433", False),
    ("0x7f000001", False),
    ("0177.0.0.1", False),
    ("[::1]", True),
    ("[::1]:11435", True),
    ("[::ffff:127.0.0.1]", True),
    ("[::ffff:8.8.8.8]", False),
    ("[fe80::1%eth0]", False),
    ("::1", False),
    ("[::1", False),
    ("10.0.0.7", True),
    ("192.168.1.9:11435", True),
    ("172.16.0.1", True),
    ("8.8.8.8", False),
    ("203.0.114.7", False),
    ("198.41.0.4", True),
    ("[2606:4700::1111]", False),
    ("workbench", True),
    ("WorkBench:11435", True),
    ("workbench.evil.example", False),
    ("printer.local", True),
    ("ollama.internal", True),
    ("a..local", False),
    ("festinger", True),
    ("memory.example", True),
    ("other.example", False),
    ("evil.example", False),
    ("", False),
    (" localhost", False),
    ("localhost/", False),
    ("lo\u00e7alhost", False),
]

ORIGINS = [
    (None, True),
    ("http://localhost", True),
    ("https://localhost:3000", True),
    ("http://127.0.0.1:8080", True),
    ("http://0.0.0.0:1", True),
    ("HTTP://LocalHost:3000", True),
    ("app://obsidian.md", True),
    ("file://", True),
    ("tauri://localhost", True),
    ("vscode-webview://abc", True),
    ("http://workbench:11435", True),
    ("https://workbench:11435", True),
    ("http://workbench:11436", False),
    ("http://workbench", False),
    ("https://chat.example", True),
    ("null", False),
    ("*", False),
    ("", False),
    ("http://evil.example", False),
    ("http://localhost.evil.example", False),
    ("http://evil.example#localhost", False),
    ("http://localhost@evil.example", False),
    ("http://localhost:3000/path", False),
    ("javascript://localhost", False),
    ("http://[::1]:3000", False),
]


@pytest.mark.requirement("P-82", "F-64")
@pytest.mark.parametrize(("host", "allowed"), HOSTS)
def test_a_host_is_judged_by_its_letters(host: str, allowed: bool):
    given_ = [host.encode("utf-8")]

    assert is_allowed_host(given_, names=NAMES, listed=LISTED, here="198.41.0.4") is allowed


@pytest.mark.requirement("P-83", "F-64")
@pytest.mark.parametrize(("origin", "allowed"), ORIGINS)
def test_an_origin_must_be_one_that_a_person_put_here(origin: str | None, allowed: bool):
    values = [] if origin is None else [origin.encode()]

    assert is_allowed_origin(values, host=b"workbench:11435", listed=("https://chat.example/",)) is allowed


@pytest.mark.requirement("P-82", "P-83", "F-64")
def test_a_missing_or_doubled_name_is_no_name():
    doubled = [b"localhost", b"localhost"]

    assert not is_allowed_host([], names=NAMES, listed=())
    assert not is_allowed_host(doubled, names=NAMES, listed=())
    assert not is_allowed_origin([b"http://localhost"] * 2, host=b"localhost", listed=())


@given(st.binary(max_size=60))
def test_no_host_breaks_the_judge(host: bytes):
    assert is_allowed_host([host], names=NAMES, listed=()) in (True, False)


@given(st.from_regex(r"[a-z]{1,12}(\.[a-z]{1,12}){1,3}", fullmatch=True))
def test_a_name_of_the_open_network_is_never_ours(name: str):
    if name.endswith((".localhost", ".local", ".internal")):
        return
    assert not is_allowed_host([name.encode()], names=NAMES, listed=())


def test_the_machine_knows_its_own_names_in_any_case(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("socket.gethostname", lambda: "WorkBench")
    monkeypatch.setattr("socket.getfqdn", lambda: "WorkBench.Example.net")
    for host in (b"workbench", b"WORKBENCH:11435", b"workbench.example.net"):
        assert is_allowed_host([host], names=own_hostnames(), listed=())
    assert not is_allowed_host([b"example.net"], names=own_hostnames(), listed=())


TURNED_AWAY = [
    ("Host: evil.example",),
    ("Host: localhost", "Host: evil.example"),
    ("X-No: host",),
    ("Host: localhost", "Origin: null"),
    ("Host: localhost", "Origin: http://evil.example"),
    ("Host: localhost", "Origin: http://localhost", "Origin: http://evil.example"),
]


@pytest.mark.requirement("P-82", "P-83", "F-64")
@pytest.mark.parametrize(
    "target", ["/", "/api/chat", "/v1/messages", "/admin/api/x", "/iknowthat", "/@team/dobby/api/chat"]
)
@pytest.mark.parametrize("lines", TURNED_AWAY)
async def test_every_path_is_guarded_before_its_body_is_read(
    door_of_nobody: tuple[int, list[object]], target: str, lines: tuple[str, ...]
):
    port, received = door_of_nobody
    head = "\r\n".join([f"POST {target} HTTP/1.1", *lines, "Content-Length: 1000", "", ""])

    got = await exchange(port, head.encode())

    assert (got.status, got.body, received) == (403, b"", [])
    assert not any(name.startswith(b"access-control") for name, _ in got.headers)


@pytest.fixture
async def door_of_nobody():
    async def own(scope, receive, send):
        raise AssertionError("our own pages were reached")

    async with scripted(always(reply())) as upstream, open_door(upstream.url, own=own) as door:
        yield door.port, upstream.received


@pytest.mark.requirement("P-82", "P-83")
async def test_names_and_origins_can_be_listed():
    async with scripted(always(reply())) as upstream:
        server = ServerSettings(hosts=("festinger",), origins=("https://chat.example",))
        async with open_door(Settings(proxy=ProxySettings(upstream=upstream.url), server=server)) as door:
            got = await exchange(
                door.port, b"GET / HTTP/1.1\r\nHost: festinger:11435\r\nOrigin: https://chat.example\r\n\r\n"
            )

    assert got.status == 200
