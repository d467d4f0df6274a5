"""The load generator, against servers whose behaviour is known."""

import pytest
from benchmarks.load import HOST, LoadResult, Timing, ask_once, at_once, in_turn, is_whole, request
from benchmarks.server import free_port
from benchmarks.stub import WORDS, ModelServerStub, streamed_answer, whole_answer
from tests.upstream import always, chunked, reply, scripted

from festinger.clock import system_stopwatch


def post(port: int) -> bytes:
    return request(port, "/v1/chat/completions", b'{"stream": false}')


@pytest.mark.parametrize("answer", [reply(), whole_answer(), b"".join(streamed_answer()), chunked(b"0\r\n")])
def test_an_answer_is_whole_with_its_last_byte_and_not_before(answer: bytes):
    assert [is_whole(answer[:size]) for size in (len(answer) - 1, len(answer))] == [False, True]


def test_a_rate_is_answers_a_second():
    timings = [Timing(first=0.1, whole=0.2)] * 6

    assert LoadResult(timings=timings, errors=0, seconds=2.0).rate == 3.0


async def test_requests_in_turn_use_one_connection():
    async with scripted(always(reply())) as server:
        block = await in_turn(server.port, [post(server.port)] * 5, stopwatch=system_stopwatch)

    assert (len(block.timings), block.errors, server.connections) == (5, 0, 1)
    assert all(0 < timing.first <= timing.whole for timing in block.timings)


async def test_requests_at_once_use_a_connection_each_and_stop_at_their_count():
    async with scripted(always(reply())) as server:
        block = await at_once(server.port, [[post(server.port)]] * 3, count=4, seconds=60, stopwatch=system_stopwatch)

    assert (len(block.timings), block.errors, server.connections) == (12, 0, 3)


async def test_requests_at_once_stop_when_their_time_is_over():
    readings = iter(range(1000))
    async with scripted(always(reply())) as server:
        block = await at_once(
            server.port, [[post(server.port)]], count=10**6, seconds=20, stopwatch=lambda: float(next(readings))
        )

    assert 1 <= len(block.timings) <= 20


async def test_refusals_are_errors_and_no_timings():
    async with scripted(always(reply("503 Service Unavailable"))) as server:
        block = await in_turn(server.port, [post(server.port)] * 3, stopwatch=system_stopwatch)

    assert (len(block.timings), block.errors) == (0, 3)


async def test_a_broken_connection_is_an_error_and_the_next_request_gets_a_new_one():
    async def reset_first(request, peer):
        if request.connection == 0:
            peer.reset()
            return False
        await peer.write(reply())
        return None

    async with scripted(reset_first) as server:
        block = await in_turn(server.port, [post(server.port)] * 3, stopwatch=system_stopwatch)

    assert (len(block.timings), block.errors, server.connections) == (2, 1, 2)


async def test_nobody_there_is_no_answer():
    assert await ask_once(free_port(), "/", stopwatch=system_stopwatch) is None


@pytest.mark.parametrize("streamed", [b"true", b"false"])
async def test_the_stub_says_all_of_its_words_whole_or_streamed(streamed: bytes):
    import asyncio

    server = await asyncio.get_running_loop().create_server(ModelServerStub, HOST, 0)
    port = server.sockets[0].getsockname()[1]
    body = b'{"stream": %s, "pad": "%s"}' % (streamed, b"x" * 200_000)

    answer = await ask_once(port, "/v1/chat/completions", body, stopwatch=system_stopwatch)
    server.close()

    assert answer is not None
    assert answer.status == 200
    assert all(word.encode() in answer.body for word in WORDS)
