"""A client that leaves ends its request upstream at once; our own paths never go there."""

import asyncio
import socket
import struct
from typing import Any
from uuid import UUID

import psutil
import pytest
from pydantic import SecretStr
from tests.conftest import MONDAY
from tests.proxy.proxy_server import Door, exchange, open_door, request
from tests.upstream import Peer, Received, always, reply, scripted

from festinger.errors import StoreDown
from festinger.ids import AgentId, SpaceId
from festinger.observability import metrics
from festinger.proxy.app import VISIT
from festinger.proxy.transport.server import ClientConnection
from festinger.settings.tree import AuthSettings, ProxySettings, Settings
from festinger.store.repositories.auth import AccessRole, ApiKey

STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
CHAT = b'{"model":"m"}'
SECRET = "fst_" + "k" * 43


def key(role: AccessRole = AccessRole.PROXY, space: str = "main", agent: str | None = None) -> ApiKey:
    name = AgentId(agent) if agent else None
    return ApiKey(
        space=SpaceId(space), id=UUID(int=1), name="k", role=role, agent=name, created_at=MONDAY
    )  # fmt: skip


def finding(found: ApiKey):
    async def find(secret: str) -> ApiKey | None:
        return found if secret == SECRET else None

    return find


class Leaving:
    """An upstream that answers up to a point and then waits for the client to leave."""

    def __init__(self, said: bytes) -> None:
        self._said = said
        self.came = asyncio.Event()
        self.left = asyncio.Event()

    async def script(self, _request: Received, peer: Peer) -> bool:
        await peer.write(self._said)
        self.came.set()
        await peer.left()
        self.left.set()
        return False


WINDOWS = {
    "before the head": (b"", b""),
    "in mid-stream": (STREAM_HEAD + b"2\r\na\n\r\n", b"a\n"),
    "while a whole answer is awaited": (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfive", b"five"),
}


@pytest.mark.requirement("P-19")
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("size", [20, 200_000, 3_000_000])
async def test_a_client_that_leaves_is_noticed_upstream_at_once(
    window: str, size: int, monkeypatch: pytest.MonkeyPatch
):
    # Without the sweep that looks after stalled connections: leaving must be noticed by itself.
    monkeypatch.setattr("festinger.proxy.transport.server.SWEEP_SECONDS", 3600)
    said, awaited = WINDOWS[window]
    upstream = Leaving(said)

    async with scripted(upstream.script) as stub, open_door(stub.url) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(request("POST", "/api/chat", body=b"x" * size))
        await upstream.came.wait()
        if awaited:
            await reader.readuntil(awaited)
        writer.transport.abort()
        await asyncio.wait_for(upstream.left.wait(), 60)

        assert upstream.left.is_set()


@pytest.mark.requirement("P-19")
async def test_a_client_that_leaves_while_it_sends_ends_the_upstreams_request():
    upstream = Leaving(b"")

    async with scripted(upstream.script, reads_bodies=False) as stub, open_door(stub.url) as door:
        _, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(
            b"POST /api/blobs/sha256:1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n" + bytes(2**21)
        )
        await upstream.came.wait()
        writer.transport.abort()

        await asyncio.wait_for(upstream.left.wait(), 60)

    assert upstream.left.is_set()


@pytest.mark.requirement("P-19")
async def test_a_connection_to_an_upstream_that_no_longer_reads_is_not_kept_for_a_client_that_left():
    came, going_on = asyncio.Event(), asyncio.Event()

    async def script(_request: Received, peer: Peer) -> bool:
        came.set()
        await going_on.wait()
        return False

    async with scripted(script, reads_bodies=False) as stub, open_door(stub.url) as door:
        before = psutil.Process().num_fds()
        _, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(request("POST", "/api/blobs/sha256:1", body=bytes(2**26)))
        await came.wait()
        looks = 0
        while looks < 20:
            looks = looks + 1 if all(wire.flow.read_paused for wire in wires(door)) else 0
            await asyncio.sleep(0.01)
        # Closed with a reset: a plain end would queue up behind the bytes that nobody reads.
        client = writer.get_extra_info("socket")
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        async with asyncio.timeout(60):
            # What is left is the upstream's own end, which does not look.
            while psutil.Process().num_fds() > before + 1:  # noqa: ASYNC110 - nobody is told
                await asyncio.sleep(0.01)
        going_on.set()

    assert came.is_set()


def wires(door: Door) -> list[ClientConnection]:
    return [wire for wire in door.server.server_state.connections if isinstance(wire, ClientConnection)]


@pytest.mark.requirement("P-19")
async def test_a_thousand_clients_that_leave_leave_nothing_behind():
    async def script(request: Received, peer: Peer) -> bool:
        await peer.write(STREAM_HEAD + b"2\r\na\n\r\n" if request.line.startswith(b"GET") else b"")
        await peer.left()
        return False

    async def leave(port: int, number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        if number % 2:
            writer.write(request("GET", "/api/chat"))
            await reader.readuntil(b"a\n")
        else:
            writer.write(request("POST", "/api/chat", body=CHAT))
        writer.transport.abort()

    async with scripted(script) as stub, open_door(stub.url) as door:
        await leave(door.port, 1)
        await until_quiet(stub, door)
        tasks, descriptors = len(asyncio.all_tasks()), psutil.Process().num_fds()
        for start in range(0, 1000, 50):
            await asyncio.gather(*(leave(door.port, number) for number in range(start, start + 50)))
        await until_quiet(stub, door)

        assert len(asyncio.all_tasks()) <= tasks
        assert psutil.Process().num_fds() <= descriptors + 5


async def until_quiet(stub: Any, door: Any) -> None:
    while stub.open or door.server.server_state.tasks:  # noqa: ASYNC110 - nobody is told
        await asyncio.sleep(0.01)


@pytest.mark.requirement("P-19")
async def test_a_client_that_leaves_is_counted_and_is_no_failure():
    upstream = Leaving(STREAM_HEAD + b"2\r\na\n\r\n")
    left = metrics.PROXY_CANCELLED.labels("answer")
    failed = metrics.PROXY_UPSTREAM_ERRORS.labels("closed")
    before = left._value.get(), failed._value.get()

    async with scripted(upstream.script) as stub, open_door(stub.url) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(request("POST", "/api/chat", body=CHAT))
        await reader.readuntil(b"a\n")
        writer.close()
        await until_quiet(stub, door)

    assert (left._value.get(), failed._value.get()) == (before[0] + 1, before[1])


@pytest.mark.requirement("P-02", "P-03")
@pytest.mark.parametrize(
    "target",
    [
        "/admin",
        "/admin/",
        "/admin/api/x?y=1",
        "/iknowthat",
        "/conflicts",
        "/conflicts/1",
        "/resolve/run",
        "/reload",
        "/%61dmin",
        "/@team/dobby/admin",
        "/adminish",
    ],
)
async def test_our_own_paths_are_never_forwarded(target: str):
    async with scripted(always(reply())) as upstream, open_door(upstream.url) as door:
        got = await exchange(door.port, request("POST", target, body=b"{}"))

    assert got.body.startswith(b"own POST /")
    assert upstream.received == []


@pytest.mark.requirement("P-03")
@pytest.mark.parametrize(
    "target", ["/health", "/healthz", "/metrics", "/v1/admin", "/api/reload", "/Admin", "/iknowthat2", "/resolve"]
)
async def test_other_paths_belong_to_the_upstream(target: str):
    async with scripted(always(reply())) as upstream, open_door(upstream.url) as door:
        await exchange(door.port, request("GET", target))

    assert [got.line for got in upstream.received] == [f"GET {target} HTTP/1.1".encode()]


@pytest.mark.requirement("P-05")
@pytest.mark.parametrize(
    ("target", "forwarded"),
    [
        ("/@team/dobby/v1/models?x=1", b"/v1/models?x=1"),
        ("/@team/dobby/", b"/"),
        ("/@team/dobby", b"/"),
        ("/@team/dobby?x", b"/?x"),
        ("/@main/a.b_c-d/api/@x", b"/api/@x"),
    ],
)
async def test_the_space_in_the_address_is_cut_off(target: str, forwarded: bytes):
    async with scripted(always(reply())) as upstream, open_door(upstream.url) as door:
        await exchange(door.port, request("GET", target))

    assert [got.line.split()[1] for got in upstream.received] == [forwarded]


@pytest.mark.requirement("P-05")
@pytest.mark.parametrize(
    ("target", "status", "words"),
    [
        ("/@other/dobby/v1/models", 404, b'"error":{"message"'),
        ("/@other/dobby/v1/messages", 404, b"not_found_error"),
        ("/@other/dobby/api/chat", 404, b'{"error":"There is no space `other`.'),
        ("/@team", 404, b"/@space/agent/"),
        ("/@/x/y", 404, b"/@space/agent/"),
    ],
)
async def test_an_unknown_space_is_not_found_in_the_clients_words(target: str, status: int, words: bytes):
    async with scripted(always(reply())) as upstream, open_door(upstream.url) as door:
        got = await exchange(door.port, request("GET", target))

    assert (got.status, words in got.body, upstream.received) == (status, True, [])


@pytest.mark.requirement("P-05", "P-81")
@pytest.mark.parametrize(
    ("target", "headers", "place"),
    [
        ("/admin", [], ("main", "default")),
        ("/admin", ["X-Festinger-Space: team", "X-Festinger-Agent: winky"], ("team", "winky")),
        ("/@team/dobby/admin", ["X-Festinger-Space: main", "X-Festinger-Agent: winky"], ("team", "dobby")),
        ("/admin", [f"X-Festinger-Key: {SECRET}"], ("team", "kreacher")),
        ("/admin", [f"Authorization: Bearer {SECRET}", "X-Festinger-Agent: winky"], ("team", "winky")),
    ],
)
async def test_space_and_agent_come_from_the_address_then_the_headers_then_the_key(
    target: str, headers: list[str], place: tuple[str, str]
):
    seen: list[tuple[str, str]] = []

    async def own(scope: Any, receive: Any, send: Any) -> None:
        seen.append((scope["state"][VISIT].space, scope["state"][VISIT].agent))
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async with open_door("http://127.0.0.1:9", own=own, find_key=finding(key(space="team", agent="kreacher"))) as door:
        await exchange(door.port, request("GET", target, *headers))

    assert seen == [place]


@pytest.mark.requirement("P-81")
@pytest.mark.parametrize(
    ("headers", "sent_on"),
    [
        ([f"X-Festinger-Key: {SECRET}"], [(b"authorization", b"Bearer sk-up")]),
        ([f"Authorization: Bearer {SECRET}"], [(b"authorization", b"Bearer sk-up")]),
        ([f"x-api-key: {SECRET}"], [(b"authorization", b"Bearer sk-up")]),
        ([f"X-Festinger-Key: {SECRET}", "Authorization: Bearer theirs"], [(b"authorization", b"Bearer theirs")]),
        (["Authorization: Bearer ollama"], [(b"authorization", b"Bearer ollama")]),
        (["x-api-key: sk-theirs"], [(b"x-api-key", b"sk-theirs")]),
    ],
)
async def test_our_key_stays_here_and_the_upstreams_goes_in_its_place(
    headers: list[str], sent_on: list[tuple[bytes, bytes]]
):
    async with scripted(always(reply())) as upstream:
        proxy = ProxySettings(upstream=upstream.url, upstream_key=SecretStr("sk-up"))
        async with open_door(Settings(proxy=proxy), find_key=finding(key())) as door:
            await exchange(door.port, request("GET", "/v1/models", *headers))

    given = upstream.received[0].headers
    assert [pair for pair in given if pair[0] in (b"authorization", b"x-api-key")] == sent_on
    assert not any(b"fst_" in value for _, value in given)


@pytest.mark.requirement("P-81")
async def test_a_wrong_key_or_one_that_cannot_be_checked_is_refused_before_the_body():
    async def away(_secret: str) -> ApiKey | None:
        raise StoreDown

    refused = b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nx-api-key: fst_wrong\r\nContent-Length: 5\r\n\r\n"
    async with scripted(always(reply())) as upstream:
        async with open_door(upstream.url) as door:
            wrong = await exchange(door.port, refused)
        async with open_door(upstream.url, find_key=away) as door:
            unchecked = await exchange(door.port, refused)

    assert (wrong.status, b"authentication_error" in wrong.body) == (401, True)
    assert unchecked.status == 401
    assert upstream.received == []


@pytest.mark.requirement("P-81")
async def test_a_key_of_one_space_may_not_name_another():
    async with (
        scripted(always(reply())) as upstream,
        open_door(upstream.url, find_key=finding(key(space="main"))) as door,
    ):
        got = await exchange(door.port, request("GET", "/@team/dobby/v1/models", f"X-Festinger-Key: {SECRET}"))

    assert (got.status, upstream.received) == (403, [])


@pytest.mark.requirement("P-81")
async def test_callers_on_this_machine_need_a_key_where_the_settings_say_so():
    async with scripted(always(reply())) as upstream:
        strict = Settings(proxy=ProxySettings(upstream=upstream.url), auth=AuthSettings(loopback="strict"))
        async with open_door(strict, find_key=finding(key())) as door:
            without = await exchange(door.port, request("GET", "/api/tags"))
            with_key = await exchange(door.port, request("GET", "/api/tags", f"X-Festinger-Key: {SECRET}"))
            page = await exchange(door.port, request("GET", "/admin/healthz"))

    assert (without.status, with_key.status, page.status) == (401, 200, 200)


@pytest.mark.requirement("P-84")
@pytest.mark.parametrize(
    ("target", "role", "allowed", "status"),
    [
        ("/api/pull", AccessRole.PROXY, False, 403),
        ("/api/%70ull", AccessRole.REVIEWER, False, 403),
        ("/api/blobs/sha256:0", AccessRole.AGENT, False, 403),
        ("/api/experimental/web_fetch", AccessRole.AGENT, False, 403),
        ("/api/pull", AccessRole.ADMIN, False, 200),
        ("/api/pull", AccessRole.PROXY, True, 200),
        ("/api/chat", AccessRole.PROXY, False, 200),
        ("/api/tags", AccessRole.PROXY, False, 200),
    ],
)
async def test_managing_models_from_beyond_this_machine_needs_the_right(
    target: str, role: AccessRole, allowed: bool, status: int
):
    async with scripted(always(reply())) as upstream:
        settings = Settings(proxy=ProxySettings(upstream=upstream.url, allow_management=allowed))
        async with open_door(settings, exposed=True, find_key=finding(key(role))) as door:
            got = await exchange(door.port, request("POST", target, f"X-Festinger-Key: {SECRET}", body=b"{}"))

    assert (got.status, len(upstream.received)) == (status, int(status == 200))


@pytest.mark.requirement("P-88")
async def test_one_key_may_have_only_so_many_requests_open():
    going_on = asyncio.Event()

    async def script(_request: Received, peer: Peer) -> None:
        await going_on.wait()
        await peer.write(reply())

    keyed = request("GET", "/v1/models", f"X-Festinger-Key: {SECRET}")
    async with scripted(script) as upstream, open_door(upstream.url, find_key=finding(key())) as door:
        running = [asyncio.create_task(exchange(door.port, keyed)) for _ in range(256)]
        while len(upstream.received) < 256:  # noqa: ASYNC110 - nobody is told
            await asyncio.sleep(0.01)
        over = await exchange(door.port, keyed)
        going_on.set()
        statuses = {(await one).status for one in running}
        after = await exchange(door.port, keyed)

    assert (over.status, over.value("retry-after"), b"rate_limit_error" in over.body) == (429, "1", True)
    assert (statuses, after.status) == ({200}, 200)


@pytest.mark.requirement("P-86")
async def test_the_log_holds_no_words_and_no_keys(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture):
    async with open_door("http://127.0.0.1:9", find_key=finding(key())) as door:
        await exchange(door.port, request("POST", "/api/chat", f"X-Festinger-Key: {SECRET}", body=b"a secret prompt"))
        await exchange(door.port, request("POST", "/api/chat", "X-Festinger-Key: fst_wrong", body=b"a secret prompt"))

    # Where it goes depends on whether a command was run in this process before.
    said = "".join([*capsys.readouterr(), caplog.text])
    assert "upstream failed" in said
    assert not any(word in said for word in ("secret prompt", SECRET, "fst_wrong"))


async def test_requests_are_counted_by_route_and_status():
    counted = metrics.PROXY_REQUESTS.labels("other native", 418)
    before = counted._value.get()

    async with scripted(always(reply("418 Teapot"))) as upstream, open_door(upstream.url) as door:
        await exchange(door.port, request("GET", "/what/somebody/typed"))

    assert counted._value.get() == before + 1


async def test_a_fault_of_ours_is_answered_and_the_server_goes_on():
    async def own(scope: Any, receive: Any, send: Any) -> None:
        raise ZeroDivisionError

    async with scripted(always(reply())) as upstream, open_door(upstream.url, own=own) as door:
        broken = await exchange(door.port, request("GET", "/admin"))
        fine = await exchange(door.port, request("GET", "/"))

    assert (broken.status, fine.status) == (500, 200)
