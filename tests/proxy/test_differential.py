"""Random requests, straight to the upstream and through the door: both sides must see the same."""

import asyncio

import pytest
import uvloop
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.proxy.proxy_server import Got, exchange, open_door
from tests.upstream import Peer, Received, scripted

METHODS = st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "PROPFIND"])
SEGMENT = st.text("abcXYZ019-_.~!$&'()*+,;=:@", min_size=1, max_size=8).filter(lambda text: text not in (".", ".."))
ESCAPED = st.sampled_from(["%20", "%7B", "%c3%a4", "%3F", "%25"])
QUERY = st.text("abc019-_.~!$&'()*+,;=:@/?%[]{}|^`\"<>", max_size=20)
NAMES = st.from_regex(r"X-[A-Za-z0-9-]{1,12}", fullmatch=True).filter(
    lambda name: not name.lower().startswith(("x-festinger", "x-forwarded", "x-accel", "x-request"))
)
VALUES = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="\x7f"), max_size=30).map(
    lambda text: "".join(char for char in text if not 0x7F <= ord(char) < 0xA0).strip()
)
BODIES = st.none() | st.binary(max_size=400) | st.binary(min_size=70_000, max_size=90_000)
STATUSES = st.sampled_from([200, 201, 204, 206, 301, 304, 400, 404, 418, 429, 451, 500, 503])

DROPPED = (b"host", b"content-length", b"transfer-encoding", b"connection")


@st.composite
def targets(draw: st.DrawFn) -> str:
    segments = draw(st.lists(SEGMENT | ESCAPED, max_size=4))
    query = draw(st.none() | QUERY)
    return "/x" + "".join(f"/{segment}" for segment in segments) + ("" if query is None else f"?{query}")


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    method, target = draw(METHODS), draw(targets())
    headers = [f"{name}: {value}" for name, value in draw(st.lists(st.tuples(NAMES, VALUES), max_size=5))]
    body = None if method == "HEAD" else draw(BODIES)
    chunked = body is not None and draw(st.booleans())
    if chunked:
        headers.append("Transfer-Encoding: chunked")
    elif body is not None:
        headers.append(f"Content-Length: {len(body)}")
    head = "\r\n".join([f"{method} {target} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode()
    if not chunked:
        return head + (body or b"")
    assert body is not None
    size = draw(st.integers(1, 5000))
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return head + b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    status = draw(STATUSES)
    headers = [f"{name}: {value}" for name, value in draw(st.lists(st.tuples(NAMES, VALUES), max_size=5))]
    body = b"" if status in (204, 304) else draw(st.binary(max_size=3000))
    head = f"HTTP/1.1 {status} Word {status}"
    if status in (204, 304):
        return "\r\n".join([head, *headers, "", ""]).encode()
    if draw(st.booleans()):
        return "\r\n".join([head, *headers, f"Content-Length: {len(body)}", "", ""]).encode() + body
    size = draw(st.integers(1, 1000))
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    return "\r\n".join([head, *headers, "Transfer-Encoding: chunked", "", ""]).encode() + chunks


async def both_ways(sent: bytes, answer: bytes) -> tuple[list[Received], list[Got]]:
    async def script(request: Received, peer: Peer) -> bool:
        head, _, body = answer.partition(b"\r\n\r\n")
        await peer.write(head + b"\r\n\r\n" + (b"" if request.line.startswith(b"HEAD ") else body))
        return False

    async with scripted(script) as upstream, open_door(upstream.url) as door:
        got = [await exchange(upstream.port, sent), await exchange(door.port, sent)]
    return upstream.received, got


def carried(headers: tuple[tuple[bytes, bytes], ...]) -> list[tuple[bytes, bytes]]:
    ours = (b"x-festinger-", b"x-accel-")
    return [
        (name.lower(), value.strip())
        for name, value in headers
        if name.lower() not in DROPPED and not name.lower().startswith(ours)
    ]


@pytest.mark.requirement("F-53", "P-08")
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(requests(), answers())
def test_both_sides_see_the_same_through_the_door(sent: bytes, answer: bytes):
    received, got = uvloop.run(both_ways(sent, answer))

    direct, through = received
    assert (through.line, through.body) == (direct.line, direct.body)
    assert carried(through.headers) == carried(direct.headers)
    assert (got[1].line, got[1].body, got[1].whole) == (got[0].line, got[0].body, got[0].whole)
    assert carried(got[1].headers) == carried(got[0].headers)


@pytest.mark.requirement("F-53", "F-65")
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(requests(), st.lists(st.tuples(st.integers(0, 200), st.binary(min_size=1, max_size=3)), min_size=1, max_size=3))
def test_a_damaged_request_is_refused_or_arrives_as_it_was_sent(sent: bytes, damages: list[tuple[int, bytes]]):
    for place, damage in damages:
        sent = sent[:place] + damage + sent[place + len(damage) :]

    async def through() -> tuple[list[Received], Got]:
        async def script(_request: Received, peer: Peer) -> bool:
            await peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            return False

        async with scripted(script) as upstream, open_door(upstream.url) as door:
            reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
            writer.write(sent)
            writer.write_eof()
            answer = await asyncio.wait_for(reader.read(), 60)
            writer.close()
            return upstream.received, Got(line=answer.split(b"\r\n", 1)[0])

    received, got = uvloop.run(through())

    for request in received:
        assert request.line in sent
        assert request.body == b"" or request.body in sent or b"ransfer-" in sent
    assert got.line == b"" or 200 <= got.status < 500
