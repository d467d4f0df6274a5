"""Whatever an upstream does, the client sees what a direct client would have seen, or is told who failed."""

import asyncio
import socket

import orjson
import psutil
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from pydantic import SecretStr
from tests.proxy.proxy_server import Got, exchange, open_door, read_answer, request
from tests.upstream import Peer, Received, Script, always, chunked, reply, scripted

from festinger.clock import system_stopwatch
from festinger.proxy.routes import ApiProtocol
from festinger.proxy.transport.server import close_overdue
from festinger.proxy.transport.upstream import (
    UpstreamFailure,
    UpstreamUnreachableError,
    find_upstream_base,
    find_upstream_key,
    open_upstream,
)
from festinger.settings.tree import ProxySettings, UpstreamSettings

CHAT = b'{"model": "m", "messages": []}'
EDITED = ["/api/chat", "/api/generate", "/v1/chat/completions", "/v1/messages", "/v1/responses"]

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
LINE = b'{"message":{"content":"a"},"done":false}\n'


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


BEHAVIOURS: dict[str, bytes] = {
    "ends without an end mark": CHUNKED + chunk(LINE) + b"0\r\n\r\n",
    "dies in mid-stream": CHUNKED + chunk(LINE) + b"ff\r\nhalf",
    "dies right after a chunk": CHUNKED + chunk(LINE),
    "says an error after 200": CHUNKED + chunk(b'{"error":"out of memory"}\n') + b"0\r\n\r\n",
    "sends NULs and broken text": CHUNKED + chunk(b"\x00\xff\xfe{\n") + b"0\r\n\r\n",
    "sends half a line": CHUNKED + chunk(b'{"message": {"con') + b"0\r\n\r\n",
    "sends very deep JSON": CHUNKED + chunk(b"[" * 10_000 + b"\n") + b"0\r\n\r\n",
    "sends data without JSON": chunked(b"data: hello\n\n", b"data:\n\n", kind="text/event-stream"),
    "sends less than it said": HEAD + b"Content-Length: 500\r\n\r\nshort",
    "sends more than it said": HEAD + b"Content-Length: 5\r\n\r\nlonger than five",
    "breaks its chunks": CHUNKED + chunk(LINE) + b"zz\r\nnonsense\r\n",
    "lies about its encoding": HEAD + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nplain",
    "answers in HTTP/1.0": b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end",
    "says continue first": b"HTTP/1.1 100 Continue\r\n\r\n" + reply(),
    "says no more by 204": b"HTTP/1.1 204 No Content\r\n\r\n",
    "says unchanged with a length": b"HTTP/1.1 304 Not Modified\r\nContent-Length: 50\r\nETag: x\r\n\r\n",
    "closes after its answer": reply("200 OK", b"{}", ("Connection", "close")),
    "sends one byte a chunk": CHUNKED + b"".join(chunk(bytes([byte])) for byte in LINE * 5) + b"0\r\n\r\n",
    "sends ten thousand chunks at once": CHUNKED + chunk(b"x\n") * 10_000 + b"0\r\n\r\n",
    "sends a very long line": CHUNKED + chunk(b"y" * 2**20) * 16 + b"0\r\n\r\n",
    "sends trailers": HEAD
    + b"Trailer: X-T\r\nTransfer-Encoding: chunked\r\n\r\n"
    + chunk(LINE)
    + b"0\r\nX-T: 1\r\n\r\n",
}


def told_once(answer: bytes) -> Script:
    async def script(_request: Received, peer: Peer) -> bool:
        await peer.write(answer)
        return False

    return script


def essence(got: Got) -> tuple[int, bytes, bool]:
    return got.status, got.body, got.whole


@pytest.mark.requirement("F-16", "P-18")
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
async def test_the_client_sees_what_a_direct_client_sees(behaviour: str):
    sent = [request("POST", path, body=CHAT) for path in EDITED]

    async with scripted(told_once(BEHAVIOURS[behaviour])) as upstream, open_door(upstream.url) as door:
        direct = [essence(await exchange(upstream.port, one)) for one in sent]
        through = [essence(await exchange(door.port, one)) for one in sent]

    assert through == direct


@pytest.mark.requirement("F-16")
@pytest.mark.parametrize("garbage", [b"\x00\x01\x02 nothing like HTTP\r\n\r\n", b"HTTP/9.9 what\r\n\r\n", b""])
async def test_an_answer_that_is_not_http_is_a_failed_upstream(garbage: bytes):
    async with scripted(told_once(garbage)) as upstream, open_door(upstream.url) as door:
        got = await exchange(door.port, request("POST", "/v1/chat/completions", body=CHAT))

    assert got.status == 502
    assert orjson.loads(got.body)["error"]["code"] == "upstream_unreachable"


@pytest.mark.requirement("P-06", "F-16")
@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/api/chat", lambda body: set(body) == {"error"} and isinstance(body["error"], str)),
        ("/v1/chat/completions", lambda body: body["error"]["type"] == "api_error" and body["error"]["param"] is None),
        (
            "/v1/messages",
            lambda body: body["type"] == "error" and body["error"]["type"] == "api_error" and body["request_id"],
        ),
    ],
)
async def test_an_upstream_that_refuses_is_named_in_the_clients_protocol(path: str, shape):
    base = f"http://127.0.0.1:{free_port()}"

    async with open_door(base) as door:
        got = await exchange(door.port, request("POST", path, body=CHAT))

    assert got.status == 502
    assert shape(orjson.loads(got.body))
    assert base in got.body.decode()


@pytest.mark.requirement("P-06")
async def test_a_name_that_nobody_knows_is_a_failed_upstream():
    async with open_door("http://nowhere.invalid:1") as door:
        got = await exchange(door.port, request("POST", "/api/chat", body=CHAT))

    assert (got.status, b"resolved" in got.body) == (502, True)


@pytest.mark.requirement("P-06", "P-11")
async def test_an_upstream_that_does_not_take_the_connection_in_time_is_a_time_out():
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        filling = [socket.socket() for _ in range(4)]
        for one in filling:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        async with open_door(f"http://127.0.0.1:{port}", connect_seconds=0.2) as door:
            got = await exchange(door.port, request("POST", "/api/chat", body=CHAT))
        for one in filling:
            one.close()

    assert (got.status, b"in time" in got.body) == (504, True)


@pytest.mark.requirement("P-06")
async def test_a_person_who_opens_the_start_page_is_told_what_to_do():
    base = f"http://127.0.0.1:{free_port()}"

    async with open_door(base) as door:
        page = await exchange(door.port, request("GET", "/", "Accept: text/html,*/*"))
        machine = await exchange(door.port, request("GET", "/", "Accept: */*"))

    assert (page.status, page.value("content-type")) == (502, "text/html; charset=utf-8")
    assert base in page.body.decode()
    assert 'href="/admin"' in page.body.decode()
    assert "default-src 'none'" in (page.value("content-security-policy") or "")
    assert (machine.status, machine.value("content-type")) == (502, "application/json")


@pytest.mark.requirement("F-16")
async def test_an_answer_before_the_body_is_read_reaches_the_client():
    async def script(_request: Received, peer: Peer) -> bool:
        await peer.write(reply("413 Too Much", b"{}"))
        await peer.left()
        return False

    async with scripted(script, reads_bodies=False) as upstream, open_door(upstream.url) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(
            b"POST /api/blobs/sha256:1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n" + bytes(2**20)
        )
        got = await read_answer(reader)
        writer.close()

    assert got.line == b"HTTP/1.1 413 Too Much"


@pytest.mark.requirement("F-16", "P-15")
async def test_a_slow_reader_holds_the_upstream_back():
    written = 0
    stuck = asyncio.Event()

    async def script(_request: Received, peer: Peer) -> bool:
        nonlocal written
        await peer.write(CHUNKED)
        for _ in range(400):
            try:
                async with asyncio.timeout(0.3):
                    await peer.write(chunk(b"z" * 65_536))
            except TimeoutError:
                stuck.set()
                await peer.left()
                return False
            written += 65_536
        return False

    async with scripted(script) as upstream, open_door(upstream.url) as door:
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", door.port))
            client.sendall(request("POST", "/api/chat", body=CHAT))
            await asyncio.wait_for(stuck.wait(), 60)
            held = [wire.transport.get_write_buffer_size() for wire in door.server.server_state.connections]

    assert written < 400 * 65_536
    assert max(held) <= 256 * 1024


@pytest.mark.requirement("F-16")
async def test_no_descriptor_is_left_behind_by_broken_answers():
    async with scripted(told_once(BEHAVIOURS["dies in mid-stream"])) as upstream, open_door(upstream.url) as door:
        await exchange(door.port, request("POST", "/api/chat", body=CHAT))
        before = psutil.Process().num_fds()
        for _ in range(50):
            await exchange(door.port, request("POST", "/api/chat", body=CHAT))
        while upstream.open or door.server.server_state.connections:  # noqa: ASYNC110 - nobody is told
            await asyncio.sleep(0.01)
        after = psutil.Process().num_fds()

    assert after <= before + 5


@pytest.mark.requirement("P-11")
async def test_a_silent_upstream_is_waited_for():
    going_on = asyncio.Event()

    async def script(_request: Received, peer: Peer) -> bool:
        await peer.write(CHUNKED + chunk(LINE))
        await going_on.wait()
        await peer.write(chunk(LINE) + b"0\r\n\r\n")
        return False

    async with scripted(script) as upstream, open_door(upstream.url) as door:
        asking = asyncio.create_task(exchange(door.port, request("POST", "/api/chat", body=CHAT)))
        while not upstream.received:  # noqa: ASYNC110 - nobody is told
            await asyncio.sleep(0.01)
        # Ten minutes pass for the one timer that watches clients; the way to the upstream has none.
        (wire,) = door.server.server_state.connections
        overdue = close_overdue([wire], system_stopwatch() + 600)
        going_on.set()
        got = await asking

    assert overdue == 0
    assert got.body == LINE * 2


def test_every_protocol_falls_back_to_the_one_upstream():
    settings = ProxySettings(upstream="http://a", upstreams=UpstreamSettings(openai="http://b"))

    assert [find_upstream_base(protocol, settings) for protocol in ApiProtocol] == ["http://a", "http://b", "http://a"]


@pytest.mark.requirement("P-81")
def test_the_upstreams_key_goes_to_the_upstream_that_it_belongs_to_and_to_no_other():
    settings = ProxySettings(
        upstream="http://a", upstreams=UpstreamSettings(openai="http://b"), upstream_key=SecretStr("sk-1")
    )

    assert find_upstream_key("http://a", settings) == "sk-1"
    assert find_upstream_key("http://b", settings) is None


class OneAddress(AbstractResolver):
    """Says that every name is at one address."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def resolve(self, host: str, port: int = 0, family: int = socket.AF_INET) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host=self._address, port=port, family=socket.AF_INET, proto=0, flags=0)]

    async def close(self) -> None:
        pass


@pytest.mark.requirement("F-63")
@pytest.mark.parametrize("address", ["169.254.169.254", "100.100.100.200"])
async def test_an_upstream_whose_name_leads_to_a_metadata_address_is_not_connected_to(address: str):
    async with open_upstream(resolver=OneAddress(address)) as upstream:
        with pytest.raises(UpstreamUnreachableError, match="link-local or metadata") as failed:
            await upstream.send("GET", "http://models.example:11434", b"/")

    assert failed.value.kind is UpstreamFailure.FORBIDDEN


@pytest.mark.requirement("F-63")
async def test_an_upstream_may_be_on_this_machine_by_any_name():
    async with scripted(always(reply())) as there, open_upstream(resolver=OneAddress("127.0.0.1")) as upstream:
        answer = await upstream.send("GET", f"http://models.example:{there.port}", b"/")
        answer.close()

    assert answer.status == 200
