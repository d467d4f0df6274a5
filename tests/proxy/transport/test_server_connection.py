"""One connection: what is refused, what is bounded, and what passes byte for byte."""

import asyncio
import socket
import struct

import pytest
from tests.proxy.proxy_server import NOTHING, Door, exchange, open_door, read_answer, request
from tests.upstream import Peer, Received, always, answering, chunked, reply, scripted

from festinger.proxy.transport.server import HEAD_SECONDS, STALL_SECONDS, ClientConnection, close_overdue

HOST = b"Host: localhost\r\n"
CHAT = b'{"model":"m"}'

SMUGGLED = {
    "a length and chunks": b"POST / HTTP/1.1\r\n"
    + HOST
    + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
    "two equal lengths": b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd",
    "a signed length": b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: +4\r\n\r\nabcd",
    "a length in hexadecimal": b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 0x4\r\n\r\nabcd",
    "chunked twice": b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "an unknown coding": b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a folded line": b"GET / HTTP/1.1\r\n" + HOST + b"X-A: one\r\n two\r\n\r\n",
    "a bare carriage return": b"GET / HTTP/1.1\r\n" + HOST + b"X-A: one\rX-B: two\r\n\r\n",
    "a bare line feed": b"GET / HTTP/1.1\r\n" + HOST + b"X-A: one\nX-B: two\r\n\r\n",
    "a NUL": b"GET / HTTP/1.1\r\n" + HOST + b"X-A: o\x00ne\r\n\r\n",
    "another control character": b"GET / HTTP/1.1\r\n" + HOST + b"X-A: o\x01ne\r\n\r\n",
    "a space before the colon": b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length : 4\r\n\r\nabcd",
    "a name with a space": b"GET / HTTP/1.1\r\n" + HOST + b"X A: one\r\n\r\n",
    "an absolute target": b"GET http://evil.example/ HTTP/1.1\r\n" + HOST + b"\r\n",
    "an authority": b"CONNECT evil.example:443 HTTP/1.1\r\n" + HOST + b"\r\n",
    "an asterisk": b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n",
    "a climbing path": b"GET /a/../admin HTTP/1.1\r\n" + HOST + b"\r\n",
    "an encoded climb": b"GET /a/%2e%2e/admin HTTP/1.1\r\n" + HOST + b"\r\n",
    "a double slash": b"GET //api/chat HTTP/1.1\r\n" + HOST + b"\r\n",
    "an encoded slash": b"GET /api%2fchat HTTP/1.1\r\n" + HOST + b"\r\n",
    "an encoded line break": b"GET /a%0d%0aX: HTTP/1.1\r\n" + HOST + b"\r\n",
    "a fragment": b"GET /a#b HTTP/1.1\r\n" + HOST + b"\r\n",
    "a space in the target": b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n",
    "letters beyond ASCII": "GET /ä HTTP/1.1\r\n".encode() + HOST + b"\r\n",
    "a broken chunk": b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n",
    "a web socket": b"GET / HTTP/1.1\r\n"
    + HOST
    + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n",
    "no HTTP at all": b"\x16\x03\x01\x02\x00hello",
    "another version": b"GET / HTTP/3.7\r\n" + HOST + b"\r\n",
    "a header that is not text": b"GET / HTTP/1.1\r\n" + HOST + b"X-A: caf\xe9\r\n\r\n",
}


@pytest.mark.requirement("P-85", "F-65")
@pytest.mark.parametrize("trick", SMUGGLED)
async def test_what_two_servers_may_read_differently_is_refused(trick: str):
    async with scripted(always(reply())) as upstream, open_door(upstream.url) as door:
        got = await exchange(door.port, SMUGGLED[trick])
        fine = await exchange(door.port, request("GET", "/after"))

    assert got.status == 400
    assert [one.line for one in upstream.received if one.line != b"GET /after HTTP/1.1"] in ([], [b"POST / HTTP/1.1"])
    assert fine.status == 200


@pytest.mark.requirement("F-65", "P-08")
async def test_chunks_with_extensions_and_trailers_arrive_as_one_body():
    sent = (
        b"POST /api/chat HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\nTrailer: X-Late\r\n\r\n"
        b"3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nX-Late: 1\r\nX-Festinger-Key: fst_late\r\n\r\n"
    )

    async with scripted(always(reply())) as upstream, open_door(upstream.url) as door:
        got = await exchange(door.port, sent)

    assert (got.status, upstream.received[0].body) == (200, b"abcde")
    assert upstream.received[0].values(b"x-late") == []


@pytest.mark.requirement("F-65")
async def test_an_offer_to_upgrade_is_passed_over():
    sent = request(
        "POST",
        "/api/chat",
        "Connection: Upgrade, HTTP2-Settings",
        "Upgrade: h2c",
        "HTTP2-Settings: AAMAAABk",
        body=CHAT,
    )

    async with scripted(always(reply())) as upstream, open_door(upstream.url) as door:
        got = await exchange(door.port, sent)
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        for start in range(0, len(sent), 50):
            writer.write(sent[start : start + 50])
            await asyncio.sleep(0)
        piecewise = await read_answer(reader)
        writer.close()

    assert (got.status, piecewise.status) == (200, 200)
    assert [one.body for one in upstream.received] == [CHAT, CHAT]
    assert {name for name, _ in upstream.received[0].headers} == {b"Host", b"content-length"}


@pytest.mark.requirement("F-16", "P-09")
async def test_a_client_that_waits_for_leave_to_send_gets_it():
    async with scripted(always(reply())) as upstream, open_door(upstream.url) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(b"POST /api/chat HTTP/1.1\r\n" + HOST + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        leave = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"hello")
        got = await read_answer(reader)
        writer.close()

    assert leave == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert (got.status, upstream.received[0].body) == (200, b"hello")
    assert upstream.received[0].values(b"expect") == []


async def test_an_old_client_gets_no_chunks():
    async with scripted(always(chunked(b"one\n", b"two\n"))) as upstream, open_door(upstream.url) as door:
        got = await exchange(door.port, b"GET /api/tags HTTP/1.0\r\n" + HOST + b"\r\n")

    assert (got.body, got.value("transfer-encoding"), got.value("connection")) == (b"one\ntwo\n", None, "close")


async def test_pipelined_requests_are_answered_in_order():
    async def script(request: Received, peer: Peer) -> None:
        await peer.write(reply("200 OK", request.line))

    async with scripted(script) as upstream, open_door(upstream.url) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(b"".join(request("POST", f"/{number}", body=b"x" * number) for number in range(5)))
        got = [(await read_answer(reader)).body for _ in range(5)]
        writer.close()

    assert got == [b"POST /%d HTTP/1.1" % number for number in range(5)]


async def test_garbage_behind_a_running_answer_is_not_mixed_into_it():
    going_on = asyncio.Event()

    async def script(_request: Received, peer: Peer) -> bool:
        await peer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n")
        await going_on.wait()
        return False

    async with scripted(script) as upstream, open_door(upstream.url) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(request("POST", "/api/chat", body=CHAT))
        await reader.readuntil(b"one\n\r\n")
        writer.write(b"\x00\x00 garbage\r\n\r\n")
        rest = await asyncio.wait_for(reader.read(), 60)
        going_on.set()
        writer.close()

    assert rest == b""


async def test_a_half_closed_socket_ends_its_request():
    async with scripted(always(reply())) as upstream, open_door(upstream.url) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(b"POST /api/chat HTTP/1.1\r\n" + HOST + b"Content-Length: 50\r\n\r\nhalf")
        writer.write_eof()
        rest = await asyncio.wait_for(reader.read(), 60)
        fine = await exchange(door.port, request())
        writer.close()

    assert (rest, fine.status) == (b"", 200)


LARGE_HEADS = {
    "many headers": b"GET / HTTP/1.1\r\n"
    + HOST
    + b"".join(b"X-%d: %s\r\n" % (n, b"v" * 100) for n in range(1000))
    + b"\r\n",
    "one long header": b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"v" * 100_000 + b"\r\n\r\n",
    "a header without end": b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"v" * 100_000,
    "a target without end": b"GET /" + b"a" * 100_000,
}


@pytest.mark.requirement("P-88")
@pytest.mark.parametrize("kind", LARGE_HEADS)
@pytest.mark.parametrize("step", [1000, 2**20])
async def test_a_head_that_is_too_large_is_refused(kind: str, step: int):
    async with scripted(always(reply())) as upstream, open_door(upstream.url) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        for start in range(0, len(LARGE_HEADS[kind]), step):
            writer.write(LARGE_HEADS[kind][start : start + step])
        got = await read_answer(reader)
        writer.transport.abort()

    assert got is NOTHING or got.status == 431
    assert upstream.received == []


@pytest.mark.requirement("P-88")
async def test_a_head_just_below_the_limit_passes_byte_by_byte():
    head = b"GET / HTTP/1.1\r\n" + HOST + b"".join(b"X-%d: %s\r\n" % (n, b"v" * 6000) for n in range(10)) + b"\r\n"

    async with scripted(always(reply())) as upstream, open_door(upstream.url) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        for start in range(0, len(head), 777):
            writer.write(head[start : start + 777])
            await writer.drain()
        got = await read_answer(reader)
        writer.close()

    assert (got.status, len(upstream.received[0].headers)) == (200, 11)


class Times:
    """A stopwatch that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def only_wire(door: Door) -> ClientConnection:
    (wire,) = door.server.server_state.connections
    assert isinstance(wire, ClientConnection)
    return wire


async def settled(
    door: Door, times: Times, sent: bytes
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, ClientConnection]:
    """A connection on which these bytes have arrived."""
    reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
    writer.write(sent)
    await writer.drain()
    while not door.server.server_state.connections:  # noqa: ASYNC110 - nobody is told
        await asyncio.sleep(0.001)
    wire = only_wire(door)
    while sent and wire.transport.get_extra_info("socket") and wire._phase.name == "IDLE":  # noqa: ASYNC110 - nobody is told
        await asyncio.sleep(0.001)
    return reader, writer, wire


SLOW = {
    "says nothing": (b"", HEAD_SECONDS),
    "never finishes its head": (b"GET / HTTP/1.1\r\nHost: local", HEAD_SECONDS),
    "stalls in its body": (b"POST /api/chat HTTP/1.1\r\n" + HOST + b"Content-Length: 50\r\n\r\nhalf", STALL_SECONDS),
}


@pytest.mark.requirement("P-11")
@pytest.mark.parametrize("kind", SLOW)
async def test_a_client_that_keeps_us_waiting_is_closed(kind: str):
    sent, seconds = SLOW[kind]
    times = Times()

    async with scripted(always(reply())) as upstream, open_door(upstream.url, stopwatch=times) as door:
        reader, writer, wire = await settled(door, times, sent)
        before = close_overdue([wire], seconds)
        after = close_overdue([wire], seconds + 0.1)
        rest = await asyncio.wait_for(reader.read(), 60)
        writer.close()

    assert (before, after, rest) == (0, 1, b"")


@pytest.mark.requirement("P-11")
async def test_one_byte_a_second_does_not_lengthen_the_time_for_a_head():
    times = Times()

    async with scripted(always(reply())) as upstream, open_door(upstream.url, stopwatch=times) as door:
        _, writer, wire = await settled(door, times, b"G")
        for second in range(1, 31):
            times.now = float(second)
            wire.data_received(b"E" if second == 1 else b"T" if second == 2 else b" " if second == 3 else b"/")
        alive = wire.is_overdue(30.0)
        overdue = wire.is_overdue(30.1)
        writer.close()

    assert (alive, overdue) == (False, True)


@pytest.mark.requirement("P-11")
async def test_a_client_that_waits_for_us_is_not_overdue():
    going_on = asyncio.Event()
    times = Times()

    async def script(_request: Received, peer: Peer) -> None:
        await going_on.wait()
        await peer.write(reply())

    async with scripted(script) as upstream, open_door(upstream.url, stopwatch=times) as door:
        asking = asyncio.create_task(exchange(door.port, request("POST", "/api/chat", body=CHAT)))
        while not upstream.received:  # noqa: ASYNC110 - nobody is told
            await asyncio.sleep(0.001)
        overdue = only_wire(door).is_overdue(100_000.0)
        going_on.set()
        got = await asking

    assert (overdue, got.status) == (False, 200)


async def test_a_reset_in_mid_request_is_no_crash():
    async with scripted(always(reply())) as upstream, open_door(upstream.url) as door:
        for sent in (b"", b"GET ", request("POST", "/api/chat", body=CHAT), request("POST", "/x", body=CHAT)[:-3]):
            with socket.create_connection(("127.0.0.1", door.port)) as client:
                client.sendall(sent)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        fine = await exchange(door.port, request())

    assert fine.status == 200


async def test_a_kept_connection_serves_one_request_after_another():
    async with answering() as upstream, open_door(upstream) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        statuses = []
        for number in range(5):
            writer.write(request("POST", f"/echo/{number}", body=b"x" * 70_000))
            statuses.append((await read_answer(reader)).status)
        writer.close()

    assert statuses == [200] * 5
