"""What passes through the door arrives as it was sent, both ways."""

import asyncio
from typing import Any

import pytest
from tests.proxy.proxy_server import Door, Got, exchange, open_door, read_answer, request, settings_for
from tests.upstream import Peer, Received, always, answering, chunked, reply, scripted

from festinger.proxy.transport.server import ClientConnection
from festinger.settings.tree import ProxySettings, Settings, UpstreamSettings

CHAT = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'
STREAMED = b'{"model":"m","stream":true,"messages":[],"prompt":"x"}'
WHOLE = b'{"model":"m","stream":false,"messages":[],"prompt":"x"}'

ROUTES = [
    *(
        ("POST", path, body)
        for path in ("/api/chat", "/api/generate", "/v1/chat/completions")
        for body in (STREAMED, WHOLE)
    ),
    *(
        ("POST", path, body)
        for path in ("/v1/messages", "/v1/completions", "/v1/responses")
        for body in (STREAMED, WHOLE)
    ),
    *(
        (method, path, None)
        for method in ("GET", "HEAD")
        for path in ("/", "/api/version", "/api/tags", "/v1/models/m:1b")
    ),
    *(
        ("GET", path, None)
        for path in ("/api/ps", "/api/status", "/v1/models", "/health", "/api/tags?x=%2F&y=", "/api/tags?")
    ),
    *(("POST", path, b'{"name":"m"}') for path in ("/api/show", "/api/me", "/api/embed", "/api/embeddings")),
    *(("POST", path, b'{"name":"m"}') for path in ("/v1/embeddings", "/v1/messages/count_tokens", "/v1/audio/speech")),
    *(
        ("POST", path, b'{"name":"m"}')
        for path in ("/api/pull", "/api/push", "/api/create", "/api/copy", "/api/signout")
    ),
    ("POST", "/api/experimental/web_search", b"{}"),
    ("DELETE", "/api/delete", b'{"name":"m"}'),
    ("DELETE", "/api/user/keys/abc", None),
    ("HEAD", "/api/blobs/sha256:00", None),
    ("POST", "/api/blobs/sha256:00", b"\x00\x01binary\xff" * 1000),
    ("PUT", "/any/other%20path;x=1", b"not json"),
    ("PATCH", "/any", b""),
    ("OPTIONS", "/api/chat", None),
]

OURS = (b"x-festinger-request", b"x-festinger-memory", b"x-festinger-overhead-ms", b"x-accel-buffering")
PER_CONNECTION = (b"connection", b"keep-alive", b"transfer-encoding", b"date")


def comparable(got: Got) -> tuple[bytes, list[tuple[bytes, bytes]], bytes, bool]:
    kept = [pair for pair in got.headers if pair[0] not in OURS + PER_CONNECTION]
    return got.line, kept, got.body, got.whole


@pytest.mark.requirement("P-02", "P-08")
@pytest.mark.parametrize(("method", "target", "body"), ROUTES)
async def test_every_route_answers_as_the_upstream_does(method: str, target: str, body: bytes | None):
    sent = request(method, target, "User-Agent: t/1", "Accept: */*", body=body)

    async with answering() as upstream, open_door(upstream) as door:
        direct = await exchange(int(upstream.rpartition(":")[2]), sent)
        through = await exchange(door.port, sent)

    assert direct.status < 500
    assert comparable(through) == comparable(direct)


@pytest.mark.requirement("P-02", "P-08")
@pytest.mark.parametrize(("method", "target", "body"), ROUTES)
async def test_every_route_reaches_the_upstream_as_it_was_sent(method: str, target: str, body: bytes | None):
    sent = request(
        method, target, "user-agent: t/1", "x-twice: a", "x-twice: b", "authorization: Bearer ollama", body=body
    )

    async with scripted(always(reply())) as upstream, open_door(upstream.url) as door:
        await exchange(upstream.port, sent)
        await exchange(door.port, sent)

    direct, through = upstream.received
    assert through.line == direct.line
    assert through.body == direct.body
    assert [pair for pair in through.headers if pair[0].lower() not in (b"host", b"content-length")] == [
        pair for pair in direct.headers if pair[0].lower() not in (b"host", b"content-length")
    ]
    assert through.values(b"host") == [f"127.0.0.1:{upstream.port}".encode()]


@pytest.mark.requirement("P-08")
@pytest.mark.parametrize(
    "body",
    [
        b"{broken",
        b'{"Messages": []}',
        b'{"n": 1e999}',
        b'{"s": "\\ud800"}',
        b"[" * 5000,
        b"",
        b"\xff\xfe",
        b'{"a":1}\n',
    ],
)
async def test_a_body_that_cannot_be_read_gets_the_upstreams_own_answer(body: bytes):
    refusal = reply("400 Bad Request", b'{"error":"own words"}')

    async with scripted(always(refusal)) as upstream, open_door(upstream.url) as door:
        got = await exchange(door.port, request("POST", "/api/chat", body=body))

    assert (got.line, got.body) == (b"HTTP/1.1 400 Bad Request", b'{"error":"own words"}')
    assert upstream.received[0].body == body


@pytest.mark.requirement("P-02", "F-16")
@pytest.mark.parametrize(
    "status",
    [
        "301 Moved Permanently",
        "307 Temporary Redirect",
        "401 Unauthorized",
        "404 Not Found",
        "405 Not Allowed",
        "429 Too Many Requests",
        "499 Client Closed",
        "500 Internal Server Error",
        "503 Service Unavailable",
        "218 This is fine",
    ],
)
async def test_a_status_passes_with_its_reason_and_no_redirect_is_followed(status: str):
    answer = reply(status, b"<h1>no</h1>", ("Location", "/elsewhere"), ("Content-Type", "text/html"))

    async with scripted(always(answer)) as upstream, open_door(upstream.url) as door:
        got = await exchange(door.port, request("POST", "/api/chat", body=CHAT))

    assert got.line == f"HTTP/1.1 {status}".encode()
    assert (got.body, got.value("location")) == (b"<h1>no</h1>", "/elsewhere")
    assert len(upstream.received) == 1


async def test_a_status_beyond_the_known_ones_passes():
    async with scripted(always(reply("799 Odd"))) as upstream, open_door(upstream.url) as door:
        got = await exchange(door.port, request())

    assert got.line == b"HTTP/1.1 799 Odd"


@pytest.mark.requirement("P-09")
async def test_headers_of_one_connection_do_not_cross_it():
    answer = reply(
        "200 OK", b"{}", ("Connection", "X-Hop"), ("X-Hop", "1"), ("Keep-Alive", "timeout=5"), ("Set-Cookie", "a=b"),
        ("Proxy-Authenticate", "x"), ("X-End", "1"), ("X-Two", "a"), ("X-Two", "b"),
    )  # fmt: skip
    sent = request(
        "POST", "/api/chat", "Connection: X-Mine", "X-Mine: 1", "TE: trailers", "Cookie: a=b", "X-Forwarded-For: 1.2.3.4",
        "X-Festinger-Memory: on", "Proxy-Authorization: x", "Expect: 100-continue", "X-End: 1", "Accept-Encoding: gzip", body=CHAT,
    )  # fmt: skip

    async with scripted(always(answer)) as upstream, open_door(upstream.url) as door:
        got = await exchange(door.port, sent)

    up = {name.lower() for name, _ in upstream.received[0].headers}
    assert up == {b"host", b"x-end", b"accept-encoding", b"content-length"}
    down = [name for name, _ in got.headers if name not in OURS]
    assert down == [b"x-end", b"x-two", b"x-two", b"content-length"]


@pytest.mark.requirement("P-09")
@pytest.mark.parametrize(
    ("kind", "marked"), [("text/event-stream", "no"), ("application/x-ndjson", "no"), ("application/json", None)]
)
async def test_only_streams_ask_not_to_be_buffered(kind: str, marked: str | None):
    async with scripted(always(chunked(b"{}\n", kind=kind))) as upstream, open_door(upstream.url) as door:
        got = await exchange(door.port, request("POST", "/api/chat", body=CHAT))

    assert got.value("x-accel-buffering") == marked


async def test_a_compressed_answer_stays_compressed():
    squeezed = b"\x1f\x8b\x08\x00not really gzip"

    async with scripted(always(reply("200 OK", squeezed, ("Content-Encoding", "gzip")))) as upstream:
        async with open_door(upstream.url) as door:
            got = await exchange(door.port, request("POST", "/api/chat", body=CHAT))

    assert (got.body, got.value("content-encoding")) == (squeezed, "gzip")


async def test_a_compressed_request_passes_untouched():
    squeezed = b"\x28\xb5\x2f\xfd\x00zstd"

    async with scripted(always(reply())) as upstream, open_door(upstream.url) as door:
        await exchange(door.port, request("POST", "/api/chat", "Content-Encoding: zstd", body=squeezed))

    assert upstream.received[0].body == squeezed
    assert upstream.received[0].values(b"content-encoding") == [b"zstd"]


@pytest.mark.requirement("P-04")
async def test_each_protocol_goes_to_its_own_upstream():
    async with (
        scripted(always(reply())) as main,
        scripted(always(reply())) as openai,
        scripted(always(reply())) as anthropic,
    ):
        own = UpstreamSettings(openai=openai.url, anthropic=anthropic.url + "/base")
        async with open_door(Settings(proxy=ProxySettings(upstream=main.url, upstreams=own))) as door:
            for target in ("/api/chat", "/", "/v1/models", "/v1/messages", "/v1/messages/count_tokens"):
                await exchange(door.port, request("POST", target, body=b"{}"))

    assert [got.line.split()[1] for got in main.received] == [b"/api/chat", b"/"]
    assert [got.line.split()[1] for got in openai.received] == [b"/v1/models"]
    assert [got.line.split()[1] for got in anthropic.received] == [
        b"/base/v1/messages",
        b"/base/v1/messages/count_tokens",
    ]


@pytest.mark.requirement("P-04")
async def test_nothing_in_a_request_chooses_the_upstream():
    body = b'{"model":"m","api_base":"http://127.0.0.1:9","base_url":"http://127.0.0.1:9"}'
    sent = request(
        "POST",
        "/v1/chat/completions?api_base=http://127.0.0.1:9",
        "X-Forwarded-Host: evil.example",
        "X-Upstream: http://127.0.0.1:9",
        body=body,
    )

    async with scripted(always(reply())) as upstream, open_door(upstream.url) as door:
        got = await exchange(door.port, sent)

    assert (got.status, len(upstream.received)) == (200, 1)


@pytest.mark.requirement("P-15")
async def test_a_chunk_goes_out_before_the_next_one_comes():
    seen = asyncio.Event()

    async def script(_request: Received, peer: Peer) -> None:
        await peer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n")
        await seen.wait()
        await peer.write(b"4\r\ntwo\n\r\n0\r\n\r\n")

    async with scripted(script) as upstream, open_door(upstream.url) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(request("POST", "/api/chat", body=CHAT))
        first = await reader.readuntil(b"4\r\none\n\r\n")
        seen.set()
        rest = await reader.readuntil(b"0\r\n\r\n")
        writer.close()

    assert first.endswith(b"one\n\r\n")
    assert rest == b"4\r\ntwo\n\r\n0\r\n\r\n"


@pytest.mark.requirement("P-01")
@pytest.mark.parametrize(
    ("target", "query", "ready", "told"),
    [
        ("/api/chat", None, False, "not-ready; reason=store"),
        ("/api/chat", None, True, "off; reason=absent"),
        ("/api/chat", "off", True, "off; reason=asked"),
        ("/api/chat", "sometimes", True, "off; reason=absent; ignored=memory"),
        ("/api/embed", None, False, "off; reason=route"),
    ],
)
async def test_an_answer_says_what_memory_did(target: str, query: str | None, ready: bool, told: str):
    asked = [f"X-Festinger-Memory: {query}"] if query else []

    async with scripted(always(reply())) as upstream, open_door(upstream.url, ready=ready) as door:
        got = await exchange(door.port, request("POST", target, *asked, body=CHAT))

    assert got.value("x-festinger-memory") == told
    assert len(got.value("x-festinger-request") or "") == 36
    assert float(got.value("x-festinger-overhead-ms") or "-1") > 0


@pytest.mark.requirement("X-96")
async def test_a_request_keeps_the_id_that_it_came_with():
    async with scripted(always(reply())) as upstream, open_door(upstream.url) as door:
        kept = await exchange(door.port, request("GET", "/", "X-Request-Id: abc-1"))
        made = await exchange(door.port, request("GET", "/", "X-Request-Id: two words"))

    assert kept.value("x-festinger-request") == "abc-1"
    assert made.value("x-festinger-request") != "two words"


async def test_our_headers_can_be_left_out():
    async with scripted(always(reply())) as upstream:
        async with open_door(settings_for(upstream.url, headers=False)) as door:
            got = await exchange(door.port, request("POST", "/api/chat", body=CHAT))

    assert [name for name, _ in got.headers] == [b"content-length"]


@pytest.mark.requirement("P-88")
async def test_a_json_body_over_the_limit_is_refused_unread():
    async with scripted(always(reply())) as upstream:
        async with open_door(settings_for(upstream.url, body_max_bytes=2048)) as door:
            told = await exchange(
                door.port, b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2049\r\n\r\n"
            )
            other = await exchange(door.port, request("POST", "/api/blobs/sha256:1", body=b"x" * 5000))

    assert (told.status, b"request_too_large" in told.body) == (413, True)
    assert other.status == 200
    assert [len(got.body) for got in upstream.received] == [5000]


@pytest.mark.requirement("P-88")
async def test_a_json_body_that_grows_over_the_limit_is_refused():
    came, gone = asyncio.Event(), asyncio.Event()

    async def script(_request: Received, peer: Peer) -> bool:
        came.set()
        await peer.left()
        gone.set()
        return False

    async with scripted(script, reads_bodies=False) as upstream:
        async with open_door(settings_for(upstream.url, body_max_bytes=2048)) as door:
            reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
            writer.write(
                b"POST /api/chat HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n400\r\n"
                + b"x" * 1024
                + b"\r\n"
            )
            await came.wait()
            writer.write((b"400\r\n" + b"x" * 1024 + b"\r\n") * 2)
            got = await read_answer(reader)
            await asyncio.wait_for(gone.wait(), 60)
            writer.close()

    assert got.status == 413


def open_replies(door: Door) -> list[Any]:
    wires = [wire for wire in door.server.server_state.connections if isinstance(wire, ClientConnection)]
    return [reply for wire in wires for reply in wire.replies]


@pytest.mark.requirement("P-88", "P-02")
async def test_a_blob_streams_up_in_pieces():
    size = 24 * 2**20
    held: list[int] = []

    async with answering() as upstream, open_door(upstream) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(f"POST /api/blobs/sha256:1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode())
        piece = bytes(2**20)
        for _ in range(size // len(piece)):
            writer.write(piece)
            await writer.drain()
            held.extend(len(reply.cycle.body) for reply in open_replies(door))
        got = await read_answer(reader)
        writer.close()

    assert b'"bytes": %d' % size in got.body
    assert held
    assert max(held) <= 512 * 1024


@pytest.mark.requirement("P-12")
async def test_a_request_is_sent_again_when_a_kept_connection_dies_unanswered():
    async def script(request: Received, peer: Peer) -> bool | None:
        if request.connection == 0 and request.line.startswith(b"POST"):
            return False
        await peer.write(reply())
        return None

    async with scripted(script) as upstream, open_door(upstream.url) as door:
        await exchange(door.port, request("GET", "/"))
        got = await exchange(door.port, request("POST", "/api/chat", body=CHAT))

    assert got.status == 200
    assert [(got.line[:4], got.connection, got.body) for got in upstream.received] == [
        (b"GET ", 0, b""),
        (b"POST", 0, CHAT),
        (b"POST", 1, CHAT),
    ]


@pytest.mark.requirement("P-12")
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_request_is_not_sent_again_when_a_new_connection_dies(method: str):
    async def script(_request: Received, peer: Peer) -> bool:
        return False

    async with scripted(script) as upstream, open_door(upstream.url) as door:
        got = await exchange(door.port, request(method, "/api/chat", body=CHAT))

    assert (got.status, len(upstream.received)) == (502, 1)


@pytest.mark.requirement("P-12")
@pytest.mark.parametrize("reset", [True, False])
async def test_a_request_is_not_sent_again_once_a_byte_of_an_answer_came(reset: bool):
    async def script(request: Received, peer: Peer) -> bool | None:
        if request.line.startswith(b"GET"):
            await peer.write(reply())
            return None
        await peer.write(b"HTTP/1.1 20")
        if reset:
            peer.reset()
        return False

    async with scripted(script) as upstream, open_door(upstream.url) as door:
        await exchange(door.port, request("GET", "/"))
        got = await exchange(door.port, request("POST", "/api/chat", body=CHAT))

    assert (got.status, len(upstream.received)) == (502, 2)


@pytest.mark.requirement("P-12")
async def test_connections_to_the_upstream_are_kept():
    async with scripted(always(reply())) as upstream, open_door(upstream.url) as door:
        for _ in range(20):
            await exchange(door.port, request("POST", "/api/chat", body=CHAT))

    assert upstream.connections == 1
