"""How the server stops: first it waits, then it does not."""

import asyncio
import socket

import pytest
from tests.proxy.proxy_server import exchange, open_door, request
from tests.upstream import Peer, Received, reply, scripted

from festinger.proxy.transport.server import open_server, open_sockets


async def hello(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.requirement("P-19", "X-105")
async def test_a_running_answer_finishes_before_the_server_is_gone():
    going_on, came = asyncio.Event(), asyncio.Event()

    async def script(_request: Received, peer: Peer) -> None:
        came.set()
        await going_on.wait()
        await peer.write(reply("200 OK", b"late"))

    async with scripted(script) as upstream:
        async with open_door(upstream.url, shutdown_seconds=30) as door:
            asking = asyncio.create_task(exchange(door.port, request()))
            await came.wait()
            door.server.stop()
            refused = await refuses(door.port)
            going_on.set()
        got = await asking

    assert (got.status, got.body, refused) == (200, b"late", True)


async def refuses(port: int) -> bool:
    """Whether nobody listens any more; looks until that is so."""
    for _ in range(500):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return True
        writer.close()
        await asyncio.sleep(0)
    return False


@pytest.mark.requirement("P-19", "X-105")
@pytest.mark.parametrize("twice", [True, False])
async def test_what_does_not_finish_is_ended_by_time_or_by_a_second_stop(twice: bool):
    came, left = asyncio.Event(), asyncio.Event()

    async def script(_request: Received, peer: Peer) -> bool:
        came.set()
        await peer.left()
        left.set()
        return False

    async with scripted(script) as upstream:
        async with open_door(upstream.url, shutdown_seconds=60 if twice else 0) as door:
            asking = asyncio.create_task(exchange(door.port, request()))
            await came.wait()
            door.server.stop()
            if twice:
                door.server.stop()
        got = await asking
        await asyncio.wait_for(left.wait(), 60)

    assert not got.whole


async def test_an_idle_connection_does_not_hold_up_a_stop():
    sockets = open_sockets("127.0.0.1", 0)
    port = sockets[0].getsockname()[1]

    async with open_server(hello, sockets, shutdown_seconds=60) as server:
        with socket.create_connection(("127.0.0.1", port)):
            await exchange(port, request())
            server.stop()

    assert not server.server_state.connections
