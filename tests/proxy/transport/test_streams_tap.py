"""A listener hears a copy; the answer goes on whatever it does."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.proxy.proxy_server import exchange, open_door, request
from tests.upstream import Peer, Received, chunked, reply, scripted

from festinger.proxy.request import RequestContext
from festinger.proxy.transport.streams import Stored, StreamEndReason, StreamFrame, open_tap

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
CHAT = b'{"model":"m"}'


@dataclass
class Ear:
    heard: list[Any] = field(default_factory=list)
    how: StreamEndReason | None = None
    unreadable: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def on_frame(self, frame: StreamFrame) -> None:
        self.heard.append(frame.data)

    def on_end(self, how: StreamEndReason, *, unreadable: int) -> Stored | None:
        self.how, self.unreadable = how, unreadable
        self.over.set()
        return None


class Deaf(Ear):
    def on_frame(self, frame: StreamFrame) -> None:
        raise ZeroDivisionError


def once(answer: bytes):
    async def script(_request: Received, peer: Peer) -> bool:
        await peer.write(answer)
        return False

    return script


ENDINGS = [
    ("whole", chunked(b'{"a":1}\n', b'{"done":true}\n'), [{"a": 1}, {"done": True}]),
    ("abrupt", chunked(b'{"a":1}\n'), [{"a": 1}]),
    ("abrupt", HEAD + b'8\r\n{"a":1}\n\r\n', [{"a": 1}]),
    ("abrupt", HEAD + b'8\r\n{"a":1}\n\r\nzz\r\n', [{"a": 1}]),
    ("error", chunked(b'{"a":1}\n{"error":"no"}\n'), [{"a": 1}, {"error": "no"}]),
    ("whole", reply("200 OK", b'{"a":1}', ("Content-Type", "application/json")), [{"a": 1}]),
    ("whole", chunked(b'data: {"a":1}\n\ndata: [DO', b"NE]\n\n", kind="text/event-stream"), [{"a": 1}, "[DONE]"]),
]


@pytest.mark.requirement("P-16", "P-18")
@pytest.mark.parametrize(("how", "answer", "heard"), ENDINGS)
async def test_a_listener_hears_the_answer_and_how_it_ended(how: str, answer: bytes, heard: list[Any]):
    ear = Ear()

    async with scripted(once(answer)) as upstream, open_door(upstream.url, listen=lambda ctx: ear) as door:
        await exchange(door.port, request("POST", "/api/chat", body=CHAT))

    assert (ear.heard, ear.how) == (heard, how)


@pytest.mark.requirement("P-18", "P-19")
async def test_what_a_leaving_client_got_is_heard_and_named():
    ear = Ear()

    async def script(_request: Received, peer: Peer) -> bool:
        await peer.write(HEAD + b'8\r\n{"a":1}\n\r\n')
        await peer.left()
        return False

    async with scripted(script) as upstream, open_door(upstream.url, listen=lambda ctx: ear) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(request("POST", "/api/chat", body=CHAT))
        await reader.readuntil(b"\n\r\n")
        await reader.readuntil(b"\n\r\n")
        writer.close()
        await asyncio.wait_for(ear.over.wait(), 60)

    assert (ear.heard, ear.how) == ([{"a": 1}], StreamEndReason.CLIENT)


@pytest.mark.requirement("P-16", "F-16")
async def test_a_listener_that_fails_is_left_behind():
    answer = chunked(b'{"a":1}\n', b'{"done":true}\n')

    async with scripted(once(answer)) as upstream, open_door(upstream.url, listen=lambda ctx: Deaf()) as door:
        got = await exchange(door.port, request("POST", "/api/chat", body=CHAT))

    assert (got.body, got.whole) == (b'{"a":1}\n{"done":true}\n', True)


@pytest.mark.requirement("P-16")
async def test_unreadable_lines_are_passed_on_and_counted():
    ear = Ear()
    answer = chunked(b'{"a":1}\n{half\n\x00\n{"done":true}\n')

    async with scripted(once(answer)) as upstream, open_door(upstream.url, listen=lambda ctx: ear) as door:
        got = await exchange(door.port, request("POST", "/api/chat", body=CHAT))

    assert got.body == b'{"a":1}\n{half\n\x00\n{"done":true}\n'
    assert (ear.unreadable, ear.how) == (2, StreamEndReason.WHOLE)


@pytest.mark.requirement("P-16")
def test_without_a_listener_there_is_no_tap():
    with open_tap(None, [(b"Content-Type", b"application/json")]) as tap:
        assert tap is None


def test_a_compressed_answer_is_not_read():
    with open_tap(Ear(), [(b"Content-Encoding", b"gzip"), (b"Content-Type", b"application/json")]) as tap:
        assert tap is None


async def test_the_listener_is_told_whose_answer_it_is():
    visits: list[RequestContext] = []

    def listen(ctx: RequestContext) -> None:
        visits.append(ctx)

    async with scripted(once(reply())) as upstream, open_door(upstream.url, listen=listen) as door:
        await exchange(door.port, request("POST", "/@team/dobby/api/chat", body=CHAT))

    assert [(ctx.space, ctx.agent, ctx.route.label) for ctx in visits] == [("team", "dobby", "/api/chat")]


class Keeper(Ear):
    """Stores an answer when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def on_end(self, how: StreamEndReason, *, unreadable: int) -> Stored | None:
        super().on_end(how, unreadable=unreadable)
        return self.stored


@pytest.mark.requirement("P-47")
@pytest.mark.parametrize(
    ("answer", "last"),
    [
        (chunked(b'{"a":1}\n', b'{"done":true}\n'), b'"done"'),
        (chunked(b'data: {"a":1}\n\n', b"data: [DONE]\n\n", kind="text/event-stream"), b"[DONE]"),
        (reply("200 OK", b'{"a":1}', ("Content-Type", "application/json")), b'{"a":1}'),
    ],
)
async def test_the_end_of_an_answer_goes_out_once_it_is_stored(answer: bytes, last: bytes):
    ear = Keeper()

    def listen(ctx: RequestContext) -> Ear | None:
        return ear if ctx.path == "/api/chat" else None

    async with scripted(once(answer)) as upstream, open_door(upstream.url, listen=listen) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(request("POST", "/api/chat", body=CHAT))
        await ear.over.wait()
        await exchange(door.port, request("GET", "/api/version"))  # whatever could go out has gone out by now
        head = bytes(reader._buffer)  # type: ignore[attr-defined]
        ear.stored.set_result(None)
        whole = head + (await reader.readuntil(last))[len(head) :]
        writer.close()

    assert last not in head
    assert last in whole


@pytest.mark.requirement("P-50")
async def test_an_answer_that_cannot_be_stored_in_time_goes_out_all_the_same(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("festinger.proxy.transport.streams.STORED_SECONDS", 0.001)
    ear = Keeper()
    answer = chunked(b'{"a":1}\n', b'{"done":true}\n')
    async with scripted(once(answer)) as upstream, open_door(upstream.url, listen=lambda _visit: ear) as door:
        got = await exchange(door.port, request("POST", "/api/chat", body=CHAT))

    assert got.body == b'{"a":1}\n{"done":true}\n'
    assert got.whole
